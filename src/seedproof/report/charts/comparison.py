"""The charts of a comparison."""

from collections.abc import Callable, Mapping
from typing import Any

import altair as alt

from seedproof.report.charts.theme import Chart, in_lines, inline, var
from seedproof.report.figures import Figure

ROW_HEIGHT = 38
NAME_WIDTH = 118
# As much as a phone has room for next to a chart.
LINE_NAME_WIDTH = 140
KINDS = ["good", "bad", "open", "base"]
FILLS = [var("accent"), var("alert-mark"), var("bg"), var("ink")]
STROKES = [var("accent"), var("alert-mark"), var("ink-3"), var("ink")]
SHAPES = ["circle", "diamond", "circle", "square"]


def _marked(chart: alt.Chart, size: int, tooltip: list[Any]) -> alt.Chart:
    """Points whose fill, stroke and shape all say what was shown."""
    marked: alt.Chart = chart.mark_point(size=size, opacity=1, strokeWidth=1.8).encode(
        fill=alt.Fill("kind:N", scale=alt.Scale(domain=KINDS, range=FILLS), legend=None),
        stroke=alt.Stroke("kind:N", scale=alt.Scale(domain=KINDS, range=STROKES), legend=None),
        shape=alt.Shape("kind:N", scale=alt.Scale(domain=KINDS, range=SHAPES), legend=None),
        tooltip=tooltip,
    )
    return marked


def _stroke() -> alt.Stroke:
    scale = alt.Scale(domain=KINDS, range=STROKES)
    return alt.Stroke("kind:N", scale=scale, legend=None)


def _forest(figure: Figure) -> Chart:
    facts = figure.facts
    scale = alt.Scale(type=facts["scale"], domain=list(facts["domain"]), nice=False)
    axis = alt.Axis(grid=True, domain=False, ticks=False, labels=facts["labeled"], tickCount=5)
    if facts["ticks"] is not None:
        texts = [f"datum.value == {at} ? '{text}' : " for at, text in _ticks(facts)]
        axis.values = facts["ticks"]
        axis.labelExpr = "".join(texts) + "''"
    x = alt.X("value:Q", scale=scale, axis=axis, title=facts["axis"])
    y = alt.Y(
        "arm:N",
        sort=facts["arms"],
        scale=alt.Scale(domain=facts["arms"]),
        axis=alt.Axis(
            title=None,
            domain=False,
            ticks=False,
            grid=False,
            labelPadding=8,  # an interval that is cut off ends at the axis
            minExtent=NAME_WIDTH,
            maxExtent=NAME_WIDTH,
            labelLimit=NAME_WIDTH,
        ),
    )
    every = [dict(row) for row in figure.rows]
    points = inline([row for row in every if row["value"] is not None])
    lines = inline([row for row in every if row["low"] is not None])
    nothing = inline([{"value": facts["nothing"]}])
    tooltip = [alt.Tooltip("arm:N"), alt.Tooltip("change:N"), alt.Tooltip("verdict:N")]
    return alt.layer(
        alt.Chart(nothing).mark_rule(color=var("ink-2"), size=1.4).encode(x=x),
        alt.Chart(lines)
        .mark_rule(size=2.6, strokeCap="round")
        .encode(x=alt.X("low:Q", scale=scale), x2=alt.X2("high:Q"), y=y, stroke=_stroke()),
        _marked(alt.Chart(points).encode(x=x, y=y), 90, tooltip),
        height=ROW_HEIGHT * len(facts["arms"]),
    )


def _ticks(facts: Mapping[str, Any]) -> list[tuple[float, str]]:
    return list(zip(facts["ticks"], facts["texts"], strict=True))


