"""What as many other runs would tell: the measure for what one run tells."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from seedproof.measurement.dynamics.correlation import (
    EDGE,
    fisher_interval,
    fisher_slope,
    fisher_z,
    moved_by_each,
    standardized,
)
from seedproof.measurement.dynamics.watched import Watched
from seedproof.metrics.batch import Batch
from seedproof.stats.intervals import Estimate, jackknife_variance
from seedproof.typing import FloatArray, IntArray

# So many ways to halve the runs are enough.
MAX_HALVINGS = 10
# Halves of fewer than four runs are too unlike all runs for the formula.
HALVED_RUNS = 8


class _Halving(NamedTuple):
    """What two halves of the runs tell of each other.

    Args:
        value: The correlation of their entropies.
        left: The same with each run left out: (runs).
        moved: How much each example moves it, times their number; those on which no run differs
            are alike, and stand at the end: (contested + 1).
    """

    value: float
    left: FloatArray
    moved: FloatArray


def told_by_other_runs(watched: Watched) -> Estimate | None:
    """How well as many other runs would tell: the correlation between two such entropies.

    The runs are halved in several ways, the entropies of the halves are correlated, and
    Spearman and Brown's formula brings that to all runs but one. The entropy over few runs is
    noisy, so that not even its like goes with it perfectly: this is a reference for what one run
    tells, and no limit to it.

    A correlation with its interval over runs × examples, on the scale of Fisher's z; None with
    fewer than eight runs, or if no half disagrees.
    """
    n_runs, half = watched.n_runs, watched.n_runs // 2
    if n_runs < HALVED_RUNS:
        return None
    orders = [np.roll(np.arange(n_runs), -start) for start in _starts(n_runs - half)]
    every = [_halved(watched, order[:half], order[half : 2 * half]) for order in orders]
    found = [one for one in every if one is not None]
    if not found:
        return None
    mean = np.array([one.value for one in found]).mean(keepdims=True)
    told = float(_lengthened(mean, (n_runs - 1) / half)[0])
    # With a run left out, one half has a run less.
    left = np.mean([one.left for one in found], axis=0)
    runs = jackknife_variance(fisher_z(_lengthened(left, (n_runs - 2) / (half - 0.5))))
    examples = _example_variance(watched, found)
    low, high = fisher_interval(told, runs=runs, n_runs=n_runs, examples=examples)
    return Estimate(told, max(low, 0.0), high, "runs × examples")


def _example_variance(watched: Watched, found: Sequence[_Halving]) -> float:
    """What other examples would change, on the scale of Fisher's z.

    What runs do to single examples is in it and in the jackknife over runs: it is rather large.
    """
    times = (watched.n_runs - 1) / (watched.n_runs // 2)
    moved = np.mean([one.moved for one in found], axis=0)
    mean = max(sum(one.value for one in found) / len(found), 0.0)
    value = times * mean / (1 + (times - 1) * mean)
    # Of Fisher's z of Spearman and Brown's formula.
    slope = times / (1 + (times - 1) * mean) ** 2 * fisher_slope(value)
    n_alike = watched.n_examples - len(moved) + 1
    squares = float(moved[:-1] @ moved[:-1] + n_alike * moved[-1] ** 2)
    return squares * slope**2 / watched.n_examples**2


def _halved(watched: Watched, first: IntArray, second: IntArray) -> _Halving | None:
    """What two halves tell of each other; None if one of them always agrees."""
    one, other = (_entropies(watched.predictions[half]) for half in (first, second))
    n = watched.n_examples
    (value,) = _correlations(one[:1], other[0], n)
    if np.isnan(value):
        return None
    left = np.full(watched.n_runs, value)
    left[first] = _correlations(one[1:], other[0], n)
    left[second] = _correlations(other[1:], one[0], n)
    # Those on which no run differs have entropy 0, and stand at the end.
    n_each = np.append(np.ones(len(one[0])), n - len(one[0]))
    u, v = (standardized(np.append(half[0], 0.0), n_each) for half in (one, other))
    return _Halving(float(value), np.nan_to_num(left), moved_by_each(u, v, value))


def _entropies(predictions: IntArray) -> FloatArray:
    """Label entropy over all given runs and without each of them: (1 + runs, contested)."""
    n_runs = len(predictions)
    batch = Batch(predictions, n_classes=int(predictions.max(initial=0)) + 1)
    counts = np.arange(n_runs + 1, dtype=np.float64)
    logs = np.log(np.maximum(counts, 1.0))
    # With S = sum over classes of n ln n, the entropy is ln R - S/R.
    step = np.diff(counts * logs, prepend=0.0)  # what S loses with one run of the class
    agreement = batch.contested_agreement
    whole = logs[agreement].sum(axis=0)
    found = np.zeros((1 + n_runs, predictions.shape[1]))
    found[0, batch.contested] = logs[-1] - whole / n_runs
    found[1:, batch.contested] = logs[-2] - (whole - step[agreement]) / (n_runs - 1)
    return np.where(found < EDGE, 0.0, found)  # below lies only rounding


def _correlations(rows: FloatArray, one: FloatArray, n_examples: int) -> FloatArray:
    """Of each row with one; what is not given of the examples is 0. NaN where one is constant."""
    means, mean = rows.sum(axis=1) / n_examples, one.sum() / n_examples
    products = rows @ one / n_examples - means * mean
    variances = np.square(rows).sum(axis=1) / n_examples - means**2
    spread = variances * (one @ one / n_examples - mean**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(spread > 0, products / np.sqrt(spread), np.nan)


def _lengthened(of_halves: FloatArray, times: float) -> FloatArray:
    """Spearman and Brown's formula: what so many times as many runs would reach."""
    least = np.maximum(of_halves, 0.0)
    return np.asarray(times * least / (1 + (times - 1) * least))


def _starts(n: int) -> Sequence[int]:
    return sorted({int(i) for i in np.linspace(0, n - 1, min(n, MAX_HALVINGS))})
