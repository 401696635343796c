"""Are reasons steadier where runs are sure? Figures of explanations by predicted probability.

Explanations may cover some examples only. Both records are in the order of their ids, so that
predictions are walked through beside the explanations, one shard in memory at a time.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.metrics.confidence import N_BINS
from seedproof.records.shards import ShardSource, is_integer
from seedproof.typing import FloatArray, IntArray

# One curve a class: more than this nobody reads.
MAX_CURVES = 20


@dataclass(frozen=True, eq=False)
class Curves:
    """Means of each figure in ten bins of the mean predicted probability of a class over runs.

    Args:
        classes: The classes that are followed: the second of two, all of more than two.
        counts: Examples in each bin, axes (classes, bins).
        means: Mean of each figure, axes (classes, bins); NaN in a bin without an example.
        errors: Standard errors of these means over examples; NaN where a bin has one example.
    """

    classes: tuple[str, ...]
    counts: IntArray
    means: Mapping[str, FloatArray]
    errors: Mapping[str, FloatArray]


class CurveSums:
    """Totals of figures in bins of the predicted probability.

    Args:
        predictions: Predictions of the same runs, with probabilities.
    """

    def __init__(self, predictions: ShardSource) -> None:
        self._walk = _Walk(predictions)
        n_curves = len(followed_classes(predictions.classes))
        self._counts = np.zeros((n_curves, N_BINS), dtype=np.int64)
        self._sums: dict[str, FloatArray] = {}
        self._squares: dict[str, FloatArray] = {}

    def update(self, ids: pa.Array, figures: Mapping[str, FloatArray]) -> None:
        """Add examples; those without a prediction are left out.

        Args:
            ids: Their ids, ascending over all calls.
            figures: What each figure says of each, axes (examples).
        """
        probs = self._walk.probs_of(ids)
        predicted = ~np.isnan(probs[0])
        bins = np.clip(probs[:, predicted] * N_BINS, 0, N_BINS - 1).astype(np.int64)
        place = (bins + N_BINS * np.arange(len(bins))[:, None]).ravel()
        self._counts += np.bincount(place, minlength=self._counts.size).reshape(self._counts.shape)
        for name, values in figures.items():
            repeated = np.tile(values[predicted], len(bins))
            for totals, weights in ((self._sums, repeated), (self._squares, repeated**2)):
                binned = np.bincount(place, weights=weights, minlength=self._counts.size)
                totals[name] = totals.get(name, 0.0) + binned.reshape(self._counts.shape)

    def result(self, classes: tuple[str, ...]) -> Curves:
        """The curves of all examples so far.

        Args:
            classes: Names of all classes.

        Returns:
            Means and standard errors in each bin.
        """
        n = self._counts
        with np.errstate(invalid="ignore", divide="ignore"):
            means = {name: sums / n for name, sums in self._sums.items()}
            errors = {
                name: np.sqrt(np.maximum(squares / n - means[name] ** 2, 0.0) / (n - 1.0))
                for name, squares in self._squares.items()
            }
        for error in errors.values():
            error[n < 2] = np.nan
        return Curves(followed_classes(classes), n, means, errors)


def followed_classes(classes: tuple[str, ...]) -> tuple[str, ...]:
    """The classes whose probability makes a curve: of two classes one says it all."""
    return classes[1:] if len(classes) == 2 else classes


class _Walk:
    """Mean predicted probabilities of examples that are asked for in ascending order."""

    def __init__(self, source: ShardSource) -> None:
        self._source = source
        self._index = 0
        self._held: tuple[int, pa.Array, FloatArray] | None = None

    def probs_of(self, ids: pa.Array) -> FloatArray:
        """Mean probability over runs of each followed class; NaN without a prediction.

        Args:
            ids: Ids of examples; shards before the last one that was needed are looked at only if
                predictions have ids of another type, in which the order is another.

        Returns:
            Axes (classes, examples).
        """
        n_classes = len(followed_classes(self._source.classes))
        found = np.full((n_classes, len(ids)), np.nan)
        if not len(ids):
            return found
        n_shards = self._source.n_shards
        first = self._index
        for step in range(n_shards):
            self._index = (first + step) % n_shards
            shard_ids, probs = self._load(self._index)
            rows = pc.index_in(_as_type(ids, shard_ids.type), value_set=shard_ids)
            known = rows.is_valid().to_numpy(zero_copy_only=False)
            found[:, known] = probs[:, rows.drop_null().to_numpy()]
            is_past = ids.type == shard_ids.type and shard_ids[-1].as_py() >= ids[-1].as_py()
            if is_past or not np.isnan(found[0]).any():
                break
        return found

    def _load(self, index: int) -> tuple[pa.Array, FloatArray]:
        if self._held is None or self._held[0] != index:
            self._held = None  # before the next one is read
            shard = self._source.shard(index)
            if shard.probs is None:
                raise ValueError("curves need probabilities")
            probs = shard.probs[:, :, 1:] if shard.probs.shape[2] == 2 else shard.probs
            self._held = index, shard.ids, probs.mean(axis=0, dtype=np.float64).T
        return self._held[1:]


def _as_type(ids: pa.Array, kind: pa.DataType) -> pa.Array:
    """Ids as predictions have them: a few that look like numbers may be text among others."""
    if ids.type == kind:
        return ids
    if pa.types.is_integer(kind):
        texts = ids.to_pylist()
        return pa.array([int(text) if is_integer(text) else None for text in texts], kind)
    return ids.cast(kind)
