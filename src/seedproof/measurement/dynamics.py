"""Label entropy within single runs over their steps, and dataset cartography."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.errors import DamagedStoreError
from seedproof.messages import Message, recorded
from seedproof.metrics.dynamics import DYNAMICS_NAMES, Cartography, correctness, step_entropy
from seedproof.metrics.statistic import ExampleSums, ExampleValues
from seedproof.records.arrow import to_arrow, to_numpy
from seedproof.records.dynamics import DynamicsRecord, dynamics_of
from seedproof.records.manifest import RunManifest
from seedproof.records.probabilities import UNLABELED
from seedproof.records.reader import as_reason
from seedproof.records.shards import ShardSource
from seedproof.stats.intervals import Estimate, estimate
from seedproof.typing import BoolArray, FloatArray, IntArray, Progress

(ENTROPY,) = DYNAMICS_NAMES
EXAMPLES = pa.schema(
    [("example", pa.string())] + [(name, pa.float64()) for name in (ENTROPY, *Cartography._fields)]
)
# Cells of the map of examples in each direction.
N_CELLS = 20


@dataclass(frozen=True, eq=False)
class DynamicsMeasurement:
    """Label entropy within single runs over their steps, and dataset cartography.

    Args:
        runs: Names of the traced runs, in canonical order.
        n_runs: Number of all runs.
        n_examples: Number of examples that every traced run recorded.
        n_steps: Smallest and largest number of recorded steps of an example.
        metrics: Value and interval of each figure.
        by_run: The same per traced run: (traced).
        cartography: Number of examples by confidence in [0, 1] (rows) and variability in [0, 0.5]
            (columns), in cells of equal size; None without gold labels or probabilities.
        examples: One row per example, means over traced runs: entropy, and coordinates of dataset
            cartography.
        notes: Remarks on how the records were read.
    """

    runs: tuple[str, ...]
    n_runs: int
    n_examples: int
    n_steps: tuple[int, int]
    metrics: Mapping[str, Estimate]
    by_run: Mapping[str, FloatArray]
    cartography: IntArray | None
    examples: pa.Table
    notes: tuple[Message, ...] = ()

    def summary(self) -> dict[str, Any]:
        """Return everything but the examples, as plain data."""
        return {
            "runs": list(self.runs),
            "n_runs": self.n_runs,
            "n_examples": self.n_examples,
            "n_steps": list(self.n_steps),
            "metrics": {name: asdict(value) for name, value in self.metrics.items()},
            "by_run": {name: values.tolist() for name, values in self.by_run.items()},
            "cartography": None if self.cartography is None else self.cartography.tolist(),
            "notes": [str(note) for note in self.notes],
        }

    @classmethod
    def from_summary(cls, summary: "DynamicsSummary") -> "DynamicsMeasurement":
        """Restore a measurement from its `summary`, without the examples.

        Args:
            summary: The decoded summary.

        Returns:
            The same figures and the same map.
        """
        cells = summary.cartography
        return cls(
            runs=summary.runs,
            n_runs=summary.n_runs,
            n_examples=summary.n_examples,
            n_steps=summary.n_steps,
            metrics={name: summary.metrics[name] for name in DYNAMICS_NAMES},
            by_run={name: np.array(summary.by_run[name]) for name in DYNAMICS_NAMES},
            cartography=None if cells is None else np.array(cells, dtype=np.int64),
            examples=EXAMPLES.empty_table(),
            notes=tuple(map(recorded, summary.notes)),
        )


@dataclass(frozen=True)
class DynamicsSummary:
    """Dynamics in `summary.json`; figures of earlier versions are ignored."""

    runs: tuple[str, ...]
    n_runs: int
    n_examples: int
    n_steps: tuple[int, int]
    metrics: Mapping[str, Estimate]
    by_run: Mapping[str, tuple[float, ...]]
    notes: tuple[str, ...]
    cartography: tuple[tuple[int, ...], ...] | None = None

    def __post_init__(self) -> None:
        if not set(DYNAMICS_NAMES) <= self.metrics.keys() & self.by_run.keys():
            raise ValueError("figures are missing")


def measure_dynamics(
    source: ShardSource,
    *,
    n_measured: int,
    left_out: Collection[int] = (),
    skip_damaged: bool = False,
    progress: Progress | None = None,
) -> tuple[DynamicsMeasurement | None, tuple[Message, ...]]:
    """Measure the dynamics of all or some of the measured runs.

    Returns None if there are none, with a note if they are of another split or other examples.
    """
    splits = sorted(set().union(*map(_traced_splits, source.manifests)))
    if not splits:
        return None, ()
    if source.split not in splits:
        note = Message(
            "dynamics-of-other-split",
            "Dynamics are left out. They belong to the split {listed}, and {split!r} is measured.",
            listed=" and ".join(map(repr, splits)),
            splits=tuple(splits),
            split=source.split,
        )
        return None, (note,)
    ids, labels = _ids_and_labels(
        source, left_out=left_out, skip_damaged=skip_damaged, progress=progress
    )
    traces = read_traces(source, ids, labels, skip_damaged=skip_damaged)
    if traces is None:
        note = Message(
            "dynamics-of-other-examples",
            "Dynamics are left out. No measured example of {split!r} has dynamics in every traced "
            "run. Give sp.Dynamics the ids of the predictions.",
            split=source.split,
        )
        return None, (note,)
    return _measure(traces, source.runs, n_measured=n_measured), ()


@dataclass(frozen=True, eq=False)
class Traces:
    """Dynamics of the traced runs, on the examples that all of them recorded."""

    traced: IntArray  # positions of the traced runs among all runs, ascending
    ids: pa.Array
    entropies: FloatArray  # label entropy within each traced run, axes (traced, examples): LE_s
    coordinates: Cartography  # means over traced runs; NaN without gold labels or probabilities
    n_steps: tuple[int, int]  # smallest and largest number of recorded steps of an example
    notes: tuple[Message, ...]  # runs left out, and labels that contradict the predictions

    def mean_entropy(self, chosen: BoolArray | None = None) -> ExampleValues:
        """Return the mean over traced runs per example; entropies count 0 where not chosen."""
        entropies = self.entropies if chosen is None else np.where(chosen, self.entropies, 0.0)
        n_traced = len(entropies)
        without = None
        if n_traced > 2:  # else the interval is over examples alone
            without = (entropies.sum(axis=0) - entropies) / (n_traced - 1)
        return ExampleValues(entropies.mean(axis=0), without)


def read_traces(
    source: ShardSource, ids: pa.Array, labels: IntArray, *, skip_damaged: bool = False
) -> Traces | None:
    """Read the records of all traced runs, one run in memory at a time.

    `ids` and `labels` are those of the predictions. None if no example is in every traced run.
    """
    traced, entropies, n_steps, n_other, notes = [], [], [], [], []
    coordinates = np.zeros((len(Cartography._fields), len(ids)))
    for run_idx, run in enumerate(source.manifests):
        location = source.location
        if location is None or source.split not in _traced_splits(run):
            continue
        try:
            record = dynamics_of(location, run, str(source.split))
        except DamagedStoreError as error:
            if not skip_damaged:
                raise
            notes.append(
                Message(
                    "dynamics-left-out",
                    "Dynamics of run {run!r} are left out. {why}",
                    run=run.name,
                    why=as_reason(error, location),
                )
            )
            continue
        place, is_there = _places(record.ids, ids)
        columns = (
            step_entropy(record.counts, record.offsets),
            record.n_steps,
            record.gold_mean,
            record.gold_sd,
            correctness(record.counts, record.classes, record.offsets, record.labels),
        )
        entropy, steps, *rest = (np.where(is_there, values[place], np.nan) for values in columns)
        traced.append(run_idx)
        entropies.append(entropy)
        n_steps.append(steps)
        coordinates += np.stack(rest)
        n_other.append(_n_other_labels(record, place[is_there], labels[is_there], source.classes))
    is_seen = np.isfinite(entropies).all(axis=0) if entropies else np.zeros(0, dtype=np.bool_)
    if not is_seen.any():
        return None
    if any(n_other):
        notes.append(
            Message(
                "dynamics-with-other-labels",
                "{n_runs} of {n_traced} traced runs gave sp.Dynamics other labels than "
                "log_predictions, for up to {n_examples:,} example(s). Confidence, variability and "
                "correctness use the labels of sp.Dynamics.",
                n_runs=int(np.count_nonzero(n_other)),
                n_traced=len(traced),
                n_examples=max(n_other),
            )
        )
    steps = np.stack(n_steps)[:, is_seen]
    return Traces(
        np.array(traced),
        ids.filter(to_arrow(is_seen)),
        np.stack(entropies)[:, is_seen],
        Cartography(*(coordinates[:, is_seen] / len(traced))),
        (int(steps.min()), int(steps.max())),
        tuple(notes),
    )


def _traced_splits(run: RunManifest) -> set[str]:
    """Return the splits on which a run has dynamics."""
    paths = [part.path.split("/") for part in run.parts]
    return {path[1] for path in paths if path[0] == "dynamics"}


def _ids_and_labels(
    source: ShardSource,
    *,
    left_out: Collection[int],
    skip_damaged: bool,
    progress: Progress | None,
) -> tuple[pa.Array, IntArray]:
    """Return ids and gold labels of the measured examples, one shard in memory at a time."""
    alone = source.predictions_alone()
    ids: list[pa.Array] = []
    labels: list[IntArray] = [np.empty(0, dtype=np.int64)]
    for index in range(source.n_shards):
        if index in left_out:
            continue
        try:
            shard = alone.shard(index)
        except DamagedStoreError:
            if not skip_damaged:
                raise
            continue
        ids.append(shard.ids)
        labels.append(shard.gold)
        if progress is not None:
            progress(index + 1, source.n_shards)
    return pa.concat_arrays(ids or [pa.nulls(0, pa.int64())]), np.concatenate(labels)


def _places(ids: pa.Array, all_ids: pa.Array) -> tuple[IntArray, BoolArray]:
    """Return the position of each of `all_ids` in `ids`, and whether it is there."""
    if ids.type != all_ids.type:  # integers may be text next to ids that are not
        ids, all_ids = ids.cast(pa.string()), all_ids.cast(pa.string())
    place = pc.index_in(all_ids, value_set=ids)
    return to_numpy(place, missing=0), to_numpy(place.is_valid())


def _n_other_labels(
    record: DynamicsRecord, place: IntArray, labels: IntArray, classes: tuple[str, ...]
) -> int:
    """Count the examples whose gold class in a record contradicts that of the predictions."""
    known = {name: index for index, name in enumerate(classes)}
    if known.keys().isdisjoint(record.class_names):  # numbered there, named here
        known = {name: index for index, name in enumerate(record.class_names)}
    common = np.array([*(known.get(name, UNLABELED) for name in record.class_names), UNLABELED])
    recorded_labels = common[record.labels[place]]  # -1, where unknown, is the last
    are_known = (recorded_labels != UNLABELED) & (labels != UNLABELED)
    return int((are_known & (recorded_labels != labels)).sum())


def _measure(traces: Traces, runs: tuple[str, ...], *, n_measured: int) -> DynamicsMeasurement:
    means, sums = traces.mean_entropy(), ExampleSums()
    sums.update(means)
    columns = {ENTROPY: means.values, **traces.coordinates._asdict()}
    return DynamicsMeasurement(
        runs=tuple(runs[i] for i in traces.traced),
        n_runs=len(runs),
        n_examples=len(traces.ids),
        n_steps=traces.n_steps,
        metrics={ENTROPY: estimate(sums.mean_over_examples())},
        by_run={ENTROPY: traces.entropies.mean(axis=1)},
        cartography=_cells(traces.coordinates),
        examples=pa.table(
            {
                "example": traces.ids.cast(pa.string()),
                **{name: to_arrow(v, missing=np.isnan(v)) for name, v in columns.items()},
            },
            schema=EXAMPLES,
        ),
        notes=(*traces.notes, *_notes(traces, n_measured)),
    )


def _cells(coordinates: Cartography) -> IntArray | None:
    """Count the examples by confidence and variability; None if no example has both."""
    # No standard deviation of values in [0, 1] is above 0.5.
    both = np.stack([coordinates.confidence, 2 * coordinates.variability])
    both = both[:, np.isfinite(both).all(axis=0)]
    if not both.size:
        return None
    row, column = np.minimum((both * N_CELLS).astype(np.int64), N_CELLS - 1)
    counts = np.bincount(row * N_CELLS + column, minlength=N_CELLS**2)
    return counts.reshape(N_CELLS, N_CELLS)


def _notes(traces: Traces, n_measured: int) -> Iterator[Message]:
    n_examples, (low, high) = len(traces.ids), traces.n_steps
    if n_examples < n_measured:
        yield Message(
            "traced-on-fewer-examples",
            "All traced runs have dynamics of {n_traced:,} of {n_examples:,} examples. "
            "The rest is left out here.",
            n_traced=n_examples,
            n_examples=n_measured,
        )
    if low < high:
        yield Message(
            "traced-unequally-often",
            "Examples have {low:,} to {high:,} recorded steps. Label entropy within a run grows "
            "with their number: record equally many before you compare runs or arms.",
            low=low,
            high=high,
        )
