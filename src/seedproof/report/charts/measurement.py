"""The charts of one measurement."""

from collections.abc import Callable, Mapping

import altair as alt
import numpy as np

from seedproof.metrics.confidence import AGREEMENTS
from seedproof.report.charts.theme import Chart, in_lines, inline, var
from seedproof.report.figures import Figure

GROUP_COLORS = [var("quiet"), var("accent"), var("alert-mark")]


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
    data = inline([row | {"mean": facts["mean"]} for row in rows])
    band = inline([{"low": facts["low"], "high": facts["high"], "mean": facts["mean"]}])
    where = ["inside", "outside"]
    colors = alt.Scale(domain=where, range=[var("accent"), var("alert-mark")])
    shapes = alt.Scale(domain=where, range=["circle", "diamond"])
    layers = [
        alt.Chart(band)
        .mark_rect(color=var("accent-soft"))
        .encode(x=alt.X("low:Q", scale=scale), x2=alt.X2("high:Q")),
        alt.Chart(band)
        .mark_rule(color=var("accent"), size=1.5)
        .encode(x=alt.X("mean:Q", scale=scale)),
        alt.Chart(data)
        .mark_rule(color=var("rule-2"), opacity=1 if facts["named"] else 0)
        .encode(x=alt.X("mean:Q", scale=scale), x2=alt.X2("accuracy:Q"), y=y),
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
    return alt.layer(*layers, height=height)


def _flip_matrix(figure: Figure) -> Chart:
    facts = figure.facts
    names = list(facts["names"])
    axis = alt.Axis(domain=False, ticks=False, grid=False, title="run", labelAngle=0)
    if len(names) > 30:
        axis = alt.Axis(domain=False, ticks=False, grid=False, title="run", labelOverlap=True)
    colors = [var(f"r{i}") for i in range(6)]
    base = alt.Chart(inline(figure.rows)).encode(
        x=alt.X("column:N", sort=names, axis=axis, scale=alt.Scale(domain=names[:-1] or names)),
        y=alt.Y("row:N", sort=names, axis=axis, scale=alt.Scale(domain=names[1:] or names)),
    )
    if figure.rows and len(figure.rows) != len(names) * (len(names) - 1) // 2:
        base = base.encode(
            x=alt.X("column:N", sort=names, axis=axis, scale=alt.Scale(domain=names)),
            y=alt.Y("row:N", sort=names, axis=axis, scale=alt.Scale(domain=names)),
        )
    cells = base.mark_rect(stroke=var("bg"), strokeWidth=1 if len(names) <= 50 else 0).encode(
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
                    "datum.step >= 4", alt.value(var("on-dark")), alt.value(var("ink"))
                ),
            )
        )
    return alt.layer(*layers, height=min(max(26 * len(names), 60), 420))


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
        alt.Chart(inline(figure.rows))
        .mark_rect(stroke=var("bg"))
        .encode(
            x=alt.X("low:Q", title=figure.facts["axis"], scale=x_scale, axis=x_axis),
            x2=alt.X2("high:Q"),
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
    return alt.layer(bars, height=height)


def _splits(figure: Figure) -> Chart:
    data = inline(figure.rows)
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
    texts = alt.Chart(data).mark_text(align="left", dx=6).encode(x=x, y=y, text=alt.Text("text:N"))
    return alt.layer(bars, texts, height=max(28 * len(order), 80))


def _confidence_map(figure: Figure) -> Chart:
    facts = figure.facts
    data = inline(figure.rows)
    if facts["kind"] == "cells":
        top = max(row["y2"] for row in figure.rows)
        strength = alt.Scale(domain=[0, 1], range=[0, 1])
        marks = (
            alt.Chart(data)
            .mark_rect()
            .encode(
                x=alt.X("x:Q", title=in_lines(facts["x"]), scale=alt.Scale(domain=[0, 1])),
                x2=alt.X2("x2:Q"),
                y=alt.Y("y:Q", title=facts["y"], scale=alt.Scale(domain=[0, top])),
                y2=alt.Y2("y2:Q"),
                color=_group_color(),
                opacity=alt.Opacity("strength:Q", scale=strength, legend=None),
                tooltip=[alt.Tooltip("count:Q", format=",", title="examples")],
            )
        )
        return alt.layer(marks, height=320)
    marks = (
        alt.Chart(data)
        .mark_point(filled=True, size=22, opacity=0.65)
        .encode(
            x=alt.X("mean:Q", title=in_lines(facts["x"]), scale=alt.Scale(domain=[0, 1])),
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
    return alt.layer(marks, height=320)


def _by_confidence(figure: Figure) -> Chart:
    """A figure in bins of the mean probability, with its band, and a floor where there is one."""
    facts = figure.facts
    data = inline(figure.rows)
    value, floor = facts["value"], facts.get("floor")
    top = max([row["high"] for row in figure.rows] + ([] if floor is None else [floor])) * 1.08
    top = top or 0.1
    x = alt.X(
        "x:Q",
        title=in_lines(facts["x"]),
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format=".1f", tickCount=5, labelOverlap=True),
    )
    scale = alt.Scale(domain=[-0.14 * top, top], nice=False)
    axis = alt.Axis(title=facts["y"], values=_ticks(top), format=facts["ticks"])
    base = alt.Chart(data)
    layers = [
        base.mark_area(color=var("accent-soft"), interpolate="monotone").encode(
            x=x, y=alt.Y("low:Q", scale=scale, axis=axis), y2=alt.Y2("high:Q")
        ),
        base.mark_line(color=var("accent"), interpolate="monotone", strokeWidth=2).encode(
            x=x, y=alt.Y(f"{value}:Q", scale=scale)
        ),
        base.mark_point(color=var("accent"), filled=True, size=55, opacity=1).encode(
            x=x,
            y=alt.Y(f"{value}:Q", scale=scale),
            tooltip=[
                alt.Tooltip(f"{value}:Q", format=facts["format"]),
                alt.Tooltip("count:Q", format=","),
            ],
        ),
        base.mark_text(fontSize=11, color=var("ink-3"), baseline="bottom").encode(
            x=x, y=alt.value(248), text=alt.Text("count:Q", format=".3~s")
        ),
    ]
    if floor is not None:
        line = alt.Chart(inline([{"floor": floor}]))
        layers.append(
            line.mark_rule(color=var("ink-3"), strokeDash=[5, 4], size=1.6).encode(
                y=alt.Y("floor:Q", scale=scale)
            )
        )
    return alt.layer(*layers, height=250)


def _ticks(top: float) -> list[float]:
    step = next(s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 1, 2, 5, 10, 20) if top / s <= 6)
    return [round(i * step, 2) for i in range(int(top / step) + 1)]


def _reliability(figure: Figure) -> Chart:
    facts = figure.facts
    together = inline([row for row in figure.rows if row["kind"] == "all"])
    single = inline([row for row in figure.rows if row["kind"] == "one"])
    lows = [row["low"] for row in figure.rows if row["kind"] == "all"]
    scale = alt.Scale(domain=[min([*lows, facts["start"]]), 1], nice=True)
    x_axis = alt.Axis(format=".1f", tickCount=6)
    x = alt.X("x:Q", title=facts["x"], scale=alt.Scale(domain=[facts["start"], 1]), axis=x_axis)
    corner = [{"x": facts["start"], "right": facts["start"]}, {"x": 1, "right": 1}]
    y = alt.Y("right:Q", title=facts["y"], scale=scale, axis=alt.Axis(format=".1f", tickCount=6))
    return alt.layer(
        alt.Chart(together)
        .mark_area(color=var("accent-soft"))
        .encode(x=x, y=alt.Y("low:Q", scale=scale, title=facts["y"]), y2=alt.Y2("high:Q")),
        alt.Chart(single)
        .mark_line(color=var("accent-2"), strokeWidth=0.8, opacity=0.7)
        .encode(x=x, y=y, detail=alt.Detail("run:N")),
        alt.Chart(inline(corner))
        .mark_line(color=var("ink-3"), strokeDash=[4, 4], strokeWidth=1.2)
        .encode(x=x, y=y),
        alt.Chart(together).mark_line(color=var("accent"), strokeWidth=2.4).encode(x=x, y=y),
        alt.Chart(together)
        .mark_point(color=var("accent"), filled=True, size=55, opacity=1)
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
        height=260,
    )


def _ece_by_run(figure: Figure) -> Chart:
    facts = figure.facts
    top = max(row["ece"] for row in figure.rows) * 1.1 or 1.0
    x = alt.Scale(domain=[0, top], nice=True)
    return alt.layer(
        alt.Chart(inline([{"mean": facts["mean"]}]))
        .mark_tick(color=var("ink"), thickness=2, size=34)
        .encode(x=alt.X("mean:Q", scale=x, title=facts["axis"])),
        alt.Chart(inline(figure.rows))
        .mark_point(color=var("accent"), filled=True, size=80, opacity=0.75)
        .encode(
            x=alt.X("ece:Q", scale=x),
            tooltip=[alt.Tooltip("run:N"), alt.Tooltip("ece:Q", format=".2f")],
        ),
        height=46,
    )


DRAWN_BY: Mapping[str, Callable[[Figure], Chart]] = {
    "accuracy_by_run": _accuracy_by_run,
    "flip_matrix": _flip_matrix,
    "votes": _votes,
    "confidence_map": _confidence_map,
    "sd_by_confidence": _by_confidence,
    "top_words": _by_confidence,
    "reliability": _reliability,
    "ece_by_run": _ece_by_run,
}
