"""Exact test of whether one value per run rises or falls with the order of the runs."""

from functools import lru_cache
from statistics import NormalDist

import numpy as np

from seedproof.typing import FloatArray

# With more runs the normal approximation is as good.
MOST_EXACT = 60


def trend_p(values: FloatArray) -> float:
    """Return the two-sided p value of Kendall's test of a trend over the order of the runs.

    If runs are exchangeable, every order of their values is equally likely: Kendall (1938),
    Biometrika 30:81; Mann (1945), Econometrica 13:245. Ties count for neither side, so that the
    test is conservative with them.
    """
    n_runs = len(values)
    signs = np.sign(values[np.newaxis] - values[:, np.newaxis])
    score = abs(int(np.triu(signs, 1).sum()))
    n_pairs = n_runs * (n_runs - 1) // 2
    if n_runs > MOST_EXACT:
        deviation = (n_runs * (n_runs - 1) * (2 * n_runs + 5) / 18) ** 0.5
        return min(2 * NormalDist().cdf(-(score - 1) / deviation), 1.0)
    n_inverted = (n_pairs - score) // 2  # the most inversions that give at least this score
    return min(2 * sum(_inversions(n_runs)[: n_inverted + 1]), 1.0)


@lru_cache(maxsize=64)
def _inversions(n_runs: int) -> tuple[float, ...]:
    """Return the share of the orders of some values by their number of inversions."""
    shares = np.ones(1)
    for n in range(2, n_runs + 1):
        # The n-th value goes before 0 to n - 1 of the others.
        shares = np.convolve(shares, np.full(n, 1 / n))
    return tuple(shares.tolist())
