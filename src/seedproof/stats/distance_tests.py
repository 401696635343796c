"""Exact tests of whether the answers of two versions on an example have the same distribution.

Given the distances of every two runs of both versions, every assignment of the runs to the versions
is equally likely if nothing changed. With few runs all assignments are compared by the distance
between versions less that within them, as `permutation_test` does for all examples together; with
more, by the side of each run on the main axis of the distances (Fisher's exact test).
"""

from collections import Counter

import numpy as np

from seedproof.stats.rank_tests import MOST_WAYS, SUMS_AT_ONCE, all_ways
from seedproof.stats.vote_tests import (
    FALSE_DISCOVERY_RATE,
    ExactTests,
    all_splits,
    examine_votes,
)
from seedproof.typing import FloatArray, IntArray

# Differences of distances, and of eigenvalues, that are rounding.
ROUNDING = 1e-9


def examine_distances(distances: FloatArray, n_old: int) -> ExactTests:
    """Test each example: do the answers of both versions have the same distribution?

    Distances are between all runs, old ones first, axes (runs, runs, examples).
    """
    n_runs = len(distances)
    if all_splits(n_old, n_runs - n_old) <= MOST_WAYS:
        return _by_assignment(distances, n_old)
    sides = _sides(distances)
    n_above = sides.sum(axis=0)
    agreement = np.where(sides == 1, n_above, n_runs - n_above)
    return examine_votes(sides[:n_old], sides[n_old:], agreement)


def _by_assignment(distances: FloatArray, n_old: int) -> ExactTests:
    """Compare all assignments by the distance between versions less that within them."""
    n_runs, _, n_examples = distances.shape
    ways = all_ways(n_runs, n_old).astype(np.float64)
    total = len(ways)
    first, second = np.triu_indices(n_runs, 1)
    pairs, by_run = distances[first, second], distances.sum(axis=1)
    both_old = ways[:, first] * ways[:, second]
    numerators = np.empty(n_examples, dtype=np.int64)
    least = np.empty(n_examples, dtype=np.int64)
    size = max(SUMS_AT_ONCE // total, 1)
    for start in range(0, n_examples, size):
        rows = slice(start, start + size)
        of_example, old = pairs[:, rows], both_old @ pairs[:, rows]
        across = ways @ by_run[:, rows] - 2 * old
        new = of_example.sum(axis=0) - old - across
        beyond = _beyond(old, across, new, n_old, n_runs - n_old)
        # The first way is the one seen.
        numerators[rows] = (beyond >= beyond[0] - ROUNDING).sum(axis=0)
        least[rows] = (beyond >= beyond.max(axis=0) - ROUNDING).sum(axis=0)
    is_tested = least <= float(FALSE_DISCOVERY_RATE * total)
    values, sizes = np.unique(numerators[is_tested], return_counts=True)
    counts = Counter(dict(zip(values.tolist(), sizes.tolist(), strict=True)))
    return ExactTests(numerators / total, counts, np.asarray(is_tested, dtype=np.bool_))


def _beyond(
    old: FloatArray, across: FloatArray, new: FloatArray, n_old: int, n_new: int
) -> FloatArray:
    """Return the mean distance between versions less that within, given sums over pairs of runs."""
    sizes = ((old, n_old * (n_old - 1) / 2), (new, n_new * (n_new - 1) / 2))
    within = [part / n_pairs for part, n_pairs in sizes if n_pairs]
    return np.asarray(across / (n_old * n_new) - sum(within) / len(within))


def _sides(distances: FloatArray) -> IntArray:
    """Return on which side of the main axis each run is: (runs, examples), 0 or 1.

    The axis is the first principal coordinate of the distances (Gower 1966). It does not depend on
    which runs are old. If the two longest axes are equally long, all runs count as on one side.
    """
    squares = np.square(distances.transpose(2, 0, 1))
    center = squares.mean(axis=1, keepdims=True) + squares.mean(axis=2, keepdims=True)
    centered = (center - squares - squares.mean(axis=(1, 2), keepdims=True)) / 2
    lengths, axes = np.linalg.eigh(centered)
    has_axis = lengths[:, -1] - lengths[:, -2] > ROUNDING
    is_above = (axes[:, :, -1] > ROUNDING) & has_axis[:, np.newaxis]
    return np.asarray(is_above.T, dtype=np.int64)
