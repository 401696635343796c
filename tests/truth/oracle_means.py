"""Intervals of means over examples, by deleting runs: the formulas of docs/explanation/intervals.md.

Everything is deleted and computed again, one run at a time. Quantiles are scipy's.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

Array = npt.NDArray[Any]

# Calibrated constants that the product states in its docs or next to its formulas.
SKEWNESS = 0.738
FEW_DF = 100.0


@dataclass(frozen=True)
class Quantity:
    """A value per example, from the answers of all runs, whose mean is a metric.

    Args:
        of: The values of the examples, from answers with the axes (runs, examples, …).
        scale: Scale of the interval: log, logit or linear.
        largest: Largest value of an example; None if unbounded.
        is_rate: A share of answers that are 0 or 1.
        is_count: A count, so that half an example is the least that deleting a run may leave.
        is_small: Drawing examples has Student's quantile instead of the normal one.
        has_tails: Heavy tails and skewness of the values matter.
        step: The least by which one run changes the value of an example.
    """

    of: Callable[[Array], Array]
    scale: str = "log"
    largest: float | None = None
    is_rate: bool = False
    is_count: bool = False
    is_small: bool = False
    has_tails: bool = False
    step: Callable[[int], float] = lambda _: 1.0


@dataclass(frozen=True)
class Level:
    """Shares outside of an interval on each side, from runs and from drawing examples."""

    runs: float = 0.025
    examples: float = 0.025
    is_of_pairs: bool = False  # means over pairs of few runs are wider on the log scale


@dataclass(frozen=True)
class Mean:
    """The mean of a quantity, and the parts of its variance."""

    quantity: Quantity
    value: float
    n_runs: int
    n_examples: int
    n_drawn: float
    size: float  # of all weights
    left_out: Array | None
    drawn: float  # variance from drawing examples or clusters
    noise: float  # part of it that the variance over runs has as well
    units: Array  # residuals of what is drawn
    left_out_units: Array | None  # the same without each run: (runs, units)
    unit: str
    judges: Array | None = None
    judge_noise: float = 0.0

    @property
    def df(self) -> float:
        """Degrees of freedom of what is drawn."""
        return max(self.n_drawn - 1, 1) if self.is_small else math.inf

    @property
    def is_small(self) -> bool:
        """True if drawing has Student's quantile."""
        return self.quantity.is_small or self.unit == "clusters"

    @property
    def over(self) -> str:
        """Unit that the interval is over."""
        judges = "judges × " if self.judges is not None else ""
        return ("" if self.left_out is None else "runs × ") + judges + self.unit


def jackknife(values: Array) -> float:
    """Return the jackknife variance of values with one run left out."""
    n = len(values)
    center = math.fsum(values) / n
    return (n - 1) / n * math.fsum((x - center) ** 2 for x in values)


def mean_of(
    quantity: Quantity,
    data: Array,
    *,
    clusters: Array | None = None,
    weights: Array | None = None,
    are_trials: bool = False,
    judges: list[Array] | None = None,
) -> Mean:
    """Return the mean of a quantity over examples, each with its weight."""
    values = quantity.of(data)
    n, n_runs = len(values), len(data)
    w = np.ones(n) if weights is None else weights
    size = math.fsum(w)
    value = math.fsum(w * values) / size
    deleted = None
    if n_runs > 2:
        deleted = np.array([quantity.of(np.delete(data, r, axis=0)) for r in range(n_runs)])
    means = None if deleted is None else deleted @ w / size
    if clusters is None:
        units = w * (values - value)
        n_drawn = size**2 / math.fsum(w**2)
        unit = "examples"
        left_units = None if deleted is None else w * deleted
    else:
        groups = [np.flatnonzero(clusters == name) for name in np.unique(clusters)]
        units = np.array([math.fsum(w[g] * (values[g] - value)) for g in groups])
        n_drawn, unit = float(len(groups)), "clusters"
        left_units = None
        if deleted is not None and means is not None:
            left_units = np.array(
                [
                    [math.fsum(w[g] * (row[g] - mean)) for g in groups]
                    for row, mean in zip(deleted, means, strict=True)
                ]
            )
    drawn = 0.0
    if n_drawn > 1:
        drawn = n_drawn / (n_drawn - 1) * math.fsum(units**2) / size**2
    noise = 0.0
    if left_units is not None:
        noise = math.fsum(jackknife(column) for column in left_units.T) / size**2
    without_judge, judge_noise = None, 0.0
    if judges is not None:
        of_judges = np.array([quantity.of(rest) for rest in judges])
        without_judge = of_judges.mean(axis=1)
        judge_noise = math.fsum(jackknife(column) for column in of_judges.T) / n**2
    return Mean(
        quantity,
        value,
        n_runs,
        n,
        n_drawn,
        size,
        None if are_trials else means,  # of trials, the values of examples contain the noise
        drawn,
        noise,
        units,
        left_units,
        unit,
        without_judge,
        judge_noise,
    )


