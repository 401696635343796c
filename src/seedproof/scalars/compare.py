"""Compare arms by one number per run: differences of means, and ratios of spreads."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from seedproof.comparison.arms.compared_runs import ComparedRuns
from seedproof.comparison.arms.judge import judge_together, without_verdicts
from seedproof.comparison.arms.result import ArmPair
from seedproof.errors import OptionError, TooFewRunsError
from seedproof.messages import Message
from seedproof.metrics.card import Better
from seedproof.predictions.arms import baseline_first
from seedproof.predictions.checks import errors_of
from seedproof.scalars.runs import SPREAD, ScalarArm, Scalars, check_metrics, unknown_name, varies
from seedproof.stats.effect import Effect
from seedproof.stats.families import MetricContrast
from seedproof.stats.intervals import PLAIN, Estimate, Level

# Words in the name of a metric that is better when lower.
LOWER_WORDS = frozenset(
    {"loss", "error", "err", "mae", "mse", "rmse", "nll", "perplexity", "ppl", "brier", "ece"}
    | {"wer", "cer", "regret", "cost", "latency"}
)
# Metrics of ours that are compared as the means, and the spreads, of any numbers are.
MEAN_LIKE, SPREAD_LIKE = "mean", "accuracy_sd"
NO_SPREAD = Message("no-spread", "neither arm varies over its runs")


@dataclass(frozen=True, eq=False)
class OwnContrast(MetricContrast):
    """A metric of the user's own, compared like one of ours."""

    is_spread: bool = False

    @property
    def like(self) -> str:
        """Name of the metric of ours that it is compared like."""
        return SPREAD_LIKE if self.is_spread else MEAN_LIKE

    def effect(self, level: Level = PLAIN, *, margin: float | None = None) -> Effect:
        """Return the effect, judged equivalent if it is shown to be within the margin."""
        rows = (self.seed_groups, self.base, self.arm, self.is_paired, self.n_runs)
        effect = MetricContrast(self.like, *rows, better=self.better).effect(level, margin=margin)
        effect = replace(effect, metric=self.metric)
        if varies(self.base) or varies(self.arm):
            return effect
        return Effect(self.metric, effect.scale, effect.value, note=NO_SPREAD)


@dataclass(frozen=True, eq=False)
class ComparedScalars:
    """Arms against a baseline, which comes first among them."""

    scalars: Scalars  # the runs that are compared
    pairs: tuple[ArmPair, ...]  # each arm against the baseline, then all other pairs if requested
    primary: str
    better: Mapping[str, Better]
    confidence: float  # of each primary effect, so that all of them hold simultaneously
    runs: ComparedRuns

    @property
    def baseline(self) -> ScalarArm:
        """The arm that all others are compared with."""
        return next(iter(self.scalars.arms.values()))

    def effects(self, arm: str) -> Mapping[str, Effect]:
        """Return the effects of an arm against the baseline, by metric."""
        own = {pair.arm: pair for pair in self.pairs if pair.against == self.baseline.name}
        if arm not in own:
            raise unknown_name("arm", arm, own)
        return own[arm].effects

    def summary(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "primary": self.primary,
            "better": dict(self.better),
            "confidence": self.confidence,
            "baseline": self.baseline.name,
            "runs": self.runs.summary(),
            "pairs": [pair.summary() for pair in self.pairs],
        }


def directions(metrics: Collection[str], lower: Collection[str] | None) -> dict[str, Better]:
    """Return the direction in which each metric is better.

    If the metrics that are better when lower are not named, their names show it.
    """
    check_metrics(lower or (), tuple(metrics))

    def is_lower(metric: str) -> bool:
        if lower is not None:
            return metric in lower
        return not LOWER_WORDS.isdisjoint(re.split(r"[^a-z]+", metric.lower()))

    return {metric: "lower" if is_lower(metric) else "higher" for metric in metrics}


def compare(
    scalars: Scalars,
    runs: ComparedRuns,
    *,
    baseline: str | None = None,
    primary: str | None = None,
    lower: Collection[str] | None = None,
    margins: Mapping[str, float] | None = None,
    all_pairs: bool = False,
) -> ComparedScalars:
    """Compare each arm with the baseline; all other pairs as well if requested."""
    if len(scalars.arms) < 2:
        raise TooFewRunsError(
            "There is only one arm: {arm!r}. A comparison needs a column that names the arm of "
            "each run, such as arm, or one table per arm.",
            arm=next(iter(scalars.arms)),
        )
    metrics = scalars.metrics
    check_metrics([*([] if primary is None else [primary]), *(margins or {})], metrics)
    if baseline is not None:
        scalars.arm(baseline)
    arms = aligned(baseline_first(scalars.arms, baseline, is_store=True))
    if runs.is_sequential:
        arms = {name: arm.first(runs.n_runs) for name, arm in arms.items()}
    names = list(arms)
    couples = [(name, names[0]) for name in names[1:]]
    couples += [(b, a) for a, b in combinations(names[1:], 2)] if all_pairs else []
    better = directions(metrics, lower)
    pairs = [pair_of(arms, arm, against, better) for arm, against in couples]
    primary = metrics[0] if primary is None else primary
    judged = judge_together((), pairs, primary, level=runs.level, margins=margins or {})
    compared_arms = replace(scalars, arms=arms)
    errors = errors_of(compared_arms.checks, names[1:], names[0])
    _, judged_pairs = without_verdicts((), judged.pairs, errors)
    return ComparedScalars(compared_arms, judged_pairs, primary, better, judged.confidence, runs)


def aligned(arms: Mapping[str, ScalarArm]) -> dict[str, ScalarArm]:
    """Return arms with the same seeds in the same order, that of the first of them."""
    orders: dict[frozenset[str], tuple[str, ...]] = {}
    ordered = {}
    for name, arm in arms.items():
        ordered[name] = arm
        if arm.seeds is not None:
            seeds = orders.setdefault(frozenset(arm.seeds), arm.seeds)
            ordered[name] = arm.in_order_of(seeds)
    return ordered


def pair_of(
    arms: Mapping[str, ScalarArm], name: str, against: str, better: Mapping[str, Better]
) -> ArmPair:
    """Return an arm against another one, to be judged; arms must be aligned."""
    base, arm = arms[against], arms[name]
    is_paired = base.seeds is not None and base.seeds == arm.seeds
    groups = _seed_group(arms, base), _seed_group(arms, arm)
    n_runs = base.n_runs, arm.n_runs
    contrasts: dict[str, MetricContrast] = {}
    for metric, direction in better.items():
        for figure, is_spread in ((metric, False), (metric + SPREAD, True)):
            contrasts[figure] = OwnContrast(
                figure,
                groups,
                base.statistics[figure],
                arm.statistics[figure],
                is_paired,
                n_runs,
                better=direction,
                is_spread=is_spread,
            )
    return ArmPair(name, against, is_paired, contrasts=contrasts)


def _seed_group(arms: Mapping[str, ScalarArm], arm: ScalarArm) -> str:
    """Return the name of the first arm whose runs have the same seeds."""
    if arm.seeds is None:
        return arm.name
    return next(name for name, other in arms.items() if other.seeds == arm.seeds)


def spread_estimate(arm: ScalarArm, metric: str) -> Estimate:
    """Return the standard deviation of a metric over runs; refuse runs that do not vary."""
    spread = arm.metrics[metric + SPREAD]
    if spread.value == 0.0:
        raise OptionError(
            "All runs of {arm!r} have the same {metric}, so that they show no spread to plan "
            "with. Pass sd, or other runs.",
            arm=arm.name,
            metric=metric,
        )
    return spread
