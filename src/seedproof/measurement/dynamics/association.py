"""How two quantities of the same examples go together, from totals over examples."""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from seedproof.measurement.dynamics.correlation import (
    EDGE,
    fisher_slope,
    fisher_z,
    moved_by_each,
)
from seedproof.stats.distributions import expit, logit
from seedproof.stats.intervals import TAIL
from seedproof.typing import BoolArray, FloatArray, IntArray

# The share of the examples that counts as least stable, unless runs differ on fewer.
TOP_SHARE = 0.1
# Half as many examples as count are at their limit.
NEAR = 0.5
# Entropies over runs are ranked on a grid of so many steps up to the largest: equal ones may differ
# in their last bit, as sums of logarithms in another order do.
N_LEVELS = 4096


class Totals(NamedTuple):
    """Sums over examples of x, of one or several y, and of their products."""

    n: int
    x: float
    xx: float
    y: FloatArray
    yy: FloatArray
    xy: FloatArray

    def rows(self, chosen: slice) -> "Totals":
        """Those of some y."""
        return self._replace(y=self.y[chosen], yy=self.yy[chosen], xy=self.xy[chosen])


class Association(ABC):
    """A way to hold entropies within a run (x) against entropies over runs (y)."""

    # Whether what an example counts changes little with little of its entropy.
    is_smooth: ClassVar[bool] = True

    @abstractmethod
    def over_runs(self, entropies: FloatArray, n_examples: int) -> FloatArray:
        """What entropies over runs count, in each row on its own.

        Scores, axes (rows, contested).
        """

    @abstractmethod
    def within_run(
        self, entropies: FloatArray, y: FloatArray, own: int, is_contested: BoolArray
    ) -> tuple[FloatArray, FloatArray]:
        """What the entropies within a run count.

        Scores of all examples in row `own`, axes (examples), and of the contested ones in each row,
        axes (rows, contested), or (1, contested) where rows are the same.
        """

    @abstractmethod
    def value(self, totals: Totals) -> FloatArray:
        """How well x tells y, for each y."""

    @abstractmethod
    def influence(
        self, x: FloatArray, y: FloatArray, totals: Totals, value: FloatArray
    ) -> FloatArray:
        """How much each example moves the value, times their number; 0 on average."""

    def at_limits(
        self,
        within: FloatArray,
        over: FloatArray,
        x: FloatArray,
        y: FloatArray,
    ) -> FloatArray:
        """What an example moves less because limits move with it; nothing without limits."""
        del within, over, y
        return np.zeros(len(x))

    @abstractmethod
    def bent(self, values: FloatArray, n_examples: int) -> FloatArray:
        """Values on the scale where their interval is symmetric."""

    @abstractmethod
    def straight(self, values: FloatArray) -> FloatArray:
        """The inverse of `bent`."""

    @abstractmethod
    def slope(self, value: float, n_examples: int) -> float:
        """How much `bent` grows with the value, there."""

    def reach(self, value: float, n_least: float) -> float:
        """How far the truth may be from a value at the end of its scale; 0 where it has none."""
        del value, n_least
        return 0.0


class Pearson(Association):
    """Correlation of the entropies themselves."""

    def over_runs(self, entropies: FloatArray, n_examples: int) -> FloatArray:
        """The entropies."""
        del n_examples
        return entropies

    def within_run(
        self,
        entropies: FloatArray,
        y: FloatArray,
        own: int,
        is_contested: BoolArray,
    ) -> tuple[FloatArray, FloatArray]:
        """The entropies."""
        del y, own
        return entropies, entropies[is_contested][None, :]

    def value(self, totals: Totals) -> FloatArray:
        """Pearson's r; 0 where one of the two is the same for all examples."""
        _, sd_x, _, sd_y = _standard(totals)
        spread = totals.n * sd_x * sd_y
        product = totals.xy - totals.x * totals.y / totals.n
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(spread > 0, np.clip(product / spread, -1.0, 1.0), 0.0)

    def influence(
        self, x: FloatArray, y: FloatArray, totals: Totals, value: FloatArray
    ) -> FloatArray:
        """Of standardized scores u and v: uv - r(u² + v²)/2."""
        mean_x, sd_x, mean_y, sd_y = _standard(totals)
        u = (x - mean_x) / (sd_x or 1.0)
        v = (y - mean_y[:, None]) / np.where(sd_y > 0, sd_y, 1.0)[:, None]
        return moved_by_each(u, v, value[:, None])

    def bent(self, values: FloatArray, n_examples: int) -> FloatArray:
        """Fisher's z."""
        del n_examples
        return fisher_z(values)

    def straight(self, values: FloatArray) -> FloatArray:
        """The correlation of a z."""
        return np.asarray(np.tanh(values))

    def slope(self, value: float, n_examples: int) -> float:
        """That of Fisher's z."""
        del n_examples
        return fisher_slope(value)


