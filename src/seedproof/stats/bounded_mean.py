"""Ends of the mean of values with a least and a largest one, most of which may be equal.

With a single odd example among many equal ones, the variance says next to nothing about how many
such examples there are. What is known is that no further example lies outside the range.
"""

from dataclasses import dataclass

import numpy as np

from seedproof.stats.distributions import beta_quantile, gamma_quantile, normal_quantile

# Skewness below which quantiles are normal in three digits.
NO_SKEWNESS = 0.01


@dataclass(frozen=True, slots=True)
class BoundedMean:
    """Moments of independent units, such as examples or clusters, about their mean."""

    value: float
    n: float  # number of units
    squares: float  # sum of squared deviations
    cubes: float
    least: float
    largest: float

    def end(self, extreme: float, tail: float) -> float:
        """Return the end on the side of an extreme value, which one further unit has.

        Gaffke (2005), Mathematical Methods of Statistics 14:451; Learned-Miller and Thomas (2019),
        arXiv:1905.06208: the quantile of the mean of the n values and the extreme one under weights
        that are uniform on the simplex. For values 0 and 1 it is the bound of Clopper and Pearson.
        Here it is that of a beta variable of the same variance or, if the long tail is on this side
        and reaches further, of a gamma variable of the same skewness.
        """
        gap, total = extreme - self.value, self.n + 1
        move = gap / total
        squares = self.squares + gap**2 - total * move**2
        cubes = (
            *(self.cubes + gap**3, -3 * move * (self.squares + gap**2)),
            *(3 * move**2 * gap, -total * move**3),
        )
        center, variance = self.value + move, squares / (total * (total + 1))
        skewness = 2 * sum(cubes) / (total * (total + 1) * (total + 2)) / variance**1.5
        share = tail if gap < 0.0 else 1 - tail
        end = self._beta_end(center, variance, share)
        if skewness * gap <= 0.0:
            return end
        skewed = center + float(np.sqrt(variance)) * _skewed_quantile(skewness, share)
        return max(min(end, skewed), self.least) if gap < 0.0 else min(max(end, skewed), extreme)

    def _beta_end(self, center: float, variance: float, share: float) -> float:
        width = self.largest - self.least
        mean = (center - self.least) / width
        size = mean * (1 - mean) * width**2 / variance - 1
        return self.least + width * beta_quantile(mean * size, (1 - mean) * size, share)


def _skewed_quantile(skewness: float, share: float) -> float:
    """Return the quantile of a gamma variable with this skewness, a mean of 0 and an sd of 1."""
    if abs(skewness) < NO_SKEWNESS:
        return normal_quantile(share)
    shape = 4 / skewness**2
    side = 1.0 if skewness > 0.0 else -1.0
    quantile = gamma_quantile(shape, share if skewness > 0.0 else 1 - share)
    return side * (quantile - shape) / float(np.sqrt(shape))
