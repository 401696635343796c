"""`seedproof report`: one chart for a paper, or the page alone."""

from pathlib import Path
from typing import Annotated, Any

import typer

from seedproof.cli import options
from seedproof.cli.documents import print_files
from seedproof.errors import OptionError


@options.add_options(*options.READING)
def report(
    targets: options.Targets,
    *,
    figure: Annotated[
        str | None,
        typer.Option(help="Name of the chart, such as flip_matrix.  [default: the whole page]"),
    ] = None,
    file_format: Annotated[
        str | None,
        typer.Option("--format", help="png, svg or pdf.  [default: the extension of --out]"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write.  [default: named after the chart]")
    ] = None,
    mlflow: Annotated[
        str | None,
        typer.Option(
            metavar="EXPERIMENT",
            help="Log the figures and the page to this experiment of MLflow instead; of a store "
            "also its runs.",
        ),
    ] = None,
    as_json: options.Json = False,
    show: options.Show = None,
    title: options.Title = None,
    reading: dict[str, Any],
) -> None:
    """Write the report page, or one of its charts."""
    if mlflow is not None:
        files = {"--figure": figure, "--format": file_format, "--out": out}
        options.refuse({**files, "--json": as_json}, "files")
        _log_to_mlflow(targets, mlflow, reading)
        return
    result = options.measured(targets, reading)
    if figure is None:
        if file_format is not None:
            raise OptionError(
                "--format goes with --figure. Name a chart, such as flip_matrix.", option="--format"
            )
        path = out or Path("report.html")
        result.to_html(path, show=show or (), title=title, command=options.command_line())
    else:
        ending = "" if out is None else out.suffix.removeprefix(".").lower()
        chosen = file_format or ending or "png"
        if ending not in {"", chosen}:
            raise OptionError(
                "--format {file_format} contradicts the extension of --out, .{ending}. Remove "
                "--format.",
                file_format=chosen,
                ending=ending,
            )
        path = out or Path(f"{figure}.{chosen}")
        result.figure(figure).save(path, chosen)
    if as_json:
        print_files([str(path)])
    else:
        typer.echo(f"Wrote {path}", err=True)


def _log_to_mlflow(targets: list[str], experiment: str, reading: dict[str, Any]) -> None:
    from seedproof.integrations.mlflow import log_report, log_study

    store = None
    if reading["arm"] is None:
        store = options.store_of(targets, skip_damaged=reading["skip_damaged"])
    if store is not None:
        run_id = log_study(store, experiment=experiment, split=reading["split"])
    else:
        run_id = log_report(options.measured(targets, reading), experiment=experiment)
    typer.echo(f"Logged to the run {run_id} of MLflow", err=True)
