"""Charts of the pages, drawn by Altair: one theme, and SVG that needs nothing from elsewhere.

Charts have a white background, so that they are readable on light and dark pages.
"""

from typing import Any

import altair as alt
import vl_convert as vlc
from altair.utils.schemapi import debug_mode

from seedproof_reproductions.page import Chart

FONT = "system-ui, sans-serif"
INK, FAINT, GRID, GROUND = "#333a42", "#6b737c", "#e4e1da", "#ffffff"
ACCENT, DARK, WARNING = "#2d76a9", "#0b2f4d", "#b3541e"
TEXT: dict[str, Any] = {
    "labelColor": INK,
    "titleColor": INK,
    "labelFontSize": 11,
    "titleFontSize": 11,
    "titleFontWeight": 400,
}
CONFIG: dict[str, Any] = {
    "font": FONT,
    "background": GROUND,
    # Pages describe each image; labels on every mark would only make the files larger.
    "aria": False,
    "padding": 10,
    "view": {"stroke": None},
    "axis": {**TEXT, "gridColor": GRID, "domainColor": GRID, "tickColor": GRID},
    "header": {"labelColor": INK, "labelFontSize": 11, "labelFontWeight": 600},
    "legend": {**TEXT, "labelLimit": 400, "titleLimit": 400},
    "title": {"color": INK, "fontSize": 13, "fontWeight": 600, "anchor": "start"},
    "text": {"color": INK, "fontSize": 10},
}


def draw(chart: alt.TopLevelMixin, *, name: str, title: str) -> Chart:
    """Draw a chart without a configuration in the theme of all pages, as SVG."""
    with debug_mode(arg=False):  # Altair would check every part, which takes seconds
        spec: dict[str, Any] = chart.to_dict(validate=False)
    spec |= {"config": CONFIG, "description": title}
    return Chart(name, title, str(vlc.vegalite_to_svg(spec)))
