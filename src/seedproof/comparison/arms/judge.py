"""Verdicts on arms: a primary metric and the quality that guards it; others are exploratory."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from seedproof.comparison.arms.matched_rates import RATE_ESTIMATED
from seedproof.comparison.arms.result import ArmPair, ComparedArm
from seedproof.errors import OptionError
from seedproof.predictions.checks import Check
from seedproof.stats.effect import COUNTED, Effect, without_verdict
from seedproof.stats.families import MetricContrast, common_level, shared_level
from seedproof.stats.intervals import Level

# Metrics that follow the rate of an arm, which is estimated if rates are matched.
FOLLOW_RATE = ("accuracy", "balanced_accuracy", "macro_f1")


@dataclass(frozen=True)
class Judged:
    """Arms and pairs of arms with their effects."""

    arms: tuple[ComparedArm, ...]
    pairs: tuple[ArmPair, ...]
    confidence: float  # of each primary effect
    quality: str | None = None  # judged together with the primary metric


def primary_metric(
    primary: str | None,
    measured: Collection[str],
    usual: Sequence[str],
    *,
    left_out: Collection[str] = (),
) -> str:
    """Return the primary metric: the named one, a usual one, or the first that was measured.

    `left_out` are those that arms are not compared by, because numbers of trials are unequal.
    """
    if primary is None:
        return next(name for name in (*usual, *measured) if name in measured)
    if primary not in measured and primary in left_out:
        raise needs_equal_trials(primary, measured)
    if primary not in measured:
        raise OptionError(
            "The primary metric {primary!r} is not among the compared ones: {metrics}. "
            "Compare it, or name another.",
            primary=primary,
            metrics=tuple(measured),
        )
    return primary


def needs_equal_trials(metric: str, compared: Collection[str]) -> OptionError:
    """Return the error on a metric that arms with unequal numbers of trials do not share."""
    return OptionError(
        "Arms are not compared by {metric}: examples have different numbers of trials, and it "
        "{reason}. Give every example the same number of trials, or name one of {metrics}.",
        metric=metric,
        reason="depends on the number" if metric in COUNTED else "leaves out those with too few",
        metrics=tuple(compared),
    )


def check_margins(margins: Mapping[str, float], compared: Collection[str]) -> None:
    """Refuse a margin of a metric that is not compared."""
    for metric in margins:
        if metric not in compared:
            raise OptionError(
                "There is a margin for {metric!r}, which is not among the compared metrics: "
                "{metrics}. Compare it, or leave out its margin.",
                metric=metric,
                metrics=tuple(compared),
            )


def judge_together(
    arms: Sequence[ComparedArm],
    pairs: Sequence[ArmPair],
    primary: str,
    *,
    level: Level,
    margins: Mapping[str, float],
    quality: str | None = None,
) -> Judged:
    """Return arms and pairs with their effects.

    The primary effects of all of them hold simultaneously, and so do all other effects. Effects on
    the quality are primary as well, if it has an interval.
    """
    rows = [x for arm in arms for x in _contrasts(arm)]
    rows += [x for pair in pairs for x in pair.contrasts.values()]
    check_margins(margins, dict.fromkeys(row.metric for row in rows))
    tested = [row for row in rows if row.effect(level).low is not None]
    is_matched = any(arm.matched_rate is not None for arm in arms)
    has_quality = any(row.metric == quality for row in tested)
    if not has_quality or (is_matched and quality in FOLLOW_RATE):
        quality = None
    families = [
        [row for row in tested if row.metric == metric]
        for metric in (primary, *([] if quality is None else [quality]))
    ]
    primary_level = common_level(families, level)
    exploratory_level = shared_level(
        [x for x in tested if x.metric not in {primary, quality}], level
    )

    def effect(row: MetricContrast) -> Effect:
        is_primary = row.metric in {primary, quality}
        judged = row.effect(
            primary_level if is_primary else exploratory_level, margin=margins.get(row.metric)
        )
        return replace(judged, exploratory=not is_primary)

    judged_pairs = (
        replace(pair, effects=_effects(pair.contrasts, effect, is_matched=is_matched))
        for pair in pairs
    )
    judged_arms = (_judged(arm, effect) for arm in arms)
    return Judged(tuple(judged_arms), tuple(judged_pairs), primary_level.confidence, quality)


def without_verdicts(
    arms: Sequence[ComparedArm], pairs: Sequence[ArmPair], errors: Mapping[str, Check]
) -> tuple[tuple[ComparedArm, ...], tuple[ArmPair, ...]]:
    """Return arms and pairs without verdicts on the arms that have an error.

    Copies of a run, for example, are no evidence that arms are equivalent.
    """
    return (
        tuple(_untrusted_arm(arm, errors[arm.name]) if arm.name in errors else arm for arm in arms),
        tuple(
            replace(pair, effects=_untested(pair.effects, check)) if check else pair
            for pair in pairs
            for check in [errors.get(pair.arm) or errors.get(pair.against)]
        ),
    )


def _untrusted_arm(arm: ComparedArm, check: Check) -> ComparedArm:
    return replace(
        arm,
        effects=_untested(arm.effects, check),
        explanations={name: _untested(x, check) for name, x in arm.explanations.items()},
    )


def _untested(effects: Mapping[str, Effect], check: Check) -> dict[str, Effect]:
    return {name: without_verdict(effect, check.name) for name, effect in effects.items()}


def judge_each(arms: Sequence[ComparedArm], level: Level) -> list[ComparedArm]:
    """Return arms with the effect on each metric as if it were the only one, at a level.

    For claims that were stated before the runs were made, one by one.
    """
    return [_judged(arm, lambda x: x.effect(level, margin=0.0)) for arm in arms]


def _judged(arm: ComparedArm, effect: Callable[[MetricContrast], Effect]) -> ComparedArm:
    return replace(
        arm,
        effects=_effects(arm.contrasts, effect, is_matched=arm.matched_rate is not None),
        explanations={
            method: {name: effect(x) for name, x in contrasts.items()}
            for method, contrasts in arm.explanation_contrasts.items()
        },
    )


def _contrasts(arm: ComparedArm) -> Iterator[MetricContrast]:
    yield from arm.contrasts.values()
    for contrasts in arm.explanation_contrasts.values():
        yield from contrasts.values()


def _effects(
    contrasts: Mapping[str, MetricContrast],
    effect: Callable[[MetricContrast], Effect],
    *,
    is_matched: bool,
) -> dict[str, Effect]:
    """Return the effects, without intervals of accuracy and its like if rates are matched.

    Accuracy follows the rate of the arm, whose variation the interval does not include: it would be
    called different in 7 to 8 % of studies instead of 5 %.
    """
    effects = {name: effect(x) for name, x in contrasts.items()}
    for metric in FOLLOW_RATE if is_matched else ():
        if metric in effects:
            full = effects[metric]
            effects[metric] = Effect(
                metric, full.scale, full.value, note=RATE_ESTIMATED, exploratory=full.exploratory
            )
    return effects
