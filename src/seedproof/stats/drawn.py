"""Parts of an interval, on each side, that come from drawing examples or clusters."""

from dataclasses import dataclass

import numpy as np

from seedproof.metrics.statistic import MeanOverExamples, Scale
from seedproof.stats.bounded_mean import BoundedMean
from seedproof.stats.distributions import logit, student_quantile

# Calibrated in simulations: the skewness of pseudo-values widens the upper end by this much.
SKEWNESS = 0.738
# With more degrees of freedom of the variance, Student's interval is as short as a bounded one.
FEW_DF = 100.0


@dataclass(frozen=True, slots=True)
class Side:
    """One side of an interval: degrees of freedom, and a factor on the squared half width."""

    df: float
    factor: float = 1.0

    def square(self, tail: float) -> float:
        """Return the squared quantile of Student's distribution."""
        return student_quantile(self.df, 1 - tail) ** 2


def two_way_variance(
    runs: float, examples: float, interaction: float, run_share: float = 1.0
) -> float:
    """Return the variance over runs and examples, less the interaction that both count.

    It is at least that over examples alone: a few runs that happen to agree equally often would
    otherwise leave no variance at all. With more runs the interaction shrinks as well, to
    `run_share`.
    """
    drawn = max(examples - interaction, 0.0)
    return max(runs + drawn, examples - (1 - run_share) * interaction)


def drawn_df(*statistics: MeanOverExamples) -> float:
    """Return the degrees of freedom of the variance from drawing examples, or few of them.

    A single cluster shows nothing about others, so that its variance of 0 needs no quantile.
    """
    drawn = [x.n_drawn for x in statistics if x.is_clustered or x.is_small]
    return max(min(drawn) - 1, 1) if drawn else np.inf


def slope_at(value: float, scale: Scale) -> float:
    """Return the derivative of a scale at a value."""
    if scale == "linear":
        return 1.0
    return 1 / value if scale == "log" else 1 / (value * (1 - value))


def sides_of_drawn(mean: MeanOverExamples, tail: float) -> tuple[Side, Side]:
    """Return the sides below and above the mean.

    Heavy tails make the variance itself uncertain. If values are skewed, a sample without the rare
    extreme ones has a mean too close to the others: on a linear scale, the interval is longer on
    their side, by the first term of Edgeworth's series. With one odd example among many equal ones
    both are far too careful, and the end of a bounded mean replaces them where it is closer.
    """
    df, shape = drawn_df(mean), mean.drawn_shape
    if shape is None or mean.is_rate:
        return Side(df), Side(df)
    few, skewed = min(df, shape.df), 0.0
    if mean.scale == "linear":
        skewed = SKEWNESS * shape.skewness / float(np.sqrt(shape.n))
    sides = [Side(few, (1 + max(-skewed, 0.0)) ** 2), Side(few, (1 + max(skewed, 0.0)) ** 2)]
    if few < FEW_DF:
        variance = mean.example_variance * slope_at(mean.value - mean.least, mean.scale) ** 2
        for index, distance in enumerate(_bounded_distances(mean, tail)):
            side, plain = sides[index], Side(df)
            if distance**2 < side.factor * side.square(tail) * variance:
                sides[index] = Side(df, distance**2 / (plain.square(tail) * variance))
    return sides[0], sides[1]


def _bounded_distances(mean: MeanOverExamples, tail: float) -> tuple[float, float]:
    """Distances to the ends of a bounded mean, on the scale of the interval; infinite without."""
    shape, value, n = mean.drawn_shape, mean.value, mean.n_drawn
    is_inside = mean.largest is not None and mean.least < value < mean.largest
    if shape is None or mean.largest is None or not (is_inside and mean.example_variance > 0.0):
        return np.inf, np.inf
    # Totals of clusters, and weighted values, in the units of the mean.
    squares = mean.example_variance * n * (n - 1)
    cubes = shape.cubes * (squares / shape.squares) ** 1.5
    bounded = BoundedMean(value, n, squares, cubes, mean.least, mean.largest)
    low, high = (bounded.end(extreme, tail) for extreme in (mean.least, mean.largest))
    if mean.scale == "linear":
        return value - low, high - value
    with np.errstate(divide="ignore"):
        if mean.scale == "logit":
            return float(logit(value) - logit(low)), float(logit(high) - logit(value))
        center = value - mean.least
        below = np.log(center) - np.log(low - mean.least)
        return float(below), float(np.log(high - mean.least) - np.log(center))
