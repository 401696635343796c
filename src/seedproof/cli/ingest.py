"""`seedproof ingest`: write tables of any size to a store."""

from typing import Annotated, Any

import typer

from seedproof.cli import options
from seedproof.cli.documents import print_document
from seedproof.exit_codes import ExitCode

STOPPED = "Stopped. Finished work is kept: run the same command to continue."


@options.add_options(*options.TABLES, "relevant", "keep")
def ingest(
    tables: Annotated[
        list[str],
        typer.Argument(
            metavar="TABLE",
            help="A table (CSV, TSV, Parquet, JSONL), or several tables with one run each.",
            show_default=False,
        ),
    ],
    *,
    out: Annotated[
        str, typer.Option(metavar="STORE", help="The store: a new or empty local folder.")
    ],
    as_json: options.Json = False,
    reading: dict[str, Any],
) -> None:
    """Write tables to a store that can be measured many times.

    A table is read once and sorted on disk, whatever its size. If interrupted, run the same
    command again to continue.
    """
    from seedproof.cli.progress import phase_bars
    from seedproof.predictions.sources import kept_items, relevant_file
    from seedproof.predictions.table_columns import columns_of
    from seedproof.predictions.targets import files_of
    from seedproof.records.memory_limit import parse_memory
    from seedproof.records.resumable_ingest import ingest_tables

    limit = parse_memory(reading["memory"])
    try:
        with phase_bars() as progress:
            store = ingest_tables(
                files_of(tables),
                out,
                columns=columns_of(reading),
                memory=limit,
                relevant=relevant_file(reading["relevant"]),
                keep=kept_items(reading),
                progress=progress,
            )
    except KeyboardInterrupt:
        typer.echo(STOPPED, err=True)
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    shards = store.shards()
    if as_json:
        print_document(
            {
                "store": out,
                "n_runs": len(shards.runs),
                "n_examples": shards.n_examples,
                "runs": list(shards.runs),
                "notes": list(map(str, store.notes)),
            }
        )
        return
    for note in store.notes:
        typer.echo(f"note: {note}", err=True)
    typer.echo(f"{len(shards.runs):,} runs × {shards.n_examples:,} examples in {out}", err=True)
    typer.echo(f"Measure them with: seedproof measure {out}", err=True)
