"""Contrasts of two finished metrics in closed form, without resampling.

The forms are those of `stats.intervals`, on the difference: a seed that both arms share is left out
of both, and examples enter with the difference of their values in the two arms.
"""

from dataclasses import dataclass, replace
from functools import singledispatch

import numpy as np

from seedproof.messages import Message
from seedproof.metrics.block_statistic import BinnedGaps, BlockJackknife, Jackknifed
from seedproof.metrics.statistic import (
    ExcessSpread,
    MeanOverExamples,
    MeanOverPairs,
    MeanOverRuns,
    RootOfMean,
    SpreadOverRuns,
    Statistic,
    ValueOnly,
)
from seedproof.stats.covariance import Cross
from seedproof.stats.distributions import normal_quantile
from seedproof.stats.drawn import drawn_df
from seedproof.stats.effect import (
    COUNTED,
    POWER,
    Contrast,
    Effect,
    JudgeVariance,
    RatioOfMeans,
    effect_of,
    judged,
    scale_of,
    unseen_variance,
)
from seedproof.stats.estimate_contrast import NO_COUNTERPART, from_estimates, plain_effect
from seedproof.stats.intervals import (
    PLAIN,
    RESIDUAL_BIAS,
    Level,
    estimate,
    jackknife_variance,
    over_drawn,
)
from seedproof.stats.spread_interval import SPREAD_FROM
from seedproof.stats.spread_ratio import log_ratio_error, spread_ratio
from seedproof.typing import FloatArray

# The least share of the errors not seen that two arms are taken not to have in common.
LEAST_UNSHARED = 0.25

TOO_FEW_FOR_SPREAD = Message(
    "too-few-runs-for-spread",
    "a spread needs at least {n_needed} runs",
    n_needed=SPREAD_FROM,
)
TOO_LITTLE_KEPT = Message("too-few-classes-kept", "too few classes were kept to compare")
NO_SPREAD = Message("no-spread", "one of the two arms has no spread")


@dataclass(frozen=True)
class Pair:
    """Metric, pairing and covariance of two arms that are contrasted."""

    metric: str
    is_paired: bool  # run r of both has the same seeds
    cross: Cross | None = None  # covariance over examples, if known

    @property
    def is_ratio(self) -> bool:
        """True if the contrast is of logarithms."""
        return scale_of(self.metric) == "ratio"


def compared(
    metric: str,
    base: Statistic,
    arm: Statistic,
    *,
    cross: Cross | None,
    is_paired: bool,
    level: Level = PLAIN,
    needs_runs: bool = True,
) -> Effect:
    """Return the effect of an arm on one metric, judged if the interval is over runs.

    Trials of one model need no runs.
    """
    values = _value(base), _value(arm)
    value = plain_effect(metric, *values)
    if isinstance(base, SpreadOverRuns) and isinstance(arm, SpreadOverRuns):
        return _spread_effect(
            metric, base.values, arm.values, value, level=level, is_paired=is_paired
        )
    if isinstance(base, ValueOnly | ExcessSpread | Jackknifed) or metric in COUNTED:
        return effect_of(metric, value, None, level=level, note=NO_COUNTERPART)
    if scale_of(metric) == "ratio" and min(values) <= 0.0:
        return from_estimates(metric, estimate(base, level), estimate(arm, level))
    means = [x for x in (base, arm) if isinstance(x, MeanOverExamples) and x.error]
    if any(mean.error >= mean.value for mean in means):
        return effect_of(metric, value, None, level=level, note=TOO_LITTLE_KEPT)
    difference = contrast(base, arm, Pair(metric, is_paired, cross))
    note = None if difference else NO_COUNTERPART
    return effect_of(
        metric,
        value,
        difference,
        level=level,
        note=note,
        needs_runs=needs_runs,
        are_shares=all(isinstance(x, MeanOverExamples) and x.largest == 1.0 for x in (base, arm)),
    )


def _value(statistic: Statistic) -> float:
    # A rank correlation may be negative, which the interval of a mean of shares sets to 0.
    if isinstance(statistic, MeanOverExamples):
        return statistic.unbiased
    return estimate(statistic).value


@singledispatch
def contrast(base: Statistic, arm: Statistic, pair: Pair) -> Contrast | None:
    """Return arm less baseline on the scale of the metric; None if they cannot be compared."""
    del base, arm, pair
    return None


