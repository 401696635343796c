"""Distances between every two runs, summed over examples in one pass.

Each of them is half a squared distance, so that its shares are those of a variance; see
`variance_shares`. This holds for the Jaccard distance too: its similarity is a positive definite
kernel (Bouchard et al. 2013, Pattern Recognition Letters 34:1421).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from seedproof.engines import Engine
from seedproof.measurement.engines import map_shards
from seedproof.metrics.batch import batches
from seedproof.metrics.items.batch import ItemBatch, item_batches
from seedproof.metrics.items.overlap import jaccard_distances_of
from seedproof.metrics.items.relevance import RankedGains, set_f1
from seedproof.records.probabilities import UNLABELED
from seedproof.records.schema import ITEMS, Kind
from seedproof.records.shards import Shard, ShardSource
from seedproof.records.text_answers import RIGHT
from seedproof.stats.distributions import logit
from seedproof.typing import BoolArray, FloatArray, Progress

# Examples that get another class, first item, set or answer.
FLIPS = "flips"
# Ranked lists that differ in any place up to the depth; if no first item flips, they are the flips.
LISTS = "lists"
# Squared difference of the logit of the followed class, which has no interaction from taking the
# most probable class.
LOGITS = "logits"
# Jaccard distance of sets, or of the first items of lists.
OVERLAP = "overlap"
# Squared difference of the quality of an example: NDCG of a list, F1 of a set, right or wrong.
QUALITY = "quality"
# Softmax in single precision saturates: beyond this, a logit is rounding error.
LEAST_PROBABILITY = 1e-6


def run_distances(
    source: ShardSource, *, engine: Engine | None = None, progress: Progress | None = None
) -> dict[str, FloatArray]:
    """Return mean distances between every two runs by name, axes (runs, runs), in one pass.

    Memory is of the order runs².
    """
    totals: dict[str, FloatArray] = {}
    parts = map_shards(ShardDistances(source), source.n_shards, engine=engine, progress=progress)
    for part in parts:
        for name, sums in part.items():
            totals[name] = totals.get(name, 0.0) + sums
    n_examples = {QUALITY: source.n_labeled}
    return {name: sums / n_examples.get(name, source.n_examples) for name, sums in totals.items()}


@dataclass(frozen=True, eq=False)
class ShardDistances:
    """Sums over one shard; frozen, so that it can be sent to another process."""

    source: ShardSource

    def __call__(self, index: int) -> dict[str, FloatArray]:
        """Return the sums of all distances by name, axes (runs, runs)."""
        shard, of_items = self.source.shard(index), self.source.kind in ITEMS
        totals: dict[str, FloatArray] = {}
        for name, sums in self._of_items(shard) if of_items else self._of_classes(shard):
            totals[name] = totals.get(name, 0.0) + sums
        return totals

    def _of_classes(self, shard: Shard) -> Iterator[tuple[str, FloatArray]]:
        for batch in batches(shard, len(self.source.classes)):
            yield FLIPS, batch.disagreements.astype(np.float64)
            if self.source.kind is Kind.PROBS:
                probs = np.clip(batch.reference_probs, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
                yield LOGITS, squared_differences(logit(probs))
            if self.source.kind is Kind.TEXTS and batch.labels is not None:
                is_right = batch.predictions[:, batch.labels != UNLABELED] == RIGHT
                yield QUALITY, squared_differences(is_right.astype(np.float64))

    def _of_items(self, shard: Shard) -> Iterator[tuple[str, FloatArray]]:
        is_ranked = self.source.kind is Kind.RANKINGS
        depth = self.source.settings.depth if is_ranked else None
        for batch in item_batches(shard, depth=depth):
            distances = [jaccard_distances_of(batch, run) for run in range(batch.n_runs)]
            yield OVERLAP, np.stack([of_run.sum(axis=1) for of_run in distances])
            compared = batch.items[:, :, :1] if is_ranked else batch.items
            yield FLIPS, _differences(compared)
            if is_ranked:
                yield LISTS, _differences(batch.items[:, :, :depth])
            if batch.is_labeled.any():
                yield QUALITY, squared_differences(_quality(batch.labeled, depth))


def squared_differences(values: FloatArray) -> FloatArray:
    """Return the sum over examples of the squared difference of every two runs."""
    whole = np.zeros((len(values), len(values)))
    for run_idx in range(len(values) - 1):
        apart = values[run_idx + 1 :] - values[run_idx]
        whole[run_idx, run_idx + 1 :] = np.square(apart).sum(axis=1)
    return whole + whole.T


def _differences(items: np.ndarray) -> FloatArray:
    """Return the number of examples on which two runs differ, axes (runs, runs)."""

    def differ(run_idx: int) -> BoolArray:
        return np.asarray((items != items[run_idx]).any(axis=2))

    return np.stack([differ(run).sum(axis=1, dtype=np.float64) for run in range(len(items))])


def _quality(batch: ItemBatch, depth: int | None) -> FloatArray:
    """Return the quality of each run and example: of a set if `depth` is None."""
    if batch.relevance is None:
        raise ValueError("quality needs right items")
    if depth is None:
        return set_f1(batch.items, batch.relevance.items)
    return RankedGains(batch.items, batch.relevance.items, batch.relevance.grades).ndcg(depth)
