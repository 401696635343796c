"""A mean over pairs of runs, and what leaving out a run makes of it."""

import numpy as np

from seedproof.metrics.statistic import ExampleValues
from seedproof.typing import FloatArray

# Sums over pairs are of order one: below this lies only what rounding left of them.
ROUNDING = 1e-13


def mean_over_pairs(with_others: FloatArray, *, largest: float = 1.0) -> ExampleValues:
    """Mean over all pairs of runs of a quantity that does not care which run comes first.

    Args:
        with_others: The quantity between each run and all others, summed over the others; axes
            (runs, examples).
        largest: The largest value that a pair can have.

    Returns:
        The mean of each example, and the mean with one run left out.
    """
    n_runs = len(with_others)
    total = with_others.sum(axis=0)
    whole = _within(total / (n_runs * (n_runs - 1)), largest)
    if n_runs == 2:
        return ExampleValues(whole, None)
    without = (total - 2 * with_others) / ((n_runs - 1) * (n_runs - 2))
    return ExampleValues(whole, _within(without, largest))


def _within(values: FloatArray, largest: float) -> FloatArray:
    """Values of [-largest, largest] without the traces of rounding at 0 and at the ends."""
    values = np.where(np.abs(values) < ROUNDING, 0.0, values)
    return np.clip(values, -largest, largest)
