"""Overlap of the lists or sets of two runs, averaged over pairs of runs."""

from collections.abc import Callable, Iterator

import numpy as np

from seedproof.metrics.batch import agreement
from seedproof.metrics.flips import flip_rate
from seedproof.metrics.items.batch import ItemBatch
from seedproof.metrics.statistic import ExampleValues
from seedproof.typing import FloatArray, IntArray

PERSISTENCE = 0.9
# Entries of tables by item and rank, and by pair of items, that are made at once.
MOST_ENTRIES = 2**17
MOST_PAIRS = 2**16


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


def first_differs(batch: ItemBatch) -> ExampleValues:
    """Return the share of the pairs of runs with another first item, per example.

    Two empty lists have the same first item: none.
    """
    first = batch.items[:, :, 0] + 1
    return flip_rate(agreement(first, int(first.max(initial=0)) + 1))


def differ(batch: ItemBatch) -> ExampleValues:
    """Return the share of the pairs of runs whose sets differ, per example."""
    by_run = np.zeros(batch.sizes.shape, dtype=np.int64)
    for later, earlier in _shifted(batch.n_runs):
        is_other = (batch.members[:, later] != batch.members[:, earlier]).any(axis=0)
        by_run[later] += is_other
        by_run[earlier] += is_other
    return over_pairs(by_run)


def jaccard_distance(batch: ItemBatch) -> ExampleValues:
    """Return the mean Jaccard distance of two runs per example: 0 for two empty sets."""
    by_run = np.zeros(batch.sizes.shape)
    for later, earlier in _shifted(batch.n_runs):
        both = np.bitwise_count(batch.members[:, later] & batch.members[:, earlier])
        shared = both[0] if len(both) == 1 else both.sum(axis=0, dtype=np.int64)
        union = batch.sizes[later] + batch.sizes[earlier] - shared
        distance = (union - shared) / np.maximum(union, 1)
        by_run[later] += distance
        by_run[earlier] += distance
    return over_pairs(by_run)


def jaccard_distances_of(batch: ItemBatch, run_idx: int) -> FloatArray:
    """Return the Jaccard distances of a run to all runs, per example: (runs, examples)."""
    both = np.bitwise_count(batch.members & batch.members[:, run_idx, np.newaxis])
    shared = both.sum(axis=0, dtype=np.int64)
    union = batch.sizes + batch.sizes[run_idx] - shared
    return np.asarray((union - shared) / np.maximum(union, 1))


def _shifted(n_runs: int) -> Iterator[tuple[slice, slice]]:
    """Yield runs and those so many places before them, so that each pair occurs once."""
    for shift in range(1, n_runs):
        yield slice(shift, None), slice(None, n_runs - shift)


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


