"""Runs of a tracker: their arms, seeds and metrics, and the table that each of them left."""

import os
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from seedproof.errors import EmptyInputError, OptionError, TooFewRunsError
from seedproof.logs.hydra import SEEDS, Job, Sweep
from seedproof.messages import Message
from seedproof.records.shards import natural_order

# Columns of the table of metrics, before one column per metric.
RUN, SEED, ARM = "run", "seed", "arm"
# Parameters that say where a run wrote, or what it was called.
PLACES = frozenset({
    *(f"{kind}_{end}" for kind in ("output", "out", "log", "logging", "save", "checkpoint", "run")
      for end in ("dir", "path", "file", "folder")),
    "run_name", "run_id", "run_uuid", "timestamp", "start_time", "hostname", "master_port",
})  # fmt: skip
# Folder of a run without a table; nothing is below it.
NOWHERE = Path(os.devnull)
# Length of the part of an id that distinguishes runs of the same name.
SHORT_ID = 8


@dataclass(frozen=True)
class RawRun:
    """A run as its tracker has it."""

    run_id: str
    name: str
    is_finished: bool
    status: str
    params: Mapping[str, str]
    metrics: Mapping[str, float]
    arm: str | None = None  # as the user named it
    group: str = ""  # name of its parent

    @property
    def seed(self) -> str:
        """All seeds among the parameters; empty if there are none."""
        return "-".join(value for key, value in self.params.items() if _is_seed(key))


@dataclass(frozen=True)
class TrackedRun(Job):
    """A run with the name of its arm; its table is in the folder, if it has one."""

    raw: RawRun = field(kw_only=True)
    arm_name: str = field(kw_only=True)
    label: str = field(kw_only=True)

    @property
    def arm(self) -> str:
        """Name of the arm."""
        return self.arm_name

    @property
    def run(self) -> str:
        """The seed, or the name of the run."""
        return self.label


@dataclass(frozen=True)
class Tracked(Sweep):
    """Runs of a tracker that left a table of the same name, or metrics if it is empty."""

    source: str = field(kw_only=True)

    @property
    def has_tables(self) -> bool:
        """True if runs left a table each."""
        return bool(self.name)

    @property
    def finished(self) -> list[TrackedRun]:
        """Runs that are finished."""
        return [job for job in self.jobs if isinstance(job, TrackedRun) and job.raw.is_finished]

    @property
    def failed(self) -> tuple[str, ...]:
        """Names of the runs that are not finished or left no table, each with its status."""
        lacking = [
            job
            for job in self.jobs
            if isinstance(job, TrackedRun)
            and not (job.raw.is_finished and (not self.name or job.file(self.name).is_file()))
        ]
        return tuple(f"{job.raw.name} ({job.raw.status})" for job in lacking)

    @property
    def title(self) -> str:
        """Subject of sentences about it."""
        return self.source

    def metrics(self) -> pa.Table:
        """Return the metrics of the finished runs, null where a run logged none.

        Returns:
            One row per run: its name, its seed if all have one, its arm, and a column per metric.

        Raises:
            EmptyInputError: No run has a metric.
        """
        runs = self.finished
        names = natural_order(list({name for run in runs for name in run.raw.metrics}))
        names = [name for name in names if name.lower() not in {RUN, SEED, ARM}]
        if not names:
            raise EmptyInputError(
                "The finished runs of {source} have neither metrics nor tables of predictions. "
                "Log a number per run with mlflow.log_metric, or a table with mlflow.log_table.",
                source=self.source,
            )
        columns: dict[str, object] = {RUN: [run.label for run in runs]}
        if all(run.raw.seed for run in runs):
            columns[SEED] = [run.raw.seed for run in runs]
        columns[ARM] = [run.arm_name for run in runs]
        for name in names:
            columns[name] = pa.array([run.raw.metrics.get(name) for run in runs], pa.float64())
        return pa.table(columns)


def tracked_runs(
    source: str,
    runs: Sequence[RawRun],
    folders: Mapping[str, Path],
    *,
    title: str,
    table: str,
    notes: Sequence[Message] = (),
) -> Tracked:
    """Return the runs of a tracker with their arms.

    Args:
        source: The target as the user wrote it.
        runs: All runs, finished or not.
        folders: Folder of the table of each run, by its id.
        title: Name of the arm, if there is only one.
        table: Name of the table in the folders; empty if runs are read by their metrics.
        notes: Notes on how the runs were read.

    Returns:
        The runs of all arms that have a finished run.

    Raises:
        TooFewRunsError: No run is finished.
        OptionError: No two runs have the same parameters, apart from seeds.
    """
    arms, further = arms_of(runs, title)
    complete = {arm for arm, run in zip(arms, runs, strict=True) if run.is_finished}
    if not complete:
        raise TooFewRunsError(
            "{source} has no finished run; {n_runs} are not finished. Wait for them.",
            source=source,
            n_runs=len(runs),
        )
    left_out = tuple(dict.fromkeys(arm for arm in arms if arm not in complete))
    if left_out:
        further.append(
            Message("arms-unfinished", "Left out, without a finished run: {arms}.", arms=left_out)
        )
    kept = [(arm, run) for arm, run in zip(arms, runs, strict=True) if arm in complete]
    if not all(run.seed for _, run in kept):
        further.append(
            Message(
                "runs-without-seeds",
                "Not all runs have a parameter that ends in seed or random_state. Runs of an arm "
                "are taken as repeats of the same training; if they are not, set their tags `arm`.",
            )
        )
    _check_repeated(source, kept)
    labels = _labels(kept)
    jobs = [
        TrackedRun(folders.get(run.run_id, NOWHERE), {}, raw=run, arm_name=arm, label=label)
        for (arm, run), label in zip(kept, labels, strict=True)
    ]
    return Tracked(table, jobs, source=source, notes=(*notes, *further))


