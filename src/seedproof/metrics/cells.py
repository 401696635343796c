"""Means over some of the cells of runs × examples, such as those of one bin of the confidence."""

import numpy as np

from seedproof.metrics.block_statistic import Residuals
from seedproof.metrics.statistic import MeanOverExamples, Scale
from seedproof.typing import BoolArray, FloatArray, IntArray


def mean_over_cells(
    values: FloatArray,
    chosen: BoolArray,
    *,
    left_out: FloatArray | None = None,
    clusters: IntArray | None = None,
    scale: Scale = "log",
) -> MeanOverExamples:
    """Return the mean over chosen cells, as a ratio of two totals over examples.

    The number of chosen cells of an example is random as well, so the variance comes from the
    residuals of the ratio.

    Args:
        values: One per cell, axes (runs, examples).
        chosen: The cells to average over, with the same axes; at least one.
        left_out: Totals over the chosen cells of each example without run r, axes (runs, examples).
            If omitted, the value of a cell does not depend on other runs.
        clusters: Index of the cluster of each example, if they belong together.
        scale: Scale on which the interval is symmetric.

    Returns:
        A statistic with the variances over runs and over examples or clusters.
    """
    n_runs = len(values)
    cells, counts = np.where(chosen, values, 0.0), chosen.sum(axis=0)
    totals = cells.sum(axis=0)
    value, rest = _ratios(totals[np.newaxis], counts[np.newaxis])
    has_runs = n_runs > 2 and bool((chosen.sum() > chosen.sum(axis=1)).all())
    without, rests = value, rest
    if has_runs:
        left_out = totals - cells if left_out is None else left_out
        without, rests = _ratios(left_out, counts - chosen)
    is_drawn = _by_cluster(counts[np.newaxis], clusters)[0] > 0
    residuals = Residuals(
        float(counts.sum() / n_runs),
        _by_cluster(rest / n_runs, clusters)[0, is_drawn],
        _by_cluster(rests / max(n_runs - 1, 1), clusters)[:, is_drawn],
    )
    variance = residuals.example_covariance(residuals)
    return MeanOverExamples(
        value=float(value[0]),
        n_examples=int((counts > 0).sum()),
        without=without if has_runs else None,
        example_variance=variance,
        interaction_variance=residuals.jackknife_covariance(residuals) if has_runs else variance,
        scale=scale,
        clusters=None if clusters is None else residuals,
        is_small=True,
    )


def _ratios(totals: FloatArray, counts: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the ratio of each row, axes (rows, examples), and what each example adds to it."""
    ratios = totals.sum(axis=1) / counts.sum(axis=1)
    return ratios, totals - ratios[:, np.newaxis] * counts


def _by_cluster(rows: FloatArray | IntArray, clusters: IntArray | None) -> FloatArray:
    """Return the totals of clusters in each row; of examples if there are no clusters."""
    if clusters is None:
        return np.asarray(rows, dtype=np.float64)
    return np.stack([np.bincount(clusters, weights=row) for row in rows])
