"""A comparison in a terminal: the finding, the sentences, then the table."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from seedproof.messages import printable
from seedproof.report.comparison.groups import verdict_kind
from seedproof.report.comparison.sheets import Sheet
from seedproof.report.comparison.view import Block, ComparisonView
from seedproof.report.numbers import sign
from seedproof.report.overview import TextTable
from seedproof.report.text import PLAIN_WIDTH, CheckLines, Prose, bare_table

MAX_NAME = 16
MIN_CELL = 8
MAX_CELL = 24
MAX_COLUMNS = 3
# Lists of changed examples, and their rows.
MAX_LISTS, MAX_CHANGED = 2, 5
HEAD = ("", "value", "change", "interval", "verdict", "detectable")
TWICE = (
    "“same run”: the difference if the same run is explained twice, which is the noise of the "
    "explainer."
)
STYLES = {"good": "green", "bad": "red", "equal": "cyan", "open": "dim"}


def render(view: ComparisonView) -> RenderableType:
    """Return the text for a terminal."""
    parts: list[RenderableType] = [Prose(view.title, style="dim"), Text("")]
    parts += [Prose(view.headline, style="bold"), Text(""), CheckLines(view.checks)]
    for finding in view.findings:
        text = f"{finding.verdict or ''} {finding.text}".strip()
        parts += [Prose(f"{finding.topic}: {text}"), Text("")]
    parts += [
        *_effects(view),
        *(Prose(line, style="dim") for line in (*view.reading, view.detects)),
    ]
    if view.has_floors:
        parts.append(Prose(TWICE, style="dim"))
    for changed in view.changed[:MAX_LISTS]:
        parts += [Text(""), Text(printable(changed.title), style="bold"), _examples(changed)]
    if view.pairs is not None:
        parts += [*_sheets(view.pairs), Text(""), Prose(view.pairs.note, style="dim")]
    if view.sheet is not None:
        parts += [*_sheets(view.sheet), Text(""), Prose(view.sheet.note, style="dim")]
    parts += [Text(""), Prose(view.brackets, style="dim")]
    parts += [Prose(f"Note: {note}", style="dim") for note in view.notes]
    return Group(*parts)


def _effects(view: ComparisonView) -> list[RenderableType]:
    """Return a block per metric with a line per arm."""
    lines = {_heading(block): _lines(block, view.baseline) for block in view.shown_blocks}
    every = [HEAD, *(line for block in lines.values() for line in block)]
    widths = [max(map(len, cells)) for cells in zip(*every, strict=True)]
    parts: list[RenderableType] = [Text(row_text(HEAD, widths), style="dim")]
    for heading, block in lines.items():
        parts.append(Text(heading, style="bold"))
        for cells in block:
            text = Text(row_text(cells, widths), no_wrap=True, overflow="ellipsis")
            text.highlight_words([cells[4]] if cells[4] else [], STYLES[verdict_kind(cells[4])])
            parts.append(text)
        parts.append(Text(""))
    return parts


def _examples(changed: TextTable) -> Table:
    """Return the examples that change most; ids and texts are the user's, never markup."""
    table = bare_table()
    columns = zip(changed.header, *changed.rows[:MAX_CHANGED], strict=True)
    widths = [max(len(printable(text)) for text in cells) for cells in columns]
    # Long cells, such as the numbers of many runs, share what the others leave of 80 characters.
    n_long = sum(width > MAX_NAME for width in widths)
    left = PLAIN_WIDTH - sum(2 + (width if width <= MAX_NAME else 0) for width in widths)
    most = max(left // max(n_long, 1), MIN_CELL)
    for name, width in zip(changed.header, widths, strict=True):
        longest = width if width <= MAX_NAME else min(width, most)
        table.add_column(
            Text(printable(name)), overflow="ellipsis", no_wrap=True, max_width=longest
        )
    for row in changed.rows[:MAX_CHANGED]:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table


def _heading(block: Block) -> str:
    by_method = f", by {printable(block.method)}" if block.method else ""
    return f"{block.metric}{by_method}{' (primary)' if block.is_primary else ''}"


def row_text(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return cells in columns; the second and third are numbers, aligned right."""
    padded = [
        cell.rjust(width) if index in {1, 2} else cell.ljust(width)
        for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(padded).rstrip()


def _lines(block: Block, baseline: str) -> list[tuple[str, ...]]:
    """Return a line per arm, and below it the noise of the explainer if it is known."""
    lines: list[tuple[str, ...]] = []
    for arm, cell in ((baseline, block.baseline), *block.cells):
        name = "  " + shortened(printable(arm), MAX_NAME - 2)
        cells = (cell.value, cell.change, cell.interval, cell.verdict or "baseline", cell.shows)
        # 80 columns have no room for the unit of points.
        lines.append((name, *(text.removesuffix(sign("points")) for text in cells)))
        if cell.floor:
            floor = cell.floor.removesuffix(sign("points"))
            lines.append(("    same run", floor, "", "", "", ""))
    return lines


def shortened(name: str, length: int) -> str:
    """Return a name with its middle left out if it is too long: both ends distinguish names."""
    if len(name) <= length:
        return name
    tail = (length - 1) // 2
    return f"{name[: length - 1 - tail]}…{name[-tail:]}"


def _sheets(sheet: Sheet) -> list[RenderableType]:
    """Return the table in parts of a few columns, which fit 80 characters."""
    parts: list[RenderableType] = []
    for start in range(1, len(sheet.header), MAX_COLUMNS):
        columns = slice(start, start + MAX_COLUMNS)
        table = bare_table()
        table.add_column(sheet.header[0])
        for title in sheet.header[columns]:
            table.add_column(Text(printable(title)), justify="right")
        for row in sheet.rows:
            cells = (Text(shortened(printable(cell), MAX_CELL)) for cell in row[columns])
            table.add_row(Text(shortened(printable(row[0]), MAX_NAME)), *cells)
        parts += [Text(""), table]
    return parts