def weighted_overlap(
    batch: ItemBatch, weights_of: Callable[[int], FloatArray], *, of_top: bool = False
) -> ExampleValues:
    """Return the mean overlap of two runs per example; 1 for two empty lists.

    An item that is in both lists, or among the first of both, adds the weight of its worse rank.
    Weights are those of the longest list of the example.
    """
    numbered = batch.numbered if of_top else batch.all_numbered
    sizes = batch.sizes if of_top else batch.whole_sizes
    n_examples, _, n_places = numbered.shape
    weights = np.zeros((n_places + 1, n_places))
    for length in range(1, n_places + 1):
        weights[length, :length] = weights_of(length)
    by_run = np.empty(sizes.shape)
    n_items = int(numbered.max(initial=0)) + 1
    n_rows = max(MOST_ENTRIES // ((n_items + 1) * n_places), 1)
    for start in range(0, n_examples, n_rows):
        rows = slice(start, start + n_rows)
        of_examples = weights[sizes[:, rows].max(axis=0)]
        by_run[:, rows] = _overlap_sums(numbered[rows], of_examples, n_items).T
    is_empty = sizes == 0
    return over_pairs(by_run + is_empty * (is_empty.sum(axis=0) - 1))


def _overlap_sums(numbered: IntArray, weights: FloatArray, n_items: int) -> FloatArray:
    """Return the sum of the overlaps of each run with all others: (examples, runs).

    Pairs of runs are not formed. With the runs that have the item at this rank or a better one, an
    item adds the weight of its rank; with those that have it at a worse one, the weight of that.
    """
    n_examples, _, n_places = numbered.shape
    width = n_items + 1  # the last is of no item
    places = np.where(numbered >= 0, numbered, n_items)
    places += np.arange(n_examples)[:, np.newaxis, np.newaxis] * width
    places *= n_places
    places += np.arange(n_places)
    counts = np.bincount(places.ravel(), minlength=n_examples * width * n_places)
    counts = counts.reshape(n_examples, width, n_places)
    weights = weights[:, np.newaxis]
    worse = np.cumsum((counts * weights)[:, :, ::-1], axis=2)[:, :, ::-1]
    added = (np.cumsum(counts, axis=2) - counts - 1) * weights + worse
    added[:, n_items] = 0.0
    return np.asarray(added.ravel()[places].sum(axis=2))


def kendall_distance(batch: ItemBatch) -> ExampleValues:
    """Return the mean Kendall distance of the first items of two runs, as a share of the largest.

    Of each two items of either list it counts 1 if the lists order them differently, where an item
    that a list does not have comes after all others, and 1/2 if one of the lists has neither:
    Fagin, Kumar and Sivakumar (2003), SIAM Journal on Discrete Mathematics 17:134, with p = 1/2.
    The largest is that of two lists of k items that share none, k(3k - 1)/2; k is the length of the
    longest list of the example.
    """
    n_runs, n_examples = batch.sizes.shape
    by_run = np.empty((n_runs, n_examples))
    numbered, n_places = batch.numbered, batch.numbered.shape[2]
    n_items = int(numbered.max(initial=0)) + 1
    n_pairs = max((n_items + 1) ** 2, n_runs * n_places * (n_places - 1) // 2)
    n_rows = max(MOST_PAIRS // n_pairs, 1)
    for start in range(0, n_examples, n_rows):
        rows = slice(start, start + n_rows)
        by_run[:, rows] = _kendall_sums(numbered[rows], batch.sizes.T[rows], n_items).T
    longest = batch.sizes.max(axis=0)
    largest = np.maximum(longest * (3 * longest - 1) / 2, 1.0)
    return over_pairs(by_run / largest)


def _kendall_sums(numbered: IntArray, sizes: IntArray, n_items: int) -> FloatArray:
    """Return the sum of the distances of each run to all others: (examples, runs).

    Pairs of runs are not formed. For lists of a and b items that share s, of which d pairs are in
    another order and whose ranks from 0 on in both add up to r, the distance is
    d + r + 3s/2 - 3s(a + b)/2 + s²/2 + ab + (a² + b² - a - b)/4. The sums over all other runs of
    its terms follow from the number of runs that have an item, or two items in an order.
    """
    n_examples, n_runs, n_places = numbered.shape
    width = n_items + 1  # the last is of no item
    of_items = np.where(numbered >= 0, numbered, n_items)
    of_items += np.arange(n_examples)[:, np.newaxis, np.newaxis] * width

    def over_runs(values: IntArray | FloatArray) -> FloatArray:
        """Sum of values over the runs that have the item of each place, 0 if there is none."""
        flat = np.broadcast_to(values, numbered.shape).ravel()
        totals = np.bincount(of_items.ravel(), flat, n_examples * width)
        totals[n_items::width] = 0.0
        return np.asarray(totals[of_items])

    ranks = np.arange(n_places)
    n_with = over_runs(np.ones(1))
    shared = n_with.sum(axis=2) - sizes
    shared_times_size = over_runs(sizes[:, :, np.newaxis]).sum(axis=2) - np.square(sizes)
    own_ranks = np.where(numbered >= 0, ranks, 0)
    rank_sums = (own_ranks * (n_with - 2) + over_runs(ranks)).sum(axis=2)
    # Pairs of items in another order, and half of the squares of shared items.
    first, second = np.triu_indices(n_places, 1)
    above, below = of_items[:, :, first], of_items[:, :, second]
    column = np.arange(n_examples)[:, np.newaxis, np.newaxis] * width
    forward = above * width + (below - column)
    counts = np.bincount(forward.ravel(), minlength=n_examples * width**2)
    counts.reshape(n_examples, width, width)[:, :, n_items] = 0
    orders = counts[forward].sum(axis=2)
    np.multiply(below, width, out=forward)
    forward += above
    forward -= column
    orders += 2 * counts[forward].sum(axis=2)
    inverted_or_shared = orders + 0.5 * (n_with.sum(axis=2) - np.square(sizes))
    total, squares = sizes.sum(axis=1, keepdims=True), np.square(sizes)
    others = n_runs - 1
    products = sizes * (total - sizes)
    lengths = others * (squares - sizes) + (squares - sizes).sum(axis=1, keepdims=True)
    lengths -= squares - sizes
    distances = inverted_or_shared + rank_sums + 1.5 * shared + products + lengths / 4
    distances -= 1.5 * (sizes * shared + shared_times_size)
    return np.asarray(np.maximum(distances, 0.0))
