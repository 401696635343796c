"""Correlations over examples: of the entropy within one run with that over the other runs.

The entropy over runs never includes the run that it is compared with, because the last step of a
run is also its vote. Intervals are over runs × examples on the scale of Fisher's z: a jackknife of
the runs, and the influence of each example; both have the effect of runs on single examples.
"""

import numpy as np

from seedproof.metrics.statistic import ExampleValues
from seedproof.stats.intervals import NORMAL, PLAIN, Estimate, jackknife_variance
from seedproof.typing import FloatArray, IntArray
from seedproof_reproductions.deciding import CEILING_RUNS
from seedproof_reproductions.findings2023.comparison import entropies_over
from seedproof_reproductions.findings2023.single_runs import Predictions

# With fewer runs, or fewer traced ones, what varies between runs is not known.
MIN_RUNS, MIN_TRACED = 5, 3
MAX_HALVINGS = 10


def correlation(x: ExampleValues, y: ExampleValues) -> Estimate | None:
    """Return Pearson's correlation; None with fewer than three runs, or of a constant quantity."""
    if x.without is None or y.without is None or min(map(np.ptp, (x.values, y.values))) == 0.0:
        return None
    both = ((x.values, x.without), (y.values, y.without))
    values, moved = _pearson(*(np.vstack(rows).astype(np.float64) for rows in both))
    return _interval(values[0], moved[0], values[1:])


def one_run(predictions: Predictions) -> Estimate | None:
    """Return how well one run predicts the others; None if these are too few or always agree."""
    traces, final = predictions.traces, predictions.final
    if traces is None or len(final) < 3 or not np.ptp(final, axis=0).any():
        return None

    def means(runs: IntArray) -> tuple[float, FloatArray]:
        is_kept = np.isin(traces.traced, runs)
        over = np.asarray(entropies_over(final[runs]).without)
        places = np.searchsorted(runs, traces.traced[is_kept])
        values, moved = _pearson(traces.entropies[is_kept], over[places])
        return float(values.mean()), moved.mean(axis=0)

    runs, left = np.arange(len(final)), None
    if len(final) >= MIN_RUNS and len(traces.traced) >= MIN_TRACED:
        left = np.array([means(np.delete(runs, run))[0] for run in runs])
    return _interval(*means(runs), left)


def other_runs(final: IntArray) -> Estimate | None:
    """Return how well as many other runs would predict the entropy over runs: the noise ceiling.

    Halves of the runs are correlated, and Spearman and Brown's formula extrapolates to all but one.
    None with fewer than eight runs, or if runs always agree.
    """
    # Halves of fewer than four runs are too unlike all runs for Spearman and Brown's formula.
    if len(final) < CEILING_RUNS:
        return None

    def lengthened(runs: IntArray) -> tuple[float, FloatArray]:
        half = len(runs) // 2
        starts = np.unique(np.linspace(0, len(runs) - half - 1, MAX_HALVINGS).astype(int))
        cuts = [np.roll(runs, -start)[: 2 * half].reshape(2, half) for start in starts]
        halves = ([entropies_over(final[cut[i]]).values for cut in cuts] for i in (0, 1))
        values, moved = _pearson(*map(np.stack, halves))
        mean, times = max(float(values.mean()), 0.0), (len(final) - 1) / half
        shrunk = 1 + (times - 1) * mean
        return times * mean / shrunk, moved.mean(axis=0) * times / shrunk**2

    runs = np.arange(len(final))
    value, moved = lengthened(runs)
    left = np.array([lengthened(np.delete(runs, run))[0] for run in runs])
    return _interval(value, moved, left) if value > 0 else None


def _pearson(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Pearson's r of each row, and the influence of each example times their number."""
    u, v = (rows - rows.mean(axis=1, keepdims=True) for rows in (x, y))
    u, v = (c / np.where(c.any(axis=1), c.std(axis=1), 1.0)[:, None] for c in (u, v))
    value = (u * v).mean(axis=1, keepdims=True)
    return value[:, 0], u * v - value / 2 * (u**2 + v**2)


def _interval(value: float, moved: FloatArray, left: FloatArray | None) -> Estimate:
    """Return a correlation with its interval; over examples alone without those of fewer runs."""
    width = NORMAL**2 * float(moved @ moved) / (max(1 - value**2, 1e-9) * len(moved)) ** 2
    if left is not None:
        width += PLAIN.student(len(left)) ** 2 * jackknife_variance(_fisher_z(left))
    low, high = np.tanh(_fisher_z(value) + np.sqrt(width) * np.array([-1, 1]))
    ends = min(float(low), value), max(float(high), value)  # whatever rounding does at an edge
    return Estimate(float(value), *ends, "examples" if left is None else "runs × examples")


def _fisher_z(values: FloatArray | float) -> FloatArray:
    return np.asarray(np.arctanh(np.clip(values, 1e-9 - 1, 1 - 1e-9)))