@contrast.register
def _(base: MeanOverExamples, arm: MeanOverExamples, pair: Pair) -> Contrast | None:
    if not pair.is_ratio:
        center, residual_bias, slopes = arm.value - base.value, 0.0, (1.0, 1.0)
    else:
        center, residual_bias = _log_ratio(base, arm)
        slopes = 1 / base.value, 1 / arm.value
    examples, interaction = _examples(base, arm, slopes, pair)
    error = _error(base, arm, pair)
    judges = _judge_variance(base, arm, slopes, pair)
    has_runs = base.without is not None and arm.without is not None
    drawn = arm if base.judges is None else base
    over, example_df = over_drawn(drawn, has_runs=has_runs), drawn_df(base, arm)
    if _has_unseen(base, arm, pair):
        example_df = min(example_df, max(min(base.n_drawn, arm.n_drawn) - 1, 1))
    if base.without is None or arm.without is None:
        # Trials may be added and judged again: the part that is their noise has its own tail.
        noise = min(max(interaction, 0.0), examples)
        return Contrast(
            *(center, noise, example_df, examples, noise),
            error=error,
            over=over,
            example_df=example_df,
            ratio=_ratio_of_means(base, arm, pair) if pair.is_ratio and base.is_small else None,
            judges=judges,
        )
    left_out = base.without, arm.without
    if pair.is_ratio:
        left_out = _log_left_out(base, base.without), _log_left_out(arm, arm.without)
    runs, df = _run_variance(*left_out, pair)
    ratio = _ratio_of_means(base, arm, pair) if pair.is_ratio and base.is_small else None
    return Contrast(
        *(center, runs, df, examples, interaction, residual_bias, error, over, example_df),
        ratio,
        judges,
    )


def _judge_variance(
    base: MeanOverExamples, arm: MeanOverExamples, slopes: tuple[float, float], pair: Pair
) -> JudgeVariance | None:
    """Return the variance from drawing judges; None unless judges of an arm grade every answer.

    The same judges are paired: how strict they are cancels in their differences. What they and
    examples both count then depends on the answers of both arms, and is counted twice.
    """
    both = [(x.judges, slope) for x, slope in zip((base, arm), slopes, strict=True)]
    known = [(judges, slope) for judges, slope in both if judges is not None]
    left_out = [slope * judges.without for judges, slope in known]
    if len(known) == 2:
        are_same = known[0][0].names == known[1][0].names
        variance, df = _run_variance(left_out[0], left_out[1], replace(pair, is_paired=are_same))
        if are_same:
            return JudgeVariance(variance, df)
    elif known:
        variance, df = jackknife_variance(left_out[0]), len(left_out[0]) - 1
    else:
        return None
    counted = sum(judges.interaction_variance * slope**2 for judges, slope in known)
    return JudgeVariance(variance, df, counted)


def _ratio_of_means(base: MeanOverExamples, arm: MeanOverExamples, pair: Pair) -> RatioOfMeans:
    variances = [(x.example_variance, x.interaction_variance) for x in (base, arm)]
    covariance = _covariance(base, arm, pair)
    runs = None
    if base.without is not None and arm.without is not None:
        own = [jackknife_variance(x) for x in (base.without, arm.without)]
        shared = 0.0
        if pair.is_paired:
            shared = (sum(own) - jackknife_variance(arm.without - base.without)) / 2
        runs = own[0], own[1], shared
    return RatioOfMeans(base.value, arm.value, variances[0], variances[1], covariance, runs)


def _error(base: MeanOverExamples, arm: MeanOverExamples, pair: Pair) -> float:
    """Bound on the error of the contrast from classes that were not kept."""
    if not pair.is_ratio:
        return base.error + arm.error
    shares = base.error / base.value, arm.error / arm.value
    ends = [np.log1p(above) - np.log1p(-below) for above, below in (shares, shares[::-1])]
    return float(max(ends))


def _log_ratio(base: MeanOverExamples, arm: MeanOverExamples) -> tuple[float, float]:
    """Log ratio with the expected bias of both removed, and the bias that remains possible."""
    centers = [x.unbiased for x in (base, arm)]
    shares = [x.bias_left / center for x, center in zip((base, arm), centers, strict=True)]
    # Few runs bias both in the same direction, so that most of it cancels.
    return float(np.log(centers[1] / centers[0])), RESIDUAL_BIAS * abs(shares[1] - shares[0])


def _log_left_out(statistic: MeanOverExamples, without: FloatArray) -> FloatArray:
    # As in `stats.intervals`: half an example is the least that may be left of a count.
    floor = 0.5 / statistic.n_examples
    least = min(floor, 0.5 * statistic.value) if statistic.is_count else floor * statistic.value
    return np.log(np.maximum(without, least))


