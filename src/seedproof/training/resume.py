"""What is done of a study and what is left: the store tells, nobody remembers."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from seedproof.errors import CodeChangedError, RunExistsError, StudyChangedError
from seedproof.records.location import Location
from seedproof.records.manifest import FailureManifest, RunManifest, StudyManifest
from seedproof.records.reader import Store
from seedproof.training.code import EDITED, file_digest
from seedproof.training.spec import RunSpec, StudySpec
from seedproof.training.target import Target
from seedproof.training.worker import is_claimed

WAITING, RUNNING, FINISHED = "waiting", "running", "finished"
FAILED = ("failed", "killed", "timeout")
# What may become of a file or definition, as it is worded in messages.
CHANGES = {
    "edited": f"{{name}} was {EDITED}",
    "changed": "{name} has changed since",
    "gone": "{name} is gone",
}


@dataclass(frozen=True)
class RunState:
    """Where one run stands.

    Args:
        spec: Which run.
        index: Its place in the study, for `--only`.
        status: `waiting`, `running`, `finished`, `failed`, `killed` or `timeout`.
        seconds: How long it took, if it finished.
        scalars: The numbers that it logged.
        message: Why it did not finish.
        traceback: Where it raised.
    """

    spec: RunSpec
    index: int
    status: str
    seconds: float | None = None
    scalars: Mapping[str, float] = field(default_factory=dict)
    message: str = ""
    traceback: str = ""


@dataclass(frozen=True)
class Status:
    """Where a study stands.

    Args:
        study: Name of the study.
        runs: Every planned run.
    """

    study: str
    runs: tuple[RunState, ...]

    @property
    def counts(self) -> Counter[str]:
        """How many runs there are of each status."""
        return Counter(run.status for run in self.runs)

    @property
    def is_done(self) -> bool:
        """Whether every run is finished."""
        return all(run.status == FINISHED for run in self.runs)

    @property
    def failed(self) -> tuple[RunState, ...]:
        """The runs that raised, died or took too long, the last time that they were tried."""
        return tuple(r for r in self.runs if r.status in FAILED)

    def __str__(self) -> str:
        counts = ", ".join(f"{n} {status}" for status, n in sorted(self.counts.items()))
        return f"{self.study}: {counts or 'no runs'}"


class CommittedRuns:
    """The finished runs of a store, each read once: a committed run never changes."""

    def __init__(self, store: Location) -> None:
        self.store = store
        self._known: dict[str, RunManifest] = {}

    def all(self) -> tuple[RunManifest, ...]:
        """Return all that are there now, in the order of the plan."""
        if not Store.is_at(self.store):
            return ()
        runs = Store(self.store, known=self._known).runs
        self._known |= {run.run_id: run for run in runs}
        return runs

    def of(self, spec: RunSpec) -> RunManifest | None:
        """Return a planned run; None if it is not finished."""
        folder = self.store / "runs" / spec.run_id
        if not (folder / "run.json").is_file():
            return None
        if spec.run_id not in self._known:
            self._known[spec.run_id] = RunManifest.load(folder)
        return self._known[spec.run_id]


def status_of(
    store: Location, asked: StudySpec | None = None, runs: CommittedRuns | None = None
) -> Status:
    """Where the study in a store stands; nothing is written."""
    if asked is not None and not Store.is_at(store):
        spec = asked
    else:
        spec = planned(StudyManifest.load(store), store)
        spec = spec if asked is None else spec.joined(asked)
    runs = CommittedRuns(store) if runs is None else runs
    return Status(
        spec.name, tuple(_state(runs, run, index) for index, run in enumerate(spec.runs()))
    )


def planned(study: StudyManifest, store: Location) -> StudySpec:
    """The study that a store was made by."""
    if study.plan is None or "arms" not in study.plan:
        raise StudyChangedError(
            "{store} holds predictions that no study made. Give the store of a "
            "`seedproof run`; `seedproof measure` takes both.",
            store=store,
        )
    return StudySpec.from_json(study.name, study.plan)


def _state(runs: CommittedRuns, spec: RunSpec, index: int) -> RunState:
    folder = runs.store / "runs" / spec.run_id
    run = runs.of(spec)
    if run is not None:
        seconds = float(run.facts.get("seconds", 0.0))
        return RunState(spec, index, FINISHED, seconds, run.scalars)
    if is_claimed(folder):
        return RunState(spec, index, RUNNING)
    if (folder / "failure.json").is_file():
        failure = FailureManifest.load(folder)
        return RunState(
            spec, index, failure.status, message=failure.message, traceback=failure.traceback
        )
    return RunState(spec, index, WAITING)


def enter(store: Location, asked: StudySpec, runs: CommittedRuns | None = None) -> StudySpec:
    """Open the store for a study: make it, or join what is there."""
    runs = CommittedRuns(store) if runs is None else runs
    if not Store.is_at(store):
        try:
            store.make_folder()
            StudyManifest(asked.name, plan=asked.as_json()).write(store)
        except RunExistsError:
            pass  # another coordinator was faster, by a moment
        else:
            return asked
    manifest = StudyManifest.load(store)
    before = planned(manifest, store)
    try:
        joined = before.joined(asked)
    except StudyChangedError:
        # A slip in the first command must not lock the store: nothing is finished that it could
        # be mixed up with.
        if runs.all():
            raise
        joined = asked
    if joined != before:
        StudyManifest(joined.name, manifest.rows_per_group, joined.as_json()).replace(store)
    return joined


def check_code(runs: Iterable[RunManifest], target: Target) -> None:
    """Refuse to add runs of other code to those that are there."""
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
            first, by = seen.setdefault(name, (digest, run))
            if digest != first or digest == EDITED:
                raise CodeChangedError(
                    "{name} was edited while the study was on: runs {other_run!r} and {run!r} "
                    "were made by different code. Run it into another store, or leave it at that "
                    "with --allow-changed-code (allow_changed_code=True).",
                    name=name,
                    other_run=by.name,
                    run=run.name,
                )
