"""Counts in cells as SVG: every utterance is in one of them, and none is left out."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seedproof_reproductions.page.svg import Style, image, line, step, text
from seedproof_reproductions.page.theme import ACCENT, FAINT, GRID, GROUND, INK, STYLE, WARNING

COLUMNS = 2
PANEL_WIDTH, PLOT_LEFT, PLOT_WIDTH, PLOT_HEIGHT = 380, 52, 310, 220
TITLE_HEIGHT, AXIS_HEIGHT, LEGEND_HEIGHT, FOOT_HEIGHT = 26, 22, 30, 26
# A cell with one utterance is still to be seen.
FAINTEST = 0.14
SHADES = 7
MEAN = Style(WARNING, "circle")


@dataclass(frozen=True)
class Cells:
    """Counts of one setting.

    Args:
        title: Which setting.
        x: Edges of the columns.
        y: Edges of the rows, from below.
        counts: Of each row, its columns.
        means: Mean of y in each column, as a line; nothing without.
    """

    title: str
    x: Sequence[float]
    y: Sequence[float]
    counts: Sequence[Sequence[int]]
    means: Sequence[float | None] = ()

    @classmethod
    def of(cls, title: str, found: Mapping[str, Any]) -> "Cells":
        """What was stored of a picture."""
        return cls(title, found["x"], found["y"], found["counts"], found.get("means") or ())

    @property
    def largest(self) -> int:
        """The largest count of a cell."""
        return max((count for row in self.counts for count in row), default=0)


@dataclass(frozen=True)
class Picture:
    """Several settings on scales of their own.

    Args:
        title: For those who cannot see it.
        x_title: What is on the horizontal axis.
        y_title: What is on the vertical axis.
        noun: What is counted.
        panels: From left to right, then down.
    """

    title: str
    x_title: str
    y_title: str
    noun: str
    panels: Sequence[Cells]


def draw_cells(picture: Picture) -> str:
    """The picture as a file.

    Args:
        picture: What is drawn.

    Returns:
        SVG that needs nothing from elsewhere.
    """
    panel_height = TITLE_HEIGHT + PLOT_HEIGHT + AXIS_HEIGHT + 8
    n_rows = -(-len(picture.panels) // COLUMNS)
    width = PANEL_WIDTH * min(COLUMNS, len(picture.panels))
    height = LEGEND_HEIGHT + n_rows * panel_height + FOOT_HEIGHT
    largest = max((one.largest for one in picture.panels), default=1)
    parts = [STYLE, *_legend(picture, largest, width)]
    for place, panel in enumerate(picture.panels):
        x = PANEL_WIDTH * (place % COLUMNS)
        y = LEGEND_HEIGHT + panel_height * (place // COLUMNS)
        parts += [f'<g transform="translate({x} {y})">', *_panel(panel, largest), "</g>"]
    parts.append(text(width / 2, height - 9, picture.x_title, anchor="middle", color=INK))
    return image(width, height, picture.title, parts, ground=GROUND)


def _legend(picture: Picture, largest: int, width: int) -> Iterator[str]:
    """What is up, and what the shades mean."""
    yield text(12, 18, picture.y_title, color=INK)
    x = width - 14 * SHADES - 46.0
    yield text(x - 6, 18, f"{picture.noun} a cell: 1", anchor="end", color=FAINT)
    for place in range(SHADES):
        yield _filled(_rectangle(x + 14 * place, 8, 14, 12), place)
    yield text(x + 14 * SHADES + 6, 18, f"{largest:,}", color=FAINT)


def _panel(panel: Cells, largest: int) -> Iterator[str]:
    yield text(PLOT_LEFT, 16, panel.title, weight=600, color=INK)
    for tick in _ticks(panel.y[-1]):
        y = _y(panel, tick)
        yield f'<path d="M{PLOT_LEFT} {y:.1f}h{PLOT_WIDTH}" stroke="{GRID}"/>'
        yield text(PLOT_LEFT - 6, y + 4, f"{tick:g}", anchor="end", color=INK)
    base = TITLE_HEIGHT + PLOT_HEIGHT
    for tick in _ticks(panel.x[-1]):
        yield text(_x(panel, tick), base + 15, f"{tick:g}", anchor="middle", color=INK)
    yield from _shaded(panel, largest)
    yield f'<path d="M{PLOT_LEFT} {base}h{PLOT_WIDTH}" stroke="{FAINT}"/>'
    means = [
        (_x(panel, (panel.x[column] + panel.x[column + 1]) / 2), _y(panel, mean))
        for column, mean in enumerate(panel.means)
        if mean is not None
    ]
    if means:
        yield line(means, MEAN)


def _shaded(panel: Cells, largest: int) -> Iterator[str]:
    """All cells, those of one shade together."""
    paths = [""] * SHADES
    for row, counts in enumerate(panel.counts):
        top, bottom = _y(panel, panel.y[row + 1]), _y(panel, panel.y[row])
        for column, count in enumerate(counts):
            if count:
                left, right = _x(panel, panel.x[column]), _x(panel, panel.x[column + 1])
                cell = _rectangle(left, top, right - left, bottom - top)
                paths[shade_of(count, largest)] += cell
    for shade, path in enumerate(paths):
        if path:
            yield _filled(path, shade)


def shade_of(count: int, largest: int) -> int:
    """Which of the shades a count has, by its logarithm.

    Args:
        count: At least 1, which has the faintest.
        largest: The largest count of all, which has the fullest.

    Returns:
        A number from 0 on.
    """
    if largest < 2:
        return SHADES - 1
    return round((SHADES - 1) * math.log(count) / math.log(largest))


def _rectangle(x: float, y: float, width: float, height: float) -> str:
    return f"M{x:.1f} {y:.1f}h{width:.1f}v{height:.1f}h-{width:.1f}z"


def _filled(path: str, shade: int) -> str:
    opacity = FAINTEST + (1 - FAINTEST) * shade / (SHADES - 1)
    return f'<path d="{path}" fill="{ACCENT}" fill-opacity="{opacity:.2f}"/>'


def _ticks(top: float) -> list[float]:
    """Round values from 0 up to the top, which need not be round."""
    apart = step(top)
    return [round(apart * place, 10) for place in range(math.floor(top / apart + 1e-9) + 1)]


def _x(panel: Cells, value: float) -> float:
    return PLOT_LEFT + PLOT_WIDTH * value / panel.x[-1]


def _y(panel: Cells, value: float) -> float:
    return TITLE_HEIGHT + PLOT_HEIGHT * (1 - value / panel.y[-1])
