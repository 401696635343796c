"""Predictions of the runs for the examples that were explained.

Explanations may cover some examples only. Both records are in the order of their ids, so that
predictions are read along with the explanations, one shard in memory at a time.
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
    """Predictions of the runs for some examples."""

    classes: IntArray  # predicted class of each run, axes (runs, examples); -1 without a prediction
    confidences: FloatArray | None = None  # its probability; None where only classes are known
    means: FloatArray | None = None  # over runs, axes (classes with a curve, examples)

    @property
    def is_known(self) -> BoolArray:
        """The examples that were predicted: (examples,)."""
        known: BoolArray = self.classes[0] != UNKNOWN
        return known

    @property
    def is_agreed(self) -> BoolArray:
        """The examples for which all runs predict the same class: (examples,)."""
        agreed: BoolArray = self.is_known & (self.classes == self.classes[0]).all(axis=0)
        return agreed


def followed_classes(classes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the classes with a curve: of two classes the second is enough."""
    return classes[1:] if len(classes) == 2 else classes


class PredictionWalk:
    """Predictions of the same runs, read for ascending ids."""

    def __init__(self, source: ShardSource) -> None:
        self._source = source
        self._index = 0
        self._held: tuple[int, pa.Array, Predicted] | None = None

    def of(self, ids: pa.Array) -> Predicted:
        """Return the predictions of some examples."""
        shape = (len(self._source.runs), len(ids))
        classes = np.full(shape, UNKNOWN, dtype=np.int64)
        confidences: FloatArray | None = None
        means: FloatArray | None = None
        is_missing = np.ones(len(ids), dtype=np.bool_)
        n_shards = self._source.n_shards
        first = self._index
        for step in range(n_shards if len(ids) else 0):
            self._index = (first + step) % n_shards
            shard_ids, shard = self._load(self._index)
            rows = pc.index_in(_as_type(ids, shard_ids.type), value_set=shard_ids)
            is_there = rows.is_valid().to_numpy(zero_copy_only=False)
            rows = rows.drop_null().to_numpy()
            is_missing &= ~is_there
            classes[:, is_there] = shard.classes[:, rows]
            if shard.confidences is not None and shard.means is not None:
                if confidences is None or means is None:
                    confidences = np.full(shape, np.nan)
                    means = np.full((len(shard.means), len(ids)), np.nan)
                confidences[:, is_there] = shard.confidences[:, rows]
                means[:, is_there] = shard.means[:, rows]
            is_past = ids.type == shard_ids.type and shard_ids[-1].as_py() >= ids[-1].as_py()
            if is_past or not is_missing.any():
                break
        return Predicted(classes, confidences, means)

    def _load(self, index: int) -> tuple[pa.Array, Predicted]:
        if self._held is None or self._held[0] != index:
            self._held = None  # before the next one is read
            shard = self._source.shard(index)
            if shard.probs is None:
                predicted = Predicted(np.asarray(shard.predictions))
            else:
                classes = shard.probs.argmax(axis=2)
                chosen = np.take_along_axis(shard.probs, classes[:, :, None], axis=2)[:, :, 0]
                followed = shard.probs[:, :, 1:] if shard.probs.shape[2] == 2 else shard.probs
                predicted = Predicted(classes, chosen, followed.mean(axis=0, dtype=np.float64).T)
            self._held = index, shard.ids, predicted
        return self._held[1:]


def _as_type(ids: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast ids to the type in the predictions: integers may be text next to ids that are not."""
    if ids.type == kind:
        return ids
    if pa.types.is_integer(kind):
        texts = ids.to_pylist()
        return pa.array([int(text) if is_integer(text) else None for text in texts], kind)
    return ids.cast(kind)
