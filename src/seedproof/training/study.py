"""`sp.Study`: the same training under many seeds, resumable, and nothing lost."""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from seedproof.engines import Engine, Failure, SerialEngine
from seedproof.engines.named import build_engine
from seedproof.engines.serial import as_failure
from seedproof.errors import OptionError, RunExistsError
from seedproof.records.location import Location
from seedproof.records.manifest import FailureManifest
from seedproof.seeds import SeedPlan
from seedproof.training.progress import ProgressListener, watch
from seedproof.training.resume import (
    FINISHED,
    WAITING,
    CommittedRuns,
    RunState,
    Status,
    check_code,
    check_one_code,
    enter,
    status_of,
)
from seedproof.training.run import Run
from seedproof.training.spec import RunSpec, StudySpec, as_names, as_plan
from seedproof.training.target import Target, Train, as_target
from seedproof.training.worker import TrainRun, is_claimed

if TYPE_CHECKING:
    from seedproof.report.comparison.report import ComparisonReport
    from seedproof.report.report import Report
    from seedproof.report.side_by_side import SideBySide

# How long to wait before asking again for a run that another coordinator is at.
PATIENCE_SECONDS = 1.0
TAIL_BYTES = 2000


class Study:
    """One training under many seeds, in one or several arms.

    Args:
        name: Name of the study; part of every run's id.
        train: Called with each run: `def train(run): ...`.
        seeds: How many seeds, or a plan of what varies.
        arms: Names of the arms, which share the seeds; the function reads `run.arm`.
        store: Where records go: a folder, or a URL such as s3://bucket/folder.
        arguments: What the function finds in `run.arguments`; part of every run's id.
        threads_per_run: Threads that a run may use; another number gives other bits.
        deterministic: Whether torch is told to choose algorithms that are repeatable.
        seed: The number that every seed comes from.

    Examples:
        >>> import seedproof as sp
        >>> def train(run: sp.Run) -> None:
        ...     answers = run.rng("init").integers(0, 2, 100)
        ...     run.log_predictions("test", predictions=answers, labels=[0] * 100)
        >>> study = sp.Study("coin", train, seeds=3, store="coins")
        >>> study.run(engine="serial").is_done
        True
        >>> study.measure().measurement.n_runs
        3
    """

    def __init__(
        self,
        name: str,
        train: Train | Target,
        *,
        seeds: int | SeedPlan = 10,
        arms: Sequence[str] = ("none",),
        store: str | os.PathLike[str] | Location,
        arguments: Sequence[str] = (),
        threads_per_run: int = 1,
        deterministic: bool = True,
        seed: int = 0,
    ) -> None:
        self._target = as_target(train)
        self._asked = StudySpec(
            name=name,
            target=self._target.name,
            seeds=as_plan(seeds, seed=seed),
            arms=as_names(arms),
            arguments=tuple(map(str, arguments)),
            threads=threads_per_run,
            deterministic=deterministic,
        )
        self._store = Location.of(store)
        self._address = str(store) if isinstance(store, Location) else os.fspath(store)
        self._handed_out: set[str] = set()

    @property
    def store(self) -> str:
        """Where records go."""
        return self._address

    def run(
        self,
        engine: str | Engine = "processes",
        *,
        workers: int | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        only: int | None = None,
        allow_changed_code: bool = False,
        progress: bool = True,
        follow: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Status:
        """Make every run that is not finished; a second call does nothing.

        Runs that failed before are tried again. A run that raises, dies or takes too long is
        recorded, and the others go on.

        Args:
            engine: `serial`, `processes`, `ray`, `slurm`, or an engine of your own.
            workers: How many runs at a time; what the engine thinks fit without one.
            timeout: Seconds that a run may take.
            retries: How often a run is tried again after its process died; twice without a number.
            only: Make this one alone, by its index: for job arrays of your own.
            allow_changed_code: Whether finished runs of other code are accepted.
            progress: Whether to show on standard error how far it is; runs that fail are told there
                in any case.
            follow: A scalar whose mean and sd over the finished runs is shown.
            settings: What else the engine takes, such as `{"gpus": 0.5}`.

        Returns:
            Where every run stands.
        """
        given: dict[str, Any] = {"workers": workers, "timeout": timeout, "retries": retries}
        if isinstance(engine, str):
            engine = build_engine(engine, **given, threads=self._asked.threads, **(settings or {}))
        else:
            given |= {"settings": settings or None}
            misplaced = tuple(name for name, value in given.items() if value is not None)
            if misplaced:
                raise OptionError(
                    "workers, timeout, retries and settings belong to the engine that you made.",
                    options=misplaced,
                )
        runs = self.planned(only)
        committed = CommittedRuns(self._store)
        if not allow_changed_code:
            check_code(committed.all(), self._target)
        joined = enter(self._store, self._asked, committed)
        done = {run.spec.run_id: run for run in status_of(self._store, runs=committed).runs}
        # A coordinator that has just added an arm may have left these out of the plan.
        states = [
            done.get(run.run_id, RunState(run, index, WAITING)) for index, run in enumerate(runs)
        ]
        pending = [state.spec for state in states if state.status != FINISHED]
        with watch(joined.name, states, shown=progress, follow=follow) as seen:
            self._make(pending, engine, seen)
        if not allow_changed_code:
            check_one_code(committed.all())
        return status_of(self._store, self._asked, committed)

    def planned(self, only: int | None = None) -> Sequence[RunSpec]:
        """The runs that are asked for here; a store may hold more.

        Args:
            only: One of them alone, by its index.

        Returns:
            What decides each run's outcome.

        Raises:
            OptionError: There is no run of that index.
        """
        runs = self._asked.runs()
        if only is None:
            return runs
        if not 0 <= only < len(runs):
            raise OptionError(
                "There is no run {only}. The study has runs 0 to {highest}.",
                only=only,
                highest=len(runs) - 1,
            )
        return [runs[only]]

    def _make(self, pending: Sequence[RunSpec], engine: Engine, seen: ProgressListener) -> None:
        task = TrainRun(
            self._store,
            self._target,
            dict(self._target.code()),
            is_alone=not isinstance(engine, SerialEngine),
        )
        while pending:
            elsewhere: list[RunSpec] = []
            batch = pending

            def on_start(index: int, batch: Sequence[RunSpec] = batch) -> None:
                seen.started(batch[index])

            with closing(_iterator(engine.map(task, batch, on_start=on_start))) as outcomes:
                for outcome in outcomes:
                    spec = batch[outcome.index]
                    if outcome.failure is not None:
                        self._record(spec, outcome.failure, outcome.attempts)
                        seen.failed(spec, outcome.failure)
                    elif outcome.result is not None and outcome.result.status == "elsewhere":
                        elsewhere.append(spec)
                        seen.elsewhere(spec)
                    elif outcome.result is not None:
                        seen.finished(spec, outcome.result)
            pending = elsewhere
            if pending:
                time.sleep(PATIENCE_SECONDS)

    def _record(self, spec: RunSpec, failure: Failure, attempts: int = 1) -> None:
        FailureManifest(
            run_id=spec.run_id,
            name=spec.name,
            arm=spec.arm,
            status=failure.status,
            message=str(failure.message),
            traceback=failure.traceback or self._end_of_log(spec),
            attempts=attempts,
        ).write(self._folder(spec))

    def _end_of_log(self, spec: RunSpec) -> str:
        """What a run that died said last."""
        log = self._folder(spec) / "log.txt"
        if not log.is_file():
            return ""
        tail = log.read_bytes(max(0, log.size() - TAIL_BYTES)).decode(errors="replace")
        return f"The end of {log}:\n{tail}"

    def _folder(self, spec: RunSpec) -> Location:
        return self._store / "runs" / spec.run_id

    def status(self) -> Status:
        """Where every run stands, also those that other coordinators make."""
        return status_of(self._store, self._asked)

    def ask(self) -> Run | None:
        """A run that nobody has made yet, for a loop of your own; None when there is none left.

        Each run is handed out once by this object. Train it inside `with run.active():`, which
        seeds everything, then `tell`.

        Returns:
            The next run.
        """
        enter(self._store, self._asked)
        check_code(CommittedRuns(self._store).all(), self._target)
        for spec in self._asked.runs():
            folder = self._folder(spec)
            if spec.run_id in self._handed_out or (folder / "run.json").is_file():
                continue
            if not is_claimed(folder):
                self._handed_out.add(spec.run_id)
                return Run(spec, folder)
        return None

    def tell(self, run: Run, error: BaseException | None = None) -> None:
        """Say what came of a run that `ask` gave: commit its records, or record its failure.

        Args:
            run: The run.
            error: Why it failed; None if it is finished.
        """
        if error is not None:
            self._record(run.spec, as_failure(error))
            return
        with suppress(RunExistsError):  # somebody else made it meanwhile
            run.commit({"target": self._target.name, "code": dict(self._target.code())})

    def measure(self, *, arm: str | None = None, split: str | None = None) -> "Report":
        """How much the seed decided, of the finished runs of one arm.

        Args:
            arm: Which arm; may be left out if there is only one.
            split: Which split; may be left out if there is only one.

        Returns:
            A report.
        """
        from seedproof.api.measure import measure  # slow to load, and who trains needs none of it

        return measure(self._store, arm=arm, split=split)

    def compare(
        self,
        *,
        baseline: str | None = None,
        gold: str | None = None,
        split: str | None = None,
        match_rates: bool = False,
    ) -> "ComparisonReport":
        """What each arm changes against a baseline, and whether that is more than luck.

        Args:
            baseline: Name of the baseline; without it the arm `none`, or the first.
            gold: An arm, such as an ensemble, whose gain counts as 100 %.
            split: Which split; may be left out if there is only one.
            match_rates: Move the thresholds of two classes, so that all runs of an arm give the
                second one equally often, and compare these answers alone.

        Returns:
            Every metric of each arm with its effect, interval and verdict.
        """
        from seedproof.api.compare import compare

        return compare(
            self._store, baseline=baseline, gold=gold, split=split, match_rates=match_rates
        )

    def measure_arms(self, *, split: str | None = None) -> "SideBySide":
        """The reports of all arms, side by side.

        Args:
            split: Which split; may be left out if there is only one.

        Returns:
            A report for each arm.
        """
        from seedproof.api.measure import measure_arms

        return measure_arms(self._store, split=split)


def _iterator(outcomes: Any) -> Any:  # noqa: ANN401 - whatever an engine returns
    """Outcomes that can be closed, which stops the work."""
    if hasattr(outcomes, "close"):
        return outcomes
    return (outcome for outcome in outcomes)
