"""Sufficient statistics of metrics: enough for a value and its interval.

Kernels return `ExampleValues`, `ExampleSums` adds them up over batches, and a finished metric is
one of the frozen statistics below, or of `block_statistic`. `stats.intervals` makes an interval
from each.
"""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from seedproof.metrics.block_statistic import (
    BinnedGaps,
    BlockJackknife,
    Jackknifed,
    Residuals,
    Shape,
)
from seedproof.metrics.weighted_moments import WeightedMoments
from seedproof.typing import BoolArray, FloatArray, IntArray

# With fewer runs there are figures and no verdicts.
VERDICT_FROM = 5


@dataclass(frozen=True, eq=False)
class ExampleValues:
    """A quantity per example, from all runs and from all runs but one.

    Counts stay integers, so that their totals do not depend on the order of examples; dividing by
    the denominators gives the quantity.
    """

    whole: IntArray | FloatArray  # from all runs, axes (examples)
    without: IntArray | FloatArray | None  # without run r, axes (runs, examples); None if too few
    whole_denominator: int = 1
    without_denominator: int = 1
    places: IntArray | None = None  # ascending positions in the batch; None if all of it
    n_zeros: int = 0  # number of further examples, whose quantity is 0 with and without any run
    by_run: IntArray | FloatArray | None = None  # of means over runs: weighted sums over examples
    # The jackknife variances over runs of `without`, summed over examples; None if not known yet.
    variances: float | None = None
    weights: FloatArray | None = None  # per example; None if all count equally
    # The quantity without judge j, axes (judges, examples); None unless judges grade every answer.
    without_judge: FloatArray | None = None
    is_subset: bool = False  # other examples have no such quantity, and are in no mean of it

    @property
    def values(self) -> FloatArray:
        """The quantity of each example: (examples,)."""
        return np.asarray(self.whole / self.whole_denominator, dtype=np.float64)

    @property
    def weighted(self) -> "ExampleValues":
        """The quantity of each example times its weight."""
        return self.scaled(self.weights)

    def scaled(self, factors: FloatArray | None) -> "ExampleValues":
        """Return the quantity of each example times a factor; the same if there are none."""
        if factors is None:
            return self
        without, judges = (
            None if x is None else x * factors for x in (self.without, self.without_judge)
        )
        return replace(self, whole=self.whole * factors, without=without, without_judge=judges)


def mean_over_runs(
    values: BoolArray | FloatArray, weights: FloatArray | None = None
) -> ExampleValues:
    """Average over runs, from the axes (runs, examples); booleans stay integer counts."""
    n_runs = len(values)
    is_count = values.dtype == np.bool_
    whole = values.sum(axis=0, dtype=np.int32 if is_count else np.float64)
    if weights is not None:
        by_run = values @ weights
    else:
        by_run = np.count_nonzero(values, axis=1) if is_count else values.sum(axis=1)
    return ExampleValues(
        whole,
        whole - values if n_runs > 2 else None,
        whole_denominator=n_runs,
        without_denominator=n_runs - 1,
        by_run=by_run,
        # Of k ones among R runs: (R-1)/R · (k - k²/R), without an array per run.
        variances=(n_runs - 1) / n_runs**2 * int((whole * (n_runs - whole)).sum(dtype=np.int64))
        if is_count
        else None,
    )


