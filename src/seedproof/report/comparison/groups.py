"""Arms by verdict, and each explanation method as a comparison of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from seedproof.comparison.arms.result import ComparedArm, Comparison
from seedproof.messages import Message
from seedproof.stats.effect import Effect, Verdict

GOOD: tuple[Verdict, ...] = ("steadier", "better")
BAD: tuple[Verdict, ...] = ("less steady", "worse")
# Shown, of a metric of which neither direction is better.
NEUTRAL: tuple[Verdict, ...] = ("higher", "lower")
# A primary verdict together with that on the quality, where one of them is good and one is bad.
MIXED: dict[tuple[Verdict, Verdict], str] = {
    ("steadier", "worse"): "steadier, but worse",
    ("less steady", "better"): "less steady, better",
}
MAX_LISTED = 4
MAX_LIST_LENGTH = 80
# The metrics of explanations that are shown first; the list of all metrics has the others.
KEY_FIGURES = ("explanation_jaccard_20", "explanation_js")


def all_arms(comparison: Comparison) -> tuple[ComparedArm, ...]:
    """Return the baseline, then the other arms."""
    return (comparison.baseline, *comparison.arms)


def with_verdict(comparison: Comparison, metric: str, *verdicts: Verdict) -> list[ComparedArm]:
    """Return the arms whose effect on a metric has one of these verdicts."""
    return [
        arm
        for arm in comparison.arms
        if metric in arm.effects and arm.effects[metric].verdict in verdicts
    ]


def verdict_on(arm: ComparedArm, metric: str) -> Verdict:
    """Return the verdict on a metric; "not tested" if the arm does not have the metric."""
    return arm.effects[metric].verdict if metric in arm.effects else "not tested"


def shown_verdict(comparison: Comparison, effects: Mapping[str, Effect], metric: str) -> str:
    """Return the verdict on a metric for readers: the primary one names an opposite quality."""
    if metric not in effects:
        return "not tested"
    verdict, quality = effects[metric].verdict, effects.get(comparison.quality or "")
    if quality is None or metric != comparison.primary:
        return verdict
    return MIXED.get((verdict, quality.verdict), verdict)


def verdict_kind(verdict: str) -> str:
    """Return how a verdict is marked: `good`, `bad`, `equal` or `open`."""
    kinds: dict[str, str] = {
        **dict.fromkeys(GOOD, "good"),
        **dict.fromkeys((*BAD, *MIXED.values()), "bad"),
        **dict.fromkeys((*NEUTRAL, "equivalent"), "equal"),
    }
    return kinds.get(verdict, "open")


def foremost(comparison: Comparison) -> list[ComparedArm]:
    """Return the arms, those shown to be steadier and not worse first."""
    return sorted(
        comparison.arms,
        key=lambda arm: shown_verdict(comparison, arm.effects, "flip_rate") != "steadier",
    )


@dataclass(frozen=True)
class ArmNames:
    """Names of arms as a list in a sentence, or their number if the list would be long."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        *first, last = self.names
        text = f"{', '.join(first)} and {last}" if first else last
        is_long = len(self.names) > MAX_LISTED or (first and len(text) > MAX_LIST_LENGTH)
        return f"{len(self.names)} arms" if is_long else text


def names(arms: Sequence[ComparedArm]) -> ArmNames:
    """Return the names of arms, for a sentence."""
    return ArmNames(tuple(arm.name for arm in arms))


@dataclass(frozen=True)
class Series:
    """Parts of a sentence, joined by a separator."""

    parts: tuple[Message, ...]
    separator: str = "; "

    def __str__(self) -> str:
        return self.separator.join(map(str, self.parts))


def explained_by(comparison: Comparison) -> tuple[str, ...]:
    """Return the methods by which the baseline and at least one arm were explained."""
    return tuple(
        method
        for method in comparison.baseline.measurement.explanations
        if any(method in arm.explanations for arm in comparison.arms)
    )


def of_method(comparison: Comparison, method: str) -> Comparison:
    """Return the comparison of explanations by one method, in place of predictions."""

    def explained(arm: ComparedArm) -> ComparedArm:
        metrics = arm.measurement.explanations[method].metrics
        measurement = replace(arm.measurement, metrics=metrics)
        return replace(arm, measurement=measurement, effects=arm.explanations.get(method, {}))

    arms = tuple(explained(arm) for arm in comparison.arms if method in arm.explanations)
    return replace(comparison, baseline=explained(comparison.baseline), arms=arms)
