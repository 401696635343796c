"""Rules that turn an interval into a verdict on a claim."""

from typing import Literal, TypeAlias

from seedproof.comparison.effect import Effect
from seedproof.measurement.intervals import Estimate

Verdict: TypeAlias = Literal[
    "holds here",
    "does not hold here",
    "a cut is shown, its size is open",
    "its size is open",
    "not shown here",
]

HOLDS: Verdict = "holds here"
FAILS: Verdict = "does not hold here"
SIZE_OPEN: Verdict = "a cut is shown, its size is open"
SHARE_OPEN: Verdict = "its size is open"
OPEN: Verdict = "not shown here"
# "Almost no loss" of accuracy: what `seedproof gate --no-worse` allows by default.
MARGIN = 0.005
# Where a figure is not known to a factor of two, a value inside its interval says little.
KNOWN_WITHIN = 2.0


def judge_direction(effect: Effect | None) -> Verdict:
    """Whether something falls, or is better.

    Args:
        effect: A ratio or a difference.

    Returns:
        It holds if that is shown, and fails if the contrary is; an interval that contains both
        shows nothing.
    """
    if effect is None or not effect.is_shown:
        return OPEN
    return HOLDS if effect.verdict in {"steadier", "better"} else FAILS


def judge_cut(effect: Effect | None, cut: float) -> Verdict:
    """Whether something falls by at least so many percent.

    Args:
        effect: A ratio.
        cut: What the paper says.

    Returns:
        It fails if the interval excludes a cut of that size. It holds if a cut is shown, its
        interval reaches that size, and the ratio is known within `KNOWN_WITHIN`; where it is not,
        the size is open.
    """
    if effect is None or effect.low is None or effect.verdict == "too few runs":
        return OPEN
    if 100 * (1 - effect.low) < cut:
        return FAILS
    direction = judge_direction(effect)
    if direction != HOLDS or effect.value is None or effect.high is None:
        return direction
    return HOLDS if is_known(effect.value, effect.low, effect.high) else SIZE_OPEN


def judge_loss(effect: Effect | None) -> Verdict:
    """Whether accuracy falls by no more than `MARGIN`."""
    if effect is None or effect.low is None or effect.high is None:
        return OPEN
    if effect.verdict == "too few runs":
        return OPEN
    if effect.high < -MARGIN:
        return FAILS
    return HOLDS if effect.low >= -MARGIN else OPEN


def is_known(value: float, low: float, high: float) -> bool:
    """Whether both ends of an interval are within a factor of two of the value.

    Args:
        value: A figure above 0.
        low: Where its interval begins.
        high: Where it ends.

    Returns:
        Whether a value inside says something.
    """
    return high <= KNOWN_WITHIN * value and value <= KNOWN_WITHIN * low


def judge_range(
    estimate: Estimate | None, low: float, high: float, *, is_over_runs: bool
) -> Verdict:
    """Whether a figure lies in a range: all of its interval must.

    Args:
        estimate: Our figure.
        low: Where the paper's range begins.
        high: Where it ends.
        is_over_runs: Whether the interval is. One over texts alone says nothing of other seeds.

    Returns:
        Open without an interval over runs.
    """
    if not is_over_runs or estimate is None or estimate.low is None or estimate.high is None:
        return OPEN
    if estimate.high < low or estimate.low > high:
        return FAILS
    return HOLDS if low <= estimate.low and estimate.high <= high else OPEN
