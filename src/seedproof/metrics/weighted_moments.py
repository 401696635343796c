"""Moments of a quantity of examples that have weights."""

from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np

from seedproof.metrics.block_statistic import Shape
from seedproof.typing import FloatArray

# Powers up to the fourth, which the shape of a distribution needs.
N_POWERS = 5
POWERS = np.arange(N_POWERS)[:, np.newaxis]


@dataclass(frozen=True, eq=False)
class WeightedMoments:
    """Sums over examples of powers of weights times powers of deviations; they can be added up.

    A weighted mean m is a ratio of two sums. Its error from drawing examples is that of the sum of
    the residuals w (x − m), over the sum of the weights: Cochran (1977), Sampling Techniques, 6.3.
    """

    center: float  # that the quantity deviates from
    sums: FloatArray  # axes (power of the weight, power of the deviation)

    @classmethod
    def of(cls, values: FloatArray, weights: FloatArray) -> "WeightedMoments":
        """Return the moments of a batch."""
        center = float(values.mean()) if len(values) else 0.0
        return cls(center, weights**POWERS @ ((values - center) ** POWERS).T)

    def added_to(self, known: "WeightedMoments | None") -> "WeightedMoments":
        """Return these and the moments of examples before them."""
        if known is None or not known.sums[0, 0]:
            return self
        return WeightedMoments(known.center, known.sums + self.around(known.center))

    def around(self, center: float) -> FloatArray:
        """Return the sums of deviations from another center, by the binomial theorem."""
        step = self.center - center
        powers = range(N_POWERS)
        terms = [[comb(p, k) * step ** max(p - k, 0) for p in powers] for k in powers]
        return np.asarray(self.sums @ np.array(terms))

    @property
    def size(self) -> float:
        """Sum of the weights."""
        return float(self.sums[1, 0])

    @property
    def n_effective(self) -> float:
        """Number of examples of equal weight whose mean is as precise (Kish 1965)."""
        if self.sums[0, 0] == 1:
            return 1.0  # whatever rounding gives
        return self.size**2 / float(self.sums[2, 0])

    @property
    def variance(self) -> float:
        """Variance of the weighted mean from drawing examples; 0 with a single one."""
        n = self.n_effective
        return self.shape.squares / self.size**2 * n / (n - 1) if self.shape.n > 1 else 0.0

    @cached_property
    def shape(self) -> Shape:
        """Shape of the residuals, whose sum is 0."""
        mean = self.center + float(self.sums[1, 1]) / self.size
        n, _, squares, cubes, fourths = np.diag(self.around(mean)).tolist()
        return Shape(round(n), 0.0, max(squares, 0.0), cubes, max(fourths, 0.0))
