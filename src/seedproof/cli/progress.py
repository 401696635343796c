"""Progress bars: one that shows up when work takes longer than two seconds, one for each phase."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

from seedproof.typing import Progress as Callback

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, TaskID

    from seedproof.records.sort import Phases

PATIENCE_SECONDS = 2.0
# Between two lines in a log.
LINE_SECONDS = 10.0


@contextmanager
def watching(console: Console) -> Iterator[Callback]:
    """A callback that draws a bar once it is worth it, and never where nobody can see it."""
    bar: Progress | None = None
    start = time.monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal bar
        if time.monotonic() - start < PATIENCE_SECONDS or not console.is_terminal:
            return
        if bar is None:
            from rich.progress import MofNCompleteColumn

            bar = _bars(MofNCompleteColumn(), console=console, transient=True)
            bar.add_task("measuring", total=None)
            bar.start()
        bar.update(bar.task_ids[0], completed=done, total=total)

    try:
        yield progress
    finally:
        if bar is not None:
            bar.stop()


def _bars(count: "ProgressColumn", *, console: Console, transient: bool) -> "Progress":
    """Bars with a name, a count and the time that is left; slow to load, and seldom seen."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    name = TextColumn("{task.description}")
    columns = (name, BarColumn(), count, TimeRemainingColumn())
    return Progress(*columns, console=console, transient=transient)


@contextmanager
def watching_phases(console: Console) -> Iterator["Phases"]:
    """A callback that draws a bar for each phase; lines now and then where there is no terminal."""
    from rich.progress import TaskProgressColumn

    bars = _bars(TaskProgressColumn(), console=console, transient=False)
    tasks: dict[str, TaskID] = {}
    ended: set[str] = set()
    told = time.monotonic()

    def progress(phase: str, done: int, total: int) -> None:
        nonlocal told
        if not console.is_terminal:
            ends = done == total and phase not in ended
            if ends or time.monotonic() - told > LINE_SECONDS:
                told = time.monotonic()
                console.print(f"{phase}: {done / total:.0%}", highlight=False)
            if ends:
                ended.add(phase)
            return
        if phase not in tasks:
            tasks[phase] = bars.add_task(phase)
        bars.update(tasks[phase], completed=done, total=total)

    if console.is_terminal:
        bars.start()
    try:
        yield progress
    finally:
        if bars.live.is_started:
            bars.stop()
