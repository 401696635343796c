"""The short form of a comparison of arms."""

from seedproof.messages import Message
from seedproof.report.comparison.view import Block, Cell, ComparisonView
from seedproof.report.overview import Overview, Section, TextTable
from seedproof.report.view import KeyFigure

HEADER = ("metric", "arm", "value", "change", "interval", "verdict", "would show")
# More arms have no room next to each other.
MAX_KEYS = 4


def build_overview(view: ComparisonView) -> Overview:
    """Return headline, the most important metric of each arm, and the table of effects."""
    blocks = (*view.key_blocks, *view.reason_blocks)
    rows = [row for block in blocks for row in _rows(block, view.baseline)]
    return Overview(
        headline=view.headline,
        title=view.title,
        sentences=tuple(
            (str(one.topic), f"{one.verdict} {one.text}" if one.verdict else str(one.text))
            for one in view.findings
        ),
        key_figures=_key_figures(view.key_blocks[0], view.baseline) if view.key_blocks else (),
        sections=(Section("Effects", "Every effect", (TextTable(HEADER, tuple(rows)),)),),
        notes=view.notes,
        brackets=view.brackets,
    )


def _key_figures(block: Block, baseline: str) -> tuple[KeyFigure, ...]:
    cells = [(baseline, block.baseline), *block.cells][:MAX_KEYS]
    return tuple(
        KeyFigure(
            name=block.metric,
            title=f"{block.title}, {arm}",
            value=str(cell.value),
            unit="",
            interval=f"{cell.change} {cell.interval} {cell.verdict}".strip() or "baseline",
            meaning=Message("metric-summary", block.summary),
            bar=None,
        )
        for arm, cell in cells
    )


def _rows(block: Block, baseline: str) -> list[tuple[str, ...]]:
    name = f"{block.metric}, by {block.method}" if block.method else block.metric
    of_baseline = (name, baseline, str(block.baseline.value), "", "", "baseline", "")
    return [
        _with_floor(of_baseline, block.baseline),
        *(
            _with_floor(
                (
                    "",
                    arm,
                    str(cell.value),
                    str(cell.change),
                    cell.interval,
                    cell.verdict,
                    cell.would_show,
                ),
                cell,
            )
            for arm, cell in block.cells
        ),
    ]


def _with_floor(row: tuple[str, ...], cell: Cell) -> tuple[str, ...]:
    """Add the explainer's own noise to the verdict where it is known."""
    if not cell.floor:
        return row
    return (*row[:5], f"{row[5]}; drawn twice {cell.floor}", *row[6:])
