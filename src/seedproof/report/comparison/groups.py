"""Arms by what may be said of them."""

from collections.abc import Sequence

from seedproof.comparison.arms.result import ComparedArm, Comparison
from seedproof.comparison.effect import Verdict

GOOD: tuple[Verdict, ...] = ("steadier", "better")
BAD: tuple[Verdict, ...] = ("less steady", "worse")
MAX_LISTED = 4
MAX_LIST_LENGTH = 80


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


def names(arms: Sequence[ComparedArm]) -> str:
    """Names as a list in words, or how many there are if they would fill lines."""
    listed = [arm.name for arm in arms]
    text = " and ".join(part for part in (", ".join(listed[:-1]), listed[-1]) if part)
    is_long = len(listed) > MAX_LISTED or (len(listed) > 1 and len(text) > MAX_LIST_LENGTH)
    return f"{len(listed)} arms" if is_long else text


def foremost(comparison: Comparison) -> list[ComparedArm]:
    """The arms that are shown to be steadier first, the others behind, each in its order."""
    steadier = with_verdict(comparison, "flip_rate", "steadier")
    return [*steadier, *(arm for arm in comparison.arms if arm not in steadier)]


def verdict_kind(verdict: str) -> str:
    """How a verdict is marked: `good`, `bad` or `open`."""
    if verdict in GOOD:
        return "good"
    return "bad" if verdict in BAD else "open"