def _examples(
    base: MeanOverExamples, arm: MeanOverExamples, slopes: tuple[float, float], pair: Pair
) -> tuple[float, float]:
    """Variance from drawing examples, and the part that the variance over runs counts as well."""
    drawn = base.example_variance * slopes[0] ** 2 + arm.example_variance * slopes[1] ** 2
    counted = base.interaction_variance * slopes[0] ** 2 + arm.interaction_variance * slopes[1] ** 2
    both, covariance = 2 * slopes[0] * slopes[1], _covariance(base, arm, pair)
    drawn = max(drawn - both * covariance[0], 0.0)
    counted -= both * covariance[1]
    if _has_unseen(base, arm, pair):
        n_drawn, step = min(base.n_drawn, arm.n_drawn), max(base.step, arm.step)
        clusters = _cluster_differences(base, arm)
        drawn += unseen_variance(drawn, counted, n_drawn=n_drawn, step=step, clusters=clusters)
    return drawn, counted


def _has_unseen(base: MeanOverExamples, arm: MeanOverExamples, pair: Pair) -> bool:
    """Return whether few differing examples say too little about a difference of shares.

    One arm may have partial scores, as long as all are between 0 and 1: which arm is the baseline
    must not matter.
    """
    are_shares = all(x.least == 0.0 and x.largest == 1.0 for x in (base, arm))
    return not pair.is_ratio and are_shares and (base.is_rate or arm.is_rate)


def _cluster_differences(base: MeanOverExamples, arm: MeanOverExamples) -> FloatArray | None:
    """Return what each cluster adds to the difference; None if examples are independent."""
    if base.clusters is None or arm.clusters is None:
        return None
    return (arm.clusters.whole - base.clusters.whole) / base.clusters.n_examples


def _covariance(base: MeanOverExamples, arm: MeanOverExamples, pair: Pair) -> tuple[float, float]:
    """Covariance from drawing examples, and the part that pairs of runs count as well."""
    if base.clusters is not None and arm.clusters is not None:
        first, second = base.clusters, arm.clusters
        counted = first.jackknife_covariance(second) if pair.is_paired else 0.0
        return first.example_covariance(second), counted
    if pair.cross is None:
        return 0.0, 0.0
    counted = pair.cross.interaction_covariance if pair.is_paired else 0.0
    return pair.cross.example_covariance(base.value, arm.value), counted


def _run_variance(base: FloatArray, arm: FloatArray, pair: Pair) -> tuple[float, float]:
    """Jackknife variance of the difference, and its degrees of freedom.

    Those of unpaired arms are by Welch and Satterthwaite.
    """
    if pair.is_paired:
        return jackknife_variance(arm - base), len(base) - 1
    parts = [(jackknife_variance(x), len(x) - 1) for x in (base, arm)]
    total = sum(variance for variance, _ in parts)
    if total == 0.0:
        return 0.0, min(df for _, df in parts)
    return total, 1 / sum((variance / total) ** 2 / df for variance, df in parts)


@contrast.register
def _(base: RootOfMean, arm: RootOfMean, pair: Pair) -> Contrast | None:
    inner = contrast(base.mean, arm.mean, pair)
    if inner is None:
        return None
    return replace(
        inner,
        center=inner.center / 2,
        run_variance=inner.run_variance / 4,
        example_variance=inner.example_variance / 4,
        interaction_variance=inner.interaction_variance / 4,
        residual_bias=inner.residual_bias / 2,
        ratio=None if inner.ratio is None else replace(inner.ratio, power=0.5),
        judges=None
        if inner.judges is None
        else replace(
            inner.judges,
            variance=inner.judges.variance / 4,
            interaction_variance=inner.judges.interaction_variance / 4,
        ),
    )


@contrast.register
def _(
    base: BinnedGaps | BlockJackknife, arm: BinnedGaps | BlockJackknife, pair: Pair
) -> Contrast | None:
    parts = base.blocks, arm.blocks
    if parts[0].n_clusters == 1 or not np.array_equal(base.sizes, arm.sizes):
        return None
    apart = sum(x.example_covariance(x) for x in parts)
    examples = apart - 2 * parts[0].example_covariance(parts[1])
    unseen = base.unseen_variance + arm.unseen_variance
    if isinstance(base, BlockJackknife) and apart > 0.0:
        # Arms that are wrong on the same examples are likely to share errors that are not seen.
        unseen *= min(max(examples / apart, LEAST_UNSHARED), 1.0)
    examples += unseen
    bias = float(np.hypot(base.residual_bias, arm.residual_bias))
    center = float(arm.by_run.mean() - base.by_run.mean())
    df = min(base.example_df, arm.example_df)
    if base.without is None or arm.without is None:
        over = over_drawn(base, has_runs=False)
        return Contrast(center, 0.0, np.inf, examples, residual_bias=bias, over=over, example_df=df)
    counted = sum(x.jackknife_covariance(x) for x in parts)
    if pair.is_paired:
        counted -= 2 * parts[0].jackknife_covariance(parts[1])
    runs, run_df = _run_variance(base.without, arm.without, pair)
    return Contrast(
        center,
        runs,
        run_df,
        examples,
        counted,
        residual_bias=bias,
        over=over_drawn(base),
        example_df=df,
    )


