"""Progress of a study: a live table on a terminal, plain lines elsewhere."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from textwrap import fill

import numpy as np
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from seedproof.engines import Failure
from seedproof.messages import Message, printable
from seedproof.report.console import SafeConsole
from seedproof.training.resume import FAILED, FINISHED, RUNNING, WAITING, RunState
from seedproof.training.spec import RunSpec
from seedproof.training.worker import Trained

N_MESSAGES = 5
LINE_WIDTH = 80


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation of a scalar over runs; no sd for a single run."""

    mean: float
    sd: float | None = None

    def __str__(self) -> str:
        return f"{self.mean:.4g}" if self.sd is None else f"{self.mean:.4g} ± {self.sd:.2g}"


@dataclass(frozen=True)
class Duration:
    """Seconds, printed as hours, minutes and seconds.

    >>> str(Duration(90))
    '1 min 30 s'
    """

    seconds: float

    def __str__(self) -> str:
        minutes, rest = divmod(round(self.seconds), 60)
        hours, minutes = divmod(minutes, 60)
        if hours:
            return f"{hours} h {minutes:02} min"
        return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


class Board:
    """Listener that counts the states of the runs, and draws them as a table."""

    def __init__(self, study: str, runs: Iterable[RunState], follow: str | None) -> None:
        states = list(runs)
        self.study = study
        # Runs that failed before are retried.
        self.status = {
            run.spec.run_id: WAITING if run.status in FAILED else run.status for run in states
        }
        self.arm_of = {run.spec.run_id: run.spec.arm for run in states}
        self.follow = follow
        self.values: dict[str, list[float]] = {run.spec.arm: [] for run in states}
        self.failures: list[Message] = []
        self.start = time.monotonic()
        self.n_before = self.n_done
        for run in states:
            self._follow(run.spec.arm, run.scalars)

    def _follow(self, arm: str, scalars: Mapping[str, float]) -> None:
        if self.follow is not None and self.follow in scalars:
            self.values[arm].append(scalars[self.follow])

    def started(self, run: RunSpec) -> None:
        """Note that a run began."""
        self.status[run.run_id] = RUNNING

    def elsewhere(self, run: RunSpec) -> None:
        """Note that another coordinator is training a run."""
        self.status[run.run_id] = WAITING

    def finished(self, run: RunSpec, result: Trained) -> None:
        """Note that a run is in the store."""
        self.status[run.run_id] = FINISHED
        self._follow(run.arm, result.scalars)

    def failed(self, run: RunSpec, failure: Failure) -> None:
        """Note that a run raised, crashed or took too long."""
        self.status[run.run_id] = failure.status
        self.failures.append(
            Message(
                "run-failed",
                "run {run} of arm {arm} {status}: {reason}",
                run=run.name,
                arm=run.arm,
                status=failure.status,
                reason=failure.message,
            )
        )

    @property
    def n_done(self) -> int:
        """Number of finished runs."""
        return sum(status == FINISHED for status in self.status.values())

    def seconds_left(self) -> float | None:
        """Return the expected time left; None before the first run ends."""
        n_ended = sum(status in {FINISHED, *FAILED} for status in self.status.values())
        if n_ended == self.n_before:
            return None
        per_run = (time.monotonic() - self.start) / (n_ended - self.n_before)
        return per_run * (len(self.status) - n_ended)

    def spread(self, arm: str) -> Spread | None:
        """Return mean and sd of the followed scalar over the finished runs of an arm."""
        values = self.values[arm]
        if not values:
            return None
        sd = float(np.std(values, ddof=1)) if len(values) > 1 else None
        return Spread(float(np.mean(values)), sd)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        head = Table.grid(padding=(0, 2))
        left = self.seconds_left()
        head.add_row(
            Text(printable(self.study), style="bold"),
            ProgressBar(total=len(self.status), completed=self.n_done, width=24),
            f"{self.n_done} of {len(self.status)}",
            "" if left is None or self.n_done == len(self.status) else f"{Duration(left)} left",
        )
        yield head
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        table.add_column("arm")
        for column in ("finished", "running", "failed", "waiting", self.follow):
            if column is not None:
                table.add_column(Text(printable(column)), justify="right")
        for arm in self.values:
            counts = Counter(s for i, s in self.status.items() if self.arm_of[i] == arm)
            n_failed = sum(counts[status] for status in FAILED)
            table.add_row(
                Text(printable(arm)),
                str(counts[FINISHED]),
                str(counts[RUNNING]),
                Text(str(n_failed), style="bold red" if n_failed else ""),
                str(counts[WAITING]),
                *([] if self.follow is None else [str(self.spread(arm) or "")]),
            )
        yield table
        for message in self.failures[-N_MESSAGES:]:
            yield Text(printable(str(message)), style="red", overflow="ellipsis", no_wrap=True)


class Failures(Board):
    """Listener that prints a line for each failed run, and nothing else."""

    def __init__(
        self, study: str, runs: Iterable[RunState], follow: str | None, console: Console
    ) -> None:
        super().__init__(study, runs, follow)
        self._console = console

    def _print(self, message: Message, *, width: int | None = None) -> None:
        text = printable(str(message))
        if width is not None:
            text = fill(text, width, subsequent_indent="  ", break_long_words=False)
        self._console.print(Text(text), soft_wrap=True)

    def failed(self, run: RunSpec, failure: Failure) -> None:
        """Note that a run raised, crashed or took too long."""
        super().failed(run, failure)
        self._print(self.failures[-1])


class Lines(Failures):
    """Listener that prints a line for each run that ends, for a log file."""

    def __init__(
        self, study: str, runs: Iterable[RunState], follow: str | None, console: Console
    ) -> None:
        super().__init__(study, runs, follow, console)
        if self.n_before:
            template = "Study {study!r}: {n_finished} of {n_runs} runs are already finished"
            sizes = {"n_finished": self.n_before, "n_runs": len(self.status)}
            self._print(Message("study-resumed", template, study=study, **sizes))

    def finished(self, run: RunSpec, result: Trained) -> None:
        """Note that a run is in the store."""
        super().finished(run, result)
        spread, left = self.spread(run.arm), self.seconds_left()
        followed = "" if spread is None else ", {follow} {spread}"
        rest = ", {left} left" if left else ""
        message = Message(
            "run-finished",
            "run {run} of arm {arm} finished in {seconds:.1f} s "
            f"({{n_finished}} of {{n_runs}}{followed}{rest})",
            run=run.name,
            arm=run.arm,
            seconds=result.seconds,
            n_finished=self.n_done,
            n_runs=len(self.status),
            follow=self.follow,
            spread=spread,
            left=Duration(left) if left else None,
        )
        self._print(message, width=LINE_WIDTH)


@contextmanager
def watch(
    study: str, runs: Iterable[RunState], *, shown: bool, follow: str | None
) -> Iterator[Board]:
    """Yield a listener that fits standard error: a live table, lines, or failures only."""
    console = SafeConsole(stderr=True)
    if not shown:
        yield Failures(study, runs, follow, console)
    elif not console.is_terminal:
        yield Lines(study, runs, follow, console)
    else:
        board = Board(study, runs, follow)
        with Live(board, console=console, refresh_per_second=4):
            yield board
