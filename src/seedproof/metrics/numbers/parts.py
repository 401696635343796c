"""A part of the variance of single numbers."""

from typing import NamedTuple

import numpy as np

from seedproof.typing import FloatArray

EXAMPLE, RESIDUAL = "variance_example", "variance_residual"


class Part(NamedTuple):
    """A part of the variance: a mean square, less what other parts add to its expectation.

    Axes are (all runs, then without each; all examples, then without each block).
    """

    name: str
    square: FloatArray
    added: FloatArray

    @property
    def variance(self) -> FloatArray:
        """The part itself, which chance can make negative."""
        return np.asarray(self.square - self.added)

    @property
    def value(self) -> float:
        """The part from all runs and examples; 0 if it is negative."""
        return max(float(self.variance[0, 0]), 0.0)
