"""Arms by what may be said of them, and each method of explanation as a comparison of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from seedproof.comparison.arms.result import ComparedArm, Comparison
from seedproof.messages import Message
from seedproof.stats.effect import Verdict

GOOD: tuple[Verdict, ...] = ("steadier", "better")
BAD: tuple[Verdict, ...] = ("less steady", "worse")
MAX_LISTED = 4
MAX_LIST_LENGTH = 80
# What says most of explanations; every figure stands in the list of all metrics.
KEY_FIGURES = ("explanation_jaccard_20", "explanation_js")


def with_verdict(comparison: Comparison, metric: str, *verdicts: Verdict) -> list[ComparedArm]:
    """The arms whose effect on a metric has one of these verdicts."""
    return [
        arm
        for arm in comparison.arms
        if metric in arm.effects and arm.effects[metric].verdict in verdicts
    ]


def verdict_on(arm: ComparedArm, metric: str) -> Verdict:
    """The verdict on one metric; an arm without it, as one without labels, is not tested."""
    return arm.effects[metric].verdict if metric in arm.effects else "not tested"


@dataclass(frozen=True)
class ArmNames:
    """Names of arms, written as a list in words, or how many there are if they would fill lines."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        *first, last = self.names
        text = f"{', '.join(first)} and {last}" if first else last
        is_long = len(self.names) > MAX_LISTED or (first and len(text) > MAX_LIST_LENGTH)
        return f"{len(self.names)} arms" if is_long else text


def names(arms: Sequence[ComparedArm]) -> ArmNames:
    """The names of arms, for a sentence."""
    return ArmNames(tuple(arm.name for arm in arms))


@dataclass(frozen=True)
class Series:
    """Parts of a sentence, one after the other."""

    parts: tuple[Message, ...]
    separator: str = "; "

    def __str__(self) -> str:
        return self.separator.join(map(str, self.parts))


def foremost(comparison: Comparison) -> list[ComparedArm]:
    """The arms that are shown to be steadier first, the others behind, each in its order."""
    steadier = with_verdict(comparison, "flip_rate", "steadier")
    return [*steadier, *(arm for arm in comparison.arms if arm not in steadier)]


def verdict_kind(verdict: str) -> str:
    """How a verdict is marked: `good`, `bad` or `open`."""
    if verdict in GOOD:
        return "good"
    return "bad" if verdict in BAD else "open"


def explained_by(comparison: Comparison) -> tuple[str, ...]:
    """Methods by which the baseline and at least one arm were explained."""
    return tuple(
        method
        for method in comparison.baseline.measurement.explanations
        if any(method in arm.explanations for arm in comparison.arms)
    )


def of_method(comparison: Comparison, method: str) -> Comparison:
    """The comparison of explanations by one method, in place of predictions."""
    return replace(
        comparison,
        baseline=_of_method(comparison.baseline, method),
        arms=tuple(
            _of_method(arm, method) for arm in comparison.arms if method in arm.explanations
        ),
    )


def _of_method(arm: ComparedArm, method: str) -> ComparedArm:
    metrics = arm.measurement.explanations[method].metrics
    return replace(
        arm,
        measurement=replace(arm.measurement, metrics=metrics),
        effects=arm.explanations.get(method, {}),
    )