def arms_of(runs: Sequence[RawRun], title: str) -> tuple[list[str], list[Message]]:
    """Return the name of the arm of each run, and notes.

    The user's own names come first. Otherwise runs of different parents are different arms, and so
    are runs of the same parent whose parameters differ, apart from seeds. A parameter that says
    where a run wrote makes no arm if it has another value in every run, and so has the seed.

    Args:
        runs: All runs.
        title: Name of the arm, if there is only one.

    Returns:
        A name per run, and notes on parameters that were ignored.

    Raises:
        OptionError: Some of the finished runs have a name of an arm, and others have none.
    """
    if named := _named_arms(runs):
        return named, []
    of_group: dict[str, list[RawRun]] = defaultdict(list)
    for run in runs:
        of_group[run.group].append(run)
    differing: dict[str, dict[str, None]] = {}
    ignored: dict[str, None] = {}
    for group, own in of_group.items():
        differing[group] = {}
        has_seeds = len({run.seed for run in own} - {""}) == len(own)
        for key in dict.fromkeys(key for run in own for key in run.params):
            values = [run.params.get(key) for run in own]
            if _is_seed(key) or len(set(values)) == 1:
                continue
            is_place = has_seeds and _last(key) in PLACES and len(set(values)) == len(values)
            (ignored if is_place else differing[group])[key] = None
    names = []
    for run in runs:
        keys = [key for key in differing[run.group] if key in run.params]
        words = [run.group] * (len(of_group) > 1 and bool(run.group))
        words += [f"{key}={run.params[key]}" for key in keys]
        names.append(" ".join(words) or title)
    notes = []
    if ignored:
        notes.append(
            Message(
                "parameters-ignored",
                "Taken as names of runs, not as arms, because every run has another value: "
                "{names}. To name arms yourself, set the tag `arm` of all runs.",
                names=tuple(ignored),
            )
        )
    return names, notes


def _named_arms(runs: Sequence[RawRun]) -> list[str]:
    """Return the user's own names of arms; empty if finished runs have none.

    A run that ended before it had a name belongs to the arm with the same parameters, or to the
    first.
    """
    finished = [run for run in runs if run.is_finished]
    missing = [run.name for run in finished if not run.arm]
    if len(missing) == len(finished):
        return []
    if missing:
        raise OptionError(
            "{n_missing} of {n_runs} finished runs have no tag `arm`, such as {name!r}, and the "
            "others have one. Set it for all of them, or for none.",
            n_missing=len(missing),
            n_runs=len(finished),
            name=missing[0],
        )
    arms = {_compared(run): run.arm or "" for run in reversed(finished)}
    first = finished[0].arm or ""
    return [run.arm or arms.get(_compared(run), first) for run in runs]


def _compared(run: RawRun) -> frozenset[tuple[str, str]]:
    """Return the parameters of a run, apart from seeds."""
    return frozenset((key, value) for key, value in run.params.items() if not _is_seed(key))


def _check_repeated(source: str, runs: Sequence[tuple[str, RawRun]]) -> None:
    """Refuse runs none of which repeats another, as in a search for parameters."""
    counts = Counter(arm for arm, run in runs if run.is_finished)
    if len(counts) == 1 or max(counts.values()) > 1:
        return
    raise OptionError(
        "No two runs of {source} have the same parameters apart from seeds, so none repeats "
        "another: {listed}. If some do, set their tag `arm` to the same name: "
        "mlflow.set_tag('arm', NAME).",
        source=source,
        listed=", ".join(list(counts)[:3]) + ", …" * (len(counts) > 3),
        known=tuple(counts),
    )


def _labels(runs: Sequence[tuple[str, RawRun]]) -> list[str]:
    """Return the seed of each run, or its name; with the id where it occurs twice in an arm."""
    labels = [run.seed or run.name or run.run_id[:SHORT_ID] for _, run in runs]
    counts = Counter((arm, label) for (arm, _), label in zip(runs, labels, strict=True))
    return [
        label if counts[arm, label] == 1 else f"{label}-{run.run_id[:SHORT_ID]}"
        for (arm, run), label in zip(runs, labels, strict=True)
    ]


def distinct_names(names: Mapping[str, str], ids: Collection[str]) -> dict[str, str]:
    """Return the name of each parent, with its id where two have the same name."""
    counts = Counter(names[key] for key in ids)
    return {
        key: names[key] if counts[names[key]] == 1 else f"{names[key]} ({key[:SHORT_ID]})"
        for key in ids
    }


def _last(key: str) -> str:
    return key.rpartition(".")[2].lower()


def _is_seed(key: str) -> bool:
    return _last(key).endswith(SEEDS)
