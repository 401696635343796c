"""A progress bar that shows up only when the work takes longer than two seconds."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from seedproof.typing import Progress as Callback

PATIENCE_SECONDS = 2.0


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
