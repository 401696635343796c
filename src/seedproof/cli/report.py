"""`seedproof report`: one chart for a paper, or the page alone."""

from pathlib import Path
from typing import Annotated

import typer

from seedproof.cli import options


def report(
    targets: options.Targets,
    *,
    figure: Annotated[
        str | None, typer.Option(help="Which chart, such as flip_matrix; the whole page without.")
    ] = None,
    file_format: Annotated[
        str, typer.Option("--format", help="Format of the chart: png, svg or pdf.")
    ] = "png",
    out: Annotated[
        Path | None, typer.Option(help="File to write; named after the chart without.")
    ] = None,
    show: options.Show = None,
    run: options.Run = "run",
    example: options.Example = "example",
    label: options.Label = "label",
    prediction: options.Prediction = "prediction",
    probs: options.Probs = "p_",
    arm: options.Arm = None,
    split: options.Split = None,
    memory: options.Memory = "2GB",
) -> None:
    """Write one chart as a picture, or the whole page, without a browser."""
    columns = (run, example, label, prediction, probs)
    found = options.measured(targets, columns=columns, arm=arm, split=split, memory=memory)
    if figure is None:
        path = out or Path("report.html")
        found.to_html(path, show=show or (), command=options.command_line())
    else:
        path = out or Path(f"{figure}.{file_format}")
        found.picture(figure, file_format, path)
    typer.echo(f"Written to {path}", err=True)
