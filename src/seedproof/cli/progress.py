"""Progress bars: one that shows up when work takes longer than two seconds, one for each phase."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from seedproof.typing import Progress as Callback

if TYPE_CHECKING:
    from seedproof.records.sorted_rows import Phases

PATIENCE_SECONDS = 2.0
# Between two lines in a log.
LINE_SECONDS = 10.0


@contextmanager
def watching(console: Console) -> Iterator[Callback]:
    """A callback that draws a bar once it is worth it, and never where nobody can see it."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    task = bar.add_task("measuring", total=None)
    start = time.monotonic()

    def progress(done: int, total: int) -> None:
        if time.monotonic() - start < PATIENCE_SECONDS or not console.is_terminal:
            return
        if not bar.live.is_started:
            bar.start()
        bar.update(task, completed=done, total=total)

    try:
        yield progress
    finally:
        if bar.live.is_started:
            bar.stop()


@contextmanager
def watching_phases(console: Console) -> Iterator["Phases"]:
    """A callback that draws a bar for each phase; lines now and then where there is no terminal."""
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=console,
    )
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
