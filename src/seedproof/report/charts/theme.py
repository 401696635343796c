"""Colors and type of all charts: the page's own, named as its CSS variables."""

from collections.abc import Iterable, Mapping
from textwrap import wrap
from typing import Any, TypeAlias

import altair as alt

Chart: TypeAlias = alt.LayerChart | alt.FacetChart

# So many characters fit below a chart on a screen of 390 pixels.
TITLE_LENGTH = 48

# Colors are the page's CSS variables, so that dark mode and print need no other charts. For a
# picture they are replaced by these, the light ones.
LIGHT: Mapping[str, str] = {
    "bg": "#ffffff",
    "ink": "#1a1e23",
    "ink-2": "#474f59",
    "ink-3": "#666e78",
    "rule": "#e4e1da",
    "rule-2": "#c9c5bc",
    "quiet": "#8a919b",
    "accent": "#0067a3",
    "accent-2": "#4a90bf",
    "accent-soft": "#d9e8f3",
    "alert-mark": "#d55e00",
    "r0": "#eef3f7",
    "r1": "#d2e3ef",
    "r2": "#a8cbe2",
    "r3": "#72abd0",
    "r4": "#2d76a9",
    "r5": "#125e94",
    "on-dark": "#ffffff",
}

# What all charts have in common.
CONFIG: Mapping[str, Any] = {
    "font": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
    "background": "transparent",
    "view": {"stroke": None, "continuousWidth": 300, "continuousHeight": 300},
    "axis": {
        "labelColor": "var(--ink-2)",
        "titleColor": "var(--ink-2)",
        "gridColor": "var(--rule)",
        "domainColor": "var(--rule-2)",
        "tickColor": "var(--rule-2)",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": 500,
        "titlePadding": 8,
        "gridDash": [2, 3],
    },
    "text": {"color": "var(--ink)", "fontSize": 12},
}


class Rows(alt.Data):
    """Data of a chart that are plain: altair neither copies nor looks through them."""

    def to_dict(self, *_: object, **__: object) -> dict[str, Any]:
        """As in Vega-Lite."""
        return {"values": [dict(row) for row in self.values]}


def inline(rows: Iterable[Mapping[str, Any]]) -> alt.Data:
    """Rows as data of a chart."""
    return Rows(values=tuple(rows))  # type: ignore[no-untyped-call] # like all of altair


def var(name: str) -> str:
    """A color of the page, by its name."""
    return f"var(--{name})"


def in_lines(title: str) -> str | list[str]:
    """The title of a horizontal axis, in lines that a phone has room for."""
    lines = wrap(title, TITLE_LENGTH)
    return lines if len(lines) > 1 else title
