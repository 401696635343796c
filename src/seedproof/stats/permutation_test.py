"""A permutation test over the runs of two versions.

If the versions do not differ, every assignment of the runs to them is equally likely. The
statistic is the flips beyond noise, an energy distance between the versions (Székely and Rizzo
2004), which needs only the disagreements of every two runs. An interval of the same quantity has
far less power near 0, where it is a square whose first derivative vanishes.
"""

from collections.abc import Iterator
from itertools import combinations, islice

import numpy as np

from seedproof.stats.vote_tests import all_splits
from seedproof.typing import FloatArray, IntArray

# All assignments up to 8 and 8 runs; beyond, this many at random.
MOST_WAYS = 13_000
N_DRAWN = 9_999
WAYS_AT_ONCE = 4096


def permutation_p_value(
    disagreements: IntArray | FloatArray, n_old: int, *, rng: np.random.Generator
) -> float:
    """Return the share of assignments that show as many flips beyond noise, or more.

    `disagreements` counts the examples on which two runs differ, or adds up the differences of
    their numbers, axes (runs, runs), old runs first.
    The p-value is exact for any dependence between examples; `rng` draws assignments if there are
    more than `MOST_WAYS`.
    """
    n_runs = len(disagreements)
    n_ways = all_splits(n_old, n_runs - n_old)
    is_old = np.zeros((1, n_runs))
    is_old[0, :n_old] = 1
    matrix = disagreements.astype(np.float64)
    seen = float(_beyond(matrix, is_old)[0])
    # Equal values must not differ by rounding.
    least = seen - 1e-9 * max(float(matrix.max()), 1.0)
    if n_ways <= MOST_WAYS:
        counts = (np.sum(_beyond(matrix, ways) >= least) for ways in _all_ways(n_runs, n_old))
        return float(sum(counts) / n_ways)
    drawn = rng.permuted(np.repeat(is_old, N_DRAWN, axis=0), axis=1)
    return float((1 + np.sum(_beyond(matrix, drawn) >= least)) / (1 + N_DRAWN))


def _all_ways(n_runs: int, n_old: int) -> Iterator[FloatArray]:
    """Yield every choice of old runs as ones and zeros, axes (ways, runs)."""
    choices = combinations(range(n_runs), n_old)
    while chosen := list(islice(choices, WAYS_AT_ONCE)):
        ways = np.zeros((len(chosen), n_runs))
        np.put_along_axis(ways, np.array(chosen), 1.0, axis=1)
        yield ways


def _beyond(matrix: FloatArray, is_old: FloatArray) -> FloatArray:
    """Disagreements between the versions less those within them, per assignment."""
    n_old = int(is_old[0].sum())
    n_new = is_old.shape[1] - n_old
    of_old = is_old @ matrix
    old = (of_old * is_old).sum(axis=1)
    across = of_old.sum(axis=1) - old
    new = matrix.sum() - old - 2 * across
    pairs = [(old, n_old * (n_old - 1)), (new, n_new * (n_new - 1))]
    within = [total / n_pairs for total, n_pairs in pairs if n_pairs]
    return np.asarray(across / (n_old * n_new) - sum(within) / len(within))


def least_permutation_p_value(n_old: int, n_new: int) -> float:
    """Return the smallest possible p-value; swapped versions are equally far apart."""
    return (2 if n_old == n_new else 1) / all_splits(n_old, n_new)
