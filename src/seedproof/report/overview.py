"""A result for people, as plain data: headline, key figures, tables by topic."""

from collections.abc import Sequence
from dataclasses import dataclass

from seedproof.messages import Message
from seedproof.predictions.checks import Check
from seedproof.report.groups import GroupTable
from seedproof.report.numbers import in_brackets, signless
from seedproof.report.view import KeyFigure, Row, interval_bar
from seedproof.stats.intervals import Estimate

BRACKETS = (
    "Brackets are 95\N{NO-BREAK SPACE}% intervals. Every figure says whether it accounts for runs, "
    "examples or both, and a difference is reported only if its interval supports it."
)


@dataclass(frozen=True)
class PageOptions:
    """Additions of the caller to a page: columns of examples, a title, and the command."""

    show: Sequence[str] = ()
    title: str | None = None
    command: str | None = None


@dataclass(frozen=True)
class TextTable:
    """A table of text, whose first column names the rows."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Strip:
    """One example: its cells, and the numbers of all runs as a drawing."""

    cells: tuple[str, ...]
    ticks: tuple[float, ...] = ()  # on a scale from 0 to 1
    target: float | None = None  # on the same scale
    passed: tuple[bool, ...] = ()  # in place of ticks
    text: str = ""  # the numbers, for readers of the page who do not see the drawing


@dataclass(frozen=True)
class StripTable:
    """Examples with the numbers of all runs; the first column names the rows."""

    header: tuple[str, ...]
    title: str  # of the drawings
    rows: tuple[Strip, ...]
    ends: tuple[str, ...]  # of their scale
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Piece:
    """Some words of an answer."""

    mark: str  # "" for words of both texts, "del" for those of the first alone, "ins" otherwise
    text: str


@dataclass(frozen=True)
class Answer:
    """A text that some runs give, in pieces that show how it differs from another one."""

    name: str
    count: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class AnswerLine:
    """One example: its cells, and its answers if they are to be shown."""

    cells: tuple[str, ...]
    answers: tuple[Answer, ...] = ()


@dataclass(frozen=True)
class AnswerTable:
    """Examples with the answers of all runs; the first column names the rows."""

    header: tuple[str, ...]
    rows: tuple[AnswerLine, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ItemCell:
    """One item of a list or set."""

    text: str
    mark: str  # "same", "at-other-rank" or "new" in a list; "share-0" to "share-5" in a set
    is_right: bool = False


@dataclass(frozen=True)
class ItemRow:
    """One example: its cells, and lists of items next to each other."""

    cells: tuple[str, ...]
    columns: tuple[tuple[ItemCell, ...], ...]


@dataclass(frozen=True)
class ItemTable:
    """Examples with the items of several runs; the first column names the rows."""

    header: tuple[str, ...]
    titles: tuple[str, ...]  # of the lists
    rows: tuple[ItemRow, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """One topic of a page: its finding, its tables, and the charts whose section it is."""

    topic: str
    finding: str
    tables: tuple[TextTable, ...] = ()
    paragraphs: tuple[str, ...] = ()
    strips: StripTable | None = None
    answers: AnswerTable | None = None
    items: ItemTable | None = None
    # Metrics with their cards, which a page shows in place of the tables.
    metrics: tuple[Row, ...] = ()

    @property
    def slug(self) -> str:
        """Its address on the page, unlike any other id there."""
        return "on-" + "".join(sign if sign.isalnum() else "-" for sign in self.topic.lower())


@dataclass(frozen=True)
class Overview:
    """The main findings first, then the tables."""

    headline: str
    title: str
    # Topic and text, the most important first.
    sentences: tuple[tuple[str, str], ...] = ()
    key_figures: tuple[KeyFigure, ...] = ()
    sections: tuple[Section, ...] = ()
    notes: tuple[str, ...] = ()
    brackets: str = BRACKETS
    # Errors and warnings about the input, and the names of those that a gate allows.
    checks: tuple[Check, ...] = ()
    allowed: tuple[str, ...] = ()


def group_table(groups: GroupTable) -> TextTable:
    """Return classes or slices as a table of a page."""
    return TextTable(groups.header, groups.rows, notes=tuple(map(str, groups.notes())))


def key_figure(
    name: str, title: str, estimate: Estimate, meaning: Message, *, is_difference: bool
) -> KeyFigure:
    """Return a share, or a difference of shares, as a key figure."""
    has_bar = estimate.low is not None and estimate.low >= 0.0
    return KeyFigure(
        name,
        title,
        value=signless(estimate.value),
        unit="points" if is_difference else "%",
        interval=in_brackets(estimate, signless).strip(),
        meaning=meaning,
        bar=interval_bar(estimate)[0] if has_bar else None,
    )
