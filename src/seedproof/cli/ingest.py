"""`seedproof ingest`: a long table, larger than memory if need be, into a store that stays."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from seedproof.cli import options

if TYPE_CHECKING:
    from seedproof.predictions.options import LoadOptions

INTERRUPTED = 130
STOPPED = "Stopped. What is done is kept: the same command goes on from here."


@partial(options.reads_predictions, only=options.OF_TABLES)
def ingest(
    tables: Annotated[
        list[str],
        typer.Argument(
            metavar="TABLE...",
            help="A table (CSV, TSV, Parquet, JSONL), or several with one run each.",
            show_default=False,
        ),
    ],
    *,
    out: Annotated[
        str, typer.Option(metavar="STORE", help="The store: a new or empty local folder.")
    ],
    reading: "LoadOptions",
) -> None:
    """Bring tables into a store, which is measured without being sorted again.

    Whatever its size, a table is read once and sorted on disk. If it is stopped, the same command
    goes on.
    """
    from rich.console import Console

    from seedproof.cli.progress import watching_phases
    from seedproof.predictions.sources import columns_of
    from seedproof.predictions.targets import files_of
    from seedproof.records.memory_limit import parse_memory
    from seedproof.records.resumable_ingest import ingest_tables

    limit = parse_memory(reading["memory"])
    try:
        with watching_phases(Console(stderr=True)) as progress:
            store = ingest_tables(
                files_of(tables),
                out,
                columns=columns_of(reading),
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