def _tradeoff(figure: Figure) -> Chart:
    facts, rows = figure.facts, [dict(row) for row in figure.rows]
    x_scale = _padded(rows, ("x", "x_low", "x_high"), is_log=facts["log"])
    y_scale = _padded(rows, ("flips", "y_low", "y_high"), is_log=False, reverse=True)
    x_axis = alt.Axis(tickCount=6, grid=True, labelOverlap=True)
    x = alt.X("x:Q", scale=x_scale, title=in_lines(facts["x"]), axis=x_axis)
    y = alt.Y("flips:Q", scale=y_scale, title=facts["y"], axis=alt.Axis(tickCount=6))
    data = inline(rows)
    layers = []
    if facts["nothing"] is not None:
        zero = inline([{"x": facts["nothing"]}])
        layers.append(alt.Chart(zero).mark_rule(color=var("ink-2"), size=1.2).encode(x=x))
    best = inline([row for row in rows if row.get("best")])
    layers += [
        alt.Chart(best)
        .mark_line(color=var("ink-3"), strokeDash=[4, 3], strokeWidth=1.4)
        .encode(x=x, y=y, order=alt.Order("x:Q")),
        alt.Chart(data)
        .transform_filter("isValid(datum.y_low)")
        .mark_rule(size=1.2, opacity=0.6)
        .encode(x=x, y=alt.Y("y_low:Q", scale=y_scale), y2=alt.Y2("y_high:Q"), stroke=_stroke()),
        alt.Chart(data)
        .transform_filter("isValid(datum.x_low)")
        .mark_rule(size=1.2, opacity=0.6)
        .encode(x=alt.X("x_low:Q", scale=x_scale), x2=alt.X2("x_high:Q"), y=y, stroke=_stroke()),
        _marked(
            alt.Chart(data).encode(x=x, y=y),
            110,
            [
                alt.Tooltip("arm:N"),
                alt.Tooltip("x:Q", format=",.4~r", title="across"),
                alt.Tooltip("flips:Q", format=".2f", title="flip rate, %"),
            ],
        ),
    ]
    for side, dx, dy in sorted({tuple(row["spot"]) for row in rows}):
        here = inline([row for row in rows if tuple(row["spot"]) == (side, dx, dy)])
        text = alt.Chart(here).mark_text(align=side, dx=dx, dy=dy, fontSize=12)
        layers.append(text.encode(x=x, y=y, text=alt.Text("arm:N")))
    return alt.layer(*layers, height=300)


def _padded(
    rows: list[dict[str, Any]], names: tuple[str, ...], *, is_log: bool, reverse: bool = False
) -> alt.Scale:
    """An axis with some room on both sides; never an empty one."""
    values = [row[name] for row in rows for name in names if row.get(name) is not None]
    low, high = min(values), max(values)
    if is_log:
        room = (high / low) ** 0.12
        return alt.Scale(type="log", domain=[low / room, high * room], nice=False)
    room = (high - low) * 0.12 or max(abs(high), 1.0) * 0.5
    least = max(low - room, 0.0) if reverse and low >= 0 else low - room
    return alt.Scale(domain=[least, high + room], nice=False, zero=False, reverse=reverse)


def _spread_parts(figure: Figure) -> Chart:
    rows = [dict(row) for row in figure.rows]
    arms = [name for name in figure.facts["arms"] if any(row["arm"] == name for row in rows)]
    top = max(row["to"] for row in rows) or 1.0
    scale = alt.Scale(domain=[0, 1.22 * top], nice=False)
    y = alt.Y(
        "arm:N",
        sort=arms,
        axis=alt.Axis(title=None, domain=False, ticks=False, labelLimit=NAME_WIDTH),
    )
    colors = alt.Scale(domain=["independent", "excess"], range=[var("accent-2"), var("alert-mark")])
    x_axis = alt.Axis(tickCount=5)
    bars = (
        alt.Chart(inline(rows))
        .mark_bar(height={"band": 0.62})
        .encode(
            x=alt.X("from:Q", scale=scale, title=figure.facts["x"], axis=x_axis),
            x2=alt.X2("to:Q"),
            y=y,
            color=alt.Color("part:N", scale=colors, legend=None),
            tooltip=[alt.Tooltip("arm:N"), alt.Tooltip("text:N", title="points")],
        )
    )
    ends = inline([row for row in rows if row["part"] == "excess"])
    texts = (
        alt.Chart(ends)
        .mark_text(align="left", dx=6, fontWeight=600)
        .encode(x=alt.X("to:Q", scale=scale), y=y, text=alt.Text("text:N"))
    )
    return alt.layer(bars, texts, height=max(30 * len(arms), 60))


