"""Options that several verbs share: what the targets are, and what their columns are called."""

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from seedproof.records.location import Location
    from seedproof.report.report import Report

Targets: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="TARGET...",
        help="A table (CSV, TSV, Parquet, JSONL), several (one a run), an .npz, or a store.",
        show_default=False,
    ),
]
Training: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="A script, or a function that takes the run: package.module:train.",
        show_default=False,
    ),
]
Arguments: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[-- ARGUMENT...]",
        help="The script's own; {seed}, {run} and {arm} are filled in.",
        show_default=False,
    ),
]
Show: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help="A further column, such as text, to show for the least stable examples."),
]
Run: TypeAlias = Annotated[str, typer.Option(help="Column: which training a row is from.")]
Example: TypeAlias = Annotated[str, typer.Option(help="Column of the example ids.")]
Label: TypeAlias = Annotated[str, typer.Option(help="Column of the gold classes.")]
Prediction: TypeAlias = Annotated[str, typer.Option(help="Column of predicted classes.")]
Probs: TypeAlias = Annotated[str, typer.Option(help="What probability columns begin with.")]
Arm: TypeAlias = Annotated[str | None, typer.Option(help="Which arm of a store.")]
Split: TypeAlias = Annotated[str | None, typer.Option(help="Which split of a store.")]
Memory: TypeAlias = Annotated[str, typer.Option(help="What sorting a table may use.")]


def measured(
    targets: Sequence[str],
    *,
    columns: tuple[str, str, str, str, str],
    arm: str | None,
    split: str | None,
    memory: str,
    metrics: Sequence[str] | None = None,
    engine: str = "serial",
    workers: int | None = None,
    address: str | None = None,
    examples: "Location | None" = None,
    skip_damaged: bool = False,
) -> "Report":
    """The report of the targets, with a progress bar where somebody can see it."""
    from rich.console import Console

    from seedproof.cli.progress import watching
    from seedproof.records.columns import Columns
    from seedproof.report import api

    with watching(Console(stderr=True)) as progress:
        return api.measure(
            list(targets),
            columns=Columns(*columns),
            arm=arm,
            split=split,
            memory=memory,
            metrics=metrics,
            engine=engine,
            workers=workers,
            address=address,
            examples=examples,
            skip_damaged=skip_damaged,
            progress=progress,
        )


def n_arms(targets: Sequence[str], *, skip_damaged: bool = False) -> int:
    """How many arms the target has; what is no store has one."""
    from seedproof.records.targets import open_store

    store = open_store(targets[0], skip_damaged=skip_damaged) if len(targets) == 1 else None
    return 1 if store is None else len(store.arms())


def command_line() -> str:
    """The command as it was typed, for the page's box on how it was made."""
    words = shlex.join(["seedproof", *sys.argv[1:]])
    # An argument may be the name of a file that is not UTF-8.
    return words.encode(errors="backslashreplace").decode()
