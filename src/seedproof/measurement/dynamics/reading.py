"""What was recorded of runs over their steps, laid beside what all runs predicted."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.errors import DamagedStoreError
from seedproof.measurement.dynamics.watched import Watched
from seedproof.messages import Message
from seedproof.metrics.batch import Batch
from seedproof.metrics.dynamics import correctness, step_entropy
from seedproof.records.arrow import to_arrow, to_numpy
from seedproof.records.dynamics import Curve, DynamicsRecord, dynamics_of
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest
from seedproof.records.reader import as_reason
from seedproof.records.schema import UNLABELED
from seedproof.records.shards import ShardSource
from seedproof.typing import BoolArray, FloatArray, IntArray, Progress

# Mean and sd over steps of the gold label's probability, and share of steps at which it won.
COORDINATES = ("confidence", "variability", "correctness")


@dataclass(frozen=True, eq=False)
class Votes:
    """What all runs predict of all examples, kept where they differ.

    Args:
        ids: Ids of all examples.
        labels: Their gold class indices, -1 where unknown.
        contested: Positions of those on which runs differ.
        predictions: What each run predicts of these: (runs, contested).
    """

    ids: pa.Array
    labels: IntArray
    contested: IntArray
    predictions: IntArray


def read_votes(
    source: ShardSource,
    *,
    left_out: Collection[int] = (),
    skip_damaged: bool = False,
    progress: Progress | None = None,
) -> Votes:
    """What all runs predict; one shard in memory at a time, and what is kept of it."""
    alone = source.predictions_alone()
    ids, labels, contested, predictions, n = [], [], [], [], 0
    for index in range(source.n_shards):
        if index in left_out:
            continue
        try:
            shard = alone.shard(index)
        except DamagedStoreError:
            if not skip_damaged:
                raise
            continue
        batch = Batch(np.asarray(shard.predictions), n_classes=len(source.classes))
        ids.append(shard.ids)
        labels.append(shard.gold)
        contested.append(n + batch.contested)
        predictions.append(batch.predictions[:, batch.contested])
        n += len(shard)
        if progress is not None:
            progress(index + 1, source.n_shards)
    if not ids:
        none = np.empty(0, np.int64)
        return Votes(pa.nulls(0, pa.int64()), none, none, np.empty((0, 0), np.int32))
    return Votes(
        pa.concat_arrays(ids),
        np.concatenate(labels),
        np.concatenate(contested),
        np.concatenate(predictions, axis=1),
    )


@dataclass(frozen=True, eq=False)
class Traces:
    """What the traced runs did over their steps.

    Args:
        watched: Entropies within and over runs, of the examples that all were looked at on.
        ids: Their ids.
        coordinates: Where they lie on the map of their data set, means over traced runs; NaN where
            a run knows no gold label or no probabilities.
        n_steps: How often an example was looked at, at least and at most.
        curves: Mean entropy over the steps, of each run that has it.
        notes: Which runs are left out, and why; whose labels contradict those of the predictions.
    """

    watched: Watched
    ids: pa.Array
    coordinates: dict[str, FloatArray]
    n_steps: tuple[int, int]
    curves: tuple[Curve, ...]
    notes: tuple[Message, ...]


def read_traces(source: ShardSource, votes: Votes, *, skip_damaged: bool = False) -> Traces | None:
    """What was recorded of each traced run; the records of one run are in memory at a time.

    The examples that every traced run was looked at on; None if there are none.
    """
    traced, rows, n_steps, n_other, curves, notes = [], [], [], [], [], []
    coordinates = {name: np.zeros(len(votes.ids)) for name in COORDINATES}
    for run_idx, run, location in _traced(source):
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
        place, found = _places(record.ids, votes.ids)
        n_other.append(_n_other_labels(record, place[found], votes.labels[found], source.classes))
        traced.append(run_idx)
        rows.append(_spread(step_entropy(record.counts, record.offsets), place, found))
        n_steps.append(_spread(record.n_steps.astype(np.float64), place, found))
        for name, values in _coordinates(record).items():
            coordinates[name] += _spread(values, place, found)
        if record.curve is not None and record.curve.steps:
            curves.append(record.curve)
    if not rows:
        return None
    entropies = np.stack(rows)
    is_seen = np.asarray(np.isfinite(entropies).all(axis=0))
    if not is_seen.any():
        return None
    if any(n_other):
        notes.append(
            Message(
                "dynamics-with-other-labels",
                "{n_runs} of {n_traced} traced runs gave sp.Dynamics other labels than "
                "log_predictions, for up to {n_examples:,} example(s): confidence, variability and "
                "correctness go by those of sp.Dynamics.",
                n_runs=int(np.count_nonzero(n_other)),
                n_traced=len(traced),
                n_examples=max(n_other),
            )
        )
    steps = np.stack(n_steps)[:, is_seen]
    return Traces(
        _watched(entropies[:, is_seen], np.array(traced), votes, is_seen),
        votes.ids.filter(to_arrow(is_seen)),
        {name: values[is_seen] / len(traced) for name, values in coordinates.items()},
        (int(steps.min()), int(steps.max())),
        tuple(curves),
        tuple(notes),
    )


def _traced(source: ShardSource) -> Iterator[tuple[int, RunManifest, Location]]:
    """The runs of a store with dynamics on its split, each with its position and the store."""
    for run_idx, run in enumerate(source.manifests):
        is_traced = any(part.path.startswith(f"dynamics/{source.split}/") for part in run.parts)
        if is_traced and source.location is not None:
            yield run_idx, run, source.location


def _coordinates(record: DynamicsRecord) -> dict[str, FloatArray]:
    right = correctness(record.counts, record.classes, record.offsets, record.labels)
    return dict(zip(COORDINATES, (record.gold_mean, record.gold_sd, right), strict=True))


def _places(ids: pa.Array, all_ids: pa.Array) -> tuple[IntArray, BoolArray]:
    """Where all examples are among some; and which of them are there."""
    if ids.type != all_ids.type:  # numbers of a few may be text among others
        ids, all_ids = ids.cast(pa.string()), all_ids.cast(pa.string())
    place = pc.index_in(all_ids, value_set=ids)
    found = to_numpy(place.is_valid())
    return to_numpy(place, missing=0), found


def _n_other_labels(
    record: DynamicsRecord, place: IntArray, labels: IntArray, classes: tuple[str, ...]
) -> int:
    """How many examples have another gold class in a record than in the predictions."""
    known = {name: index for index, name in enumerate(classes)}
    if known.keys().isdisjoint(record.class_names):  # numbered there, named here
        known = {name: index for index, name in enumerate(record.class_names)}
    common = np.array([*(known.get(name, UNLABELED) for name in record.class_names), UNLABELED])
    theirs = common[record.labels[place]]  # -1, where unknown, is the last
    return int(((theirs != labels) & (theirs != UNLABELED) & (labels != UNLABELED)).sum())


def _spread(values: FloatArray, place: IntArray, found: BoolArray) -> FloatArray:
    """Values of some examples, NaN for all others."""
    return np.where(found, values[place], np.nan)


def _watched(entropies: FloatArray, traced: IntArray, votes: Votes, is_seen: BoolArray) -> Watched:
    kept = is_seen[votes.contested]
    position = np.cumsum(is_seen) - 1
    return Watched(entropies, traced, position[votes.contested[kept]], votes.predictions[:, kept])