def _votes_before_after(figure: Figure) -> Chart:
    names = figure.facts["names"]
    scale = alt.Scale(domain=names)
    axis = alt.Axis(domain=False, ticks=False, grid=False, labelAngle=0)
    base = alt.Chart(inline([dict(row) for row in figure.rows])).encode(
        x=alt.X("before:N", sort=names, scale=scale, axis=axis, title=figure.facts["x"]),
        y=alt.Y("after:N", sort=names[::-1], axis=axis, title=figure.facts["y"]),
    )
    steps = alt.Scale(
        domain=list(range(6)), range=[var("bg"), *(var(f"r{i}") for i in range(1, 6))]
    )
    cells = base.mark_rect(stroke=var("bg"), strokeWidth=2).encode(
        color=alt.Color("step:O", scale=steps, legend=None),
        tooltip=[
            alt.Tooltip("before:N", title="% of votes before"),
            alt.Tooltip("after:N", title="% of votes after"),
            alt.Tooltip("count:Q", format=",", title="examples"),
        ],
    )
    kept = base.transform_filter("datum.moved == 'kept'").mark_rect(
        filled=False, stroke=var("ink-3"), strokeWidth=1.2
    )
    texts = base.mark_text(fontSize=11).encode(
        text=alt.Text("text:N"),
        color=alt.condition("datum.step >= 4", alt.value(var("on-dark")), alt.value(var("ink"))),
    )
    return alt.layer(cells, kept, texts, height=222)


def _intervals(figure: Figure) -> Chart:
    facts, rows = figure.facts, [dict(row) for row in figure.rows]
    reference = facts["reference"]
    values = [row[key] for row in rows for key in ("low", "value", "high") if row[key] is not None]
    values += [] if reference is None else [reference]
    room = (max(values) - min(values)) * 0.06 or max(abs(max(values)), 1.0) * 0.1
    least = 0.0 if min(values) >= 0.0 and min(values) - room < 0.0 else min(values) - room
    scale = alt.Scale(domain=[least, max(values) + room], nice=False, zero=False)
    x_axis = alt.Axis(grid=True, domain=False, ticks=False, tickCount=5, labelOverlap=True)
    x = alt.X("value:Q", scale=scale, axis=x_axis, title=in_lines(facts["axis"]))
    y_axis = alt.Axis(
        title=None,
        domain=False,
        ticks=False,
        grid=False,
        labelPadding=8,
        labelLimit=LINE_NAME_WIDTH,
    )
    y = alt.Y("name:N", sort=facts["names"], scale=alt.Scale(domain=facts["names"]), axis=y_axis)
    lines = inline([row for row in rows if row["low"] is not None])
    layers = []
    if reference is not None:
        at = inline([{"value": reference}])
        layers.append(alt.Chart(at).mark_rule(color=var("ink-2"), size=1.4).encode(x=x))
    layers += [
        alt.Chart(lines)
        .mark_rule(size=2.6, strokeCap="round")
        .encode(x=alt.X("low:Q", scale=scale), x2=alt.X2("high:Q"), y=y, stroke=_stroke()),
        _marked(
            alt.Chart(inline(rows)).encode(x=x, y=y),
            90,
            [alt.Tooltip("name:N", title=" "), alt.Tooltip("text:N", title=" ")],
        ),
    ]
    return alt.layer(*layers, height=ROW_HEIGHT * len(rows))


DRAWN_BY: Mapping[str, Callable[[Figure], Chart]] = {
    "forest": _forest,
    "intervals": _intervals,
    "tradeoff": _tradeoff,
    "spread_parts": _spread_parts,
    "votes_before_after": _votes_before_after,
}
