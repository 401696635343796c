"""`seedproof status`: show the progress of a study."""

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from seedproof.cli import options
from seedproof.cli.documents import print_document

if TYPE_CHECKING:
    from rich.table import Table

    from seedproof.predictions.checks import Check
    from seedproof.training.resume import RunState, Status

# With more runs than this, finished ones are only counted.
MANY = 40


def status(
    store: options.StudyStore,
    *,
    every: Annotated[bool, typer.Option("--all", help="List every run.")] = False,
    tracebacks: Annotated[
        bool, typer.Option("--tracebacks", help="Show the tracebacks of failed runs.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Show which runs are finished, running, failed or waiting."""
    from seedproof.messages import printable
    from seedproof.records.location import Location
    from seedproof.report.console import SafeConsole
    from seedproof.training.resume import CommittedRuns, status_of

    runs = CommittedRuns(Location.of(store))
    current, checks = status_of(runs.store, runs=runs), runs.checks()
    if as_json:
        print_status(current, checks)
        return
    console = SafeConsole(soft_wrap=not sys.stdout.isatty())
    console.print(_table(current, every=every or len(current.runs) <= MANY))
    typer.echo("")
    typer.echo(printable(str(current)))
    show_checks(checks)
    if tracebacks:
        for run in current.failed:
            typer.echo(printable(f"run {run.spec.name} of arm {run.spec.arm}: {run.message}"))
            typer.echo(run.traceback)


def print_status(status: "Status", checks: "Sequence[Check]") -> None:
    """Print the state of a study and the findings about its runs as JSON."""
    print_document({**_as_json(status), "checks": [check.summary() for check in checks]})


def show_checks(checks: "Sequence[Check]", *, err: bool = False) -> None:
    """Print findings about the runs."""
    from shutil import get_terminal_size

    from seedproof.report.text import MAX_LINE, check_lines

    for lines in check_lines(checks, min(get_terminal_size().columns, MAX_LINE)):
        typer.echo(f"\n{lines}", err=err)


def failures(failed: "Sequence[RunState]", at_most: int = 5) -> Iterator[str]:
    """Yield a line for each of the first runs that did not finish."""
    from seedproof.messages import printable

    for run in failed[:at_most]:
        yield printable(f"  run {run.spec.name} of arm {run.spec.arm} {run.status}: {run.message}")
    if len(failed) > at_most:
        yield f"  and {len(failed) - at_most} more"


def _table(status: "Status", *, every: bool) -> "Table":
    from rich.table import Table
    from rich.text import Text

    from seedproof.messages import printable

    shown = [run for run in status.runs if every or run.status != "finished"]
    scalars = list(dict.fromkeys(name for run in shown for name in run.scalars))[:3]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("index", "arm", "run", "status", "seconds", *scalars, ""):
        is_number = name in {"index", "seconds", *scalars}
        table.add_column(Text(printable(name)), justify="right" if is_number else "left")
    for run in shown:
        table.add_row(
            str(run.index),
            Text(printable(run.spec.arm)),
            Text(printable(run.spec.name)),
            Text(run.status, style="red" if run in status.failed else ""),
            "" if run.seconds is None else f"{run.seconds:.1f}",
            *(f"{run.scalars[name]:.4g}" if name in run.scalars else "" for name in scalars),
            Text(printable(run.message)),
        )
    return table


def _as_json(status: "Status") -> dict[str, object]:
    runs = [
        {
            "index": run.index,
            "run_id": run.spec.run_id,
            "run": run.spec.name,
            "arm": run.spec.arm,
            "seeds": dict(run.spec.seeds),
            "status": run.status,
            "seconds": run.seconds,
            "scalars": dict(run.scalars),
            "message": run.message,
            "traceback": run.traceback,
        }
        for run in status.runs
    ]
    return {"study": status.study, "counts": dict(status.counts), "runs": runs}
