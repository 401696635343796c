"""A result for people, as plain data: headline, key figures, tables by topic."""

from dataclasses import dataclass

from seedproof.messages import Message
from seedproof.report.numbers import signless
from seedproof.report.view import KeyFigure
from seedproof.stats.intervals import Estimate

BRACKETS = (
    "Brackets are 95\N{NO-BREAK SPACE}% intervals. Every figure says what it is over, and nothing "
    "is called a difference unless its interval supports it."
)


@dataclass(frozen=True)
class TextTable:
    """A table of text.

    Args:
        header: Names of the columns; the first one names the rows.
        rows: One tuple of cells per row.
        title: What it lists; empty if the section says so.
        notes: How to read it.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """One topic of a page: its finding, its tables, and the charts whose section it is.

    Args:
        topic: Name of the topic, which charts refer to.
        finding: What it shows, in one line.
        tables: Its tables.
        paragraphs: Words in front of charts and tables.
    """

    topic: str
    finding: str
    tables: tuple[TextTable, ...] = ()
    paragraphs: tuple[str, ...] = ()

    @property
    def slug(self) -> str:
        """Its address on the page, which no other element has."""
        return "on-" + "".join(sign if sign.isalnum() else "-" for sign in self.topic.lower())


@dataclass(frozen=True)
class Overview:
    """What a person wants to know first, then the tables.

    Args:
        headline: The finding, in one sentence.
        title: What it was made from, in one line.
        sentences: Topic and text of what may be said, the most important first.
        key_figures: The few figures that stand first.
        sections: The rest, by topic.
        notes: How the input was read, and what limits the figures.
        brackets: What intervals and verdicts mean here.
    """

    headline: str
    title: str
    sentences: tuple[tuple[str, str], ...] = ()
    key_figures: tuple[KeyFigure, ...] = ()
    sections: tuple[Section, ...] = ()
    notes: tuple[str, ...] = ()
    brackets: str = BRACKETS


def key_figure(
    name: str, title: str, estimate: Estimate, meaning: Message, *, is_difference: bool
) -> KeyFigure:
    """Return a share, or a difference of shares, as one of the figures that stand first."""
    bar, interval = None, ""
    if estimate.low is not None and estimate.high is not None:
        interval = f"[{signless(estimate.low)}, {signless(estimate.high)}]"
        if estimate.low >= 0.0:
            scale = 1.25 * estimate.high or 1.0
            bar = (estimate.low / scale, estimate.value / scale, estimate.high / scale)
    unit = "points" if is_difference else "%"
    return KeyFigure(name, title, signless(estimate.value), unit, interval, meaning, bar)
