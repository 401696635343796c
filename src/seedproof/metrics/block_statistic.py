"""Statistics from blocks of examples, or of clusters, that are independent of each other.

Where a figure is not a mean over examples, its variance from drawing examples comes from what each
block contributes to it.
"""

from dataclasses import dataclass
from functools import cached_property
from math import erf
from typing import ClassVar

import numpy as np

from seedproof.typing import FloatArray, IntArray

# Added to the right, and to the wrong, answers of a bin or class for its variance, so that one
# without errors is not certain: Agresti and Coull (1998), The American Statistician 52:119.
ADDED = 2
# Chosen in simulations: half width for the bias that remains, as a share of a bin's standard error.
BIN_BIAS = 0.5
# With fewer, nothing is known about their skewness.
MIN_BLOCKS = 3
# Logarithm of a ratio of mean squares that is 0 but for rounding.
NO_RATIO = -50.0


@dataclass(frozen=True, eq=False)
class Residuals:
    """Totals of a quantity per cluster, less what its mean gives for as many examples."""

    n_examples: float  # or the sum of their weights
    whole: FloatArray  # from all runs, axes (clusters)
    without: FloatArray  # without run r, axes (runs, clusters)

    @property
    def n_clusters(self) -> int:
        """Number of clusters that have an example."""
        return len(self.whole)

    def example_covariance(self, other: "Residuals") -> float:
        """Return the covariance of two means from drawing clusters; 0 with a single cluster."""
        n_clusters = self.n_clusters
        if n_clusters < 2:
            return 0.0
        factor = n_clusters / (n_clusters - 1)
        return factor * float(self.whole @ other.whole) / self.n_examples**2

    def jackknife_covariance(self, other: "Residuals") -> float:
        """Return the part of it that the jackknife covariance over runs counts as well.

        The main effect of a run is not part of it: residuals do not hold it.
        """
        first, second = (x.without - x.without.mean(axis=0) for x in (self, other))
        n_runs = len(first)
        products = float(np.einsum("rg,rg->", first, second))
        return (n_runs - 1) / n_runs * products / self.n_examples**2


