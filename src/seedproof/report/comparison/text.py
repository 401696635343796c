"""The view of a comparison for a terminal: the finding, the sentences, then the table."""

from collections.abc import Sequence

from rich.console import Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from seedproof.messages import printable
from seedproof.report.comparison.groups import verdict_kind
from seedproof.report.comparison.view import Block, Cell, ComparisonView, Sheet
from seedproof.report.text import Prose, plain_text

MAX_NAME = 16
MAX_COLUMNS = 4
HEAD = ("", "value", "change", "interval", "verdict", "shows")
SHOWS = (
    "Changes are in percent of the baseline; those of accuracy and ece in points. “shows”: the "
    "smallest true change that these runs would show."
)
TWICE = (
    "“drawn twice”: how far two draws of the explainer are apart for one and the same run, which "
    "is its own chance."
)
STYLES = {"good": "green", "bad": "red", "open": "dim"}


def render(view: ComparisonView) -> RenderableType:
    """What a terminal shows."""
    parts: list[RenderableType] = [
        Prose(view.title, style="dim"),
        Text(""),
        Prose(view.headline, style="bold"),
        Text(""),
    ]
    for finding in view.findings:
        start = f"{finding.verdict} " if finding.verdict else ""
        parts += [Prose(f"{finding.topic}: {start}{finding.text}"), Text("")]
    parts += [_effects(view), Prose(SHOWS, style="dim")]
    if view.has_floors:
        parts.append(Prose(TWICE, style="dim"))
    if view.sheet is not None:
        parts += [*_sheets(view.sheet), Text(""), Prose(view.sheet.note, style="dim")]
    parts += [Text(""), Prose(view.brackets, style="dim")]
    parts += [Prose(f"Note: {note}", style="dim") for note in view.notes]
    return Group(*parts)


def _effects(view: ComparisonView) -> RenderableType:
    """One block per metric, one line per arm; 80 columns have no room for the unit of points."""
    blocks = (*view.key_blocks, *view.reason_blocks)
    lines = {_heading(block): _lines(block, view.baseline) for block in blocks}
    every = [HEAD, *(line for block in lines.values() for line in block)]
    widths = [max(len(cells[i]) for cells in every) for i in range(len(HEAD))]
    parts: list[RenderableType] = [Text(_row(HEAD, widths), style="dim")]
    for heading, block in lines.items():
        parts.append(Text(heading, style="bold"))
        for cells in block:
            kind = verdict_kind(cells[4])
            text = Text(_row(cells, widths), no_wrap=True, overflow="ellipsis")
            text.highlight_words([cells[4]] if cells[4] else [], STYLES[kind])
            parts.append(text)
        parts.append(Text(""))
    return Group(*parts)


def _heading(block: Block) -> str:
    return f"{block.metric}, by {printable(block.method)}" if block.method else block.metric


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Cells in their columns; the second and third are numbers, flush right."""
    padded = [
        cell.rjust(width) if index in {1, 2} else cell.ljust(width)
        for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(padded).rstrip()


def _lines(block: Block, baseline: str) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = [
        (_name(baseline), block.baseline.value.narrow, "", "", "baseline", ""),
        *_twice(block.baseline),
    ]
    for name, cell in block.cells:
        found.append(
            (
                _name(name),
                cell.value.narrow,
                cell.change.narrow,
                cell.interval,
                cell.verdict,
                cell.shows.narrow,
            )
        )
        found += _twice(cell)
    return found


def _twice(cell: Cell) -> list[tuple[str, ...]]:
    """What the explainer's own chance gives, below the arm that it belongs to."""
    return [("    drawn twice", cell.floor.narrow, "", "", "", "")] if cell.floor else []


def _name(name: str) -> str:
    """A user's word with its middle left out if it is long: both ends tell arms apart."""
    return "  " + shortened(printable(name), MAX_NAME - 2)


def shortened(name: str, length: int) -> str:
    """A name of at most so many characters, with its middle left out."""
    if len(name) <= length:
        return name
    tail = (length - 1) // 2
    return f"{name[: length - 1 - tail]}…{name[-tail:]}"


def _sheets(sheet: Sheet) -> list[RenderableType]:
    """The table, in parts of a few columns, so that 80 are enough."""
    found: list[RenderableType] = []
    for start in range(1, len(sheet.header), MAX_COLUMNS):
        chosen = (0, *range(start, min(start + MAX_COLUMNS, len(sheet.header))))
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for index in chosen:
            side: JustifyMethod = "right" if index else "left"
            table.add_column(Text(printable(sheet.header[index])), justify=side)
        for row in sheet.rows:
            name = Text(shortened(printable(row[0]), MAX_NAME))
            table.add_row(name, *(row[index] for index in chosen[1:]))
        found += [Text(""), table]
    return found


def as_text(view: ComparisonView) -> str:
    """The same without colors, 80 columns wide."""
    return plain_text(render(view))
