"""Values with their intervals, one line each, in one unit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from seedproof.messages import Message
from seedproof.metrics.card import Unit
from seedproof.report.figures.base import Figure, drawn
from seedproof.report.numbers import bracketed
from seedproof.stats.intervals import Estimate

# What draws a mark: shown to be good or bad, not shown to be either, or neither.
Mark: TypeAlias = Literal["good", "bad", "open", "base"]
SHAPES: Mapping[Mark, tuple[str, str]] = {
    "good": ("dot", "accent"),
    "bad": ("diamond", "alert-mark"),
    "open": ("ring", "ink-3"),
    "base": ("square", "ink"),
}
MAX_NAME = 20


@dataclass(frozen=True)
class Line:
    """One line of the chart.

    Args:
        name: What it is of.
        estimate: Value and interval.
        mark: What its mark says.
    """

    name: str
    estimate: Estimate
    mark: Mark = "base"


def intervals(
    name: str,
    title: str,
    lines: Sequence[Line],
    *,
    section: str,
    axis: str,
    unit: Unit,
    marks: Mapping[Mark, str] | None = None,
    reference: float | None = None,
    takeaway: Message | None = None,
    reading: Sequence[Message] = (),
) -> Figure:
    """Return a chart of values with their intervals."""
    factor = 100.0 if unit in {"percent", "points"} else 1.0
    rows: list[dict[str, Any]] = []
    for line, called in zip(lines, _names(lines), strict=True):
        ends = line.estimate.low, line.estimate.high
        low, high = (None if end is None else factor * end for end in ends)
        rows.append(
            {
                "name": called,
                "value": factor * line.estimate.value,
                "low": None if high is None else low,
                "high": None if low is None else high,
                "kind": line.mark,
                "text": bracketed(line.estimate, unit),
            }
        )
    seen = {line.mark for line in lines}
    return Figure(
        name=name,
        section=section,
        title=title,
        takeaway=takeaway,
        reading=reading,
        rows=rows,
        facts={
            "axis": axis,
            "reference": None if reference is None else factor * reference,
            "names": [row["name"] for row in rows],
        },
        legend=[(*SHAPES[mark], text) for mark, text in (marks or {}).items() if mark in seen],
        header=("", axis),
        numbers=[(row["name"], row["text"]) for row in rows],
        kind="intervals",
    )


def _names(lines: Sequence[Line]) -> list[str]:
    """Return names as a chart can show them, each of them once."""
    names: dict[str, None] = {}
    for line in lines:
        name = drawn(line.name)
        if len(name) > MAX_NAME:
            name = f"{name[: MAX_NAME - 7]}…{name[-6:]}"
        while name in names:
            name += "*"
        names[name] = None
    return list(names)
