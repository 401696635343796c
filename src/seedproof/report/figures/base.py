"""What one chart shows, as plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Up to so many runs each has a name, a cell, a line of its own; beyond, they are put together.
MAX_NAMED_RUNS = 50


@dataclass(frozen=True)
class Figure:
    """One chart: what is drawn, what it shows, and the same numbers as a table.

    Args:
        name: What `report.to_png` and `--figure` call it.
        section: The topic that it belongs to.
        title: What is drawn.
        takeaway: What to see; only what a computed condition supports.
        reading: How to read it.
        rows: The marks.
        facts: Constants of the chart: axis titles, limits, reference values.
        legend: Kind of mark, color and words, in HTML so that it wraps and enlarges.
        header: Columns of the table of numbers; empty where the marks are too many.
        numbers: Its rows, as text.
    """

    name: str
    section: str
    title: str
    takeaway: str
    reading: str
    rows: Sequence[Mapping[str, Any]]
    facts: Mapping[str, Any]
    legend: Sequence[tuple[str, str, str]] = ()
    header: Sequence[str] = ()
    numbers: Sequence[Sequence[str]] = ()
