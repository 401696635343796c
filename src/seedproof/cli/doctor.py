"""`seedproof doctor`: does a training obey its seeds?"""

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from seedproof.cli import options

if TYPE_CHECKING:
    from seedproof.doctor.examine import Diagnosis
    from seedproof.doctor.finding import Finding

FAULT, NO_TRAINING = 1, 4
SIGNS = {
    "pass": ("✓", "green"),
    "fail": ("✗", "red"),
    "warn": ("!", "yellow"),
    "skip": ("–", "dim"),
}


def doctor(
    target: options.Training,
    arguments: options.Arguments = None,
    *,
    steps: Annotated[
        int | None, typer.Option(help="End each training after this many optimizer steps.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="End each training after this time.")
    ] = None,
    arm: Annotated[str, typer.Option(help="The arm that it is told.")] = "none",
    threads_per_run: Annotated[int, typer.Option(help="Threads of each training.")] = 1,
    workers: Annotated[int | None, typer.Option(help="How many at a time.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Train briefly a few times, and find out whether the seed does what it should.

    What your training writes to files, it also writes here, half trained: keep those you need.

    Exit code 0 if nothing is wrong, 1 if something is, 4 if the training itself fails.
    """
    from rich.console import Console

    from seedproof.doctor.examine import examine
    from seedproof.training.target import find_target

    words = tuple(arguments or ())
    console = Console(stderr=True)
    with console.status("training") as status:
        found = examine(
            find_target(target, words),
            arm=arm,
            arguments=words,
            threads=threads_per_run,
            steps=steps,
            seconds=seconds,
            workers=workers,
            on_probe=lambda what: status.update(f"training: {what}"),
        )
    if as_json:
        sys.stdout.write(json.dumps(_plain(found), ensure_ascii=False) + "\n")
    else:
        _show(found)
    if found.failure is not None:
        raise typer.Exit(NO_TRAINING)
    if not found.is_healthy:
        raise typer.Exit(FAULT)


def _show(diagnosis: "Diagnosis") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from seedproof.messages import printable

    console = Console()
    if diagnosis.failure is not None:
        message = f"{diagnosis.target} does not train ({diagnosis.during}): "
        console.print(Text(message + printable(str(diagnosis.failure.message)), style="red"))
        console.print(Text(diagnosis.failure.traceback.rstrip()))
        return
    for finding in diagnosis.findings:
        sign, style = SIGNS[finding.verdict]
        console.print(Text(f"{sign} {finding.check}", style=f"bold {style}"))
        grid = Table.grid(padding=(0, 1))
        for name, text in _lines(finding):
            grid.add_row(" ", Text(name, style="dim"), Text(printable(text)))
        console.print(grid)
    n_faults = sum(finding.verdict == "fail" for finding in diagnosis.findings)
    n_warnings = sum(finding.verdict == "warn" for finding in diagnosis.findings)
    end = f"{n_faults or 'No'} fault{'s' * (n_faults > 1)} found"
    also = f", {n_warnings} to look at" if n_warnings else ""
    console.print(Text(f"\n{end}{also}."))


def _lines(finding: "Finding") -> list[tuple[str, str]]:
    parts = (("found", finding.observed), ("cause", finding.cause), ("fix", finding.fix))
    return [(name, str(message)) for name, message in parts if message is not None]


def _plain(diagnosis: "Diagnosis") -> dict[str, object]:
    from seedproof.doctor.finding import details

    failure = diagnosis.failure
    return {
        "target": diagnosis.target,
        "is_healthy": diagnosis.is_healthy,
        "failure": None if failure is None else str(failure.message),
        "traceback": None if failure is None else failure.traceback,
        "during": None if diagnosis.during is None else str(diagnosis.during),
        "during_code": None if diagnosis.during is None else diagnosis.during.code,
        "failure_details": None if failure is None else details(failure.message),
        "findings": [finding.as_json() for finding in diagnosis.findings],
    }
