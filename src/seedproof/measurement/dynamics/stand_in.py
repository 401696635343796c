"""Can one run stand in for all? How well what it wavers on tells what the others disagree on.

The entropy over runs never includes the run that it is held against. The value is the mean over
traced runs. Its interval is over runs × examples, in closed form as all others: from the values
with one run left out in every role, and from how much each example moves the value.
"""

from dataclasses import dataclass

import numpy as np

from seedproof.measurement.dynamics.association import Association, Totals
from seedproof.measurement.dynamics.watched import Watched
from seedproof.stats.intervals import NORMAL, Estimate, Over, jackknife_variance, student
from seedproof.typing import FloatArray

# The other runs must be able to disagree.
MIN_RUNS = 3
# With fewer runs, or fewer traced ones, what varies between runs is not known.
INTERVAL_RUNS = 5
INTERVAL_TRACED = 3
# Where the noise of single examples is taken to be between its two bounds; the sweep of
# benchmarks/dynamics_coverage.py shows how well intervals cover with other places.
HALFWAY = 0.5


@dataclass(frozen=True, eq=False)
class StandIn:
    """How well single runs tell of the others.

    Args:
        mean: Over the traced runs, with an interval.
        by_run: Of each traced run.
    """

    mean: Estimate
    by_run: FloatArray


def stand_in(watched: Watched, association: Association, *, between: float = HALFWAY) -> StandIn:
    """How well the entropy within one run tells the entropy over the other runs."""
    parts = _Parts(watched, association, between)
    for place, run_idx in enumerate(watched.traced):
        parts.add(watched.entropies[place], int(run_idx))
    by_run = parts.values[watched.traced, np.arange(len(watched.traced))]
    return StandIn(parts.estimate(float(by_run.mean())), by_run)


class _Parts:
    """What each traced run tells, with each other run left out."""

    def __init__(self, watched: Watched, association: Association, between: float) -> None:
        self._watched, self._association, self._between = watched, association, between
        self._is_contested = np.zeros(watched.n_examples, dtype=np.bool_)
        self._is_contested[watched.contested] = True
        traced, everyone = watched.traced, np.arange(watched.n_runs)
        others = np.delete(everyone, traced)
        # Runs that play the same part are jackknifed together. One alone has nobody to differ from,
        # and is jackknifed among all, so that what it brings about is not left out.
        self._groups = (everyone,) if len(others) == 1 else (traced, others)
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
        # What entropies over runs count, summed over traced runs.
        self._n_least = 0.0

    def add(self, entropies: FloatArray, run_idx: int) -> None:
        """Add one traced run."""
        left = self._watched.entropies_without(run_idx)
        y = self._association.over_runs(left, self._watched.n_examples)
        x, x_contested = self._association.within_run(entropies, y, run_idx, self._is_contested)
        totals = Totals(
            len(x),
            float(x.sum()),
            float(x @ x),
            y.sum(axis=1),
            np.einsum("ri,ri->r", y, y),
            np.einsum("ri,ri->r", y, np.broadcast_to(x_contested, y.shape)),
        )
        value = self._association.value(totals)
        self.values = np.column_stack([self.values, value])
        whole, over = np.zeros((1, len(x))), np.zeros(len(x))
        whole[0, self._is_contested], over[self._is_contested] = y[run_idx], left[run_idx]
        own = slice(run_idx, run_idx + 1)
        moved = self._association.influence(x, whole, totals.rows(own), value[own])[0]
        moved -= self._association.at_limits(entropies, over, x, whole[0])
        self._moved += moved
        self._squares += moved**2
        self._n_least += float(whole.sum())
        if self._association.is_smooth:
            moved = self._association.influence(x_contested[0], y, totals, value)
            moved[run_idx] = 0.0  # left out, a run tells nothing
            self._moved_left += moved

    def estimate(self, value: float) -> Estimate:
        """The value with its interval."""
        watched, n_traced = self._watched, len(self._watched.traced)
        slope = self._association.slope(value, watched.n_examples) / watched.n_examples
        means = self._moved / n_traced
        examples = float(means @ means)
        over: Over = "examples"
        width = NORMAL**2 * examples * slope**2
        if watched.n_runs >= INTERVAL_RUNS and n_traced >= INTERVAL_TRACED:
            over = "runs × examples"
            rest = max(examples - self._interaction(), 0.0)
            width = self._run_width() + NORMAL**2 * rest * slope**2
        center = self._association.bent(np.array(value), watched.n_examples)
        low, high = self._association.straight(center + np.sqrt(width) * np.array([-1, 1]))
        reach = self._association.reach(value, self._n_least / n_traced)
        low, high = min(float(low), max(value - reach, 0.0)), max(float(high), value + reach)
        # People expect a value inside its own interval, even at the edge of its scale.
        return Estimate(value, min(low, value), max(min(high, 1.0), value), over)

    def _run_width(self) -> float:
        """Squared half width from the runs: a jackknife of the traced ones, another of the rest."""
        values = self.values.copy()
        values[self._watched.traced, np.arange(values.shape[1])] = 0.0
        left = self._association.bent(values.sum(axis=1) / self._n_left, self._watched.n_examples)
        return sum(
            student(len(group)) ** 2 * jackknife_variance(left[group])
            for group in self._groups
            if len(group) > 1
        )

    def _interaction(self) -> float:
        """What runs do to single examples: a variance that is in those of both runs and examples.

        The jackknife overstates the noise of one example's entropy, the spread over traced runs
        leaves that noise out: the truth lies between the two.
        """
        n_traced = len(self._watched.traced)
        means = self._moved / n_traced
        spread = (self._squares / n_traced - means**2) / (n_traced - 1)
        if not self._association.is_smooth:
            return float(spread.sum())
        left = self._moved_left / self._n_left[:, None]
        jackknife = sum(
            (len(group) - 1) * float(left[group].var(axis=0).sum())
            for group in self._groups
            if len(group) > 1
        )
        quiet, contested = spread[~self._is_contested], spread[self._is_contested]
        return float(
            quiet.sum() + (1 - self._between) * contested.sum() + self._between * jackknife
        )