@dataclass(frozen=True)
class Shape:
    """Central moments of some values: sums of powers of their deviations, which can be added up."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0
    cubes: float = 0.0
    fourths: float = 0.0

    @classmethod
    def of(cls, values: FloatArray) -> "Shape":
        """Return the shape of values."""
        mean = float(values.mean()) if len(values) else 0.0
        gaps = values - mean
        squares = np.square(gaps)
        return cls(
            len(values),
            mean,
            float(squares.sum()),
            float((squares * gaps).sum()),
            float(np.square(squares).sum()),
        )

    def __add__(self, other: "Shape") -> "Shape":
        """Add other values: Pébay (2008), Sandia report SAND2008-6212."""
        a, b, n = self.n, other.n, self.n + other.n
        if not a or not b:
            return self if a else other
        gap = other.mean - self.mean
        return Shape(
            n,
            self.mean + gap * b / n,
            self.squares + other.squares + gap**2 * a * b / n,
            self.cubes
            + other.cubes
            + gap**3 * a * b * (a - b) / n**2
            + 3 * gap * (a * other.squares - b * self.squares) / n,
            self.fourths
            + other.fourths
            + gap**4 * a * b * (a**2 - a * b + b**2) / n**3
            + 6 * gap**2 * (a**2 * other.squares + b**2 * self.squares) / n**2
            + 4 * gap * (a * other.cubes - b * self.cubes) / n,
        )

    @property
    def df(self) -> float:
        """Degrees of freedom of their variance; few if tails are heavy.

        Satterthwaite (1946): that of n values with the kurtosis k varies as if of 2n / (k − 1).
        """
        excess = self.n * self.fourths - self.squares**2
        df = 2 * self.n * self.squares**2 / excess if excess > 0.0 else np.inf
        return max(min(self.n - 1, df), 1.0)

    @property
    def skewness(self) -> float:
        """Bias-corrected skewness; 0 with fewer than three values."""
        n = self.n
        if n < 3 or not self.squares > 0.0:
            return 0.0
        return float(self.cubes / self.squares**1.5 * n * np.sqrt(n - 1) / (n - 2))


@dataclass(frozen=True, eq=False)
class BinnedGaps:
    """The absolute gaps of several bins, added up and averaged over runs, without their bias.

    The gap g of a bin has a standard error s from drawing examples, which makes |g| too large. In
    its place is s·f(g/s) with f(z) = z(2Φ(z) − 1) − φ(z): close to |g| where the gap is clear, and
    between them off by at most 0.28 s. No estimate of |g| is free of bias (Cai and Low 2011).
    Blocks are sets of examples, or of clusters, that are independent of each other.
    """

    totals: FloatArray  # of the gaps of examples, axes (runs, bins, blocks)
    sizes: IntArray  # examples of each block, none empty: (blocks)
    spread: FloatArray  # variance of a bin's gap from drawing examples, axes (runs, bins)
    unseen: FloatArray  # part of it that these examples do not show, axes (runs, bins)
    is_clustered: bool = False

    @cached_property
    def value(self) -> float:
        """The mean over runs; 0 if chance explains more than all of it."""
        return max(float(self.by_run.mean()), 0.0)

    @cached_property
    def by_run(self) -> FloatArray:
        """The sum over bins of each run, which may be negative: (runs)."""
        z, errors = self._in_errors
        density = np.exp(-np.square(z) / 2) / np.sqrt(2 * np.pi)
        return np.asarray((errors * (z * _two_sided(z) - density)).sum(axis=1))

    @cached_property
    def without(self) -> FloatArray | None:
        """The mean without run r: (runs); None with two runs."""
        return _without(self.by_run) if len(self.by_run) > 2 else None

    @cached_property
    def blocks(self) -> Residuals:
        """Contributions of the blocks to the sum.

        A bin has one direction in all runs: if runs differ in it by chance, their contributions
        would cancel although their errors do not. Slopes near 0 are raised to 1 likewise, as a
        gap of 0 is as uncertain as any other.
        """
        parts = np.einsum("rb,rbk->rk", self._slopes, self._residuals)
        without = _without(parts) if len(parts) > 1 else parts
        return Residuals(int(self.sizes.sum()), parts.mean(axis=0), without)

    @property
    def example_df(self) -> float:
        """Degrees of freedom of the variance from drawing examples."""
        return max(self.blocks.n_clusters - 1, 1)

    @cached_property
    def unseen_variance(self) -> float:
        """Variance of the sum that the blocks do not show."""
        return float((np.square(self._slopes) * self.unseen).sum(axis=1).mean())

    @cached_property
    def residual_bias(self) -> float:
        """Half width for the bias that remains, in bins whose gap is not clear."""
        z, errors = self._in_errors
        return BIN_BIAS * float((errors * np.exp(-np.square(z) / 8)).sum(axis=1).mean())

    @cached_property
    def _gaps(self) -> FloatArray:
        return np.asarray(self.totals.sum(axis=2) / self.sizes.sum())

    @cached_property
    def _residuals(self) -> FloatArray:
        return np.asarray(self.totals - self._gaps[:, :, None] * self.sizes)

    @cached_property
    def _in_errors(self) -> tuple[FloatArray, FloatArray]:
        """Each gap in units of its standard error, and that error: (runs, bins)."""
        variance, n_blocks = self.spread, len(self.sizes)
        if self.is_clustered and n_blocks > 1:
            factor = n_blocks / (n_blocks - 1) / float(self.sizes.sum()) ** 2
            drawn = factor * np.square(self._residuals).sum(axis=2)
            variance = np.maximum(variance, drawn)
        errors = np.sqrt(variance)
        return self._gaps / np.where(errors > 0.0, errors, 1.0), errors  # 0 if a bin is empty

    @cached_property
    def _slopes(self) -> FloatArray:
        z, _ = self._in_errors
        density = np.exp(-np.square(z) / 2) / np.sqrt(2 * np.pi)
        slopes = np.maximum(_two_sided(np.abs(z)) + 3 * np.abs(z) * density, 1.0)
        # A sum that is 0 but for rounding has one direction on all machines.
        return np.asarray(np.where(self._gaps.sum(axis=0) < -1e-12, -slopes, slopes))


def _two_sided(z: FloatArray) -> FloatArray:
    """Return 2Φ(z) − 1."""
    return np.array([erf(x) for x in (z / np.sqrt(2)).ravel()]).reshape(z.shape)


def _without(values: FloatArray) -> FloatArray:
    """Return means over runs, the first axis, without run r."""
    return np.asarray((values.sum(axis=0) - values) / (len(values) - 1))


@dataclass(frozen=True, eq=False)
class ClassShares:
    """Shares of right answers by class, whose mean over classes is a figure of each run."""

    right: FloatArray  # axes (runs, classes)
    n_examples: FloatArray  # that the right ones are a share of, the same axes
    n_blocks: IntArray  # with an example of the class: (classes)

    def variances(self, design_effect: float = 1.0) -> tuple[FloatArray, FloatArray]:
        """Return the variance of the mean from each class: as seen, and with unseen errors.

        A class without errors is not certain. With a design effect, as many examples count as one.
        """
        right, sizes = self.right / design_effect, self.n_examples / design_effect
        at_least = np.where(sizes > 0, sizes, 1.0)
        share, moved = right / at_least, (right + ADDED) / (sizes + 2 * ADDED)
        n_classes = np.maximum(np.count_nonzero(sizes, axis=1), 1)[:, None]
        weight = (sizes > 0) / at_least / n_classes**2
        seen = share * (1 - share) * weight
        cautious = np.maximum(moved * (1 - moved) * weight, seen)
        return seen.mean(axis=0), cautious.mean(axis=0)


@dataclass(frozen=True, eq=False)
class BlockJackknife:
    """A smooth function of totals over examples, averaged over runs.

    Its variance from drawing examples is that of its values with one block left out. Blocks are
    sets of examples, or of clusters, that are independent of each other.
    """

    by_run: FloatArray  # the function of each run: (runs)
    without_block: FloatArray  # without one block, axes (runs, blocks)
    sizes: IntArray  # examples of each block, none empty: (blocks)
    shares: ClassShares  # that it is the mean of
    is_clustered: bool = False

    residual_bias: ClassVar[float] = 0.0

    @cached_property
    def value(self) -> float:
        """The mean over runs."""
        return float(self.by_run.mean())

    @cached_property
    def without(self) -> FloatArray | None:
        """The mean without run r: (runs); None with two runs."""
        return _without(self.by_run) if len(self.by_run) > 2 else None

    @cached_property
    def blocks(self) -> Residuals:
        """Contributions of the blocks to the mean over runs."""
        n_runs, n_blocks = self.without_block.shape
        pseudo = self.without_block.mean(axis=1, keepdims=True) - self.without_block
        # In the units of `Residuals`: totals over examples.
        n_examples = int(self.sizes.sum())
        parts = n_examples * (n_blocks - 1) / n_blocks * pseudo
        without = _without(parts) if n_runs > 1 else parts
        return Residuals(n_examples, parts.mean(axis=0), without)

    @cached_property
    def unseen_variance(self) -> float:
        """Variance of errors that the blocks do not show."""
        seen, cautious = self._by_class
        return max(float(cautious.sum() - seen.sum()), 0.0)

    @property
    def example_df(self) -> float:
        """Degrees of freedom of the variance from drawing examples; few if few classes have it."""
        _, cautious = self._by_class
        squares = float((np.square(cautious) / np.maximum(self.shares.n_blocks - 1, 1)).sum())
        # Satterthwaite (1946).
        of_classes = float(cautious.sum()) ** 2 / squares if squares > 0.0 else np.inf
        return max(min(self.blocks.n_clusters - 1, of_classes), 1.0)

    @cached_property
    def _by_class(self) -> tuple[FloatArray, FloatArray]:
        """Variances of the classes; clusters that err together count as fewer examples."""
        alone = self.shares.variances()
        drawn, seen = self.blocks.example_covariance(self.blocks), float(alone[0].sum())
        if not self.is_clustered or min(drawn, seen) <= 0.0:
            return alone
        return self.shares.variances(drawn / seen)


@dataclass(frozen=True, eq=False, kw_only=True)
class Jackknifed:
    """A quantity that depends on all runs and examples, on the scale of its interval."""

    without: FloatArray | None  # its values without run r: (runs); None with trials
    blocks: Residuals  # contributions of the blocks of examples
    is_clustered: bool = False

    residual_bias: ClassVar[float] = 0.0
    unseen_variance: ClassVar[float] = 0.0

    @property
    def example_df(self) -> float:
        """Degrees of freedom of the variance from drawing examples; few if tails are heavy."""
        return Shape.of(self.blocks.whole).df


@dataclass(frozen=True, eq=False, kw_only=True)
class ExplainedVariance(Jackknifed):
    """1 less the ratio of a mean squared error to the variance of the targets; on the log scale."""

    ratio: float

    @property
    def value(self) -> float:
        """The share of the variance that is explained; negative if the mean is a better guess."""
        return 1 - self.ratio


@dataclass(frozen=True, eq=False, kw_only=True)
class VarianceShare(Jackknifed):
    """A part of a variance as a share of all: a ratio of mean squares, less the noise in it.

    It is on the log scale. Jackknives take the variance of the means of runs as given: its interval
    has its own scale.
    """

    value: float
    ratio: float
    noise: float  # part of the ratio that others add to its numerator
    means: FloatArray | None  # of the runs, or of judges of all trials; None with trials alone
    run_part: float  # share of their variance in the numerator; negative: in the denominator
    is_of_others: bool = False  # the ratio is of all other parts to this one, not the reverse

    @property
    def judges(self) -> FloatArray | None:
        """Means of the judges who grade every answer; None if there are none."""
        return self.means if self.without is None else None


@dataclass(frozen=True, eq=False, kw_only=True)
class Agreement(Jackknifed):
    """A mean over pairs of runs of a correlation; on Fisher's scale, the inverse of tanh."""

    value: float


def log_ratio(
    ratios: FloatArray, sizes: IntArray | FloatArray
) -> tuple[float, FloatArray | None, Residuals] | None:
    """Return a ratio, its logarithms without each run, and the pulls of blocks on the logarithm.

    Args:
        ratios: From all runs, and without each if they count; from all examples, and without each
            block: axes (runs, blocks).
        sizes: Number of all examples, or sum of their weights, and the same without each block.

    Returns:
        None if there are too few examples for an interval.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(ratios)
    if not (np.isfinite(logs).all() and logs.min() > NO_RATIO and len(sizes) > MIN_BLOCKS):
        return None
    pulls = np.asarray((logs[:, :1] - logs[:, 1:]) * sizes[1:], dtype=np.float64)
    has_runs = len(logs) > 1
    blocks = Residuals(float(sizes[0]), pulls[0], pulls[1:] if has_runs else pulls)
    return float(ratios[0, 0]), logs[1:, 0] if has_runs else None, blocks
