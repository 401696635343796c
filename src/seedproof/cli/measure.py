"""`seedproof measure`: how much did the seed decide?"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seedproof.cli import options

if TYPE_CHECKING:
    from seedproof.predictions.options import LoadOptions
    from seedproof.report.side_by_side import SideBySide


@options.reads_predictions
def measure(
    targets: options.Targets,
    *,
    out: Annotated[
        str | None,
        typer.Option(help="Write report.html, summary.json and examples.parquet into this folder."),
    ] = None,
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

    from seedproof.api.measure import measure_arms
    from seedproof.cli.progress import watching
    from seedproof.records.location import Location
    from seedproof.report.files import check_folder
    from seedproof.report.text import as_text, render

    how: dict[str, Any] = {
        "metrics": options.listed(metrics),
        "engine": engine,
        "workers": workers,
        "address": address,
    }
    if out is not None:
        check_folder(out)
    store = None
    if reading["arm"] is None:
        store = options.store_of(targets, skip_damaged=reading["skip_damaged"])
    if store is not None and len(store.arms()) > 1:
        with watching(Console(stderr=True)) as reading["progress"]:
            reports = measure_arms(store, **how, **reading)
        _show_arms(reports, out=out, as_json=as_json, show=show or ())
        return
    if out is not None and engine != "serial":
        how["examples"] = Location.of(out) / "examples.parquet"
    report = options.measured(store or targets, reading, **how)
    view = report.view(show=show or ())
    if out is not None:
        report.save(out, show=show or (), command=options.command_line())
    if as_json:
        sys.stdout.write(report.to_json())
        return
    if sys.stdout.isatty():
        Console().print(render(view))
    else:
        typer.echo(as_text(view))
    if out is not None:
        where = out.rstrip("/")
        typer.echo(f"Written to {where}: report.html, summary.json, examples.parquet", err=True)


def _show_arms(
    reports: "SideBySide", *, out: str | None, as_json: bool, show: Sequence[str]
) -> None:
    from rich.console import Console

    if out is not None:
        reports.save(out, show=show, command=options.command_line())
    if as_json:
        sys.stdout.write(reports.to_json())
        return
    if sys.stdout.isatty():
        Console().print(reports)
    else:
        typer.echo(str(reports))
    if out is not None:
        where = out.rstrip("/")
        typer.echo(f"Written to {where}: a folder for each of {', '.join(reports)}", err=True)
