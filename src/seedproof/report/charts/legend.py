"""The legend of a picture: on a page it is HTML, which wraps and enlarges."""

from collections.abc import Sequence
from typing import Any

from seedproof.report.charts.theme import var

# Symbol, dash and width of the line of each kind of mark.
SYMBOLS: dict[str, tuple[str, list[int], float]] = {
    "band": ("square", [1, 0], 0.0),
    "dot": ("circle", [1, 0], 0.0),
    "diamond": ("diamond", [1, 0], 0.0),
    "square": ("square", [1, 0], 0.0),
    "ring": ("circle", [1, 0], 1.8),
    "line": ("stroke", [1, 0], 2.4),
    "thin": ("stroke", [1, 0], 1.0),
    "dash": ("stroke", [4, 3], 1.4),
}
HOLLOW = frozenset({"ring", "line", "thin", "dash"})
CHANNELS = ("fill", "stroke", "shape", "strokeDash", "strokeWidth")
LETTER_WIDTH, SYMBOL_WIDTH = 6.6, 36


def legend_layer(legend: Sequence[tuple[str, str, str]], width: int) -> dict[str, Any]:
    """Return a layer of a Vega-Lite chart that draws a legend above it and nothing else."""
    words = [text for _, _, text in legend]
    fits = int(width // (LETTER_WIDTH * max(map(len, words)) + SYMBOL_WIDTH))
    about = {
        "orient": "top",
        "direction": "horizontal",
        "columns": max(fits, 1),
        "title": None,
        "symbolSize": 90,
        "symbolOpacity": 1,
        "labelLimit": width,
        "labelFontSize": 12,
        "labelColor": var("ink-2"),
        "rowPadding": 4,
        "columnPadding": 16,
    }
    marks = [mark for mark, _, _ in legend]
    ranges: dict[str, list[Any]] = {
        "fill": ["transparent" if m in HOLLOW else var(color) for m, color, _ in legend],
        "stroke": [var(color) for _, color, _ in legend],
        "shape": [SYMBOLS[mark][0] for mark in marks],
        "strokeDash": [SYMBOLS[mark][1] for mark in marks],
        "strokeWidth": [SYMBOLS[mark][2] for mark in marks],
    }
    return {
        "data": {"values": []},
        "mark": {"type": "point"},
        "encoding": {
            channel: {
                "field": "entry",
                "type": "nominal",
                "scale": {"type": "ordinal", "domain": words, "range": ranges[channel]},
                "legend": about,
            }
            for channel in CHANNELS
        },
    }
