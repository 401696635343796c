"""How two quantities of the same examples go together, from totals over examples."""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import expit, logit

from seedproof.typing import BoolArray, FloatArray, IntArray

# The share of the examples that counts as least stable.
TOP_SHARE = 0.1
# The share of the examples that counts as being at its limit.
NEAR = 0.05
# Entropies over runs are ranked on a grid of so many steps up to the largest: equal ones may differ
# in their last bit, as sums of logarithms in another order do.
N_LEVELS = 4096
EDGE = 1e-9


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


class Scores(ABC):
    """A way to hold entropies within a run (x) against entropies over runs (y)."""

    # Whether what an example counts changes little with little of its entropy.
    is_smooth: ClassVar[bool] = True

    @abstractmethod
    def of_one_run(self, entropies: FloatArray) -> FloatArray:
        """What the entropies within a run count: (examples)."""

    @abstractmethod
    def over_runs(self, entropies: FloatArray, n_zeros: int) -> tuple[FloatArray, FloatArray]:
        """What entropies over runs count, in each row on its own.

        Args:
            entropies: Axes (rows, examples).
            n_zeros: How many more examples there are, with entropy 0.

        Returns:
            Scores, axes (rows, examples), and the score of an entropy of 0, axes (rows).
        """

    @abstractmethod
    def value(self, totals: Totals) -> FloatArray:
        """How well x tells y, for each y."""

    @abstractmethod
    def influence(
        self, x: FloatArray, y: FloatArray, totals: Totals, value: FloatArray
    ) -> FloatArray:
        """How much each example moves the value, times their number; 0 on average.

        Args:
            x: Scores of examples: (examples).
            y: Scores of the same: (rows, examples).
            totals: Over all examples.
            value: How well x tells y: (rows).

        Returns:
            Axes (rows, examples).
        """

    def at_limits(
        self,
        within: FloatArray,  # noqa: ARG002
        over: FloatArray,  # noqa: ARG002
        x: FloatArray,
        y: FloatArray,  # noqa: ARG002
    ) -> FloatArray:
        """What an example moves less because limits move with it; nothing without limits.

        Args:
            within: Entropies within a run: (examples).
            over: Entropies over the others.
            x: Scores of the former.
            y: Scores of the latter.

        Returns:
            To be taken off the influence of each example.
        """
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


class Pearson(Scores):
    """Correlation of the entropies themselves."""

    def of_one_run(self, entropies: FloatArray) -> FloatArray:
        """The entropies."""
        return entropies

    def over_runs(
        self,
        entropies: FloatArray,
        n_zeros: int,  # noqa: ARG002 - an entropy of 0 counts 0
    ) -> tuple[FloatArray, FloatArray]:
        """The entropies."""
        return entropies, np.zeros(len(entropies))

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
        return np.asarray(u * v - value[:, None] / 2 * (u**2 + v**2))

    def bent(self, values: FloatArray, n_examples: int) -> FloatArray:  # noqa: ARG002
        """Fisher's z."""
        return np.asarray(np.arctanh(np.clip(values, EDGE - 1, 1 - EDGE)))

    def straight(self, values: FloatArray) -> FloatArray:
        """The correlation of a z."""
        return np.asarray(np.tanh(values))

    def slope(self, value: float, n_examples: int) -> float:  # noqa: ARG002
        """That of Fisher's z."""
        return 1 / max(1 - value**2, EDGE)


class Spearman(Pearson):
    """Correlation of the ranks."""

    def of_one_run(self, entropies: FloatArray) -> FloatArray:
        """Ranks from 0 to 1; equals share the middle one."""
        place, counts = _groups(entropies)
        return np.asarray(_middle_ranks(counts[None, :])[0][place])

    def over_runs(self, entropies: FloatArray, n_zeros: int) -> tuple[FloatArray, FloatArray]:
        """Ranks from 0 to 1; equals share the middle one."""
        levels, counts = _levels(entropies, n_zeros)
        ranks = _middle_ranks(counts)
        return np.take_along_axis(ranks, levels, axis=1), ranks[:, 0]


