"""Overlap of the lists or sets of two runs, averaged over pairs of runs."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from seedproof.metrics.items.batch import ItemBatch
from seedproof.metrics.statistic import ExampleValues
from seedproof.typing import FloatArray, IntArray

PERSISTENCE = 0.9


def over_pairs(by_run: FloatArray | IntArray) -> ExampleValues:
    """Return means over pairs of runs, given the sum over all other runs of each run."""
    n_runs = len(by_run)
    whole = by_run.sum(axis=0)
    return ExampleValues(
        whole,
        whole - 2 * by_run if n_runs > 2 else None,
        whole_denominator=n_runs * (n_runs - 1),
        without_denominator=(n_runs - 1) * (n_runs - 2),
    )


def differ(batch: ItemBatch) -> ExampleValues:
    """Return the share of the pairs of runs whose sets differ, per example."""
    by_run = np.zeros(batch.sizes.shape, dtype=np.int64)
    for first, second in combinations(range(batch.n_runs), 2):
        is_other = (batch.members[:, first] != batch.members[:, second]).any(axis=0)
        by_run[first] += is_other
        by_run[second] += is_other
    return over_pairs(by_run)


def jaccard_distance(batch: ItemBatch) -> ExampleValues:
    """Return the mean Jaccard distance of two runs per example: 0 for two empty sets."""
    by_run = np.zeros(batch.sizes.shape)
    for first, second, shared in _shared(batch):
        union = batch.sizes[first] + batch.sizes[second] - shared
        distance = np.divide(union - shared, union, out=np.zeros(len(union)), where=union > 0)
        by_run[first] += distance
        by_run[second] += distance
    return over_pairs(by_run)


def _shared(batch: ItemBatch) -> Iterator[tuple[int, int, IntArray]]:
    """Yield the number of items that each two runs share, per example."""
    for first, second in combinations(range(batch.n_runs), 2):
        both = batch.members[:, first] & batch.members[:, second]
        yield first, second, np.bitwise_count(both).sum(axis=0, dtype=np.int64)


def average_overlap_weights(depth: int) -> FloatArray:
    """Return the share of an average overlap that an item adds, by the worse of its two ranks."""
    return _from_rank(np.arange(1, depth + 1) ** -1.0) / depth


def rank_biased_weights(depth: int, persistence: float = PERSISTENCE) -> FloatArray:
    """Return the share of a rank-biased overlap that an item adds, by the worse of its two ranks.

    Extrapolated from the first k items, of which X_d are among the first d of both:
    p^k·X_k/k + (1-p)·sum_{d=1..k} p^(d-1)·X_d/d (Webber, Moffat and Zobel 2010, equation 23).
    """
    depths = np.arange(1, depth + 1)
    weights = _from_rank((1 - persistence) * persistence ** (depths - 1) / depths)
    return np.asarray(weights + persistence**depth / depth)


def _from_rank(by_depth: FloatArray) -> FloatArray:
    """Return for each rank the sum over the depths that include it."""
    return np.asarray(np.cumsum(by_depth[::-1])[::-1])


def weighted_overlap(batch: ItemBatch, weights: FloatArray) -> ExampleValues:
    """Return the mean overlap of two runs per example.

    An item that is in both lists adds the weight of its worse rank. Pairs of runs are not formed:
    among the occurrences of an item in the order of their ranks, those before one have the better
    rank, and add its weight; those after it add their own.
    """
    _, ranks, runs, starts, is_item = batch.occurrences
    added = np.where(is_item, weights[ranks], 0.0).ravel()
    first = np.flatnonzero(starts)
    counts = np.diff(first, append=added.size)
    running = np.cumsum(added)
    until_now = running - np.repeat(running[first] - added[first], counts)
    n_before = np.arange(added.size) - np.repeat(first, counts)
    with_others = n_before * added + np.repeat(until_now[first + counts - 1], counts) - until_now
    examples = np.arange(batch.n_examples)[:, np.newaxis]
    by_run = np.bincount(
        (runs * batch.n_examples + examples).ravel(),
        np.where(is_item.ravel(), np.maximum(with_others, 0.0), 0.0),
        minlength=batch.sizes.size,
    )
    return over_pairs(by_run.reshape(batch.sizes.shape))
