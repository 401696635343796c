"""Pearson's correlation over examples: what each of them moves, and Fisher's scale."""

import numpy as np

from seedproof.stats.intervals import NORMAL, student
from seedproof.typing import FloatArray

# Fisher's z has no end at 1; and shares and entropies below this are only rounding.
EDGE = 1e-9


def standardized(rows: FloatArray, n_each: FloatArray | None = None) -> FloatArray:
    """Values with mean 0 and variance 1 over examples."""
    mean = np.average(rows, axis=-1, weights=n_each)
    centered = rows - np.expand_dims(mean, -1)
    sd = np.sqrt(np.average(np.square(centered), axis=-1, weights=n_each))
    return np.asarray(centered / np.expand_dims(np.where(sd > 0, sd, 1.0), -1))


def moved_by_each(u: FloatArray, v: FloatArray, value: FloatArray | float) -> FloatArray:
    """How much each example moves a correlation, times their number: uv - r(u² + v²)/2."""
    return np.asarray(u * v - value / 2 * (u**2 + v**2))


def fisher_z(values: FloatArray | float) -> FloatArray:
    """Correlations on the scale where their interval is symmetric."""
    return np.asarray(np.arctanh(np.clip(values, EDGE - 1, 1 - EDGE)))


def fisher_slope(value: float) -> float:
    """How much `fisher_z` grows with the value, there."""
    return 1 / max(1 - value**2, EDGE)


def fisher_interval(
    value: float, *, runs: float, n_runs: int, examples: float
) -> tuple[float, float]:
    """The 95 % interval of a correlation over runs × examples."""
    width = np.sqrt(student(n_runs) ** 2 * runs + NORMAL**2 * examples)
    low, high = np.tanh(fisher_z(value) + width * np.array([-1, 1]))
    # At the edge of the scale, rounding may put the value outside.
    return min(float(low), value), max(float(high), value)
