"""State of a study: what is finished and what is left, read from its store."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from seedproof.errors import CodeChangedError, SeedproofError, StudyChangedError
from seedproof.predictions.arms import checks_of_store
from seedproof.predictions.checks import Check
from seedproof.records.declared import declare_runs
from seedproof.records.location import Location
from seedproof.records.locks import is_locked, plan_locked
from seedproof.records.manifest import FailureManifest, RunManifest, StudyManifest
from seedproof.records.reader import Store, load_run
from seedproof.training.code import EDITED, file_digest
from seedproof.training.spec import RunSpec, StudySpec
from seedproof.training.target import Target

WAITING, RUNNING, FINISHED = "waiting", "running", "finished"
FAILED = ("failed", "killed", "timeout")
# How a file or definition may have changed since a run.
CHANGES = {
    "edited": f"{{name}} was {EDITED}",
    "changed": "{name} has changed since",
    "gone": "{name} is gone",
}


@dataclass(frozen=True)
class RunState:
    """State of one run.

    Args:
        spec: The run.
        index: Its position in the study, for `--only`.
        status: `waiting`, `running`, `finished`, `failed`, `killed` or `timeout`.
        seconds: Training time, if it is finished.
        scalars: The scalars that it logged.
        message: Why it did not finish.
        traceback: Traceback, if it raised.
    """

    spec: RunSpec
    index: int
    status: str
    seconds: float | None = None
    scalars: Mapping[str, float] = field(default_factory=dict)
    message: str = ""
    traceback: str = ""


@dataclass(frozen=True, repr=False)
class Status:
    """State of a study.

    Args:
        study: Name of the study.
        runs: Every planned run.
    """

    study: str
    runs: tuple[RunState, ...]

    @property
    def counts(self) -> Counter[str]:
        """Number of runs by status."""
        return Counter(run.status for run in self.runs)

    @property
    def is_done(self) -> bool:
        """True if every run is finished."""
        return all(run.status == FINISHED for run in self.runs)

    @property
    def failed(self) -> tuple[RunState, ...]:
        """Runs whose last attempt raised, crashed or took too long."""
        return tuple(r for r in self.runs if r.status in FAILED)

    def __repr__(self) -> str:
        return f"<Status of {self}>"

    def __str__(self) -> str:
        counts = ", ".join(f"{n} {status}" for status, n in sorted(self.counts.items()))
        return f"Study {self.study!r}: {counts or 'no runs'}"


class CommittedRuns:
    """Finished runs of a store, each read once: a committed run never changes."""

    def __init__(self, store: Location) -> None:
        self.store = store
        self._known: dict[str, RunManifest] = {}

    def all(self) -> tuple[RunManifest, ...]:
        """Return all finished runs, in the order of the plan."""
        if not Store.is_at(self.store):
            return ()
        runs = Store(self.store, known=self._known).runs
        self._known |= {run.run_id: run for run in runs}
        return runs

    def checks(self) -> tuple[Check, ...]:
        """Return the findings about them; none if they cannot be read, as measuring them says.

        Missing and few runs are left out: the status has them.
        """
        try:
            self.all()
            checks = checks_of_store(Store(self.store, known=self._known))
        except SeedproofError:
            return ()
        return tuple(check for check in checks if check.name not in {"missing-runs", "few-runs"})

    def of(self, spec: RunSpec) -> RunManifest | None:
        """Return a planned run; None if it is not finished."""
        folder = self.store / "runs" / spec.run_id
        if not (folder / "run.json").is_file():
            return None
        if spec.run_id not in self._known:
            self._known[spec.run_id] = load_run(folder)
        return self._known[spec.run_id]


def status_of(
    store: Location, requested: StudySpec | None = None, runs: CommittedRuns | None = None
) -> Status:
    """Return the state of the study in a store; write nothing."""
    if requested is not None and not Store.is_at(store):
        spec = requested
    else:
        spec = planned(StudyManifest.load(store), store)
        spec = spec if requested is None else spec.joined(requested)
    runs = CommittedRuns(store) if runs is None else runs
    return Status(
        spec.name, tuple(_state(runs, run, index) for index, run in enumerate(spec.runs()))
    )


def planned(study: StudyManifest, store: Location) -> StudySpec:
    """Return the study that wrote a store."""
    if study.planned.seeds is None or not study.planned.arms:
        raise StudyChangedError(
            "{store} was not written by a study. Pass a store of `seedproof run`; "
            "`seedproof measure` takes any store.",
            store=store,
        )
    return StudySpec(study.name, **vars(study.planned))


def _state(runs: CommittedRuns, spec: RunSpec, index: int) -> RunState:
    folder = runs.store / "runs" / spec.run_id
    run = runs.of(spec)
    if run is not None:
        seconds = float(run.facts.get("seconds", 0.0))
        return RunState(spec, index, FINISHED, seconds, run.scalars)
    if is_locked(folder):
        return RunState(spec, index, RUNNING)
    if (folder / "failure.json").is_file():
        failure = FailureManifest.load(folder)
        return RunState(
            spec, index, failure.status, message=failure.message, traceback=failure.traceback
        )
    return RunState(spec, index, WAITING)


def enter(
    store: Location,
    requested: StudySpec,
    runs: CommittedRuns | None = None,
    *,
    declared: int | None = None,
) -> StudySpec:
    """Create the store of a study, or add the requested runs to its plan.

    The first plan declares its number of runs, unless another number is given.
    """
    runs = CommittedRuns(store) if runs is None else runs
    if Store.is_at(store):
        # Nothing is locked or written if the plan has these runs, so that a store may be read-only.
        before = planned(StudyManifest.load(store), store)
        joined = _joined(before, store, requested, runs)
        if joined == before and declared is None and runs.all():
            return joined
    else:
        store.make_folder(durable=True)
    with plan_locked(store):
        return _entered(store, requested, runs, declared)


def _entered(
    store: Location, requested: StudySpec, runs: CommittedRuns, declared: int | None
) -> StudySpec:
    """Write the plan with the requested runs, and the number of runs that is declared."""
    if Store.is_at(store):
        manifest = StudyManifest.load(store)
        before = planned(manifest, store)
        joined = _joined(before, store, requested, runs)
        if joined != before:
            StudyManifest(joined.name, manifest.rows_per_group, joined.as_json()).replace(store)
    else:
        joined = requested
        StudyManifest(requested.name, plan=requested.as_json()).write(store)
    # Until a run is finished, nothing was looked at.
    is_begun = bool(runs.all())
    if not is_begun or declared is not None:
        n_runs = joined.seeds.n_runs if declared is None else declared
        declare_runs(store, n_runs, is_begun=is_begun)
    return joined


def _joined(
    before: StudySpec, store: Location, requested: StudySpec, runs: CommittedRuns
) -> StudySpec:
    """Return the plan of a store together with the requested runs."""
    try:
        return before.joined(requested)
    except StudyChangedError:
        # A typo in the first command must not block the store: without runs that are finished or
        # being trained, nothing can be mixed up.
        if runs.all() or any(is_locked(store / "runs" / run.run_id) for run in before.runs()):
            raise
        return requested


def check_code(runs: Iterable[RunManifest], target: Target) -> None:
    """Refuse to add runs of different code to the finished ones."""
    now = target.code()
    for run in runs:
        for name, before in run.facts.get("code", {}).items():
            change = _change(name, before, now, target)
            if change is not None:
                raise CodeChangedError(
                    f"Run {{run!r}} of arm {{arm!r}} is finished, and {CHANGES[change]}. Runs of "
                    "different code cannot be compared: use another store, or allow it with "
                    "--allow-changed-code (allow_changed_code=True).",
                    run=run.name,
                    arm=run.arm,
                    name=name,
                    change=change,
                )


def _change(
    name: str, before: str, now: Mapping[str, str], target: Target
) -> Literal["edited", "changed", "gone"] | None:
    """Return how a file or definition differs from what a run recorded; None if it does not."""
    if before == EDITED:
        return "edited"
    if name not in now and not name.endswith(".py"):
        return "gone"
    after = now[name] if name in now else file_digest(target.root / name)
    if after == before:
        return None
    return "gone" if after == "" else "changed"


def check_one_code(runs: Iterable[RunManifest]) -> None:
    """Refuse finished runs that were made by different code."""
    seen: dict[str, tuple[str, RunManifest]] = {}
    for run in runs:
        for name, digest in run.facts.get("code", {}).items():
            first, first_run = seen.setdefault(name, (digest, run))
            if digest != first or digest == EDITED:
                raise CodeChangedError(
                    "{name} was edited during the study: runs {other_run!r} and {run!r} were made "
                    "by different code. Use another store, or allow it with --allow-changed-code "
                    "(allow_changed_code=True).",
                    name=name,
                    other_run=first_run.name,
                    run=run.name,
                )