def interval(mean: Mean, level: Level | None = None) -> tuple[float, float, str] | None:
    """Return the ends of the interval of a mean, and what it is over; None without an interval."""
    level = level or Level()
    value, q = mean.value, mean.quantity
    alike = level.examples ** (1 / mean.n_drawn)
    if value <= 0.0 and q.scale != "linear":
        return None if q.largest is None else (0.0, q.largest * (1 - alike), mean.unit)
    if q.largest is not None and abs(value - q.largest) < 1e-12:
        return value * alike, value, mean.unit
    below, above = _squares(mean, level)
    if q.is_rate and mean.is_small and q.is_small:
        slope = _slope(value, q.scale)
        of_answer = stats.norm.ppf(1 - level.examples) ** 2 * value * (1 - value) * slope**2
        fewer, more = of_answer / below, of_answer / above
        low = stats.beta.ppf(level.examples, value * fewer, (1 - value) * fewer + 1)
        high = stats.beta.ppf(1 - level.examples, value * more + 1, (1 - value) * more)
        return min(low, alike), max(high, 1 - alike), mean.over
    if q.scale == "linear":
        low, high = value - math.sqrt(below), value + math.sqrt(above)
        if q.largest is not None:
            low, high = max(low, 0.0), min(high, q.largest)
        return low, high, mean.over
    if q.scale == "log":
        low, high = value * math.exp(-math.sqrt(below)), value * math.exp(math.sqrt(above))
    else:
        center = math.log(value / (1 - value))
        low, high = (
            1 / (1 + math.exp(-(center + x))) for x in (-math.sqrt(below), math.sqrt(above))
        )
    return low, high if q.largest is None else min(high, max(q.largest, value)), mean.over


def _slope(value: float, scale: str) -> float:
    if scale == "linear":
        return 1.0
    return 1 / value if scale == "log" else 1 / (value * (1 - value))


def scaled_left_out(mean: Mean) -> Array:
    """Return the mean without each run, on the scale of the interval."""
    q, left = mean.quantity, np.asarray(mean.left_out)
    if q.scale == "linear":
        return left
    floor = (
        0.5 * min(1 / mean.n_examples, mean.value)
        if q.is_count
        else 0.5 / mean.n_examples * mean.value
    )
    if q.scale == "log":
        return np.log(np.maximum(left, floor))
    floor = min(floor, 0.5 * (1 - mean.value))
    kept = np.clip(left, floor, 1 - floor)
    return np.log(kept / (1 - kept))


def _squares(mean: Mean, level: Level) -> tuple[float, float]:
    """Return the squared half widths below and above, over runs, judges and examples."""
    slope = _slope(mean.value, mean.quantity.scale)
    from_runs = [0.0, 0.0]
    if mean.left_out is not None:
        t = stats.t.ppf(1 - level.runs, mean.n_runs - 1)
        left = scaled_left_out(mean)
        from_runs = [
            widening**2 * t**2 * jackknife(left) for widening in _widenings(mean, level, left)
        ]
    sides = []
    for (df, factor), runs in zip(_sides(mean, level.examples), from_runs, strict=True):
        t = (
            stats.t.ppf(1 - level.examples, df)
            if math.isfinite(df)
            else stats.norm.ppf(1 - level.examples)
        )
        drawn, noise = mean.drawn * slope**2, mean.noise * slope**2
        if mean.left_out is None and level.runs != level.examples:
            # Trials are drawn again at each look, so that their noise has its own tail.
            noise = min(noise, drawn)
            looked = (
                stats.t.ppf(1 - level.runs, df)
                if math.isfinite(df)
                else stats.norm.ppf(1 - level.runs)
            )
            square = factor * at_least(looked**2 * noise, t**2 * drawn, t**2 * noise)
        else:
            square = at_least(runs, factor * t**2 * drawn, min(factor, 1.0) * t**2 * noise)
        if mean.judges is not None:
            of_judges = stats.t.ppf(1 - level.examples, len(mean.judges) - 1) ** 2
            own = of_judges * slope**2 * jackknife(mean.judges)
            square = at_least(own, square, t**2 * mean.judge_noise * slope**2)
        sides.append(square)
    return sides[0], sides[1]


def _widenings(mean: Mean, level: Level, left: Array) -> tuple[float, float]:
    """Return factors on the part of runs: the jackknife of pairs loses a degree of freedom."""
    n = mean.n_runs
    if not level.is_of_pairs or mean.quantity.scale != "log":
        return 1.0, 1.0
    pairs = math.sqrt((n - 1) / (n - 2))
    skewness = 0.0 if np.ptp(left) == 0.0 else float(stats.skew(-left, bias=False))
    return pairs, pairs * (1 + SKEWNESS * max(skewness, 0.0) / math.sqrt(n))


def at_least(runs: float, drawn: float, noise: float) -> float:
    """Return the variance of both, without what both count; at least that of drawing alone."""
    return max(runs + max(drawn - noise, 0.0), drawn)