@contrast.register
def _(base: MeanOverRuns, arm: MeanOverRuns, pair: Pair) -> Contrast | None:
    if min(len(base.values), len(arm.values)) < 3:
        return None
    left_out = [(x.values.sum() - x.values) / (len(x.values) - 1) for x in (base, arm)]
    runs, df = _run_variance(left_out[0], left_out[1], pair)
    return Contrast(float(arm.values.mean() - base.values.mean()), runs, df, over="runs")


@contrast.register
def _(base: MeanOverPairs, arm: MeanOverPairs, pair: Pair) -> Contrast | None:
    if min(len(base.matrix), len(arm.matrix)) < 3:
        return None
    logs = [_log_mean_of_pairs(x) for x in (base, arm)]
    runs, df = _run_variance(logs[0][1], logs[1][1], pair)
    return Contrast(logs[1][0] - logs[0][0], runs, df, over="runs")


def _log_mean_of_pairs(statistic: MeanOverPairs) -> tuple[float, FloatArray]:
    n_runs = len(statistic.matrix)
    row_means = statistic.matrix.sum(axis=1) / (n_runs - 1)
    value = float(row_means.mean())
    without = value - 2 * (row_means - value) / (n_runs - 2)
    return float(np.log(value)), np.log(np.maximum(without, statistic.floor))


@singledispatch
def left_out_values(statistic: Statistic, *, is_ratio: bool) -> FloatArray | None:
    """Return a metric with one run left out, on the scale of its contrast; None if unknown."""
    del statistic, is_ratio
    return None


@left_out_values.register
def _(statistic: MeanOverExamples, *, is_ratio: bool) -> FloatArray | None:
    if statistic.without is None or not is_ratio:
        return statistic.without
    return None if statistic.value <= 0.0 else _log_left_out(statistic, statistic.without)


@left_out_values.register
def _(statistic: RootOfMean, *, is_ratio: bool) -> FloatArray | None:
    return left_out_values(statistic.mean, is_ratio=is_ratio)


@left_out_values.register
def _(statistic: MeanOverPairs, *, is_ratio: bool) -> FloatArray | None:
    del is_ratio
    return _log_mean_of_pairs(statistic)[1] if len(statistic.matrix) > 2 else None


@left_out_values.register
def _(statistic: BinnedGaps | BlockJackknife, *, is_ratio: bool) -> FloatArray | None:
    del is_ratio
    return statistic.without


@left_out_values.register
def _(statistic: MeanOverRuns, *, is_ratio: bool) -> FloatArray | None:
    del is_ratio
    return np.asarray(statistic.values.sum() - statistic.values) / (len(statistic.values) - 1)


@left_out_values.register
def _(statistic: SpreadOverRuns, *, is_ratio: bool) -> FloatArray | None:
    del is_ratio
    squares = np.square(statistic.values - statistic.values.mean())
    n_runs, whole = len(squares), max(float(squares.sum()), 1e-300)
    left = np.maximum(whole - squares * (n_runs / (n_runs - 1)), 1e-12 * whole)
    return np.asarray(0.5 * np.log(left))


def _spread_effect(
    metric: str,
    base: FloatArray,
    arm: FloatArray,
    value: float | None,
    *,
    level: Level,
    is_paired: bool,
) -> Effect:
    if min(len(base), len(arm)) < SPREAD_FROM:
        return Effect(metric, "ratio", value, verdict="too few runs", note=TOO_FEW_FOR_SPREAD)
    ends = spread_ratio(base, arm, level=level, is_paired=is_paired)
    if ends is None:
        return Effect(metric, "ratio", value, note=NO_SPREAD)
    low, high = ends
    # The effect that runs of these shapes would show if their spreads were about the same.
    center = float(np.log(arm.std(ddof=1) / base.std(ddof=1)))
    error = log_ratio_error(base, arm, center, is_paired=is_paired)
    detectable = float(np.exp((normal_quantile(1 - level.tail) + normal_quantile(POWER)) * error))
    verdict = judged(metric, low, high)
    return Effect(metric, "ratio", value, low, high, "runs", detectable, verdict)
