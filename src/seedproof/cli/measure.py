"""`seedproof measure`: how much did the seed decide?"""

import sys
from pathlib import Path
from typing import Annotated

import typer


def measure(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="TARGET...",
            help="A table (CSV, TSV, Parquet, JSONL), several (one a run), an .npz, or a store.",
            show_default=False,
        ),
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="Write summary.json and examples.parquet into this folder."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON and nothing else.")
    ] = False,
    show: Annotated[
        list[str] | None,
        typer.Option(help="A further column, such as text, to show for the least stable examples."),
    ] = None,
    run: Annotated[
        str, typer.Option(help="Column that says which training a row is from.")
    ] = "run",
    example: Annotated[str, typer.Option(help="Column of the example ids.")] = "example",
    label: Annotated[str, typer.Option(help="Column of the gold classes.")] = "label",
    prediction: Annotated[str, typer.Option(help="Column of predicted classes.")] = "prediction",
    probs: Annotated[str, typer.Option(help="What probability columns begin with.")] = "p_",
    arm: Annotated[str | None, typer.Option(help="Which arm of a store.")] = None,
    split: Annotated[str | None, typer.Option(help="Which split of a store.")] = None,
    memory: Annotated[str, typer.Option(help="What sorting a table may use.")] = "2GB",
) -> None:
    """Measure how much of the predictions the seed decided.

    A table has the columns run, example, label (may be absent) and either prediction or one
    probability a class, p_<class>.
    """
    from rich.console import Console

    from seedproof.cli.progress import watching
    from seedproof.records.columns import Columns
    from seedproof.report import api
    from seedproof.report.text import as_text, render

    with watching(Console(stderr=True)) as progress:
        report = api.measure(
            targets,
            columns=Columns(run, example, label, prediction, probs),
            arm=arm,
            split=split,
            memory=memory,
            progress=progress,
        )
    if out is not None:
        report.save(out)
    if as_json:
        sys.stdout.write(report.to_json())
        return
    view = report.view(show=show or ())
    if sys.stdout.isatty():
        Console().print(render(view))
    else:
        typer.echo(as_text(view))
    if out is not None:
        typer.echo(f"Written to {out}: summary.json, examples.parquet", err=True)
