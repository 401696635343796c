"""Variation over the first runs of an arm, with its uncertainty, as a plan needs it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np

from seedproof.comparison.arms.result import ComparedArm, Comparison
from seedproof.errors import OptionError, TooFewRunsError
from seedproof.measurement.result import Measurement
from seedproof.metrics.block_statistic import BlockJackknife
from seedproof.metrics.card import card_name
from seedproof.metrics.statistic import MeanOverExamples, SpreadOverRuns, Statistic
from seedproof.records.answer_settings import ExampleWeights
from seedproof.records.schema import ITEMS
from seedproof.records.schema import Kind as Kinds
from seedproof.stats.contrast import Pair, contrast
from seedproof.stats.distributions import chi_square_quantile, normal_quantile
from seedproof.stats.effect import scale_of
from seedproof.stats.intervals import TAIL, Estimate, estimate
from seedproof.typing import FloatArray

Kind: TypeAlias = Literal["mean", "sd", "flip_rate"]
# The metric of each kind, of classes and of numbers.
METRICS: dict[Kind, str] = {"mean": "accuracy", "flip_rate": "flip_rate"}
NUMBER_METRICS: dict[Kind, str] = {"mean": "mean"}
# With more degrees of freedom, an approximate quantile of χ² is as good.
EXACT_DF = 300


@dataclass(frozen=True, slots=True)
class Drawn:
    """Variance from drawing examples, of one arm and of its contrast with another."""

    n_examples: int
    variance: float  # of the mean, or of the log flip rate, of one arm
    n_clusters: int | None = None  # drawn in place of examples; None if those are independent
    correlation: float = 0.0  # of two arms over examples
    # Ends of 95 % intervals; None if the figure was given, or assumed.
    low: float | None = None  # of the variance
    high: float | None = None
    correlation_low: float | None = None
    correlation_high: float | None = None

    @property
    def of_contrast(self) -> float:
        """Variance of the contrast of two arms."""
        return 2 * self.variance * (1 - self.correlation)

    @property
    def contrast_ends(self) -> tuple[float, float] | None:
        """Ends of the interval of the variance of the contrast; None if nothing is uncertain."""
        if self.correlation_low is not None and self.correlation_high is not None:
            ends = 1 - self.correlation_high, 1 - self.correlation_low
            return 2 * self.variance * ends[0], 2 * self.variance * ends[1]
        if self.low is None or self.high is None:
            return None
        return 2 * self.low * (1 - self.correlation), 2 * self.high * (1 - self.correlation)

    def assuming(self, correlation: float) -> "Drawn":
        """Return the same with a correlation that was given."""
        return replace(self, correlation=correlation, correlation_low=None, correlation_high=None)


def _ends(variance: float, part: float, df: float) -> tuple[float, float]:
    """Return the 95 % interval of what a variance is beyond a part that is known well.

    The variance is that of a mean over examples, or clusters: nearly χ² with these degrees of
    freedom, fewer if tails are heavy.
    """
    scaled = variance * df
    return (
        max(scaled / _chi_square(df, 1 - TAIL) - part, 0.0),
        max(scaled / _chi_square(df, TAIL) - part, 0.0),
    )


def _chi_square(df: float, share: float) -> float:
    if df <= EXACT_DF:
        return chi_square_quantile(df, share)
    # Wilson and Hilferty (1931), PNAS 17:684: to four digits.
    part = 2 / (9 * df)
    return float(df * (1 - part + normal_quantile(share) * part**0.5) ** 3)


def _example_df(mean: MeanOverExamples) -> float:
    shape = mean.drawn_shape
    return max(min(mean.n_drawn - 1, np.inf if shape is None else shape.df), 1)


@dataclass(frozen=True, slots=True)
class Pilot:
    """The figures that planning needs, from the runs of one arm."""

    n_runs: int
    n_examples: int  # 0 if runs have single numbers
    sd: Estimate | None  # of the accuracy over runs; None if unlabeled or without spread
    # Standard deviation of the runs' mean disagreements over their mean; None if it is 0.
    cv: Estimate | None
    pair_cv: float | None  # the same of pairs, beyond their two runs; None with too few runs
    n_clusters: int | None = None  # drawn in place of examples; None if those are independent
    drawn: Mapping[Kind, Drawn] = field(default_factory=dict)
    has_two_arms: bool = False  # so that the correlations over examples are estimates
    is_of_numbers: bool = False  # so that the mean is not that of right answers
    are_trials: bool = False  # of one model, which need no other runs
    weights: ExampleWeights | None = None  # of the examples; None if all count equally


def pilot_of(measurement: Measurement) -> Pilot:
    """Return the figures that planning needs from a measurement."""
    _refuse_judges(measurement)
    if "trial_counts" in measurement.detail:
        raise OptionError(
            "The examples of this pilot have different numbers of trials, and a plan is for the "
            "same number. Keep the first ones of each example, or run the missing ones.",
            keyword="pilot",
        )
    if measurement.repeats == "trials":
        return _pilot_of_trials(measurement)
    check_pilot_runs(measurement.n_runs)
    is_of_numbers = measurement.kind in (Kinds.NUMBERS, *ITEMS)
    # Flips inside runs that have several trials are not those of pairs of runs.
    has_pairs = "flip_matrix" in measurement.detail and not is_of_numbers
    sd = measurement.metrics.get(f"{_metrics(measurement)['mean']}_sd")
    return Pilot(
        measurement.n_runs,
        measurement.n_examples,
        sd=sd if sd is not None and sd.value > 0.0 else None,
        cv=_variation(measurement) if has_pairs else None,
        pair_cv=_pair_variation(measurement.detail["flip_matrix"]) if has_pairs else None,
        n_clusters=None if measurement.clusters is None else measurement.clusters.n_clusters,
        drawn={
            kind: drawn
            for kind, metric in _metrics(measurement).items()
            if (drawn := _drawn(metric, measurement)) is not None
        },
        is_of_numbers=is_of_numbers,
        weights=measurement.weights,
    )


def _refuse_judges(measurement: Measurement) -> None:
    """Refuse a pilot whose answers the same judges grade: more trials or examples leave their part.

    Leaving it out would promise intervals that no number of trials reaches.
    """
    mean = measurement.statistics.get(_metrics(measurement)["mean"])
    if isinstance(mean, MeanOverExamples) and mean.judges is not None:
        raise OptionError(
            "The same {n_judges} judges grade every answer of this pilot, and plans do not cover "
            "judges. `seedproof blame` says what more judges, trials and examples bring.",
            keyword="pilot",
            n_judges=len(mean.judges.without),
        )


def _metrics(measurement: Measurement) -> dict[Kind, str]:
    if measurement.kind == Kinds.SETS:
        return {"mean": "micro_f1"}
    if measurement.kind == Kinds.RANKINGS:
        quality = (name for name in measurement.metrics if card_name(name) == "ndcg@k")
        return {"mean": next(quality, "ndcg@k")}
    return NUMBER_METRICS if measurement.kind == Kinds.NUMBERS else METRICS


def _pilot_of_trials(measurement: Measurement) -> Pilot:
    """Return the noise of one trial of each example, and the variance of examples besides."""
    name = _metrics(measurement)["mean"]
    if name not in measurement.metrics:
        raise OptionError(
            "A pilot of trials needs to know which answers are right. Name the column with the "
            "right answers with --reference, or pass runs.",
            keyword="pilot",
        )
    if measurement.n_runs == 1:
        raise TooFewRunsError(
            "A pilot needs at least 2 trials of each example to show their noise. This one has 1.",
            n_runs=1,
        )
    sd, mean = measurement.metrics[f"{name}_sd_independent"], measurement.statistics[name]
    drawn: dict[Kind, Drawn] = {}
    if isinstance(mean, MeanOverExamples):
        noise = sd.value**2 / measurement.n_runs
        variance = max(mean.example_variance - noise, 0.0)
        ends = _ends(mean.example_variance, noise, _example_df(mean))
        clusters = None if mean.clusters is None else mean.clusters.n_clusters
        drawn["mean"] = Drawn(mean.n_examples, variance, clusters, 0.0, *ends)
    return Pilot(
        measurement.n_runs,
        measurement.n_examples,
        sd=sd if sd.value > 0.0 else None,
        cv=None,
        pair_cv=None,
        n_clusters=None if measurement.clusters is None else measurement.clusters.n_clusters,
        drawn=drawn,
        is_of_numbers=measurement.kind == Kinds.NUMBERS,
        are_trials=True,
        weights=measurement.weights,
    )


def check_pilot_runs(n_runs: int) -> None:
    """Refuse a pilot whose runs are too few to differ."""
    if n_runs < 3:
        raise TooFewRunsError(
            "A pilot needs at least 3 runs, preferably 10, to show how much runs differ. This one "
            "has {n_runs}.",
            n_runs=n_runs,
        )


def pilot_of_arms(comparison: Comparison) -> Pilot:
    """Return the figures of the baseline, and the least correlation of an arm over examples."""
    pilot = pilot_of(comparison.baseline.measurement)
    if not any(arm.contrasts for arm in comparison.arms):
        raise OptionError(
            "A pilot of several arms needs their predictions, and this comparison was made from "
            "saved reports. Compare the records.",
            keyword="pilot",
        )
    drawn = dict(pilot.drawn)
    for kind, own in pilot.drawn.items():
        metric = _metrics(comparison.baseline.measurement)[kind]
        shared = [_correlation(metric, comparison.baseline, arm) for arm in comparison.arms]
        least, low, high = min(shared)
        drawn[kind] = replace(own, correlation=least, correlation_low=low, correlation_high=high)
    return replace(pilot, drawn=drawn, has_two_arms=True)


def _drawn(metric: str, measurement: Measurement) -> Drawn | None:
    statistic = measurement.statistics.get(metric)
    if isinstance(statistic, BlockJackknife):
        blocks = statistic.blocks
        whole, shared = blocks.example_covariance(blocks), blocks.jackknife_covariance(blocks)
        clusters = blocks.n_clusters if statistic.is_clustered else None
        ends = _ends(whole, shared, statistic.example_df)
        return Drawn(int(blocks.n_examples), max(whole - shared, 0.0), clusters, 0.0, *ends)
    is_ratio = scale_of(metric) == "ratio"
    if not isinstance(statistic, MeanOverExamples) or (is_ratio and statistic.value <= 0.0):
        return None
    variance, excess = _without_interaction(metric, statistic), _excess(metric, statistic)
    clusters = None if statistic.clusters is None else statistic.clusters.n_clusters
    slope = 1 / statistic.value if is_ratio else 1.0
    whole, shared = statistic.example_variance, statistic.interaction_variance
    low, high = (slope**2 * x + excess for x in _ends(whole, shared, _example_df(statistic)))
    return Drawn(statistic.n_examples, variance + excess, clusters, 0.0, low, high)


def _drawn_alone(metric: str, measurement: Measurement) -> Drawn | None:
    if measurement.repeats == "trials":
        return _pilot_of_trials(measurement).drawn.get("mean")
    return _drawn(metric, measurement)


def _without_interaction(metric: str, statistic: MeanOverExamples) -> float:
    slope = 1 / statistic.value if scale_of(metric) == "ratio" else 1.0
    return slope**2 * max(statistic.example_variance - statistic.interaction_variance, 0.0)


def _excess(metric: str, statistic: Statistic) -> float:
    """Bias of the jackknife that the interaction of flips contains, relative to their rate.

    An example that flips with probability h has pairs of the variance h², for two classes, and so
    4h²/(R(R-2)) is subtracted in place of 2h²/(R(R-1)). The mean of h² comes from its variance.
    """
    if metric != "flip_rate" or not isinstance(statistic, MeanOverExamples):
        return 0.0
    n_runs = 0 if statistic.without is None else len(statistic.without)
    if n_runs < 4:
        return 0.0
    share = 4 / (n_runs * (n_runs - 2)) - 2 / (n_runs * (n_runs - 1))
    variance = _without_interaction(metric, statistic)
    return share / (1 - share) * (variance + 1 / statistic.n_drawn)


def _correlation(
    metric: str, base: ComparedArm, arm: ComparedArm
) -> tuple[float, float | None, float | None]:
    """Correlation over examples: the share of the variance that the contrast of two arms lacks.

    Its interval is that of the variance of the contrast.
    """
    measured = [x.measurement for x in (base, arm)]
    total = sum(drawn.variance for m in measured if (drawn := _drawn_alone(metric, m)) is not None)
    row = arm.contrasts[metric]
    difference = contrast(row.base, row.arm, Pair(metric, row.is_paired, row.cross))
    if difference is None or total == 0.0:
        return 0.0, None, None
    whole, shared = difference.example_variance, difference.interaction_variance
    excess = sum(_excess(metric, m.statistics[metric]) for m in measured)
    df = difference.example_df
    if isinstance(row.base, MeanOverExamples):
        df = min(df, _example_df(row.base))
    low, high = _ends(whole, shared, df if np.isfinite(df) else measured[0].n_examples - 1)
    value, least, most = (
        min(max(1 - (variance + excess) / total, 0.0), 1.0)
        for variance in (whole - shared, high, low)
    )
    return value, least, most


def _variation(measurement: Measurement) -> Estimate | None:
    n_runs = measurement.n_runs
    by_run = measurement.detail["flip_matrix"].sum(axis=1) / (n_runs - 1)
    mean = float(by_run.mean())
    spread = estimate(SpreadOverRuns(by_run))
    if spread.value <= 1e-12 * mean:
        return None
    # The mean over few other runs varies less, because it has a part of each of them.
    factor = (n_runs - 1) / (n_runs - 2) / mean
    if spread.low is None or spread.high is None:
        return Estimate(factor * spread.value)
    return Estimate(factor * spread.value, factor * spread.low, factor * spread.high, "runs")


def _pair_variation(matrix: FloatArray) -> float | None:
    """Spread of the disagreements that the two runs of a pair do not explain, over their mean."""
    n_runs = len(matrix)
    by_run = matrix.sum(axis=1) / (n_runs - 1)
    mean = float(by_run.mean())
    if n_runs < 4 or mean == 0.0:
        return None
    runs = (by_run - mean) * (n_runs - 1) / (n_runs - 2)
    rest = (matrix - mean - runs - runs[:, np.newaxis])[np.triu_indices(n_runs, 1)]
    return float(np.sqrt(np.square(rest).sum() / (n_runs * (n_runs - 3) / 2))) / mean
