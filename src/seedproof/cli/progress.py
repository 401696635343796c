"""Progress bars: one that appears after two seconds, and one per phase."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

from seedproof.report.console import SafeConsole
from seedproof.typing import Progress as Callback

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, TaskID

    from seedproof.records.sort import Phases

PATIENCE_SECONDS = 2.0
# Between two lines in a log.
LINE_SECONDS = 10.0


@contextmanager
def progress_bar(console: Console | None = None) -> Iterator[Callback]:
    """Yield a callback that draws a bar on a terminal once the work takes long."""
    console = console or SafeConsole(stderr=True)
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
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn  # slow to load

    columns = (TextColumn("{task.description}"), BarColumn(), count, TimeRemainingColumn())
    return Progress(*columns, console=console, transient=transient)


@contextmanager
def phase_bars(console: Console | None = None) -> Iterator["Phases"]:
    """Yield a callback that draws a bar per phase; without a terminal, a line now and then."""
    from rich.progress import TaskProgressColumn

    console = console or SafeConsole(stderr=True)
    bars = _bars(TaskProgressColumn(), console=console, transient=False)
    tasks: dict[str, TaskID] = {}
    ended: set[str] = set()
    last_line = time.monotonic()

    def progress(phase: str, done: int, total: int) -> None:
        nonlocal last_line
        if console.is_terminal:
            if phase not in tasks:
                tasks[phase] = bars.add_task(phase)
            bars.update(tasks[phase], completed=done, total=total)
            return
        ends = done == total and phase not in ended
        if ends or time.monotonic() - last_line > LINE_SECONDS:
            last_line = time.monotonic()
            console.print(f"{phase}: {done / total:.0%}", highlight=False)
        if ends:
            ended.add(phase)

    if console.is_terminal:
        bars.start()
    try:
        yield progress
    finally:
        if bars.live.is_started:
            bars.stop()
