"""Judge single numbers per run by limits, with the looks and verdicts of the gate."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from seedproof.comparison.gate.caution import HIDDEN_TAIL, assumed_tails, with_cautions
from seedproof.comparison.gate.judge import Baseline, GateResult, RuleVerdict, judge
from seedproof.comparison.gate.rules import Rule
from seedproof.comparison.gate.stage import Figure, Stage
from seedproof.errors import OptionError
from seedproof.messages import Message
from seedproof.metrics.card import Better
from seedproof.scalars.compare import aligned, directions, pair_of
from seedproof.scalars.runs import MEDIAN, SPREAD, ScalarArm, Scalars, varies
from seedproof.stats.effect import RATIO_MARGIN, Scale
from seedproof.stats.intervals import Estimate, estimate
from seedproof.stats.skewness import clear_skewness, median_over_runs


@dataclass(frozen=True, slots=True)
class OwnRule(Rule):
    """A limit of a metric of the user's own; a margin is a difference, or a share for a spread."""

    direction: Better = "higher"
    is_spread: bool = False
    has_margin: bool = True  # the user gave it; otherwise the limit is the usual one of a spread

    is_own: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._check_number()
        if not np.isfinite(self.limit) or (self.kind == "no-worse" and self.limit < 0.0):
            raise OptionError(
                "--{kind} {metric}={limit:g} is not a limit. Pass a finite number; a margin is at "
                "least 0.",
                kind=self.kind,
                metric=self.metric,
                limit=self.limit,
            )

    @property
    def better(self) -> Better:
        """Direction in which the metric is better."""
        return "lower" if self.is_spread else self.direction

    @property
    def scale(self) -> Scale:
        """Scale on which the metric is compared with the baseline's."""
        return "ratio" if self.is_spread else "difference"

    @classmethod
    def no_worse(cls, metric: str, margin: float | None = None) -> "OwnRule":
        """Make the rule that a metric is not worse than the baseline by more than a margin.

        A tenth of the baseline is usual for a spread. For the metric itself, of any size, none is.
        """
        if margin is None:
            return cls("no-worse", metric, RATIO_MARGIN, has_margin=False)
        return cls("no-worse", metric, margin)


def judge_scalars(
    arm: ScalarArm,
    baseline: ScalarArm | None,
    rules: Sequence[Rule],
    *,
    stage: Stage,
    lower: Collection[str] | None = None,
    allowed: tuple[str, ...] = (),
    notes: tuple[Message, ...] = (),
    failed: tuple[str, ...] = (),
) -> GateResult:
    """Judge the first runs of an arm by rules, some of which may compare it with a baseline."""
    sides = {"target": arm} if baseline is None else {"baseline": baseline, "target": arm}
    sides = {name: side.first(stage.judged_runs) for name, side in aligned(sides).items()}
    better = directions(arm.values, lower)
    known = None
    if baseline is not None:
        pair = pair_of(sides, "target", "baseline", better)
        base = sides["baseline"]
        effects = {name: row.effect for name, row in pair.contrasts.items()}
        known = Baseline(base.metrics, effects, base.n_runs)
    target = sides["target"]
    figures: dict[str, Figure] = {
        name: partial(estimate, x) if varies(x) else _without_interval(target.metrics[name])
        for name, x in target.statistics.items()
    }
    medians = {f"{name}{MEDIAN}": partial(median_over_runs, x) for name, x in target.values.items()}
    figures = medians | figures

    def skewness_of(verdict: RuleVerdict) -> float | None:
        metric = verdict.rule.metric
        if metric not in target.values:
            return None
        if verdict.effect is None or baseline is None:
            return clear_skewness(target.values[metric])
        pair_values = target.values[metric], sides["baseline"].values[metric]
        return clear_skewness(*pair_values, is_paired=pair.is_paired)

    result = judge(
        figures,
        [_directed(rule, better) for rule in rules],
        stage=stage,
        baseline=known,
        notes=(*notes, *_assumed(rules, better, lower)),
        checks=Scalars(sides, failed=failed).checks,
        allowed=allowed,
    )
    result = with_cautions(result, skewness_of, offers_median=True)
    has_caution = any(verdict.caution is not None for verdict in result.rules)
    if has_caution or not _assumes_tails(rules, target, stage):
        return result
    return replace(result, notes=(*result.notes, assumed_tails(stage)))


def _without_interval(figure: Estimate) -> Figure:
    """Return a figure of runs that do not vary, which do not show that others do not."""
    return lambda level: figure  # noqa: ARG005 - the same at any level


def _assumes_tails(rules: Sequence[Rule], arm: ScalarArm, stage: Stage) -> bool:
    """Return whether a limit of a mean is judged by so few runs that a tail may not show."""
    are_judged = stage.hold is None and stage.judged_runs <= HIDDEN_TAIL
    limits = (rule for rule in rules if rule.kind != "no-worse")
    return are_judged and any(rule.metric in arm.values for rule in limits)


def _directed(rule: Rule, better: dict[str, Better]) -> Rule:
    if not isinstance(rule, OwnRule):
        return rule
    if rule.metric not in better and rule.metric.removesuffix(MEDIAN) in better:
        if rule.kind == "no-worse":
            raise OptionError(
                "{metric} is judged by limits only, not against a baseline. Pass --min or --max, "
                "or compare {base}.",
                metric=rule.metric,
                base=rule.metric.removesuffix(MEDIAN),
            )
        return rule
    if rule.metric not in better:
        return replace(rule, is_spread=rule.metric.removesuffix(SPREAD) in better)
    if not rule.has_margin:
        raise OptionError(
            "No usual margin fits {metric}, whose numbers may be of any size. Write --no-worse "
            "{metric}=MARGIN, or no_worse={{{metric!r}: MARGIN}} in Python. A margin of 0 passes "
            "only what is shown to be better.",
            metric=rule.metric,
        )
    return replace(rule, direction=better[rule.metric])


def _assumed(
    rules: Sequence[Rule], better: dict[str, Better], lower: Collection[str] | None
) -> Iterator[Message]:
    """Yield the direction of each metric that is compared, if only its name shows it."""
    for rule in rules:
        if rule.kind == "no-worse" and rule.metric in better and lower is None:
            yield Message(
                "assumed-direction",
                "A {direction} {metric} is taken as better, by its name. Name the metrics that are "
                "better when lower with --lower, or lower= in Python.",
                direction=better[rule.metric],
                metric=rule.metric,
            )
