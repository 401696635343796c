"""Can one run stand in for all? How well what it wavers on tells what the others disagree on.

The entropy over runs never includes the run that it is held against. The value is the mean over
traced runs. Its interval is over runs × examples, in closed form as all others: from the values
with one run left out in every role, and from how much each example moves the value.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seedproof.measurement.dynamics.scores import Scores, Totals
from seedproof.measurement.dynamics.watched import Watched
from seedproof.measurement.intervals import NORMAL, Estimate, Over, jackknife_variance, student
from seedproof.metrics.batch import Batch
from seedproof.metrics.entropy import label_entropy
from seedproof.typing import FloatArray, IntArray

# The other runs must be able to disagree.
MIN_RUNS = 3
# With fewer runs, or fewer traced ones, what varies between runs is not known.
INTERVAL_RUNS = 5
INTERVAL_TRACED = 3
# So many ways to halve the runs are enough.
MAX_HALVINGS = 10
# Halves of fewer than four runs are too unlike all runs for the formula.
HALVED_RUNS = 8


@dataclass(frozen=True, eq=False)
class StandIn:
    """How well single runs tell of the others.

    Args:
        mean: Over the traced runs, with an interval.
        by_run: Of each traced run.
    """

    mean: Estimate
    by_run: FloatArray


def stand_in(watched: Watched, scores: Scores) -> StandIn:
    """How well the entropy within one run tells the entropy over the other runs.

    Args:
        watched: Both, of the same examples; at least three runs, one of them traced.
        scores: How the two are held against each other.

    Returns:
        The mean over traced runs. Its interval is over runs × examples; over examples alone with
        fewer than five runs or three traced ones.
    """
    parts = _Parts(watched, scores)
    for place, run_idx in enumerate(watched.traced):
        parts.add(watched.entropies[place], int(run_idx))
    by_run = parts.values[watched.traced, np.arange(len(watched.traced))]
    return StandIn(parts.estimate(float(by_run.mean())), by_run)


class _Parts:
    """What each traced run tells, with each other run left out."""

    def __init__(self, watched: Watched, scores: Scores) -> None:
        self._watched, self._scores = watched, scores
        self._is_contested = np.zeros(watched.n_examples, dtype=np.bool_)
        self._is_contested[watched.contested] = True
        self._n_zeros = watched.n_examples - len(watched.contested)
        traced = watched.traced
        self._groups = (traced, np.delete(np.arange(watched.n_runs), traced))
        # How many traced runs there are without each run.
        self._n_left = np.full(watched.n_runs, len(traced))
        self._n_left[traced] -= 1
        # Axes (left out, traced): in its own row a run is held against all others.
        self.values = np.empty((watched.n_runs, 0))
        # How much each example moves what a run tells, and its square, summed over traced runs;
        # the same with each run left out, where runs differ.
        self._moved = np.zeros(watched.n_examples)
        self._squares = np.zeros(watched.n_examples)
        self._moved_left = np.zeros(watched.predictions.shape)

    def add(self, entropies: FloatArray, run_idx: int) -> None:
        """Add one traced run."""
        x = self._scores.of_one_run(entropies)
        left = self._watched.entropies_without(run_idx)
        y, y_zero = self._scores.over_runs(left, self._n_zeros)
        x_contested = x[self._is_contested]
        totals = Totals(
            len(x),
            float(x.sum()),
            float(x @ x),
            y.sum(axis=1) + self._n_zeros * y_zero,
            np.einsum("ri,ri->r", y, y) + self._n_zeros * y_zero**2,
            y @ x_contested + x[~self._is_contested].sum() * y_zero,
        )
        value = self._scores.value(totals)
        self.values = np.column_stack([self.values, value])
        whole = np.full((1, len(x)), y_zero[run_idx])
        whole[0, self._is_contested] = y[run_idx]
        own = slice(run_idx, run_idx + 1)
        over = np.zeros(len(x))
        over[self._is_contested] = left[run_idx]
        moved = self._scores.influence(x, whole, totals.rows(own), value[own])[0]
        moved -= self._scores.at_limits(entropies, over, x, whole[0])
        self._moved += moved
        self._squares += moved**2
        if self._scores.is_smooth:
            moved = self._scores.influence(x_contested, y, totals, value)
            moved[run_idx] = 0.0  # left out, a run tells nothing
            self._moved_left += moved

    def estimate(self, value: float) -> Estimate:
        """The value with its interval."""
        watched, n_traced = self._watched, len(self._watched.traced)
        slope = self._scores.slope(value, watched.n_examples) / watched.n_examples
        means = self._moved / n_traced
        examples = float(means @ means)
        over: Over = "examples"
        width = NORMAL**2 * examples * slope**2
        if watched.n_runs >= INTERVAL_RUNS and n_traced >= INTERVAL_TRACED:
            over = "runs × examples"
            rest = max(examples - self._interaction(), 0.0)
            width = self._run_width() + NORMAL**2 * rest * slope**2
        center = self._scores.bent(np.array(value), watched.n_examples)
        low, high = self._scores.straight(center + np.sqrt(width) * np.array([-1, 1]))
        # People expect a value inside its own interval, even at the edge of its scale.
        return Estimate(value, min(float(low), value), max(float(high), value), over)

    def _run_width(self) -> float:
        """Squared half width from the runs: a jackknife of the traced ones, another of the rest."""
        values = self.values.copy()
        values[self._watched.traced, np.arange(values.shape[1])] = 0.0
        left = self._scores.bent(values.sum(axis=1) / self._n_left, self._watched.n_examples)
        return sum(
            student(len(group)) ** 2 * jackknife_variance(left[group])
            for group in self._groups
            if len(group) > 1
        )

    def _interaction(self) -> float:
        """What runs do to single examples: a variance that is in those of both runs and examples.

        The jackknife overstates the noise of one example's entropy, the spread over traced runs
        leaves that noise out: halfway between the two, simulated intervals cover best.
        """
        n_traced = len(self._watched.traced)
        means = self._moved / n_traced
        spread = (self._squares / n_traced - means**2) / (n_traced - 1)
        if not self._scores.is_smooth:
            return float(spread.sum())
        left = self._moved_left / self._n_left[:, None]
        jackknife = sum(
            (len(group) - 1) * float(left[group].var(axis=0).sum())
            for group in self._groups
            if len(group) > 1
        )
        quiet, contested = spread[~self._is_contested], spread[self._is_contested]
        return float(quiet.sum() + (contested.sum() + jackknife) / 2)


def told_by_other_runs(watched: Watched) -> float | None:
    """How well as many other runs would tell: the correlation between two such entropies.

    The runs are halved in several ways, the entropies of the halves are correlated, and
    Spearman and Brown's formula brings that to all runs but one. It is the measure for what one run
    tells: the entropy over few runs is noisy, so that not even its like goes with it perfectly.

    Args:
        watched: What all runs predict.

    Returns:
        A correlation; None with fewer than eight runs, or if no half disagrees.
    """
    n_runs, half = watched.n_runs, watched.n_runs // 2
    if n_runs < HALVED_RUNS:
        return None
    found = []
    for start in _evenly(n_runs - half, MAX_HALVINGS):
        order = np.roll(np.arange(n_runs), -start)
        first, second = (_entropy(watched, order[i : i + half]) for i in (0, half))
        n = watched.n_examples
        spread = (first @ first / n - (first.sum() / n) ** 2) * (
            second @ second / n - (second.sum() / n) ** 2
        )
        if spread > 0:
            product = first @ second / n - first.sum() / n * second.sum() / n
            found.append(product / np.sqrt(spread))
    if not found:
        return None
    of_halves, times = max(float(np.mean(found)), 0.0), (n_runs - 1) / half
    return times * of_halves / (1 + (times - 1) * of_halves)


def _evenly(n: int, most: int) -> Sequence[int]:
    return sorted({int(i) for i in np.linspace(0, n - 1, min(n, most))})


def _entropy(watched: Watched, runs: IntArray) -> FloatArray:
    """Label entropy over some runs, of the examples on which runs differ."""
    batch = Batch(watched.predictions[runs], n_classes=int(watched.predictions.max(initial=0)) + 1)
    return batch.over_contested(label_entropy(batch.contested_agreement).whole.astype(np.float64))
