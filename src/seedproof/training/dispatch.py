"""Assign runs to an engine, and wait for those that other coordinators are training."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain

from seedproof.engines import Engine, Failure, Outcome
from seedproof.records.location import Location
from seedproof.records.locks import is_locked
from seedproof.training.progress import Board
from seedproof.training.spec import RunSpec
from seedproof.training.worker import Trained, TrainRun, finished_in

# Pauses before looking again at runs that another coordinator is training.
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0
GROWTH = 1.5


@dataclass(frozen=True)
class Dispatcher:
    """Trains runs with an engine, each in one process of all coordinators at a time."""

    task: TrainRun
    engine: Engine
    listener: Board
    record: Callable[[RunSpec, Failure, int], None]  # stores a failure and its number of attempts

    def train(self, pending: Sequence[RunSpec]) -> None:
        """Train all runs that are free; wait for the others until they are finished or free."""
        pause = FIRST_PAUSE_SECONDS
        while pending:
            elsewhere = self._train_free(pending)
            has_progressed = len(elsewhere) < len(pending)
            pause = (
                FIRST_PAUSE_SECONDS
                if has_progressed
                else min(GROWTH * pause, LONGEST_PAUSE_SECONDS)
            )
            pending = elsewhere
            if pending:
                time.sleep(pause)

    def _train_free(self, pending: Sequence[RunSpec]) -> list[RunSpec]:
        """Train the runs that are free, and return those that are not."""
        elsewhere: list[RunSpec] = []
        batch: list[RunSpec] = []

        def free() -> Iterator[RunSpec]:
            """Yield runs when the engine has room for them, so that their locks are known."""
            for spec in pending:
                folder = self._folder(spec)
                finished = finished_in(folder)
                if finished is not None:
                    self.listener.finished(spec, finished)
                elif is_locked(folder):
                    elsewhere.append(spec)
                    self.listener.elsewhere(spec)
                else:
                    batch.append(spec)
                    yield spec

        runs = free()
        first = next(runs, None)
        if first is None:  # an engine may connect to a cluster before it reads its items
            return elsewhere
        outcomes = self.engine.map(
            self.task,
            chain([first], runs),
            on_start=lambda index: self.listener.started(batch[index]),
        )
        with closing(_closable(outcomes)) as outcomes:
            for outcome in outcomes:
                spec = batch[outcome.index]
                if outcome.failure is not None:
                    failure = self.task.masked.hide_in(outcome.failure)
                    self.record(spec, failure, outcome.attempts)
                    self.listener.failed(spec, failure)
                elif outcome.result is not None and outcome.result.status == "elsewhere":
                    elsewhere.append(spec)
                    self.listener.elsewhere(spec)
                elif outcome.result is not None:
                    self.listener.finished(spec, outcome.result)
        return elsewhere

    def _folder(self, spec: RunSpec) -> Location:
        return self.task.store / "runs" / spec.run_id


def _closable(outcomes: Iterable[Outcome[Trained]]) -> Generator[Outcome[Trained], None, None]:
    """Yield outcomes; closing this stops the work, whatever an engine returns."""
    yield from outcomes
