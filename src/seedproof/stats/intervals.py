"""Intervals in closed form, from totals with one run left out. No resampling.

A bootstrap over runs fails here: two copies of one run never flip, and with few runs it is far too
narrow. These forms need one pass and reach their coverage; see the docs page on intervals.
"""

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Literal, TypeAlias, cast

import numpy as np

from seedproof.metrics.block_statistic import (
    Agreement,
    BinnedGaps,
    BlockJackknife,
    ExplainedVariance,
    Jackknifed,
    VarianceShare,
)
from seedproof.metrics.statistic import (
    ExcessSpread,
    MeanOverExamples,
    MeanOverPairs,
    MeanOverRuns,
    RootOfMean,
    SpreadOverRuns,
    Statistic,
    ValueOnly,
    WholeRuns,
)
from seedproof.stats.distributions import (
    beta_quantile,
    expit,
    logit,
    normal_quantile,
    student_quantile,
    upward_skewness,
)
from seedproof.stats.drawn import SKEWNESS, sides_of_drawn, slope_at, two_way_variance
from seedproof.stats.spread_interval import largest_variance, spread_interval, spread_of
from seedproof.typing import FloatArray

CONFIDENCE = 0.95
TAIL = (1 - CONFIDENCE) / 2
NORMAL = normal_quantile(1 - TAIL)
# Half width for the error of what is extrapolated, as a share of it. Chosen in simulations.
EXTRAPOLATION_ERROR = 0.6
# The same for contrasts, as a share of the difference between the biases of both arms. The chance
# in them is not part of the other variances, so that equal arms of many classes need twice as much.
RESIDUAL_BIAS = 2.0

# Limit of the longer side of an interval on the logit scale, in half widths of the plain one.
LONGER_SIDE = 1.25

# Limit of a half width on the log scale, beyond which a share is 0 or 1.
LONGEST = 100.0

# Relative width, times the root of the examples, that rounding gives to equal values.
NO_WIDTH = 1e-7

Over: TypeAlias = Literal[
    "runs × examples",
    "runs × clusters",
    "runs",
    "examples",
    "clusters",
    "judges × examples",
    "judges × clusters",
    "runs × judges × examples",
    "runs × judges × clusters",
]
# Over what was measured, and not over other runs.
WITHOUT_RUNS: frozenset[Over | None] = frozenset(
    {"examples", "clusters", "judges × examples", "judges × clusters"}
)


@dataclass(frozen=True, slots=True)
class Level:
    """Shares outside an interval on each side, for its two sources of chance.

    Runs may be added and judged again, examples are drawn once: a look that is one of several has
    a smaller tail for the runs alone.
    """

    tail: float = TAIL  # of the part from runs
    example_tail: float = TAIL  # of the part from drawing examples or clusters
    is_of_pairs: bool = False  # widen ratios, most of all upward if a few runs flip most
    run_share: float = 1.0  # of the variance over runs: below 1 for a forecast with more of them

    def student(self, n_runs: int) -> float:
        """Return Student's quantile for a mean over runs, shrunk as the forecast says."""
        return student_quantile(n_runs - 1, 1 - self.tail) * float(np.sqrt(self.run_share))

    @property
    def confidence(self) -> float:
        """Probability that the interval covers the truth."""
        return 1 - 2 * self.tail

    def divided(self, n: float) -> "Level":
        """Return the level of each of several verdicts, so that all hold simultaneously."""
        return replace(self, tail=self.tail / n, example_tail=self.example_tail / n)


