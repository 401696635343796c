"""`sp.Study`: the same training under many seeds, resumable."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from seedproof.engines import Engine, Failure, SerialEngine
from seedproof.engines.named import build_engine
from seedproof.engines.serial import as_failure
from seedproof.errors import OptionError, RunExistsError
from seedproof.predictions.checks import Check
from seedproof.records.declared import NOTHING, declared_runs, planned_runs
from seedproof.records.location import Location, writing
from seedproof.records.locks import Lock, claim
from seedproof.records.manifest import FailureManifest
from seedproof.records.reader import Store
from seedproof.seeds import SeedPlan
from seedproof.stats.looks import LOOKS, planned_looks
from seedproof.training.dispatch import Dispatcher
from seedproof.training.masking import mask_arguments
from seedproof.training.progress import Board, watch
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
from seedproof.training.spec import RunSpec, StudySpec, as_plan
from seedproof.training.target import Target, Train, as_target
from seedproof.training.worker import TrainRun
from seedproof.typing import check_count

if TYPE_CHECKING:
    from seedproof.report.comparison.report import ComparisonReport
    from seedproof.report.gate_report import GateReport
    from seedproof.report.report import Report
    from seedproof.report.side_by_side import SideBySide

TAIL_BYTES = 2000


class RunOptions(TypedDict, total=False):
    """Options of `Study.run`; see its arguments."""

    engine: str | Engine
    workers: int | None
    timeout: float | None
    retries: int | None
    allow_changed_code: bool
    progress: bool
    follow: str | None
    settings: Mapping[str, Any] | None


class Study:
    """One training under many seeds, in one or several arms.

    Args:
        name: Name of the study; part of every run's id.
        train: Called with each run: `def train(run): ...`.
        seeds: Number of seeds, or a plan of what varies.
        arms: Names of the arms, which share the seeds; the function reads `run.arm`.
        store: Where to write records: a folder, or a URL such as s3://bucket/folder.
        arguments: Available to the function as `run.arguments`; part of every run's id. What looks
            like a secret, such as the value of --api-key, is masked in ids and records.
        threads_per_run: Threads per run; the results depend on it.
        deterministic: Make torch use deterministic algorithms.
        seed: Root of all seeds.
        declared_runs: Number of runs per arm at which the study is judged. If omitted, that of the
            first plan; recorded with the first runs, and never changed.
        record_arguments: If False, the arguments are neither recorded nor part of the ids.

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
        declared_runs: int | None = None,
        record_arguments: bool = True,
    ) -> None:
        if declared_runs is not None:
            check_count("declared_runs", declared_runs, least=0)
        self._declared = declared_runs
        self._target = as_target(train)
        self._arguments = tuple(map(str, arguments))
        self._masked = mask_arguments(self._arguments)
        self._spec = StudySpec(
            name=name,
            target=self._target.name,
            seeds=as_plan(seeds, seed=seed),
            arms=(arms,) if isinstance(arms, str) else tuple(arms),
            arguments=self._masked.arguments if record_arguments else (),
            threads=threads_per_run,
            deterministic=deterministic,
        )
        self._store = Location.of(store)
        self._address = str(store) if isinstance(store, Location) else os.fspath(store)
        self._handed_out: set[str] = set()
        self._claims: dict[str, Lock] = {}  # of the runs between `ask` and `tell`
        self._committed = CommittedRuns(self._store)

    @property
    def store(self) -> str:
        """Folder or URL of the records."""
        return self._address

    @property
    def masked(self) -> tuple[str, ...]:
        """Names of the arguments whose values are masked in records, such as `--api-key`."""
        return self._masked.names

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
        """Train every run that is not finished; a second call does nothing.

        Runs that failed before are retried. A run that raises, crashes or takes too long is
        recorded, and the others continue. Runs that another process is training are awaited; those
        that `ask` returned are left to your loop.

        Args:
            engine: `serial`, `processes`, `ray`, `slurm`, or an engine of your own.
            workers: Number of runs at a time. If omitted, the engine decides.
            timeout: Time limit per run, in seconds.
            retries: Number of retries after a crash of the process. If omitted, 2.
            only: Train only the run with this index, as in a job array.
            allow_changed_code: Keep finished runs of different code.
            progress: Show progress on standard error; failed runs are always reported there.
            follow: A scalar whose mean and sd over the finished runs is shown.
            settings: Further settings of the engine, such as `{"gpus": 0.5}`.

        Returns:
            The state of every run.
        """
        given: dict[str, Any] = {"workers": workers, "timeout": timeout, "retries": retries}
        if isinstance(engine, str):
            engine = build_engine(engine, **given, threads=self._spec.threads, **(settings or {}))
        else:
            given |= {"settings": settings or None}
            misplaced = tuple(name for name, value in given.items() if value is not None)
            if misplaced:
                raise OptionError(
                    "workers, timeout, retries and settings do not apply to an engine object. Set "
                    "them when you create it.",
                    options=misplaced,
                )
        runs = self.planned(only)
        committed = self._committed = CommittedRuns(self._store)
        if not allow_changed_code:
            check_code(committed.all(), self._target)
        joined = enter(self._store, self._spec, committed, declared=self._declared)
        done = {run.spec.run_id: run for run in status_of(self._store, runs=committed).runs}
        # Another coordinator may have just replaced the plan by one without these runs.
        states = [
            done.get(run.run_id, RunState(run, index, WAITING)) for index, run in enumerate(runs)
        ]
        pending = [
            state.spec
            for state in states
            if state.status != FINISHED and state.spec.run_id not in self._claims
        ]
        with watch(joined.name, states, shown=progress, follow=follow) as listener:
            self._train(pending, engine, listener)
        status = status_of(self._store, self._spec, committed)
        if Store.is_at(self._store):
            # Without locks, another coordinator may have replaced the plan at the same moment.
            enter(self._store, self._spec, committed)
        if not allow_changed_code:
            check_one_code(committed.all())
        return status

    def run_until(
        self,
        *,
        max: Mapping[str, float] | None = None,  # noqa: A002 - as `sp.gate` says
        min: Mapping[str, float] | None = None,  # noqa: A002 - same
        max_seeds: int = LOOKS[-1],
        split: str | None = None,
        on_look: "Callable[[GateReport], None] | None" = None,
        **options: Unpack[RunOptions],
    ) -> "GateReport":
        """Add seeds until limits are decided: train 5, 10, 20, 40, then 80 runs.

        After each step the finished runs are judged like by `sp.gate`. Stops when the gate decides,
        when further runs would not help, or when a run fails. A second call continues.

        Args:
            max: Upper limits by metric.
            min: Lower limits by metric.
            max_seeds: The largest number of seeds.
            split: Name of the split; may be omitted if there is only one.
            on_look: Called with the verdict of each look.
            **options: As `run` takes them, such as `engine` and `workers`.

        Returns:
            The verdict of the last look.

        Raises:
            OptionError: The study has several arms or another plan than a number of seeds, or
                `max_seeds` allows no look.
        """
        from seedproof.api.gate import gate

        if self._spec.seeds.kind != "all" or len(self._spec.arms) > 1:
            raise OptionError(
                "A study that grows until it is decided has one arm and varies all sources "
                "together. Leave out --vary, --blame and --arms.",
                option="--until-decided",
            )
        has_begun = bool(CommittedRuns(self._store).all())
        declared = declared_runs(self._store) if has_begun else NOTHING
        n_planned = (planned_runs(self._store) or 0) if has_begun else 0
        steps = [n for n in planned_looks(declared) if n_planned <= n <= max_seeds]
        if not steps:
            raise OptionError(
                "--max-seeds {max_seeds} allows no look. The next one has {next_look} runs.",
                option="--max-seeds",
                max_seeds=max_seeds,
                next_look=next((n for n in planned_looks(declared) if n >= n_planned), None),
            )
        for n_seeds in steps:
            self._spec = replace(
                self._spec, seeds=SeedPlan.all(n_seeds, root=self._spec.seeds.root)
            )
            self._declared = None if has_begun else NOTHING
            status = self.run(**options)
            has_begun = True
            report = gate(self._store, max=max, min=min, arm=self._spec.arms[0], split=split)
            if on_look is not None:
                on_look(report)
            if not report.result.can_grow or not status.is_done:
                break
        return report

    @property
    def checks(self) -> tuple[Check, ...]:
        """Findings about the finished runs, such as copies of a run; errors first."""
        return self._committed.checks()

    def planned(self, only: int | None = None) -> Sequence[RunSpec]:
        """Return the runs that this object requests; a store may hold more.

        Args:
            only: Index of a single run.

        Returns:
            What decides each run's outcome.

        Raises:
            OptionError: There is no run with that index.
        """
        runs = self._spec.runs()
        if only is None:
            return runs
        if not 0 <= only < len(runs):
            raise OptionError(
                "There is no run {only}. The study has runs 0 to {highest}.",
                only=only,
                highest=len(runs) - 1,
            )
        return [runs[only]]

    def _train(self, pending: Sequence[RunSpec], engine: Engine, listener: Board) -> None:
        task = TrainRun(
            self._store,
            self._target,
            dict(self._target.code()),
            is_alone=not isinstance(engine, SerialEngine),
            arguments=self._arguments,
        )
        with writing(self._store):
            Dispatcher(task, engine, listener, self._record).train(pending)

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
        """Return the last output of a run that crashed."""
        log = self._folder(spec) / "log.txt"
        if not log.is_file():
            return ""
        tail = log.read_bytes(max(0, log.size() - TAIL_BYTES)).decode(errors="replace")
        return self._masked.hide(f"The end of {log}:\n{tail}")

    def _folder(self, spec: RunSpec) -> Location:
        return self._store / "runs" / spec.run_id

    def status(self) -> Status:
        """Return the state of every run, including those of other coordinators."""
        return status_of(self._store, self._spec)

    def ask(self) -> Run | None:
        """Return a run that is not finished, for a loop of your own; None if there is none left.

        This object returns each run once. The run is locked until `tell`, so that no other program
        trains it; object stores have no locks. Train it inside `with run.active():`, which seeds
        everything, then call `tell`.

        Returns:
            The next run that no other process is training.
        """
        enter(self._store, self._spec, declared=self._declared)
        check_code(CommittedRuns(self._store).all(), self._target)
        for spec in self._spec.runs():
            if spec.run_id not in self._handed_out and self._claimed(spec):
                self._handed_out.add(spec.run_id)
                return Run(spec, self._folder(spec), arguments=self._arguments)
        return None

    def _claimed(self, spec: RunSpec) -> bool:
        """Lock a run; False if it is finished, or if another process is training it."""
        folder = self._folder(spec)
        if (folder / "run.json").is_file():
            return False
        if not folder.is_local:
            return True
        lock = claim(folder)
        if lock is None:
            return False
        if (folder / "run.json").is_file():  # finished a moment ago
            lock.release()
            return False
        self._claims[spec.run_id] = lock
        return True

    def tell(self, run: Run, error: BaseException | None = None) -> None:
        """Commit the records of a run that `ask` returned, or record its failure.

        Other programs may train the run from then on, if it has failed.

        Args:
            run: The run.
            error: The exception, if it failed.
        """
        try:
            if error is not None:
                self._record(run.spec, self._masked.hide_in(as_failure(error)))
                return
            # Another process may have finished it meanwhile.
            with suppress(RunExistsError), writing(self._store):
                run.commit({"target": self._target.name, "code": dict(self._target.code())})
        finally:
            lock = self._claims.pop(run.spec.run_id, None)
            if lock is not None:
                lock.release()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without locks, which belong to this process."""
        return vars(self) | {"_claims": {}}

    def measure(
        self,
        *,
        arm: str | None = None,
        split: str | None = None,
        tolerance: float | str | None = None,
        thresholds: Sequence[float] | float | None = None,
    ) -> "Report":
        """Measure how much the seed decides, over the finished runs of an arm.

        Args:
            arm: Name of the arm; may be omitted if there is only one.
            split: Name of the split; may be omitted if there is only one.
            tolerance: Numbers that differ by no more than this count as equal, such as "5%".
            thresholds: Two numbers on different sides of one of these are a flip.

        Returns:
            A report.
        """
        from seedproof.api.measure import measure  # slow to load, not needed to train

        return measure(
            self._store, arm=arm, split=split, tolerance=tolerance, thresholds=thresholds
        )

    def compare(
        self,
        *,
        baseline: str | None = None,
        gold: str | None = None,
        split: str | None = None,
        match_rates: bool = False,
    ) -> "ComparisonReport":
        """Compare each arm with a baseline.

        Args:
            baseline: Name of the baseline. If omitted, the arm `none`, or the first.
            gold: An arm, such as an ensemble, whose gain counts as 100 %.
            split: Name of the split; may be omitted if there is only one.
            match_rates: Move the thresholds of two classes so that all runs of an arm predict the
                second one equally often, and compare only these predictions.

        Returns:
            Every metric of each arm with its effect, interval and verdict.
        """
        from seedproof.api.compare import compare

        return compare(
            self._store, baseline=baseline, gold=gold, split=split, match_rates=match_rates
        )

    def measure_arms(self, *, split: str | None = None) -> "SideBySide":
        """Measure all arms, side by side.

        Args:
            split: Name of the split; may be omitted if there is only one.

        Returns:
            A report per arm.
        """
        from seedproof.api.measure import measure_arms

        return measure_arms(self._store, split=split)