class Precision(Association):
    """Of the examples that are least stable over runs, the share that is so within one run, too.

    A tenth of the examples counts as least stable, or all on which runs differ where these are
    fewer: nobody could tell which of those that never change should fill the tenth. As many count
    within the run. Where a limit falls among equals, all of them count in part.
    """

    is_smooth = False

    def over_runs(self, entropies: FloatArray, n_examples: int) -> FloatArray:
        """1 for the least stable, 0 for the rest."""
        levels, counts = _levels(entropies)
        n_top = np.minimum(TOP_SHARE * n_examples, counts.sum(axis=1))
        above = counts.sum(axis=1)[:, None] - counts.cumsum(axis=1)
        weights = _top_weights(n_top, above, counts)
        return np.take_along_axis(weights, levels, axis=1)

    def within_run(
        self, entropies: FloatArray, y: FloatArray, own: int, is_contested: BoolArray
    ) -> tuple[FloatArray, FloatArray]:
        """1 for as many of the largest entropies as count over runs, 0 for the rest."""
        _, place, counts = np.unique(entropies.round(9), return_inverse=True, return_counts=True)
        above = len(entropies) - counts.cumsum()
        n_top = y.sum(axis=1)
        whole = _top_weights(n_top[[own]], above[None, place], counts[None, place])
        place = place[is_contested]
        return whole[0], _top_weights(n_top, above[None, place], counts[None, place])

    def value(self, totals: Totals) -> FloatArray:
        """A share; 0 where nobody disagrees."""
        return np.where(totals.y > 0, totals.xy / np.maximum(totals.y, EDGE), 0.0)

    def influence(
        self, x: FloatArray, y: FloatArray, totals: Totals, value: FloatArray
    ) -> FloatArray:
        """Whether an example is among the least stable and found, less the share of those."""
        return np.asarray(y * x * (totals.n / np.maximum(totals.y, EDGE))[:, None] - value[:, None])

    def at_limits(
        self, within: FloatArray, over: FloatArray, x: FloatArray, y: FloatArray
    ) -> FloatArray:
        """One more example at the top pushes another one out, found as often as at its limit."""
        share = float(y.mean())
        if share == 0.0:
            return np.zeros(len(x))
        kept = y[_near_limit(within, share)].mean()
        if y.sum() < (over > 0).sum() - EDGE:
            found = x[_near_limit(over, share)].mean()
        else:  # all that are contested count: one more pushes none out, and the run names one more
            found = x @ y / y.sum() - kept
        return np.asarray(found * (y - share) + kept * (x - share)) / share

    def bent(self, values: FloatArray, n_examples: int) -> FloatArray:
        """The logit, of half an example at least."""
        least = 0.5 / n_examples
        return np.asarray(logit(np.clip(values, least, 1 - least)))

    def straight(self, values: FloatArray) -> FloatArray:
        """The share of a logit."""
        return np.asarray(expit(values))

    def slope(self, value: float, n_examples: int) -> float:
        """That of the logit."""
        return 1 / max(value * (1 - value), 0.5 / n_examples)

    def reach(self, value: float, n_least: float) -> float:
        """The exact one-sided bound where all of the least stable were found, or none."""
        is_at_end = min(value, 1 - value) < EDGE
        return float(1 - TAIL ** (1 / max(n_least, 1.0))) if is_at_end else 0.0


def _standard(totals: Totals) -> tuple[float, float, FloatArray, FloatArray]:
    """Means and standard deviations; those that are only rounding are 0."""
    n = totals.n
    mean_x, mean_y = totals.x / n, totals.y / n
    var_x, var_y = totals.xx / n - mean_x**2, totals.yy / n - mean_y**2
    sd_x = float(np.sqrt(var_x)) if var_x > 1e-12 * totals.xx / n else 0.0
    sd_y = np.sqrt(np.where(var_y > 1e-12 * totals.yy / n, var_y, 0.0))
    return mean_x, sd_x, mean_y, sd_y


def _levels(entropies: FloatArray) -> tuple[IntArray, IntArray]:
    """Entropies on a grid, and in each row how many there are on each level above 0."""
    top = float(entropies.max(initial=0.0)) or 1.0
    levels = np.rint(entropies * ((N_LEVELS - 1) / top)).astype(np.int64)
    levels = np.where(entropies > 0, np.maximum(levels, 1), 0)
    rows = np.arange(len(levels))[:, None] * N_LEVELS
    counts = np.bincount((rows + levels).ravel(), minlength=len(levels) * N_LEVELS)
    counts = counts.reshape(len(levels), N_LEVELS)
    counts[:, 0] = 0
    return levels, counts


def _near_limit(values: FloatArray, share: float) -> BoolArray:
    """The examples at the limit of the largest ones: equals, or neighbors if these are few."""
    limit = np.quantile(values, 1 - share)
    is_equal = np.abs(values - limit) < 1e-9
    near = NEAR * share
    if is_equal.mean() >= near:
        return np.asarray(is_equal)
    low, high = np.quantile(values, [max(1 - share - near / 2, 0.0), 1 - share + near / 2])
    return np.asarray((values >= low) & (values <= high))


def _top_weights(n_top: FloatArray, above: IntArray, equal: IntArray) -> FloatArray:
    """What each counts if so many count in each row: those above it first, equals in part."""
    return np.asarray(np.clip((n_top[:, None] - above) / np.maximum(equal, 1), 0.0, 1.0))
