"""`seedproof doctor`: does a training obey its seeds?"""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from seedproof.cli import options
from seedproof.cli.documents import print_document
from seedproof.exit_codes import ExitCode

if TYPE_CHECKING:
    from seedproof.doctor.examine import Diagnosis

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
        int | None, typer.Option(help="Stop each training run after this many optimizer steps.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Stop each training run after this many seconds.")
    ] = None,
    arm: Annotated[str, typer.Option(help="Name of the arm to train.")] = "none",
    threads_per_run: Annotated[int, typer.Option(help="Threads per training run.")] = 1,
    workers: Annotated[int | None, typer.Option(help="Number of training runs at a time.")] = None,
    as_json: options.Json = False,
) -> None:
    """Check with a few short runs that the seed controls training.

    Your script writes its usual files, and may overwrite existing ones with those of partly trained
    models, so make copies first.

    Exit code 0: no faults. 1: at least one fault. 4: the training itself fails.
    """
    from seedproof.doctor.examine import examine
    from seedproof.report.console import SafeConsole
    from seedproof.training.masking import mask_arguments
    from seedproof.training.target import find_target

    words = tuple(arguments or ())
    with SafeConsole(stderr=True).status("training") as status:
        diagnosis = examine(
            find_target(target, words),
            arm=arm,
            arguments=words,
            threads=threads_per_run,
            steps=steps,
            seconds=seconds,
            workers=workers,
            on_probe=lambda name: status.update(f"training: {name}"),
        )
    if diagnosis.failure is not None:
        hidden = mask_arguments(words).hide_in(diagnosis.failure)
        diagnosis = replace(diagnosis, failure=hidden)
    if as_json:
        print_document(diagnosis.as_json())
    else:
        _show(diagnosis)
    if diagnosis.failure is not None:
        raise typer.Exit(ExitCode.TRAINING_FAILED)
    if not diagnosis.is_healthy:
        raise typer.Exit(ExitCode.FAILED)


def _show(diagnosis: "Diagnosis") -> None:
    from rich.table import Table
    from rich.text import Text

    from seedproof.messages import printable
    from seedproof.report.console import SafeConsole

    console = SafeConsole()
    if diagnosis.failure is not None:
        start = f"{diagnosis.target} fails ({diagnosis.during}): "
        console.print(Text(start + printable(str(diagnosis.failure.message)), style="red"))
        console.print(Text(diagnosis.failure.traceback.rstrip()))
        return
    for finding in diagnosis.findings:
        sign, style = SIGNS[finding.verdict]
        console.print(Text(f"{sign} {finding.check}", style=f"bold {style}"))
        grid = Table.grid(padding=(0, 1))
        parts = {"found": finding.observed, "why": finding.cause, "fix": finding.fix}
        for name, message in parts.items():
            if message is not None:
                grid.add_row(" ", Text(name, style="dim"), Text(printable(str(message))))
        console.print(grid)
    verdicts = [finding.verdict for finding in diagnosis.findings]
    n_faults, n_warnings = verdicts.count("fail"), verdicts.count("warn")
    faults = f"{n_faults or 'No'} fault{'s' * (n_faults != 1)}"
    warnings = f", {n_warnings} warning{'s' * (n_warnings != 1)}" if n_warnings else ""
    console.print(Text(f"\n{faults}{warnings}."))
