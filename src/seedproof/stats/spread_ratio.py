"""Interval of the ratio of two standard deviations over runs."""

import numpy as np

from seedproof.stats.distributions import normal_quantile
from seedproof.stats.intervals import PLAIN, Level
from seedproof.stats.roots import bracketed_root
from seedproof.stats.spread_interval import BONETT_FROM
from seedproof.typing import FloatArray


def spread_ratio(
    base: FloatArray, arm: FloatArray, *, level: Level = PLAIN, is_paired: bool = False
) -> tuple[float, float] | None:
    """Return the interval of the ratio of two standard deviations, arm to baseline.

    Bonett (2006), Applied Psychological Measurement 30:432, with the kurtosis pooled after the arm
    is divided by the ratio in question: the interval has every ratio that this test does not
    reject. Unlike the jackknife it keeps its level for skewed runs and for rare bad ones. Pairs of
    values narrow it by what they have in common. None if a standard deviation is 0.
    """
    spreads = [float(x.std(ddof=1)) for x in (base, arm)]
    if min(spreads) <= 1e-12 * max(float(np.abs(x).max()) for x in (base, arm)):
        return None
    center = float(np.log(spreads[1] / spreads[0]))
    normal = normal_quantile(1 - level.tail)
    few, many = len(base), len(arm)
    shift = np.log((few / (few - normal)) / (many / (many - normal))) / 2
    moments = [_moments(x) for x in (base, arm)]
    share = _unshared(base, arm) if is_paired else 1.0

    def excess(log_ratio: float, side: int) -> float:
        error = share * _spread_error(moments[0], moments[1], log_ratio)
        return float(side * (center - shift - log_ratio) - normal * error)

    reach = 1.0
    while excess(center - reach, 1) < 0 or excess(center + reach, -1) < 0:
        reach *= 2
    low = bracketed_root(lambda x: excess(x, 1), center - reach, center - shift)
    high = bracketed_root(lambda x: excess(x, -1), center - shift, center + reach)
    return float(np.exp(low)), float(np.exp(high))


def log_ratio_error(
    base: FloatArray, arm: FloatArray, log_ratio: float, *, is_paired: bool
) -> float:
    """Return the standard error of the log ratio, if it were this one."""
    share = _unshared(base, arm) if is_paired else 1.0
    return share * _spread_error(_moments(base), _moments(arm), log_ratio)


def _unshared(base: FloatArray, arm: FloatArray) -> float:
    """Factor on the standard error of the log ratio of the spreads of paired values.

    Variances of normal pairs correlate by the squared correlation r² of the values. Heavy tails
    break that, so the correlation of the squared deviations limits it. Both are adjusted for the
    number of pairs. With few pairs nothing is taken off.
    """
    if len(base) < BONETT_FROM:
        return 1.0
    squares = [np.square(x - np.median(x)) for x in (base, arm)]
    # Rounding takes the correlation of equal arms above 1.
    shared = min(_correlation(base, arm) ** 2, max(_correlation(*squares), 0.0), 1.0)
    adjusted = 1 - (1 - shared) * (len(base) - 1) / (len(base) - 2)
    return float(np.sqrt(1 - max(adjusted, 0.0)))


def _correlation(first: FloatArray, second: FloatArray) -> float:
    """Return the correlation of two samples; 0 if one of them does not vary."""
    deviations = [x - x.mean() for x in (first, second)]
    norm = float(np.sqrt(np.prod([np.square(x).sum() for x in deviations])))
    return float(deviations[0] @ deviations[1]) / norm if norm > 0.0 else 0.0


def _moments(values: FloatArray) -> tuple[int, float, float]:
    """Size, sum of squares, and sum of fourth powers about a trimmed mean."""
    n = len(values)
    cut = int(n / (2 * np.sqrt(n - 4)))
    middle = np.sort(values)[cut : n - cut].mean()
    return n, float(((values - values.mean()) ** 2).sum()), float(((values - middle) ** 4).sum())


def _spread_error(
    base: tuple[int, float, float], arm: tuple[int, float, float], log_ratio: float
) -> float:
    """Standard error of the log ratio, if the arm's values were divided by this ratio."""
    squares = base[1] + arm[1] * np.exp(-2 * log_ratio)
    fourths = base[2] + arm[2] * np.exp(-4 * log_ratio)
    kurtosis = (base[0] + arm[0]) * fourths / squares**2
    parts = [max(kurtosis - (n - 3) / n, 0.0) / (n - 1) for n, *_ in (base, arm)]
    return float(np.sqrt(sum(parts))) / 2
