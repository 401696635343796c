"""Exact tests of whether the numbers of two versions on an example have the same distribution.

Given the numbers of both versions together, every assignment of them to the versions is equally
likely if nothing changed. With few runs all assignments are compared by the sum of the ranks
(Wilcoxon 1945); with more, by the numbers above the median of both versions (Fisher's exact test).
Numbers of 0 and 1 give the same test by either.
"""

from collections import Counter
from functools import lru_cache
from itertools import combinations

import numpy as np

from seedproof.stats.vote_tests import (
    FALSE_DISCOVERY_RATE,
    ExactTests,
    all_splits,
    examine_votes,
)
from seedproof.typing import FloatArray, IntArray

# All assignments up to 6 and 6 runs.
MOST_WAYS = 1_000
# Sums of ranks at a time, to limit memory.
SUMS_AT_ONCE = 2**21


def examine_numbers(old: FloatArray, new: FloatArray) -> ExactTests:
    """Test each example: do the numbers of both versions have the same distribution?

    Axes are (runs, examples).
    """
    pooled = np.concatenate([old, new])
    if all_splits(len(old), len(new)) <= MOST_WAYS:
        return _by_ranks(pooled, len(old))
    is_above = (pooled > np.median(pooled, axis=0)).astype(np.int64)
    n_above = is_above.sum(axis=0)
    agreement = np.where(is_above == 1, n_above, len(pooled) - n_above)
    return examine_votes(is_above[: len(old)], is_above[len(old) :], agreement)


def _by_ranks(pooled: FloatArray, n_old: int) -> ExactTests:
    """Compare all assignments by how far the sum of the old ranks is from its expectation."""
    n_runs, n_examples = pooled.shape
    ways, ranks = all_ways(n_runs, n_old), _doubled_ranks(pooled)
    total = len(ways)
    expected = n_old * (n_runs + 1)  # of doubled ranks
    numerators = np.empty(n_examples, dtype=np.int64)
    least = np.empty(n_examples, dtype=np.int64)
    size = max(SUMS_AT_ONCE // total, 1)
    for start in range(0, n_examples, size):
        rows = slice(start, start + size)
        apart = np.abs(ways @ ranks[:, rows] - expected)
        numerators[rows] = (apart >= apart[0]).sum(axis=0)  # the first way is the one seen
        least[rows] = (apart == apart.max(axis=0)).sum(axis=0)
    is_tested = least <= float(FALSE_DISCOVERY_RATE * total)
    values, sizes = np.unique(numerators[is_tested], return_counts=True)
    counts = Counter(dict(zip(values.tolist(), sizes.tolist(), strict=True)))
    return ExactTests(numerators / total, counts, np.asarray(is_tested, dtype=np.bool_))


@lru_cache(maxsize=8)
def all_ways(n_runs: int, n_old: int) -> IntArray:
    """Return every choice of old runs as ones and zeros, axes (ways, runs): first that seen."""
    chosen = np.array(list(combinations(range(n_runs), n_old)))
    ways = np.zeros((len(chosen), n_runs), dtype=np.int64)
    np.put_along_axis(ways, chosen, 1, axis=1)
    return ways


def _doubled_ranks(pooled: FloatArray) -> IntArray:
    """Return twice the rank of each number in its example, from 1 on; ties have their mean."""
    below = (pooled[np.newaxis] < pooled[:, np.newaxis]).sum(axis=1)
    equal = (pooled[np.newaxis] == pooled[:, np.newaxis]).sum(axis=1)
    return np.asarray(2 * below + equal + 1)
