"""The data of a chart, and names that charts can show."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seedproof.measurement.result import Measurement
from seedproof.messages import Message
from seedproof.metrics.confidence import N_BINS
from seedproof.report.numbers import NO_BREAK

# Up to so many runs, each has a name, a cell and a line of its own; more are aggregated.
MAX_NAMED_RUNS = 50
BINS = Message("bins", "Shaded: 95 % over examples. Small numbers: examples in the bin.")
BIN_WIDTH = 1 / N_BINS
UNSEEN = "\N{REPLACEMENT CHARACTER}"
# Vega looks up names in plain JavaScript objects, which inherit these.
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
    """Return a name given by the user as a chart can show it."""
    # Some invisible characters crash the process that draws a picture, and a line separator cannot
    # be in an expression. A name that means something to Vega, or a color to us, gets a space.
    text = "".join(sign if sign.isprintable() else UNSEEN for sign in name)
    return f"{NO_BREAK}{text}" if text in INHERITED or text.startswith("var(") else text


def quoted(name: str) -> str:
    """Return a name given by the user in quotation marks, for the title of an axis."""
    # Vega-Lite reads an axis title as an expression, in which a backslash is an escape.
    return "“" + drawn(name).replace("\\", "\\\\") + "”"


def unique(names: Iterable[str]) -> list[str]:
    """Return names with stars added to those that occurred before."""
    distinct: dict[str, None] = {}
    for name in names:
        while name in distinct:
            name += "*"  # noqa: PLW2901 - until it is new
        distinct[name] = None
    return list(distinct)


def drawn_runs(measurement: Measurement) -> list[str]:
    """Return distinct names of the runs as charts can show them."""
    return unique(map(drawn, measurement.runs))


def bin_numbers(
    rows: Iterable[Mapping[str, Any]], value: str, digits: int
) -> list[tuple[str, str, str, str]]:
    """Return the table of a chart in bins of the mean probability."""
    half = BIN_WIDTH / 2
    return [
        (
            f"{row['x'] - half:.1f}–{row['x'] + half:.1f}",
            f"{row[value]:.{digits}f}",
            f"{row['low']:.{digits}f}–{row['high']:.{digits}f}",
            f"{row['count']:,}",
        )
        for row in rows
    ]


@dataclass(frozen=True)
class Figure:
    """One chart: its marks, its texts, and the same numbers as a table."""

    name: str
    section: str
    title: str
    # The main finding, only if a computed condition supports it.
    takeaway: Message | None
    # How to read the chart.
    reading: Sequence[Message]
    # The marks, and constants such as axis titles, limits and reference values.
    rows: Sequence[Mapping[str, Any]]
    facts: Mapping[str, Any]
    # Kind of mark, color and text; in HTML on the page, so that it wraps.
    legend: Sequence[tuple[str, str, str]] = ()
    # The table of numbers; empty if there are too many marks.
    header: Sequence[str] = ()
    numbers: Sequence[Sequence[str]] = ()
    # The function that draws it; by default the name without a trailing number.
    kind: str = ""
    # Fields that differ in a picture, which has no heading and no other chart around it.
    alone: Mapping[str, Any] = field(default_factory=dict)
