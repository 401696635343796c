"""Arms by what may be said of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from seedproof.comparison.arms.result import ComparedArm, Comparison
from seedproof.messages import Message
from seedproof.stats.effect import Verdict

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


@dataclass(frozen=True)
class ArmNames:
    """Names of arms, written as a list in words, or how many there are if they would fill lines.

    Args:
        names: The names.
    """

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
    """Parts of a sentence, one after the other.

    Args:
        parts: The parts.
        separator: What stands between two of them.
    """

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
