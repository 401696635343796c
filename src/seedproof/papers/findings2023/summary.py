"""The harness in a terminal: every arm in a line of at most 80 columns."""

from collections.abc import Mapping
from typing import Any

from seedproof.report.numbers import MINUS

MISSING = "–"
HEADER = ("arm", "acc. %", "flips %", "change % [95 %]", "train", "serve")
# From here on a cost needs no digits behind the point.
DEAR = 10


def summary_table(results: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Every arm with its accuracy, its flips, what it changes in them, and what it costs.

    Args:
        results: What `collect` gave.

    Returns:
        For each arm as many texts as `HEADER` has: accuracy and flip rate in percent, the change of
        the flip rate in percent with its 95 % interval, and the costs of training and of serving in
        units of the control. An arm whose runs share a teacher or their first weights has a star.
    """
    return [_row(name, arm) for name, arm in results["arms"].items()]


def _row(name: str, arm: Mapping[str, Any]) -> tuple[str, ...]:
    accuracy, flips = (100 * arm["metrics"][metric][0] for metric in ("accuracy", "flip_rate"))
    costs = arm["costs"] or {}
    return (
        name if arm["shares"] is None else f"{name}*",
        f"{accuracy:.2f}",
        f"{flips:.2f}",
        _change(arm["effects"].get("flip_rate")),
        _times(costs.get("training")),
        _times(costs.get("serving")),
    )


def _change(effect: Mapping[str, Any] | None) -> str:
    """Such as "−50 [−68, −20]"."""
    if effect is None or effect["value"] is None:
        return MISSING
    value, low, high = (
        None if one is None else f"{100 * (one - 1):+.0f}".replace("-", MINUS)
        for one in (effect["value"], effect["low"], effect["high"])
    )
    return f"{value}" if low is None or high is None else f"{value} [{low}, {high}]"


def _times(cost: float | None) -> str:
    if cost is None:
        return MISSING
    return f"×{cost:.0f}" if cost >= DEAR else f"×{cost:.2f}"
