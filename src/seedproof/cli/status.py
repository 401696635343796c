"""`seedproof status`: where a study stands."""

import json
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from seedproof.training.resume import RunState, Status

# More runs than this, and finished ones are only counted.
MANY = 40


def status(
    store: Annotated[str, typer.Argument(help="The store of a study.", show_default=False)],
    *,
    every: Annotated[
        bool, typer.Option("--all", help="List every run, also when there are many.")
    ] = False,
    tracebacks: Annotated[
        bool, typer.Option("--tracebacks", help="Show where failed runs raised.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Show which runs of a study are finished, running, failed or waiting."""
    from rich.console import Console

    from seedproof.messages import printable
    from seedproof.records.location import Location
    from seedproof.training.resume import status_of

    found = status_of(Location.of(store))
    if as_json:
        sys.stdout.write(json.dumps(_plain(found), ensure_ascii=False) + "\n")
        return
    console = Console(soft_wrap=not sys.stdout.isatty())
    console.print(_table(found, every=every or len(found.runs) <= MANY))
    typer.echo("")
    typer.echo(printable(str(found)))
    if tracebacks:
        for run in found.failed:
            typer.echo(printable(f"run {run.spec.name} of {run.spec.arm}: {run.message}"))
            typer.echo(run.traceback)


def failures(failed: "Sequence[RunState]", at_most: int = 5) -> Iterator[str]:
    """A line for each run that did not finish, or for the first few."""
    from seedproof.messages import printable

    for run in failed[:at_most]:
        yield printable(f"  run {run.spec.name} of {run.spec.arm} {run.status}: {run.message}")
    if len(failed) > at_most:
        yield f"  and {len(failed) - at_most} more"


def _table(status: "Status", *, every: bool) -> object:
    from rich.table import Table
    from rich.text import Text

    from seedproof.messages import printable

    shown = [run for run in status.runs if every or run.status != "finished"]
    names = list(dict.fromkeys(name for run in shown for name in run.scalars))[:3]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("index", justify="right")
    table.add_column("arm")
    table.add_column("run")
    table.add_column("status")
    table.add_column("seconds", justify="right")
    for name in names:
        table.add_column(Text(printable(name)), justify="right")
    table.add_column("")
    for run in shown:
        cells = [f"{run.scalars[name]:.4g}" if name in run.scalars else "" for name in names]
        table.add_row(
            str(run.index),
            Text(printable(run.spec.arm)),
            Text(printable(run.spec.name)),
            Text(run.status, style="red" if run in status.failed else ""),
            "" if run.seconds is None else f"{run.seconds:.1f}",
            *cells,
            Text(printable(run.message)),
        )
    return table


def _plain(status: "Status") -> dict[str, object]:
    def one(run: "RunState") -> dict[str, object]:
        return {
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

    return {
        "study": status.study,
        "counts": dict(status.counts),
        "runs": [one(run) for run in status.runs],
    }