def _sides(mean: Mean, tail: float) -> list[tuple[float, float]]:
    """Return degrees of freedom, and a factor on the squared width, below and above."""
    q = mean.quantity
    if not q.has_tails or q.is_rate:
        return [(mean.df, 1.0)] * 2
    u = mean.units - mean.units.mean()
    n, second, third, fourth = len(u), (u**2).sum(), (u**3).sum(), (u**4).sum()
    few = mean.df
    if n * fourth > second**2:
        few = max(min(few, n - 1, 2 * n * second**2 / (n * fourth - second**2)), 1.0)
    skewed = 0.0
    if q.scale == "linear" and n > 2 and second > 0.0:
        skewness = third / second**1.5 * n * math.sqrt(n - 1) / (n - 2)
        skewed = SKEWNESS * skewness / math.sqrt(n)
    sides = [(few, (1 + max(-skewed, 0.0)) ** 2), (few, (1 + max(skewed, 0.0)) ** 2)]
    if (
        q.largest is None
        or few >= FEW_DF
        or not 0.0 < mean.value < q.largest
        or not mean.drawn > 0.0
    ):
        return sides
    variance = mean.drawn * _slope(mean.value, q.scale) ** 2
    squares = mean.drawn * mean.n_drawn * (mean.n_drawn - 1)
    cubes = third * (squares / second) ** 1.5
    for side, extreme in enumerate((0.0, q.largest)):
        end = _gaffke_end(mean, squares, cubes, extreme, tail)
        distance = abs(_on_scale(end, q.scale) - _on_scale(mean.value, q.scale))
        df, factor = sides[side]
        if distance**2 < factor * stats.t.ppf(1 - tail, df) ** 2 * variance:
            sides[side] = (mean.df, distance**2 / (stats.t.ppf(1 - tail, mean.df) ** 2 * variance))
    return sides


def _on_scale(value: float, scale: str) -> float:
    if scale == "linear":
        return value
    if value <= 0.0:
        return -math.inf
    return (
        math.log(value)
        if scale == "log"
        else math.log(value / (1 - value))
        if value < 1
        else math.inf
    )


def _gaffke_end(mean: Mean, squares: float, cubes: float, extreme: float, tail: float) -> float:
    """Gaffke's bound: the mean of the values and an extreme one, under weights on the simplex.

    A Dirichlet mean of n + 1 values with central moments S2, S3 has the variance S2 / ((n+1)(n+2))
    and the third moment 2·S3 / ((n+1)(n+2)(n+3)). Its quantile is that of a beta variable, or of a
    gamma variable with this skewness where that reaches further.
    """
    value, largest = mean.value, mean.quantity.largest or 1.0
    total, gap = mean.n_drawn + 1, extreme - value
    shift = gap / total
    second = squares + gap**2 - total * shift**2
    third = cubes + gap**3 - 3 * shift * (squares + gap**2) + 3 * shift**2 * gap - total * shift**3
    center, variance = value + shift, second / (total * (total + 1))
    skewness = 2 * third / (total * (total + 1) * (total + 2)) / variance**1.5
    share = tail if gap < 0 else 1 - tail
    m = center / largest
    size = m * (1 - m) * largest**2 / variance - 1
    end = largest * stats.beta.ppf(share, m * size, (1 - m) * size)
    if skewness * gap <= 0:
        return float(end)
    other = center + math.sqrt(variance) * stats.pearson3.ppf(share, skewness)
    return float(max(min(end, other), 0.0) if gap < 0 else min(max(end, other), extreme))


def spread(values: Array, tail: float = 0.025, largest: float = math.inf):
    """Return the standard deviation of runs with Bonett's interval, limited below ten runs."""
    n = len(values)
    sd = 0.0 if np.ptp(values) == 0 else float(np.std(values, ddof=1))
    if n < 5 or sd <= 1e-12 * np.abs(values).max():
        return sd, None
    z = stats.norm.ppf(1 - tail)
    trim = math.floor(n / (2 * math.sqrt(n - 4)))
    middle = np.sort(values)[trim : n - trim].mean()
    kurtosis = n * ((values - middle) ** 4).sum() / ((n - 1) * sd**2) ** 2
    c = n / (n - z)
    error = c * math.sqrt(max(kurtosis - (n - 3) / n, 0.0) / (n - 1))
    low, high = (math.sqrt(c * sd**2 * math.exp(s * z * error)) for s in (-1, 1))
    if n < 10:
        deviations = (values - values.mean()) ** 2
        if (deviations.sum() - deviations * n / (n - 1) <= 1e-12 * deviations.sum()).any():
            return sd, None
        ends = [((n - 1) / stats.chi2.ppf(p, n - 1)) ** (1.6 / 2) for p in (1 - tail, tail)]
        low, high = max(low, sd * ends[0]), min(high, sd * ends[1])
    return sd, (low, min(high, max(largest / 2, sd)))
