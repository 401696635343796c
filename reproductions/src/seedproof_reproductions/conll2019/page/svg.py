"""Curves by predicted probability as SVG."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from seedproof.measurement.intervals import NORMAL
from seedproof_reproductions.conll2019.page.reading import Curve
from seedproof_reproductions.page.svg import GRID, INK, Style, image, line, mark, step, text, ticks

# As in the charts of the report, whose bins have the same bound.
LEAST_EXAMPLES = 10
COLUMNS = 2
PANEL_WIDTH, PLOT_LEFT, PLOT_WIDTH, PLOT_HEIGHT = 350, 48, 290, 130
TITLE_HEIGHT, AXIS_HEIGHT, ROW_HEIGHT, LEGEND_HEIGHT, FOOT_HEIGHT = 26, 18, 12, 44, 24
FLOOR = "one model, explained twice"

STYLES = {
    "none": Style("#666e78", "circle"),
    "aswa": Style("#2d76a9", "square"),
    "naswa": Style("#0b2f4d", "triangle", "4 2"),
}


@dataclass(frozen=True)
class Panel:
    """One small chart: a curve for each arm.

    Args:
        title: What it shows, such as a setting.
        curves: By name of the arm.
        floor: A level beside them, such as the explainer's own noise; None without one.
    """

    title: str
    curves: Mapping[str, Curve]
    floor: float | None = None


@dataclass(frozen=True)
class Chart:
    """Small charts on one scale.

    Args:
        title: For those who cannot see it.
        x_title: What is on the horizontal axis.
        y_title: What is on the vertical axis.
        panels: From left to right, then down.
        names: What the arms are called.
        factor: 100 for a share in percent.
    """

    title: str
    x_title: str
    y_title: str
    panels: Sequence[Panel]
    names: Mapping[str, str]
    factor: float = 1.0

    @property
    def arms(self) -> tuple[str, ...]:
        """Arms that have a curve in some panel, in the order of their names."""
        return tuple(arm for arm in self.names if any(arm in one.curves for one in self.panels))


def points(curve: Curve) -> list[tuple[int, float, float]]:
    """Bins with enough examples: place, mean, and half of its 95 % interval over examples."""
    return [
        (place, mean, NORMAL * (error or 0.0))
        for place, (count, mean, error) in enumerate(
            zip(curve.counts, curve.means, curve.errors, strict=True)
        )
        if mean is not None and count >= LEAST_EXAMPLES
    ]


def draw(chart: Chart) -> str:
    """The chart as a file.

    Args:
        chart: What is drawn.

    Returns:
        SVG that needs nothing from elsewhere.
    """
    panel_height = TITLE_HEIGHT + PLOT_HEIGHT + AXIS_HEIGHT + ROW_HEIGHT * len(chart.arms) + 10
    n_rows = -(-len(chart.panels) // COLUMNS)
    width = PANEL_WIDTH * min(COLUMNS, len(chart.panels))
    height = LEGEND_HEIGHT + n_rows * panel_height + FOOT_HEIGHT
    top = _top(chart)
    parts = list(_legend(chart))
    for place, panel in enumerate(chart.panels):
        x = PANEL_WIDTH * (place % COLUMNS)
        y = LEGEND_HEIGHT + panel_height * (place // COLUMNS)
        parts += [f'<g transform="translate({x} {y})">', *_panel(chart, panel, top), "</g>"]
    parts.append(text(width / 2, height - 8, chart.x_title, anchor="middle"))
    return image(width, height, chart.title, parts)


def _legend(chart: Chart) -> Iterator[str]:
    yield text(12, 16, chart.y_title)
    x = 12.0
    for arm in chart.arms:
        style = STYLES[arm]
        yield line([(x, 32), (x + 24, 32)], style)
        yield mark(x + 12, 32, style)
        yield text(x + 30, 36, chart.names[arm])
        x += 44 + 7 * len(chart.names[arm])


def _panel(chart: Chart, panel: Panel, top: float) -> Iterator[str]:
    yield text(PLOT_LEFT, 16, panel.title, weight=600)
    for tick in ticks(top):
        y = _height(tick, top)
        yield f'<path d="M{PLOT_LEFT} {y:.1f}h{PLOT_WIDTH}" stroke="{GRID}"/>'
        yield text(PLOT_LEFT - 6, y + 4, f"{tick:g}", anchor="end")
    base = TITLE_HEIGHT + PLOT_HEIGHT
    for place in range(0, 11, 2):
        x = PLOT_LEFT + PLOT_WIDTH * place / 10
        yield text(x, base + 14, f"{place / 10:g}", anchor="middle")
    if panel.floor is not None:
        y = _height(chart.factor * panel.floor, top)
        yield f'<path d="M{PLOT_LEFT} {y:.1f}h{PLOT_WIDTH}" stroke="{INK}" stroke-dasharray="1 3"/>'
        yield text(PLOT_LEFT + 4, y - 4, FLOOR, size=9)
    for row, arm in enumerate(chart.arms):
        if arm not in panel.curves:
            continue
        yield from _curve(panel.curves[arm], STYLES[arm], chart.factor, top)
        y = base + AXIS_HEIGHT + ROW_HEIGHT * (row + 1) - 3
        yield from _counts(panel.curves[arm], STYLES[arm], y)


def _curve(curve: Curve, style: Style, factor: float, top: float) -> Iterator[str]:
    found = [(_middle(place), factor * mean, factor * half) for place, mean, half in points(curve)]
    yield line([(x, _height(mean, top)) for x, mean, _ in found], style)
    for x, mean, half in found:
        low, high = (_height(max(end, 0.0), top) for end in (mean - half, mean + half))
        yield f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" stroke="{style.color}"/>'
        yield mark(x, _height(mean, top), style)


def _counts(curve: Curve, style: Style, y: float) -> Iterator[str]:
    """Examples in each bin, below it, in the color of the curve."""
    yield text(PLOT_LEFT - 6, y, "n", anchor="end", color=style.color, size=9)
    for place, count in enumerate(curve.counts):
        yield text(_middle(place), y, f"{count}", anchor="middle", color=style.color, size=9)


def _middle(place: int) -> float:
    return PLOT_LEFT + PLOT_WIDTH * (place + 0.5) / 10


def _height(value: float, top: float) -> float:
    return TITLE_HEIGHT + PLOT_HEIGHT * (1 - value / top)


def _top(chart: Chart) -> float:
    """The largest mean of all panels and its interval: they share a scale."""
    ends = [
        chart.factor * (mean + half)
        for panel in chart.panels
        for curve in panel.curves.values()
        for _, mean, half in points(curve)
    ]
    ends += [chart.factor * one.floor for one in chart.panels if one.floor is not None]
    highest = max(ends, default=1.0) or 1.0
    apart = step(highest)
    return apart * math.ceil(highest / apart - 1e-9)
