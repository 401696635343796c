"""`seedproof measure`: how much did the seed decide?"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seedproof.cli import options

if TYPE_CHECKING:
    from seedproof.predictions.options import LoadOptions
    from seedproof.report.report import Report
    from seedproof.report.side_by_side import SideBySide


@options.reads_predictions
def measure(
    targets: options.Targets,
    *,
    out: Annotated[
        str | None,
        typer.Option(help="Write report.html, summary.json and examples.parquet into this folder."),
    ] = None,
    pairs: Annotated[
        bool,
        typer.Option(
            "--pairs", help="With --out, write pairs.parquet too: the flip rate of any two runs."
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON and nothing else.")
    ] = False,
    show: Annotated[
        list[str] | None,
        typer.Option(
            help="A further column, such as text, to show for the least stable examples; tokens "
            "for the words of explained examples."
        ),
    ] = None,
    all_metrics: Annotated[
        bool, typer.Option("--all", help="Print every metric, not only the key metrics.")
    ] = False,
    metrics: options.Metrics = None,
    engine: options.Engine = "serial",
    workers: options.Workers = None,
    address: options.Address = None,
    reading: "LoadOptions",
) -> None:
    """Measure how much of the predictions the seed decided.

    A table has the columns run, example, label (may be absent) and either prediction or one
    probability per class, p_<class>; or one column per run: id, label, seed_0, seed_1, …
    """
    from rich.console import Console

    from seedproof.cli.progress import watching
    from seedproof.errors import OptionError
    from seedproof.records.location import Location
    from seedproof.report.files import check_folder

    how: dict[str, Any] = {
        "metrics": options.listed(metrics),
        "engine": engine,
        "workers": workers,
        "address": address,
    }
    if pairs and out is None:
        raise OptionError("--pairs goes with --out. Name a folder to write to.", option="--pairs")
    if out is not None:
        check_folder(out)
    store = None
    if reading["arm"] is None:
        store = options.store_of(targets, skip_damaged=reading["skip_damaged"])
    result: Report | SideBySide
    if store is not None and len(store.arms()) > 1:
        from seedproof.api.measure import measure_arms

        with watching(Console(stderr=True)) as reading["progress"]:
            result = measure_arms(store, **how, **reading)
        shown: Sequence[str] = ()
        written = f"a folder for each of {', '.join(result)}"
    else:
        if out is not None and engine != "serial":
            how["examples"] = Location.of(out) / "examples.parquet"
        result = options.measured(store or targets, reading, **how)
        shown = show or ()
        result.view(show=shown)  # refuses a column that is not there
        written = "report.html, summary.json, examples.parquet" + ", pairs.parquet" * pairs
    if out is not None:
        result.save(out, show=show or (), command=options.command_line(), pairs=pairs)
    if as_json:
        sys.stdout.write(result.to_json())
        return
    if sys.stdout.isatty():
        result.show(show=shown, all_metrics=all_metrics)
    else:
        typer.echo(result.text(show=shown, all_metrics=all_metrics))
    if out is not None:
        typer.echo(f"Written to {out.rstrip('/')}: {written}", err=True)
