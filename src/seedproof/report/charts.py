"""Charts as Vega-Lite: one spec each for the page, and for pictures without a browser."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

import altair as alt
import numpy as np
import vl_convert as vlc

from seedproof.errors import OptionError, UnknownNameError
from seedproof.metrics.confidence import AGREEMENTS
from seedproof.report.figures import Figure

Spec: TypeAlias = dict[str, Any]
Chart: TypeAlias = alt.LayerChart | alt.FacetChart

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
FORMATS = ("png", "svg", "pdf")
PICTURE_WIDTH = 520


def _var(name: str) -> str:
    return f"var(--{name})"


GROUP_COLORS = [_var("quiet"), _var("accent"), _var("alert-mark")]


def spec(figure: Figure, *, validate: bool = False) -> Spec:
    """The Vega-Lite spec of a figure, as wide as its container.

    Args:
        figure: What is drawn.
        validate: Whether to check it against Vega-Lite's schema.

    Returns:
        Plain data that names colors as CSS variables.
    """
    name = figure.name.rstrip("0123456789").rstrip("_")
    chart = _DRAWN_BY[name](figure).properties(width="container")
    # The tests validate every chart against Vega-Lite's schema; here that would take seconds.
    content: Spec = chart.configure(**_config()).to_dict(validate=validate)
    content["autosize"] = {"type": "fit-x", "contains": "padding"}
    content.pop("$schema", None)
    return content


def picture(figure: Figure, file_format: str, *, scale: float = 2.0) -> bytes:
    """A figure as an image, drawn without a browser.

    Args:
        figure: What is drawn.
        file_format: `png`, `svg` or `pdf`.
        scale: Pixels a point, for `png`.

    Returns:
        The file's bytes.

    Raises:
        OptionError: The format is not known.
    """
    content = _resolve(spec(figure))
    content |= {"width": PICTURE_WIDTH, "title": figure.title}
    content.pop("autosize")
    match file_format:
        case "png":
            return bytes(vlc.vegalite_to_png(content, scale=scale))
        case "svg":
            return str(vlc.vegalite_to_svg(content)).encode()
        case "pdf":
            return bytes(vlc.vegalite_to_pdf(content))
    raise OptionError(f"A figure cannot be {file_format!r}. Formats: {', '.join(FORMATS)}.")


def find(figures: tuple[Figure, ...], name: str) -> Figure:
    """The figure of a name.

    Args:
        figures: The figures there are.
        name: Which one.

    Returns:
        The figure.

    Raises:
        UnknownNameError: There is no such figure.
    """
    for figure in figures:
        if figure.name == name:
            return figure
    known = ", ".join(figure.name for figure in figures)
    raise UnknownNameError(f"There is no figure {name!r} in this report. It has: {known}.")


def javascript() -> str:
    """Vega, Vega-Lite and vega-embed in one script.

    vl-convert takes seconds to bundle it, so it is kept in the user's cache, by version.
    """
    cached = _cache_folder() / f"vega-{version('vl-convert-python')}.js"
    try:
        return cached.read_text(encoding="utf-8")
    except OSError:
        bundle = str(vlc.javascript_bundle(snippet=None))  # type: ignore[arg-type] # its stub is wrong
    with suppress(OSError):  # without a cache the next page takes as long
        cached.parent.mkdir(parents=True, exist_ok=True)
        draft = cached.with_suffix(f".{os.getpid()}")
        draft.write_text(bundle, encoding="utf-8")
        draft.replace(cached)
    return bundle


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return Path(base or Path.home() / ".cache") / "seedproof"


def _resolve(content: Any) -> Any:  # noqa: ANN401 - nested plain data
    if isinstance(content, dict):
        return {key: _resolve(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_resolve(value) for value in content]
    if isinstance(content, str) and content.startswith("var(--"):
        return LIGHT[content[6:-1]]
    return content


def _config() -> dict[str, Any]:
    font = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
    return {
        "font": font,
        "background": "transparent",
        "view": alt.ViewConfig(stroke=None),
        "axis": alt.AxisConfig(
            labelColor=_var("ink-2"),
            titleColor=_var("ink-2"),
            gridColor=_var("rule"),
            domainColor=_var("rule-2"),
            tickColor=_var("rule-2"),
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight=500,
            titlePadding=8,
            gridDash=[2, 3],
        ),
        "text": alt.MarkConfig(color=_var("ink"), fontSize=12),
    }


def _accuracy_by_run(figure: Figure) -> Chart:
    facts, rows = figure.facts, [dict(row) for row in figure.rows]
    values = [row["accuracy"] for row in rows]
    low, high = min(*values, facts["low"]), max(*values, facts["high"])
    room = (high - low) * 0.18 or 1.0
    scale = alt.Scale(domain=[low - room, high + room], nice=False, zero=False)
    x_axis = alt.Axis(tickCount=6, labelOverlap=True)
    x = alt.X("accuracy:Q", scale=scale, title=facts["axis"], axis=x_axis)
    y_axis = alt.Axis(domain=False, ticks=False, grid=False, title="run", labels=facts["named"])
    y = alt.Y("run:N", sort=[row["run"] for row in rows], axis=y_axis)
    data = alt.Data(values=[row | {"mean": facts["mean"]} for row in rows])
    band = alt.Data(values=[{"low": facts["low"], "high": facts["high"], "mean": facts["mean"]}])
    where = ["inside", "outside"]
    colors = alt.Scale(domain=where, range=[_var("accent"), _var("alert-mark")])
    shapes = alt.Scale(domain=where, range=["circle", "diamond"])
    layers = [
        alt.Chart(band)
        .mark_rect(color=_var("accent-soft"))
        .encode(x=alt.X("low:Q", scale=scale), x2="high:Q"),
        alt.Chart(band)
        .mark_rule(color=_var("accent"), size=1.5)
        .encode(x=alt.X("mean:Q", scale=scale)),
        alt.Chart(data)
        .mark_rule(color=_var("rule-2"), opacity=1 if facts["named"] else 0)
        .encode(x=alt.X("mean:Q", scale=scale), x2="accuracy:Q", y=y),
        alt.Chart(data)
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            x=x,
            y=y,
            color=alt.Color("where:N", scale=colors, legend=None),
            shape=alt.Shape("where:N", scale=shapes, legend=None),
            tooltip=[alt.Tooltip("run:N"), alt.Tooltip("accuracy:Q", format=".2f")],
        ),
    ]
    if facts["named"]:
        text = alt.Text("accuracy:Q", format=".1f")
        chart = alt.Chart(data).encode(x=x, y=y, text=text)
        layers += [
            chart.transform_filter("datum.accuracy >= datum.mean").mark_text(align="left", dx=9),
            chart.transform_filter("datum.accuracy < datum.mean").mark_text(align="right", dx=-9),
        ]
    height = max(22 * len(rows), 60) if facts["named"] else 320
    return alt.layer(*layers).properties(height=height)


def _flip_matrix(figure: Figure) -> Chart:
    facts = figure.facts
    names = list(facts["names"])
    axis = alt.Axis(domain=False, ticks=False, grid=False, title="run", labelAngle=0)
    if len(names) > 30:
        axis = alt.Axis(domain=False, ticks=False, grid=False, title="run", labelOverlap=True)
    colors = [_var(f"r{i}") for i in range(6)]
    base = alt.Chart(alt.Data(values=list(figure.rows))).encode(
        x=alt.X("column:N", sort=names, axis=axis, scale=alt.Scale(domain=names[:-1] or names)),
        y=alt.Y("row:N", sort=names, axis=axis, scale=alt.Scale(domain=names[1:] or names)),
    )
    if figure.rows and len(figure.rows) != len(names) * (len(names) - 1) // 2:
        base = base.encode(
            x=alt.X("column:N", sort=names, axis=axis, scale=alt.Scale(domain=names)),
            y=alt.Y("row:N", sort=names, axis=axis, scale=alt.Scale(domain=names)),
        )
    cells = base.mark_rect(stroke=_var("bg"), strokeWidth=1 if len(names) <= 50 else 0).encode(
        color=alt.Color(
            "step:O", scale=alt.Scale(domain=list(range(6)), range=colors), legend=None
        ),
        tooltip=[
            alt.Tooltip("row:N", title="run"),
            alt.Tooltip("column:N", title="and run"),
            alt.Tooltip("rate:Q", format=".2f", title="differ on, %"),
        ],
    )
    layers = [cells]
    if facts["printed"]:
        layers.append(
            base.mark_text(fontSize=12 if len(names) <= 12 else 10).encode(
                text=alt.Text("rate:Q", format=".0f"),
                color=alt.condition(
                    "datum.step >= 4", alt.value(_var("on-dark")), alt.value(_var("ink"))
                ),
            )
        )
    return alt.layer(*layers).properties(height=min(max(26 * len(names), 60), 420))


def _group_color() -> alt.Color:
    scale = alt.Scale(domain=list(AGREEMENTS), range=GROUP_COLORS)
    return alt.Color("group:N", scale=scale, legend=None)


def _votes(figure: Figure) -> Chart:
    return _entropies(figure) if figure.facts["kind"] == "entropy" else _splits(figure)


def _entropies(figure: Figure) -> Chart:
    height = 240
    start, top = figure.facts["start"], figure.facts["top"]
    x_scale = alt.Scale(domain=[start, top], nice=False)
    x_axis = alt.Axis(values=np.arange(0, top, 0.1 if top < 1 else 0.2).round(1).tolist())
    y_axis = alt.Axis(tickCount=5, format="~s")
    bars = (
        alt.Chart(alt.Data(values=list(figure.rows)))
        .mark_rect(stroke=_var("bg"))
        .encode(
            x=alt.X("low:Q", title=figure.facts["axis"], scale=x_scale, axis=x_axis),
            x2="high:Q",
            y=alt.Y("count:Q", title="examples", scale=alt.Scale(type="symlog"), axis=y_axis),
            y2=alt.value(height),
            color=_group_color(),
            tooltip=[
                alt.Tooltip("low:Q", format=".2f", title="entropy from"),
                alt.Tooltip("high:Q", format=".2f", title="to"),
                alt.Tooltip("count:Q", format=",", title="examples"),
            ],
        )
    )
    return alt.layer(bars).properties(height=height)


def _splits(figure: Figure) -> Chart:
    data = alt.Data(values=list(figure.rows))
    order = [row["split"] for row in figure.rows]
    y_axis = alt.Axis(domain=False, ticks=False, title="runs for each class")
    y = alt.Y("split:N", sort=order, axis=y_axis)
    # Room for the text behind a bar of 100 %.
    x_scale = alt.Scale(domain=[0, 130], nice=False)
    x_axis = alt.Axis(values=[0, 25, 50, 75, 100])
    x = alt.X("percent:Q", title=figure.facts["axis"], scale=x_scale, axis=x_axis)
    tooltip = ["split:N", alt.Tooltip("count:Q", format=",")]
    bars = (
        alt.Chart(data)
        .mark_bar(height={"band": 0.6})
        .encode(x=x, y=y, color=_group_color(), tooltip=tooltip)
    )
    texts = alt.Chart(data).mark_text(align="left", dx=6).encode(x=x, y=y, text="text:N")
    return alt.layer(bars, texts).properties(height=max(28 * len(order), 80))


def _confidence_map(figure: Figure) -> Chart:
    facts = figure.facts
    data = alt.Data(values=list(figure.rows))
    if facts["kind"] == "cells":
        top = max(row["y2"] for row in figure.rows)
        strength = alt.Scale(domain=[0, 1], range=[0, 1])
        marks = (
            alt.Chart(data)
            .mark_rect()
            .encode(
                x=alt.X("x:Q", title=facts["x"], scale=alt.Scale(domain=[0, 1])),
                x2="x2:Q",
                y=alt.Y("y:Q", title=facts["y"], scale=alt.Scale(domain=[0, top])),
                y2="y2:Q",
                color=_group_color(),
                opacity=alt.Opacity("strength:Q", scale=strength, legend=None),
                tooltip=[alt.Tooltip("count:Q", format=",", title="examples")],
            )
        )
        return alt.layer(marks).properties(height=320)
    marks = (
        alt.Chart(data)
        .mark_point(filled=True, size=22, opacity=0.65)
        .encode(
            x=alt.X("mean:Q", title=facts["x"], scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("sd:Q", title=facts["y"]),
            color=_group_color(),
            shape=alt.Shape(
                "group:N",
                scale=alt.Scale(domain=list(AGREEMENTS), range=["circle", "circle", "diamond"]),
                legend=None,
            ),
            tooltip=[
                alt.Tooltip("example:N"),
                alt.Tooltip("mean:Q", format=".3f"),
                alt.Tooltip("sd:Q", format=".3f"),
            ],
        )
    )
    return alt.layer(marks).properties(height=320)


def _sd_by_confidence(figure: Figure) -> Chart:
    facts = figure.facts
    data = alt.Data(values=list(figure.rows))
    top = max(row["high"] for row in figure.rows) * 1.08 or 0.1
    x = alt.X(
        "x:Q",
        title=facts["x"],
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format=".1f", tickCount=5, labelOverlap=True),
    )
    scale = alt.Scale(domain=[-0.14 * top, top], nice=False)
    axis = alt.Axis(title=facts["y"], values=_ticks(top), format="~g")
    base = alt.Chart(data)
    return alt.layer(
        base.mark_area(color=_var("accent-soft"), interpolate="monotone").encode(
            x=x, y=alt.Y("low:Q", scale=scale, axis=axis), y2="high:Q"
        ),
        base.mark_line(color=_var("accent"), interpolate="monotone", strokeWidth=2).encode(
            x=x, y=alt.Y("sd:Q", scale=scale)
        ),
        base.mark_point(color=_var("accent"), filled=True, size=55, opacity=1).encode(
            x=x,
            y=alt.Y("sd:Q", scale=scale),
            tooltip=[alt.Tooltip("sd:Q", format=".3f"), alt.Tooltip("count:Q", format=",")],
        ),
        base.mark_text(fontSize=11, color=_var("ink-3"), baseline="bottom").encode(
            x=x, y=alt.value(248), text=alt.Text("count:Q", format=".3~s")
        ),
    ).properties(height=250)


def _ticks(top: float) -> list[float]:
    step = next(s for s in (0.01, 0.02, 0.05, 0.1, 0.2) if top / s <= 6)
    return [round(i * step, 2) for i in range(int(top / step) + 1)]


def _reliability(figure: Figure) -> Chart:
    facts = figure.facts
    together = alt.Data(values=[row for row in figure.rows if row["kind"] == "all"])
    single = alt.Data(values=[row for row in figure.rows if row["kind"] == "one"])
    lows = [row["low"] for row in figure.rows if row["kind"] == "all"]
    scale = alt.Scale(domain=[min([*lows, facts["start"]]), 1], nice=True)
    x_axis = alt.Axis(format=".1f", tickCount=6)
    x = alt.X("x:Q", title=facts["x"], scale=alt.Scale(domain=[facts["start"], 1]), axis=x_axis)
    corner = [{"x": facts["start"], "right": facts["start"]}, {"x": 1, "right": 1}]
    y = alt.Y("right:Q", title=facts["y"], scale=scale, axis=alt.Axis(format=".1f", tickCount=6))
    return alt.layer(
        alt.Chart(together)
        .mark_area(color=_var("accent-soft"))
        .encode(x=x, y=alt.Y("low:Q", scale=scale, title=facts["y"]), y2="high:Q"),
        alt.Chart(single)
        .mark_line(color=_var("accent-2"), strokeWidth=0.8, opacity=0.7)
        .encode(x=x, y=y, detail="run:N"),
        alt.Chart(alt.Data(values=corner))
        .mark_line(color=_var("ink-3"), strokeDash=[4, 4], strokeWidth=1.2)
        .encode(x=x, y=y),
        alt.Chart(together).mark_line(color=_var("accent"), strokeWidth=2.4).encode(x=x, y=y),
        alt.Chart(together)
        .mark_point(color=_var("accent"), filled=True, size=55, opacity=1)
        .encode(
            x=x,
            y=y,
            tooltip=[
                alt.Tooltip("x:Q", format=".2f", title="confidence"),
                alt.Tooltip("right:Q", format=".2f", title="share right"),
                alt.Tooltip("low:Q", format=".2f", title="lowest run"),
                alt.Tooltip("high:Q", format=".2f", title="highest run"),
                alt.Tooltip("count:Q", format=",", title="examples a run"),
            ],
        ),
    ).properties(height=260)


def _ece_by_run(figure: Figure) -> Chart:
    facts = figure.facts
    top = max(row["ece"] for row in figure.rows) * 1.1 or 1.0
    x = alt.Scale(domain=[0, top], nice=True)
    return alt.layer(
        alt.Chart(alt.Data(values=[{"mean": facts["mean"]}]))
        .mark_tick(color=_var("ink"), thickness=2, size=34)
        .encode(x=alt.X("mean:Q", scale=x, title=facts["axis"])),
        alt.Chart(alt.Data(values=list(figure.rows)))
        .mark_point(color=_var("accent"), filled=True, size=80, opacity=0.75)
        .encode(
            x=alt.X("ece:Q", scale=x),
            tooltip=[alt.Tooltip("run:N"), alt.Tooltip("ece:Q", format=".2f")],
        ),
    ).properties(height=46)


_DRAWN_BY: Mapping[str, Callable[[Figure], Chart]] = {
    "accuracy_by_run": _accuracy_by_run,
    "flip_matrix": _flip_matrix,
    "votes": _votes,
    "confidence_map": _confidence_map,
    "sd_by_confidence": _sd_by_confidence,
    "reliability": _reliability,
    "ece_by_run": _ece_by_run,
}
