"""`seedproof report`: one chart for a paper, or the page alone."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seedproof.cli import options
from seedproof.errors import OptionError

if TYPE_CHECKING:
    from seedproof.predictions.options import LoadOptions


@options.reads_predictions
def report(
    targets: options.Targets,
    *,
    figure: Annotated[
        str | None, typer.Option(help="Which chart, such as flip_matrix; the whole page without.")
    ] = None,
    file_format: Annotated[
        str | None,
        typer.Option("--format", help="png, svg or pdf; as the ending of --out says without."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write; named after the chart without.")
    ] = None,
    show: options.Show = None,
    reading: "LoadOptions",
) -> None:
    """Write one chart, or the page alone."""
    found = options.measured(targets, reading)
    if figure is None:
        if file_format is not None:
            raise OptionError(
                "--format goes with --figure. Name a chart, such as flip_matrix.", option="--format"
            )
        path = out or Path("report.html")
        found.to_html(path, show=show or (), command=options.command_line())
    else:
        ending = "" if out is None else out.suffix.removeprefix(".").lower()
        chosen = file_format or ending or "png"
        if ending not in {"", chosen}:
            raise OptionError(
                "--format {file_format} contradicts the ending of --out, .{ending}.",
                file_format=chosen,
                ending=ending,
            )
        path = out or Path(f"{figure}.{chosen}")
        found.figure(figure).save(path, chosen)
    typer.echo(f"Written to {path}", err=True)