PLAIN = Level()


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval and what that interval is over.

    `low`, `high` and `over` are None for a figure that has no interval.

    Examples:
        >>> import seedproof as sp
        >>> print(sp.Estimate(0.105, 0.0732, 0.1506, "runs × examples"))
        0.105 [0.0732, 0.1506] over runs × examples
    """

    value: float
    low: float | None = None
    high: float | None = None
    over: Over | None = None

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.value:.4g}"
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}] over {self.over}"


def over_drawn(
    statistic: MeanOverExamples | BinnedGaps | BlockJackknife | Jackknifed,
    *,
    has_runs: bool = True,
) -> Over:
    """Return what the interval of a mean over examples is over."""
    has_judges = getattr(statistic, "judges", None) is not None
    drawn = "clusters" if statistic.is_clustered else "examples"
    return cast("Over", "runs × " * has_runs + "judges × " * has_judges + drawn)


@singledispatch
def estimate(statistic: Statistic, level: Level = PLAIN) -> Estimate:
    """Return the value of a finished metric with the interval for its kind."""
    del level
    raise TypeError(f"no interval is known for a {type(statistic).__name__}")


@estimate.register
def _(statistic: ValueOnly, level: Level = PLAIN) -> Estimate:
    del level
    return Estimate(statistic.value)


@estimate.register
def estimate_mean(statistic: MeanOverExamples, level: Level = PLAIN) -> Estimate:
    """Return a mean over examples with its interval."""
    over = over_drawn(statistic, has_runs=statistic.without is not None)
    value, largest = statistic.unbiased, statistic.largest
    is_linear = statistic.scale == "linear"
    is_rate = statistic.is_small and statistic.is_rate
    is_least = value <= statistic.least and (largest is not None or not is_linear)
    if is_least or (largest is not None and abs(value - largest) < 1e-12):
        return _all_alike(statistic, level.example_tail)
    if statistic.n_drawn == 1:  # it shows nothing about others
        if statistic.without is None:
            return Estimate(value)
        over = "runs"
    if is_linear and not is_rate:
        below, above = map(np.sqrt, _squared_widths(statistic, level))
        low, high = float(value - below), float(value + above)
        if largest is not None:
            low, high = max(low, statistic.least), min(high, largest)
        return Estimate(value, low, high, over) if low < high else Estimate(value)
    if is_rate:
        low, high = _rate_ends(statistic, level)
    elif statistic.scale == "logit":
        below, above = map(np.sqrt, _squared_widths(statistic, level))
        center = float(logit(value))
        low, high = float(expit(center - below)), float(expit(center + above))
    else:
        low, high = _log_interval(statistic, level)
    # A bound, not a random error: it is added in full.
    low, high = max(low - statistic.error, statistic.least), high + statistic.error
    if largest is not None:
        high = min(high, max(largest, value))
    if high - low <= value * NO_WIDTH / np.sqrt(statistic.n_examples):
        return _all_alike(statistic, level.example_tail)
    # Rounding may move an interval without width off its value.
    return Estimate(value, float(min(low, value)), float(max(high, value)), over)


def _rate_ends(rate: MeanOverExamples, level: Level) -> tuple[float, float]:
    """Ends of a rate by Korn and Graubard (1998), Survey Methodology 24:193.

    They are the bounds of Clopper and Pearson (1934) for as many independent answers as give the
    same variance. No end is closer to 0 or 1 than if all examples were that: a failure of a single
    answer would otherwise say more than none.

    That number may exceed the number of answers, where trials happen to vary less than independent
    ones. It needs no cap: intervals of 2 or 5 independent trials cover in 95.5 to 100 % of studies.
    """
    value, tail = rate.value, level.example_tail
    squares, slope = _squared_widths(rate, level), slope_at(value, rate.scale)
    if min(squares) <= (NO_WIDTH * value * slope) ** 2 / rate.n_examples:
        return value, value
    of_one = normal_quantile(1 - tail) ** 2 * value * (1 - value) * slope**2
    fewer, more = (of_one / square for square in squares)
    low = beta_quantile(value * fewer, (1 - value) * fewer + 1, tail)
    high = beta_quantile(value * more + 1, (1 - value) * more, 1 - tail)
    if rate.n_drawn == 1:  # the interval is over runs
        return low, high
    alike = tail ** (1 / rate.n_drawn)
    return min(low, alike), max(high, 1 - alike)


def _log_interval(statistic: MeanOverExamples, level: Level) -> tuple[float, float]:
    """Interval on the log scale around the value less its expected bias."""
    least = statistic.least
    center = statistic.unbiased - least
    residual = np.log1p(EXTRAPOLATION_ERROR * statistic.extrapolated / center)
    squares = _squared_widths(statistic, level)
    below, above = (np.sqrt(square + residual**2) for square in squares)
    with np.errstate(over="ignore"):  # few runs and a small tail
        return float(least + center * np.exp(-below)), float(least + center * np.exp(above))


def _squared_widths(statistic: MeanOverExamples, level: Level) -> tuple[float, float]:
    """Squared half widths below and above, over judges too if the same ones grade every answer.

    J judges have J − 1 degrees of freedom; what they and examples both count is taken off once.
    """
    below, above = sides = _widths_for_these_judges(statistic, level)
    if (judges := statistic.judges) is None:
        return sides
    slope = slope_at(statistic.value - statistic.least, statistic.scale)
    quantile = student_quantile(len(judges.without) - 1, 1 - level.example_tail)
    of_judges = (quantile * slope) ** 2 * jackknife_variance(judges.without)
    interaction = judges.interaction_variance * slope**2
    drawn = sides_of_drawn(statistic, level.example_tail)
    below, above = (
        two_way_variance(of_judges, alone, side.square(level.example_tail) * interaction)
        for alone, side in zip(sides, drawn, strict=True)
    )
    return below, above


def _widths_for_these_judges(statistic: MeanOverExamples, level: Level) -> tuple[float, float]:
    """Squared half widths below and above, from runs (Student) and examples (normal).

    Clusters in place of examples, and few examples, get Student's quantile as well.
    """
    value, n = statistic.value - statistic.least, statistic.n_examples
    slope = slope_at(value, statistic.scale)
    examples = statistic.example_variance * slope**2
    interaction = statistic.interaction_variance * slope**2
    sides = sides_of_drawn(statistic, level.example_tail)
    if statistic.without is None:
        # Trials may be added and judged again: the part that is their noise has its own tail.
        part = min(interaction, examples)
        below, above = (
            side.factor
            * two_way_variance(
                side.square(level.tail) * part,
                side.square(level.example_tail) * examples,
                side.square(level.example_tail) * part,
            )
            for side in sides
        )
        return below, above
    # Half an example is the least that leaving out a run may leave of a count, or half of the
    # value where even that is less than an example.
    floor = 0.5 * min(1 / n, value) if statistic.is_count else 0.5 / n * value
    if statistic.scale == "linear":
        left_out = statistic.without
    elif statistic.scale == "log":
        left_out = np.log(np.maximum(statistic.without - statistic.least, floor))
    else:
        floor = min(floor, 0.5 * (1 - value))
        left_out = logit(np.clip(statistic.without, floor, 1 - floor))
    runs = level.student(len(left_out)) ** 2 * jackknife_variance(left_out)
    widenings = _widenings(left_out, level) if statistic.scale == "log" else (1.0, 1.0)
    from_runs = [widening**2 * runs for widening in widenings]
    if statistic.whole_runs is not None:
        from_runs[1] = max(from_runs[1], _of_whole_runs(statistic.whole_runs, level) ** 2)
    below, above = (
        two_way_variance(
            of_runs,
            side.factor * side.square(level.example_tail) * examples,
            min(side.factor, 1.0) * side.square(level.example_tail) * interaction,
            level.run_share,
        )
        for of_runs, side in zip(from_runs, sides, strict=True)
    )
    return below, above


def _of_whole_runs(part: WholeRuns, level: Level) -> float:
    """Half width above, on the log scale, because whole runs may differ more than these do.

    A few runs that happen to be alike show too small a variance, and a jackknife that is too sure
    of it.
    """
    factor = largest_variance(part.means, level.tail, level.run_share)
    return part.power * float(np.log1p(part.share * (factor - 1)))


def _widenings(left_out: FloatArray, level: Level) -> tuple[float, float]:
    """Factors on the half widths below and above, for means over pairs of few runs.

    The jackknife of pairs loses a degree of freedom, and pseudo-values that are skewed upward make
    the upper end too low.
    """
    if not level.is_of_pairs:
        return 1.0, 1.0
    n_runs = len(left_out)
    pairs = float(np.sqrt((n_runs - 1) / (n_runs - 2)))
    return pairs, pairs * (1 + SKEWNESS * upward_skewness(-left_out) / float(np.sqrt(n_runs)))


def jackknife_variance(left_out: FloatArray) -> float:
    """Return the variance of an estimate from its values with one run left out, axes (runs)."""
    n_runs = len(left_out)
    return float((n_runs - 1) * np.var(left_out))


def _all_alike(statistic: MeanOverExamples, tail: float) -> Estimate:
    """Exact bound if every example has the same value: on the share of others, with any value."""
    if statistic.largest is None:
        return Estimate(statistic.unbiased)
    least = statistic.least
    value = max(statistic.unbiased, least)
    others = 1 - tail ** (1 / statistic.n_drawn)
    low = least + (value - least) * (1 - others)
    high = value + max(statistic.largest - value, 0.0) * others
    return Estimate(value, low, high, over_drawn(statistic, has_runs=False))


@estimate.register
def _(statistic: RootOfMean, level: Level = PLAIN) -> Estimate:
    inner = estimate(statistic.mean, level)

    def root(mean: float | None) -> float | None:
        return None if mean is None else float(np.sqrt(mean / statistic.divisor))

    return Estimate(
        float(np.sqrt(inner.value / statistic.divisor)),
        root(inner.low),
        root(inner.high),
        inner.over,
    )


@estimate.register
def _(statistic: BinnedGaps, level: Level = PLAIN) -> Estimate:
    value, over = statistic.value, _over_blocks(statistic)
    if over is None:
        return Estimate(value)
    half_width = _block_half_width(statistic, level)
    return Estimate(value, max(value - half_width, 0.0), min(value + half_width, 1.0), over)


@estimate.register
def _(statistic: BlockJackknife, level: Level = PLAIN) -> Estimate:
    value, over = statistic.value, _over_blocks(statistic)
    if over is None:
        return Estimate(value)
    half_width = _block_half_width(statistic, level)
    # Symmetric on the logit scale, which near 0 and 1 would end far from the value.
    low, high = value - LONGER_SIDE * half_width, value + LONGER_SIDE * half_width
    center, slope = logit(value), value * (1 - value)
    if slope > 0.0:
        low = max(low, float(expit(center - half_width / slope)))
        high = min(high, float(expit(center + half_width / slope)))
    # Rounding may move an interval without width off its value.
    return Estimate(value, min(max(low, 0.0), value), max(min(high, 1.0), value), over)


@estimate.register
def _(statistic: ExplainedVariance, level: Level = PLAIN) -> Estimate:
    below, above = _jackknife_half_widths(statistic, level)
    # The more errors, the less is explained.
    low, high = (1 - statistic.ratio * float(np.exp(move)) for move in (above, -below))
    return Estimate(statistic.value, low, high, _over_blocks(statistic))


@estimate.register
def _(statistic: Agreement, level: Level = PLAIN) -> Estimate:
    below, above = _jackknife_half_widths(statistic, level)
    center = float(np.arctanh(statistic.value))
    low, high = np.tanh([center - below, center + above]).tolist()
    return Estimate(statistic.value, low, high, _over_blocks(statistic))


@estimate.register
def _(statistic: VarianceShare, level: Level = PLAIN) -> Estimate:
    value, ends = statistic.value, _jackknife_half_widths(statistic, level)
    if statistic.means is not None:
        interval = spread_interval(statistic.means, level.tail, level.run_share)
        if interval is None:
            return Estimate(value)
        # Of the variance over runs, as factors; in a denominator its ends change places.
        factors = np.square(np.array(interval) / spread_of(statistic.means))
        moves = np.log1p(abs(statistic.run_part) * (factors - 1))
        if statistic.run_part < 0.0:
            moves = moves[::-1]
        # Errors of independent quantities: Zou and Donner (2008), Statistics in Medicine 27:1693.
        ends = np.hypot(ends, moves)

    def share(log_factor: float) -> float:
        ratio = statistic.ratio * float(np.exp(min(log_factor, LONGEST)))
        odds = max(ratio - statistic.noise, 0.0)
        return 1 / (1 + odds) if statistic.is_of_others else odds / (1 + odds)

    low, high = sorted((share(-ends[0]), share(ends[1])))
    low, high = min(low, value), max(high, value)
    # Where chance explains a part at both ends, that it is 0, or all, is not shown.
    if high - low < NO_WIDTH:
        return Estimate(value)
    return Estimate(value, low, high, _over_blocks(statistic))


def _jackknife_half_widths(statistic: Jackknifed, level: Level) -> FloatArray:
    """Half widths below and above, longer where blocks are skewed."""
    pulls = statistic.blocks.whole
    skewness = np.array([upward_skewness(sign * pulls) for sign in (-1, 1)])
    widenings = 1 + SKEWNESS * skewness / np.sqrt(len(pulls))
    return np.asarray(widenings * _block_half_width(statistic, level))


def _over_blocks(statistic: BinnedGaps | BlockJackknife | Jackknifed) -> Over | None:
    """Return what the interval is over; None if a single block shows nothing about others."""
    has_runs = statistic.without is not None
    if statistic.blocks.n_clusters == 1:
        return "runs" if has_runs else None
    return over_drawn(statistic, has_runs=has_runs)


def _block_half_width(statistic: BinnedGaps | BlockJackknife | Jackknifed, level: Level) -> float:
    """Half width from runs and blocks, and from the bias that remains."""
    blocks, without = statistic.blocks, statistic.without
    runs = interaction = 0.0
    if without is not None:
        runs = level.student(len(without)) ** 2 * jackknife_variance(without)
        interaction = blocks.jackknife_covariance(blocks)
    drawn = blocks.example_covariance(blocks) + statistic.unseen_variance
    square = student_quantile(statistic.example_df, 1 - level.example_tail) ** 2
    both = two_way_variance(runs, square * drawn, square * interaction, level.run_share)
    return float(np.sqrt(both + statistic.residual_bias**2))


@estimate.register
def _(statistic: MeanOverRuns, level: Level = PLAIN) -> Estimate:
    values = statistic.values
    value = float(values.mean())
    if len(values) == 2:
        return Estimate(value)
    half_width = level.student(len(values)) * float(values.std(ddof=1)) / len(values) ** 0.5
    low = max(value - half_width, statistic.least)
    return Estimate(value, low, min(value + half_width, statistic.largest), "runs")


@estimate.register
def _(statistic: SpreadOverRuns, level: Level = PLAIN) -> Estimate:
    value = spread_of(statistic.values)
    interval = spread_interval(statistic.values, level.tail, level.run_share)
    if interval is None:
        return Estimate(value)
    low, high = interval
    # The spread is largest with half of the values at each end.
    return Estimate(value, low, min(high, max(statistic.largest / 2, value)), "runs")


@estimate.register
def _(statistic: ExcessSpread, level: Level = PLAIN) -> Estimate:
    def excess(spread: float) -> float:
        return float(np.sqrt(max(spread**2 - statistic.known**2, 0.0)))

    value = excess(spread_of(statistic.values))
    interval = spread_interval(statistic.values, level.tail, level.run_share)
    if interval is None:
        return Estimate(value)
    return Estimate(value, excess(interval[0]), excess(interval[1]), "runs")


@estimate.register
def _(statistic: MeanOverPairs, level: Level = PLAIN) -> Estimate:
    matrix = statistic.matrix
    n_runs = len(matrix)
    row_means = matrix.sum(axis=1) / (n_runs - 1)
    value = float(row_means.mean())
    if n_runs == 2 or value == 0.0:
        return Estimate(value)
    without = value - 2 * (row_means - value) / (n_runs - 2)
    left_out = np.log(np.maximum(without, statistic.floor))
    half_width = level.student(n_runs) * np.sqrt(jackknife_variance(left_out))
    below, above = (half_width * widening for widening in _widenings(left_out, level))
    low, high = float(value * np.exp(-below)), float(value * np.exp(above))
    return Estimate(value, low, min(high, statistic.largest), "runs")
