"""Values with their intervals, one line each, in one unit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from seedproof.messages import Message
from seedproof.metrics.card import Unit
from seedproof.report.figures.base import Figure, drawn, unique
from seedproof.report.numbers import bracketed, is_too_wide
from seedproof.stats.intervals import Estimate

# Shown to be good, shown to be bad, neither shown, or not judged.
Mark: TypeAlias = Literal["good", "bad", "open", "base"]
SHAPES: Mapping[Mark, tuple[str, str]] = {
    "good": ("dot", "accent"),
    "bad": ("diamond", "alert-mark"),
    "open": ("ring", "ink-3"),
    "base": ("square", "ink"),
}
MAX_NAME = 20
# More single runs would hide each other.
MAX_TICKS = 500


@dataclass(frozen=True)
class Line:
    """One line of the chart."""

    name: str
    estimate: Estimate
    mark: Mark = "base"
    runs: Sequence[float] = ()  # values of single runs, drawn as ticks


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
    for line, label in zip(lines, unique(_label(line.name) for line in lines), strict=True):
        low, high = line.estimate.low, line.estimate.high
        ends: tuple[float | None, float | None] = None, None
        if low is not None and high is not None and not is_too_wide(line.estimate):
            ends = factor * low, factor * high
        rows.append(
            {
                "name": label,
                "value": factor * line.estimate.value,
                "low": ends[0],
                "high": ends[1],
                "kind": line.mark,
                "text": bracketed(line.estimate, unit),
            }
        )
    ticks = [
        {"name": row["name"], "value": factor * value}
        for row, line in zip(rows, lines, strict=True)
        for value in line.runs
    ]
    present = {line.mark for line in lines}
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
            "ticks": ticks if len(ticks) <= MAX_TICKS else [],
        },
        legend=[(*SHAPES[mark], text) for mark, text in (marks or {}).items() if mark in present],
        header=("", axis),
        numbers=[(row["name"], row["text"]) for row in rows],
        kind="intervals",
    )


def _label(name: str) -> str:
    name = drawn(name)
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 7]}…{name[-6:]}"
