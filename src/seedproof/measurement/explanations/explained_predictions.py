"""What the runs predicted of the examples that were explained.

Explanations may cover some examples only. Both records are in the order of their ids, so that
predictions are walked through beside the explanations, one shard in memory at a time.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.records.shards import ShardSource, is_integer
from seedproof.typing import BoolArray, FloatArray, IntArray

UNKNOWN = -1


@dataclass(frozen=True, eq=False)
class Predicted:
    """What the runs predicted of some examples.

    Args:
        classes: The class that each run chose, axes (runs, examples); -1 without a prediction.
        confidences: Its probability, axes (runs, examples); None where only classes are known.
        means: Mean probability over runs of each followed class, axes (classes, examples); NaN
            without a prediction; None where only classes are known.
    """

    classes: IntArray
    confidences: FloatArray | None = None
    means: FloatArray | None = None

    @property
    def is_known(self) -> BoolArray:
        """Which examples were predicted: (examples,)."""
        known: BoolArray = self.classes[0] != UNKNOWN
        return known

    @property
    def is_agreed(self) -> BoolArray:
        """Which of them got one answer from all runs: (examples,)."""
        agreed: BoolArray = self.is_known & (self.classes == self.classes[0]).all(axis=0)
        return agreed


def followed_classes(classes: tuple[str, ...]) -> tuple[str, ...]:
    """The classes whose probability makes a curve: of two classes one says it all."""
    return classes[1:] if len(classes) == 2 else classes


class PredictionWalk:
    """Predictions of examples that are asked for in ascending order.

    Args:
        source: Predictions of the same runs.
    """

    def __init__(self, source: ShardSource) -> None:
        self._source = source
        self._index = 0
        self._held: tuple[int, pa.Array, Predicted] | None = None

    def of(self, ids: pa.Array) -> Predicted:
        """What was predicted of some examples."""
        places: list[tuple[IntArray, Predicted]] = []
        is_missing = np.ones(len(ids), dtype=np.bool_)
        n_shards = self._source.n_shards
        first = self._index
        for step in range(n_shards if len(ids) else 0):
            self._index = (first + step) % n_shards
            shard_ids, shard = self._load(self._index)
            rows = pc.index_in(_as_type(ids, shard_ids.type), value_set=shard_ids)
            known = rows.is_valid().to_numpy(zero_copy_only=False)
            is_missing &= ~known
            places.append((np.flatnonzero(known), _rows(shard, rows.drop_null().to_numpy())))
            is_past = ids.type == shard_ids.type and shard_ids[-1].as_py() >= ids[-1].as_py()
            if is_past or not is_missing.any():
                break
        return _together(places, len(ids), len(self._source.runs))

    def _load(self, index: int) -> tuple[pa.Array, Predicted]:
        if self._held is None or self._held[0] != index:
            self._held = None  # before the next one is read
            shard = self._source.shard(index)
            if shard.probs is None:
                found = Predicted(np.asarray(shard.predictions))
            else:
                classes = shard.probs.argmax(axis=2)
                chosen = np.take_along_axis(shard.probs, classes[:, :, None], axis=2)[:, :, 0]
                followed = shard.probs[:, :, 1:] if shard.probs.shape[2] == 2 else shard.probs
                found = Predicted(classes, chosen, followed.mean(axis=0, dtype=np.float64).T)
            self._held = index, shard.ids, found
        return self._held[1:]


def _rows(predicted: Predicted, rows: IntArray) -> Predicted:
    return Predicted(
        predicted.classes[:, rows],
        None if predicted.confidences is None else predicted.confidences[:, rows],
        None if predicted.means is None else predicted.means[:, rows],
    )


def _together(places: list[tuple[IntArray, Predicted]], n_examples: int, n_runs: int) -> Predicted:
    """Predictions from several shards, each at its place."""
    classes = np.full((n_runs, n_examples), UNKNOWN, dtype=np.int64)
    confidences: FloatArray | None = None
    means: FloatArray | None = None
    for place, found in places:
        classes[:, place] = found.classes
        if found.confidences is None or found.means is None:
            continue
        if confidences is None or means is None:
            confidences = np.full((n_runs, n_examples), np.nan)
            means = np.full((len(found.means), n_examples), np.nan)
        confidences[:, place] = found.confidences
        means[:, place] = found.means
    return Predicted(classes, confidences, means)


def _as_type(ids: pa.Array, kind: pa.DataType) -> pa.Array:
    """Ids as predictions have them: a few that look like numbers may be text among others."""
    if ids.type == kind:
        return ids
    if pa.types.is_integer(kind):
        texts = ids.to_pylist()
        return pa.array([int(text) if is_integer(text) else None for text in texts], kind)
    return ids.cast(kind)