@dataclass(eq=False)
class ExampleSums:
    """Totals of `ExampleValues` over batches, with one number per run."""

    n_examples: int = 0
    total: float = 0
    squares: float = 0.0
    without: IntArray | FloatArray | None = None
    interaction: float = 0.0
    by_run: IntArray | FloatArray | None = None
    whole_denominator: int = 1
    without_denominator: int = 1
    shape: Shape | None = None  # of the quantity of examples; None if it does not matter
    moments: WeightedMoments | None = None  # of the quantity of examples; None without weights
    without_judge: IntArray | FloatArray | None = None  # totals without judge j: (judges)
    judge_interaction: float = 0.0  # jackknife variances over judges of examples, added up

    def update(self, values: ExampleValues) -> None:
        """Add the examples of one batch."""
        if values.weights is not None:
            self.moments = WeightedMoments.of(values.values, values.weights).added_to(self.moments)
            values = values.weighted
        self.whole_denominator = values.whole_denominator
        self.without_denominator = values.without_denominator
        self.n_examples += len(values.whole) + values.n_zeros
        self.total += values.whole.sum().item()
        self.squares += float(np.square(values.values).sum())
        self.by_run = _sum(self.by_run, values.by_run)
        if self.shape is not None:
            self.shape += Shape.of(values.values)
        if values.without is not None:
            self.without = _sum(self.without, values.without.sum(axis=1))
            variances = values.variances
            if variances is None:
                variances = _jackknife_variances(values.without)
            self.interaction += variances / values.without_denominator**2
        if values.without_judge is not None:
            self.without_judge = _sum(self.without_judge, values.without_judge.sum(axis=1))
            self.judge_interaction += _jackknife_variances(values.without_judge)

    def __add__(self, other: "ExampleSums") -> "ExampleSums":
        last = other if other.n_examples else self
        return ExampleSums(
            n_examples=self.n_examples + other.n_examples,
            total=self.total + other.total,
            squares=self.squares + other.squares,
            without=_sum(self.without, other.without),
            interaction=self.interaction + other.interaction,
            by_run=_sum(self.by_run, other.by_run),
            whole_denominator=last.whole_denominator,
            without_denominator=last.without_denominator,
            shape=None if self.shape is None else self.shape + (other.shape or Shape()),
            moments=self.moments if other.moments is None else other.moments.added_to(self.moments),
            without_judge=_sum(self.without_judge, other.without_judge),
            judge_interaction=self.judge_interaction + other.judge_interaction,
        )

    @property
    def size(self) -> float:
        """Number of examples, or the sum of their weights."""
        return self.n_examples if self.moments is None else self.moments.size

    @property
    def mean_by_run(self) -> FloatArray:
        """The mean over examples of each run's own value: (runs,)."""
        return np.asarray(self.by_run) / self.size

    @property
    def mean(self) -> float:
        """The mean over examples."""
        return self.total / (self.size * self.whole_denominator)

    def mean_over_examples(
        self, *, scale: "Scale" = "log", largest: float | None = None, is_count: bool = False
    ) -> "MeanOverExamples":
        """Return the finished statistic; see `MeanOverExamples` for the arguments."""
        without = None
        if self.without is not None:
            without = self.without / (self.size * self.without_denominator)
        n, moments = self.n_examples, self.moments
        if moments is not None:
            spread = moments.variance
        else:
            spread = max(self.squares / n - self.mean**2, 0.0) / (n - 1) if n > 1 else 0.0
        return MeanOverExamples(
            value=self.mean,
            n_examples=n,
            without=without,
            example_variance=spread,
            interaction_variance=self.interaction / self.size**2,
            scale=scale,
            largest=largest,
            is_count=is_count,
            shape=self.shape if moments is None else moments.shape,
            n_effective=None if moments is None else moments.n_effective,
            judges=None
            if self.without_judge is None
            else Judges(self.without_judge / self.size, self.judge_interaction / self.size**2),
        )


def _sum(
    first: IntArray | FloatArray | None, second: IntArray | FloatArray | None
) -> IntArray | FloatArray | None:
    if first is None or second is None:
        return second if first is None else first
    return first + second


def _jackknife_variances(without: IntArray | FloatArray) -> float:
    """Return the jackknife variance over runs per example, summed over examples."""
    n_runs = len(without)
    # Deviations from the first run: squares of values that hardly differ would lose their digits.
    deviations = (without - without[0]).astype(np.float64, copy=False)
    squares = float(np.einsum("ri,ri->", deviations, deviations))
    means = deviations.sum(axis=0) / n_runs
    return (n_runs - 1) * max(squares / n_runs - float(means @ means), 0.0)


Scale: TypeAlias = Literal["log", "logit", "linear"]


@dataclass(frozen=True, eq=False)
class WholeRuns:
    """The part of a mean over pairs of runs that grows with the variance of the means of runs.

    Nearly proportional to `(1 + share * (v - 1)) ** power`, if that variance is `v` times as large.
    """

    means: FloatArray  # of the runs, over all examples
    share: float  # of their variance in the variance over runs on one example
    power: float  # by which the mean over pairs follows the latter


