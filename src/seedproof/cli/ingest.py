"""`seedproof ingest`: a long table, larger than memory if need be, into a store that stays."""

from typing import Annotated

import typer

from seedproof.cli import options

INTERRUPTED = 130
STOPPED = "Stopped. What is done is kept: the same command goes on from here."


def ingest(
    tables: Annotated[
        list[str],
        typer.Argument(
            metavar="TABLE...",
            help="A table (CSV, TSV, Parquet, JSONL), or several (one a run).",
            show_default=False,
        ),
    ],
    *,
    out: Annotated[
        str, typer.Option(metavar="STORE", help="The store: a new or empty local folder.")
    ],
    run: options.Run = "run",
    example: options.Example = "example",
    label: options.Label = "label",
    prediction: options.Prediction = "prediction",
    probs: options.Probs = "p_",
    memory: options.Memory = "2GB",
) -> None:
    """Bring tables into a store, which is measured without being sorted again.

    Whatever its size, a table is read once and sorted on disk. If it is stopped, the same command
    goes on.
    """
    from rich.console import Console

    from seedproof.cli.progress import watching_phases
    from seedproof.records.columns import Columns
    from seedproof.records.memory import parse_memory
    from seedproof.records.resumable_ingest import ingest_tables

    limit = parse_memory(memory)
    try:
        with watching_phases(Console(stderr=True)) as progress:
            store = ingest_tables(
                tables,
                out,
                columns=Columns(run, example, label, prediction, probs),
                memory=limit,
                progress=progress,
            )
    except KeyboardInterrupt:
        typer.echo(STOPPED, err=True)
        raise typer.Exit(INTERRUPTED) from None
    for note in store.notes:
        typer.echo(f"note: {note}", err=True)
    shards = store.shards()
    typer.echo(f"{len(shards.runs):,} runs × {shards.n_examples:,} examples in {out}", err=True)
    typer.echo(f"Measure them with: seedproof measure {out}", err=True)