class Precision(Scores):
    """Of the tenth that is least stable over runs, the share that is so within one run, too.

    Where the limit falls among equals, all of them count in part.
    """

    is_smooth = False

    def of_one_run(self, entropies: FloatArray) -> FloatArray:
        """1 for the tenth with the largest entropies, 0 for the rest."""
        place, counts = _groups(entropies)
        return np.asarray(_top_weights(counts[None, :])[0][place])

    def over_runs(self, entropies: FloatArray, n_zeros: int) -> tuple[FloatArray, FloatArray]:
        """1 for the tenth with the largest entropies, 0 for the rest."""
        levels, counts = _levels(entropies, n_zeros)
        weights = _top_weights(counts)
        return np.take_along_axis(weights, levels, axis=1), weights[:, 0]

    def value(self, totals: Totals) -> FloatArray:
        """A share."""
        return np.asarray(totals.xy / totals.y)

    def influence(
        self, x: FloatArray, y: FloatArray, totals: Totals, value: FloatArray
    ) -> FloatArray:
        """Whether an example is among the least stable and found, less the share of those."""
        return np.asarray(y * x * (totals.n / totals.y)[:, None] - value[:, None])

    def at_limits(
        self, within: FloatArray, over: FloatArray, x: FloatArray, y: FloatArray
    ) -> FloatArray:
        """One more example in a tenth pushes another one out, found as often as at its limit."""
        found, kept = x[_near_limit(over)].mean(), y[_near_limit(within)].mean()
        return np.asarray(found * (y - TOP_SHARE) + kept * (x - TOP_SHARE)) / TOP_SHARE

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


def _standard(totals: Totals) -> tuple[float, float, FloatArray, FloatArray]:
    """Means and standard deviations; those that are only rounding are 0."""
    n = totals.n
    mean_x, mean_y = totals.x / n, totals.y / n
    var_x, var_y = totals.xx / n - mean_x**2, totals.yy / n - mean_y**2
    sd_x = float(np.sqrt(var_x)) if var_x > 1e-12 * totals.xx / n else 0.0
    sd_y = np.sqrt(np.where(var_y > 1e-12 * totals.yy / n, var_y, 0.0))
    return mean_x, sd_x, mean_y, sd_y


def _groups(values: FloatArray) -> tuple[IntArray, IntArray]:
    """The group of equals that each value is in, in ascending order, and the groups' sizes."""
    _, place, counts = np.unique(values.round(9), return_inverse=True, return_counts=True)
    return place, counts


def _levels(entropies: FloatArray, n_zeros: int) -> tuple[IntArray, IntArray]:
    """Entropies on a grid, and in each row how many there are on each level."""
    top = float(entropies.max(initial=0.0)) or 1.0
    levels = np.rint(entropies * ((N_LEVELS - 1) / top)).astype(np.int64)
    rows = np.arange(len(levels))[:, None] * N_LEVELS
    counts = np.bincount((rows + levels).ravel(), minlength=len(levels) * N_LEVELS)
    counts = counts.reshape(len(levels), N_LEVELS)
    counts[:, 0] += n_zeros
    return levels, counts


def _middle_ranks(counts: IntArray) -> FloatArray:
    upto = counts.cumsum(axis=1)
    return np.asarray((upto - counts / 2) / upto[:, -1:])


def _near_limit(values: FloatArray) -> BoolArray:
    """The examples at the limit of the largest tenth: equals, or neighbors if these are few."""
    limit = np.quantile(values, 1 - TOP_SHARE)
    is_equal = np.abs(values - limit) < 1e-9
    if is_equal.mean() >= NEAR:
        return np.asarray(is_equal)
    low, high = np.quantile(values, [1 - TOP_SHARE - NEAR / 2, 1 - TOP_SHARE + NEAR / 2])
    return np.asarray((values >= low) & (values <= high))


def _top_weights(counts: IntArray) -> FloatArray:
    upto = counts.cumsum(axis=1)
    above = upto[:, -1:] - upto
    weights = (TOP_SHARE * upto[:, -1:] - above) / np.maximum(counts, 1)
    return np.asarray(np.clip(weights, 0.0, 1.0))
