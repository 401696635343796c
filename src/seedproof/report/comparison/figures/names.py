"""Names of the arms in charts, and marks for what is shown of them."""

from seedproof.comparison.arms.result import Comparison
from seedproof.report.comparison.text import shortened
from seedproof.report.figures.base import drawn

MAX_NAME = 15
MARKS = [
    ("dot", "accent", "steadier or better"),
    ("diamond", "alert-mark", "less steady or worse"),
    ("ring", "ink-3", "not shown"),
]


def drawn_arms(comparison: Comparison) -> dict[str, str]:
    """What charts call each arm: short, printable, each name once."""
    found: dict[str, str] = {}
    for arm in (comparison.baseline, *comparison.arms):
        name = shortened(drawn(arm.name), MAX_NAME)
        while name in found.values():
            name += "*"
        found[arm.name] = name
    return found
