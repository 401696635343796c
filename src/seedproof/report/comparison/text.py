"""The view of a comparison for a terminal: the finding, the sentences, then the table."""

from collections.abc import Sequence

from rich.console import Group, JustifyMethod, RenderableType
from rich.text import Text

from seedproof.messages import printable
from seedproof.report.comparison.groups import verdict_kind
from seedproof.report.comparison.view import Block, ComparisonView, Sheet
from seedproof.report.text import Prose, bare_table

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
    parts += [Group(*_effects(view)), Prose(SHOWS, style="dim")]
    if view.has_floors:
        parts.append(Prose(TWICE, style="dim"))
    if view.sheet is not None:
        parts += [*_sheets(view.sheet), Text(""), Prose(view.sheet.note, style="dim")]
    parts += [Text(""), Prose(view.brackets, style="dim")]
    parts += [Prose(f"Note: {note}", style="dim") for note in view.notes]
    return Group(*parts)


def _effects(view: ComparisonView) -> list[RenderableType]:
    """One block per metric, one line per arm; 80 columns have no room for the unit of points."""
    lines = {_heading(block): _lines(block, view.baseline) for block in view.shown_blocks}
    every = [HEAD, *(line for block in lines.values() for line in block)]
    widths = [max(map(len, cells)) for cells in zip(*every, strict=True)]
    parts: list[RenderableType] = [Text(_row(HEAD, widths), style="dim")]
    for heading, block in lines.items():
        parts.append(Text(heading, style="bold"))
        for cells in block:
            text = Text(_row(cells, widths), no_wrap=True, overflow="ellipsis")
            text.highlight_words([cells[4]] if cells[4] else [], STYLES[verdict_kind(cells[4])])
            parts.append(text)
        parts.append(Text(""))
    return parts


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
    """A line per arm, and below it what the explainer's own chance gives."""
    lines: list[tuple[str, ...]] = []
    for arm, cell in ((baseline, block.baseline), *block.cells):
        # A user's word: both ends distinguish arms.
        name = "  " + shortened(printable(arm), MAX_NAME - 2)
        values = (cell.value.narrow, cell.change.narrow, cell.interval)
        lines.append((name, *values, cell.verdict or "baseline", cell.shows.narrow))
        if cell.floor:
            lines.append(("    drawn twice", cell.floor.narrow, "", "", "", ""))
    return lines


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
        table = bare_table()
        for index in chosen:
            side: JustifyMethod = "right" if index else "left"
            table.add_column(Text(printable(sheet.header[index])), justify=side)
        for row in sheet.rows:
            name = Text(shortened(printable(row[0]), MAX_NAME))
            table.add_row(name, *(row[index] for index in chosen[1:]))
        found += [Text(""), table]
    return found
