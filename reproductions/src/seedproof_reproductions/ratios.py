"""Ratios of totals over examples, averaged over runs, and differences between two of them."""

from dataclasses import dataclass

import numpy as np

from seedproof.metrics.block_statistic import Residuals
from seedproof.metrics.statistic import MeanOverExamples
from seedproof.stats.intervals import Estimate, estimate
from seedproof.typing import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class Ratio:
    """A figure of each run, and how far each example pulls it: enough for an interval."""

    by_run: FloatArray  # (runs)
    pulls: FloatArray  # change of the figure times the number of examples, axes (runs, examples)

    @classmethod
    def of(cls, totals: FloatArray, sizes: FloatArray) -> "Ratio":
        """Return the sum of totals by the sum of sizes; both have the axes (runs, examples)."""
        n_examples, size = totals.shape[1], sizes.sum(axis=1, keepdims=True)
        ratio = totals.sum(axis=1, keepdims=True) / size
        return cls(ratio[:, 0], (totals - ratio * sizes) * n_examples / size)

    @classmethod
    def mean(cls, values: FloatArray, chosen: BoolArray) -> "Ratio":
        """Return the mean over chosen cells of each run."""
        return cls.of(np.where(chosen, values, 0.0), chosen.astype(np.float64))

    def __sub__(self, other: "Ratio") -> "Ratio":
        """Return the difference of two figures of the same runs, or of paired ones."""
        return Ratio(self.by_run - other.by_run, self.pulls - other.pulls)

    def estimate(self) -> Estimate:
        """Return the mean over runs, with an interval over runs and examples."""
        n_runs, n_examples = self.pulls.shape
        has_runs = n_runs > 2
        residuals = Residuals(
            n_examples, self.pulls.mean(axis=0), _without(self.pulls) if has_runs else self.pulls
        )
        variance = residuals.example_covariance(residuals)
        return estimate(
            MeanOverExamples(
                value=float(self.by_run.mean()),
                n_examples=n_examples,
                without=_without(self.by_run) if has_runs else None,
                example_variance=variance,
                interaction_variance=residuals.jackknife_covariance(residuals)
                if has_runs
                else variance,
                scale="linear",
                is_small=True,
            )
        )


def _without(values: FloatArray) -> FloatArray:
    """Return means over runs, the first axis, without run r."""
    return np.asarray((values.sum(axis=0) - values) / (len(values) - 1))
