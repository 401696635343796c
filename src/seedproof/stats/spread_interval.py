"""Intervals of a standard deviation over runs."""

import numpy as np

from seedproof.stats.distributions import chi_square_quantile, normal_quantile
from seedproof.typing import FloatArray

# The fewest values for a useful interval of an sd.
SPREAD_FROM = 5
# From here on the kurtosis of normal values is known well enough. With fewer, each end is at most
# `WIDEST_FEW` times as far as that of normal values, on the log scale: chosen in simulations.
BONETT_FROM = 10
WIDEST_FEW = 1.6


def spread_of(values: FloatArray) -> float:
    """Return the standard deviation; exactly 0 for equal values, despite a rounded mean."""
    return 0.0 if np.ptp(values) == 0.0 else float(values.std(ddof=1))


def spread_interval(
    values: FloatArray, tail: float, run_share: float = 1.0
) -> tuple[float, float] | None:
    """Return the interval of a standard deviation over runs; None if they do not differ enough.

    Args:
        values: One value per run.
        tail: Share outside of the interval on each side.
        run_share: Share of the variance that a forecast with more runs has left.

    Returns:
        Lower and upper end.
    """
    spread = spread_of(values)
    if len(values) < SPREAD_FROM or spread <= 1e-12 * float(np.abs(values).max()):
        return None
    if len(values) >= BONETT_FROM:
        return _bonett(values, tail, run_share)
    if _is_of_one_run(values):
        return None
    low, high = _bonett(values, tail, run_share)
    least, largest = (spread * end for end in _normal_ends(len(values), tail, run_share))
    return max(low, least), min(high, largest)


def _normal_ends(n_runs: int, tail: float, run_share: float) -> tuple[float, float]:
    """Ends for normal values by the χ² distribution, times `WIDEST_FEW`, over the spread."""
    df, power = n_runs - 1, WIDEST_FEW * float(np.sqrt(run_share)) / 2
    low, high = (float(df / chi_square_quantile(df, share)) for share in (1 - tail, tail))
    return low**power, high**power


def largest_variance(values: FloatArray, tail: float, run_share: float = 1.0) -> float:
    """Return the upper end of the interval of a variance over runs, as a multiple of its value.

    Fewer runs than an interval needs have that of normal values. Their figures have no verdicts,
    and the lower end of a sum with other parts hardly ever misses: the upper end misses for both.
    """
    n_runs, interval = len(values), spread_interval(values, tail, run_share)
    if interval is not None:
        return (interval[1] / spread_of(values)) ** 2
    both = 2 * tail if n_runs < SPREAD_FROM else tail
    normal = (n_runs - 1) / chi_square_quantile(n_runs - 1, both)
    return float(normal ** np.sqrt(run_share))


def _is_of_one_run(values: FloatArray) -> bool:
    """Return whether a single run causes all of the spread, so that the others show none."""
    squares = np.square(values - values.mean())
    remaining = squares.sum() - squares * (len(values) / (len(values) - 1))
    return bool((remaining <= 1e-12 * squares.sum()).any())


def _bonett(values: FloatArray, tail: float, run_share: float) -> tuple[float, float]:
    """Bonett (2006), Computational Statistics & Data Analysis 50:775: robust to heavy tails."""
    n = len(values)
    trim = 1 / (2 * np.sqrt(n - 4))
    cut = int(trim * n)
    middle = np.sort(values)[cut : n - cut].mean()
    squares = float(np.square(values - values.mean()).sum())
    kurtosis = n * float(np.power(values - middle, 4).sum()) / squares**2
    normal = normal_quantile(1 - tail)
    factor = n / (n - normal)
    error = factor * np.sqrt(max(kurtosis - (n - 3) / n, 0.0) / (n - 1) * run_share)
    center = np.log(factor * squares / (n - 1))
    return float(np.exp((center - normal * error) / 2)), float(
        np.exp((center + normal * error) / 2)
    )