@dataclass(frozen=True, eq=False)
class Judges:
    """Judges who grade every answer, as a sample of judges: they are drawn once for all answers."""

    without: FloatArray  # mean over examples without judge j: (judges)
    interaction_variance: float  # part of their variance that drawing examples counts as well
    names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class MeanOverExamples:
    """A mean over examples of a quantity that depends on all runs."""

    value: float
    n_examples: int
    without: FloatArray | None  # mean without run r, axes (runs); None if undefined
    example_variance: float  # variance of the mean from drawing examples
    interaction_variance: float  # part of it that the variance over runs, or of trials, has too
    scale: Scale = "log"  # scale on which the interval is symmetric
    largest: float | None = None  # the largest value one example can have, if bounded
    bias_left: float = 0.0  # expected bias of the value because of few runs: truth less value
    extrapolated: float = 0.0  # part of the unbiased value that the runs do not show
    error: float = 0.0  # largest error of the value, on either side, because of what was not kept
    is_count: bool = False  # a count, so that half an example is next to none
    clusters: Residuals | None = None  # drawn in place of examples; None if those are independent
    is_small: bool = False  # so few examples that they need Student's quantile, as clusters do
    step: float = 1.0  # of a share: the least by which one run changes the value of an example
    shape: Shape | None = None  # of the values of examples, if they may be skewed
    least: float = 0.0  # the least value one example can have, on the log scale
    whole_runs: WholeRuns | None = None  # if runs may differ as a whole
    n_effective: float | None = None  # number of examples of equal weight; None without weights
    judges: Judges | None = None  # None unless the same judges grade every answer

    @property
    def unbiased(self) -> float:
        """The value without its expected bias, as it is reported."""
        return self.value + self.bias_left

    @property
    def n_drawn(self) -> float:
        """Number of units that are drawn independently: clusters or examples of equal weight."""
        if self.clusters is not None:
            return self.clusters.n_clusters
        return self.n_examples if self.n_effective is None else self.n_effective

    @property
    def is_clustered(self) -> bool:
        """True if clusters are drawn in place of examples."""
        return self.clusters is not None

    @property
    def is_rate(self) -> bool:
        """True for a share of answers, which are 0 or 1."""
        return self.is_count and self.least == 0.0 and self.largest == 1.0

    @property
    def drawn_shape(self) -> Shape | None:
        """The shape of what is drawn, examples or clusters; None if it does not matter."""
        if self.shape is None or self.clusters is None:
            return self.shape
        return Shape.of(self.clusters.whole)


@dataclass(frozen=True, eq=False)
class RootOfMean:
    """`sqrt(mean / divisor)` of a mean over examples, such as an sd from variances."""

    mean: MeanOverExamples
    divisor: float


@dataclass(frozen=True, eq=False)
class MeanOverRuns:
    """The mean of one value per run, none below `least` or above `largest`."""

    values: FloatArray
    largest: float = np.inf
    least: float = 0.0


@dataclass(frozen=True, eq=False)
class SpreadOverRuns:
    """The standard deviation of one value per run, none below 0 or above `largest`."""

    values: FloatArray
    largest: float = np.inf


@dataclass(frozen=True, eq=False)
class ExcessSpread:
    """The standard deviation over runs after the variance of a known part is subtracted."""

    values: FloatArray
    known: float


@dataclass(frozen=True, eq=False)
class MeanOverPairs:
    """The mean over pairs of runs of a symmetric matrix with zero diagonal."""

    matrix: FloatArray  # axes (runs, runs)
    floor: float  # least value of the mean without a run, so that its logarithm exists
    largest: float = np.inf  # the largest value a pair can have


@dataclass(frozen=True)
class ValueOnly:
    """A value without a population value to enclose, so that it gets no interval."""

    value: float


def of_trials(mean: MeanOverExamples) -> MeanOverExamples:
    """Return a mean over independent trials of one model, whose examples contain their noise."""
    # If no trial can be left out, all of the variance may be their noise.
    has_noise = mean.without is not None
    noise = mean.interaction_variance if has_noise else mean.example_variance
    return replace(mean, without=None, interaction_variance=noise)


Statistic: TypeAlias = (
    MeanOverExamples
    | RootOfMean
    | BinnedGaps
    | BlockJackknife
    | Jackknifed
    | MeanOverRuns
    | SpreadOverRuns
    | ExcessSpread
    | MeanOverPairs
    | ValueOnly
)
