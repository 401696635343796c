"""What one chart shows, as plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seedproof.measurement.result import Measurement
from seedproof.messages import Message
from seedproof.report.numbers import NO_BREAK

# Up to so many runs each has a name, a cell, a line of its own; beyond, they are put together.
MAX_NAMED_RUNS = 50
BINS = Message("bins", "Shaded: 95 % over examples. Small figures: examples in the bin.")
UNSEEN = "\N{REPLACEMENT CHARACTER}"
# Vega looks names up in plain JavaScript objects, where these are found without being there.
INHERITED = frozenset(
    {
        "__defineGetter__",
        "__defineSetter__",
        "__lookupGetter__",
        "__lookupSetter__",
        "__proto__",
        "constructor",
        "hasOwnProperty",
        "isPrototypeOf",
        "propertyIsEnumerable",
        "toLocaleString",
        "toString",
        "valueOf",
    }
)


def drawn(name: str) -> str:
    """A user's word as a chart can show it.

    Characters that cannot be seen are replaced: some end the process that draws a picture, and a
    line separator is no part of an expression. What means something to Vega, or to us as a color,
    gets a space before it.
    """
    text = "".join(sign if sign.isprintable() else UNSEEN for sign in name)
    return f"{NO_BREAK}{text}" if text in INHERITED or text.startswith("var(") else text


def quoted(name: str) -> str:
    """A user's word in the title of an axis, in quotation marks."""
    # Vega-Lite makes an expression of an axis title, in which a backslash means something.
    return "“" + drawn(name).replace("\\", "\\\\") + "”"


def drawn_runs(measurement: Measurement) -> list[str]:
    """Names of the runs as charts show them, each of them once."""
    names: dict[str, None] = {}
    for run in measurement.runs:
        name = drawn(run)
        while name in names:
            name += "*"
        names[name] = None
    return list(names)


@dataclass(frozen=True)
class Figure:
    """One chart: what is drawn, what it shows, and the same numbers as a table.

    Args:
        name: Its name for `report.figure` and `--figure`.
        section: The topic that it belongs to.
        title: What is drawn.
        takeaway: What to see; only what a computed condition supports. None if there is nothing.
        reading: How to read it, in any number of sentences.
        rows: The marks.
        facts: Constants of the chart: axis titles, limits, reference values.
        legend: Kind of mark, color and words, in HTML so that it wraps and enlarges.
        header: Columns of the table of numbers; empty where the marks are too many.
        numbers: Its rows, as text.
        kind: What draws it, where several figures are drawn alike; else its name without a number.
        alone: Fields that are different in a picture, where no heading and no other chart of the
            page stand next to it.
    """

    name: str
    section: str
    title: str
    takeaway: Message | None
    reading: Sequence[Message]
    rows: Sequence[Mapping[str, Any]]
    facts: Mapping[str, Any]
    legend: Sequence[tuple[str, str, str]] = ()
    header: Sequence[str] = ()
    numbers: Sequence[Sequence[str]] = ()
    kind: str = ""
    alone: Mapping[str, Any] = field(default_factory=dict)
