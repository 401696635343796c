"""Parts of Vega-Lite specs, and the colors of the page as CSS variables."""

from collections.abc import Iterable, Mapping
from textwrap import wrap
from typing import Any, TypeAlias

Spec: TypeAlias = dict[str, Any]

TYPES = {"Q": "quantitative", "N": "nominal", "O": "ordinal"}

# Characters that fit below a chart on a screen of 390 pixels.
TITLE_LENGTH = 48

# Colors are CSS variables of the page, so that dark mode and print can use the same charts. In a
# picture they are replaced by these light ones.
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


def field(name: str, **options: Any) -> Spec:  # noqa: ANN401 - whatever Vega-Lite takes
    """Return the channel of a field, such as "count:Q"; the second end of a mark has no type."""
    name, _, kind = name.partition(":")
    return {"field": name, **({"type": TYPES[kind]} if kind else {}), **options}


def mark(kind: str, **options: Any) -> Spec:  # noqa: ANN401 - whatever Vega-Lite takes
    """Return the mark of a layer, such as a point."""
    return {"type": kind, **options}


def shown(
    mark: Spec,
    rows: Iterable[Mapping[str, Any]] | None = None,
    *,
    where: str | None = None,
    **channels: Spec | list[Spec],
) -> Spec:
    """Return a layer with a mark per row; if rows are omitted, per row of the whole chart."""
    return {
        **({} if rows is None else {"data": values(rows)}),
        **({} if where is None else {"transform": [{"filter": where}]}),
        "mark": mark,
        "encoding": channels,
    }


def layers(*parts: Spec, height: int, rows: Iterable[Mapping[str, Any]] | None = None) -> Spec:
    """Return a chart, with rows for all layers that have none of their own."""
    data = {} if rows is None else {"data": values(rows)}
    return {**data, "layer": list(parts), "height": height}


def values(rows: Iterable[Mapping[str, Any]]) -> Spec:
    """Return rows as the data of a chart."""
    return {"values": [dict(row) for row in rows]}


def var(name: str) -> str:
    """Return a color of the page by its name."""
    return f"var(--{name})"


def in_lines(title: str) -> str | list[str]:
    """Return the title of a horizontal axis, in lines that fit on a phone."""
    lines = wrap(title, TITLE_LENGTH)
    return lines if len(lines) > 1 else title


# Axes of names have neither lines nor ticks.
BARE: Spec = {"domain": False, "ticks": False, "grid": False}
SHADES: Spec = {"domain": list(range(6)), "range": [var(f"r{i}") for i in range(6)]}
# The color of text on one of the shades.
ON_SHADE: Spec = {
    "condition": {"test": "datum.step >= 4", "value": var("on-dark")},
    "value": var("ink"),
}
