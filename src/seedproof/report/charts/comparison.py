"""Charts of a comparison, and of values with intervals."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from seedproof.report.charts.theme import (
    BARE,
    ON_SHADE,
    SHADES,
    Spec,
    field,
    in_lines,
    layers,
    mark,
    shown,
    var,
)
from seedproof.report.figures.base import Figure

ROW_HEIGHT = 38
NAME_WIDTH = 118
# What a phone has room for next to a chart.
LINE_NAME_WIDTH = 140
KINDS = ["good", "bad", "equal", "open", "base"]
FILLS = [var("accent"), var("alert-mark"), var("ink-3"), var("bg"), var("ink")]
STROKES = [var("accent"), var("alert-mark"), var("ink-3"), var("ink-3"), var("ink")]
SHAPES = ["circle", "diamond", "circle", "circle", "square"]


def _by_kind(looks: list[str]) -> Spec:
    return field("kind:N", scale={"domain": KINDS, "range": looks}, legend=None)


def _points(size: int, x: Spec, y: Spec, tooltip: list[Spec]) -> Spec:
    """Return points whose fill, stroke and shape all show the verdict."""
    return shown(
        mark("point", size=size, opacity=1, strokeWidth=1.8),
        x=x,
        y=y,
        fill=_by_kind(FILLS),
        stroke=_by_kind(STROKES),
        shape=_by_kind(SHAPES),
        tooltip=tooltip,
    )


def _interval_lines(rows: Sequence[Mapping[str, Any]], scale: Spec, y: Spec) -> Spec:
    return shown(
        mark("rule", size=2.6, strokeCap="round"),
        [row for row in rows if row["low"] is not None],
        x=field("low:Q", scale=scale),
        x2=field("high"),
        y=y,
        stroke=_by_kind(STROKES),
    )


def _forest(figure: Figure) -> Spec:
    facts = figure.facts
    scale = {"type": facts["scale"], "domain": list(facts["domain"]), "nice": False}
    axis = BARE | {"grid": True, "labels": facts["labeled"], "tickCount": 5}
    if facts["ticks"] is not None:
        ticks = zip(facts["ticks"], facts["texts"], strict=True)
        texts = [f"datum.value == {at} ? '{text}' : " for at, text in ticks]
        axis |= {"values": facts["ticks"], "labelExpr": "".join(texts) + "''"}
    x = field("value:Q", scale=scale, axis=axis, title=facts["axis"])
    y_axis = BARE | {
        "title": None,
        "labelPadding": 8,  # an interval that is cut off ends at the axis
        "minExtent": NAME_WIDTH,
        "maxExtent": NAME_WIDTH,
        "labelLimit": NAME_WIDTH,
    }
    y = field("arm:N", sort=facts["arms"], scale={"domain": facts["arms"]}, axis=y_axis)
    return layers(
        shown(mark("rule", color=var("ink-2"), size=1.4), [{"value": facts["nothing"]}], x=x),
        _interval_lines(figure.rows, scale, y),
        _points(90, x, y, [field("arm:N"), field("change:N"), field("verdict:N")]),
        rows=[row for row in figure.rows if row["value"] is not None],
        height=ROW_HEIGHT * len(facts["arms"]),
    )


def _tradeoff(figure: Figure) -> Spec:
    facts, rows = figure.facts, figure.rows
    x_scale = _padded(rows, ("x", "x_low", "x_high"), is_log=facts["log"])
    y_scale = _padded(rows, ("flips", "y_low", "y_high"), is_log=False, reverse=True)
    x_axis = {"tickCount": 6, "grid": True, "labelOverlap": True}
    x = field("x:Q", scale=x_scale, title=in_lines(facts["x"]), axis=x_axis)
    y = field("flips:Q", scale=y_scale, title=facts["y"], axis={"tickCount": 6})
    parts = []
    if facts["nothing"] is not None:
        zero = [{"x": facts["nothing"]}]
        parts.append(shown(mark("rule", color=var("ink-2"), size=1.2), zero, x=x))
    dashed = mark("line", color=var("ink-3"), strokeDash=[4, 3], strokeWidth=1.4)
    best = [row for row in rows if row.get("best")]
    parts.append(shown(dashed, best, x=x, y=y, order=field("x:Q")))
    ends: tuple[tuple[str, dict[str, Any]], ...] = (
        ("y_low", {"x": x, "y": field("y_low:Q", scale=y_scale), "y2": field("y_high")}),
        ("x_low", {"x": field("x_low:Q", scale=x_scale), "x2": field("x_high"), "y": y}),
    )
    parts += [
        shown(
            mark("rule", size=1.2, opacity=0.6),
            where=f"isValid(datum.{low})",
            **channels,
            stroke=_by_kind(STROKES),
        )
        for low, channels in ends
    ]
    tooltip = [
        field("arm:N"),
        field("x:Q", format=",.4~r", title="across"),
        field("flips:Q", format=".2f", title="flip rate, %"),
    ]
    parts.append(_points(110, x, y, tooltip))
    for side, dx, dy in sorted({tuple(row["spot"]) for row in rows}):
        here = [row for row in rows if tuple(row["spot"]) == (side, dx, dy)]
        text = mark("text", align=side, dx=dx, dy=dy, fontSize=12)
        parts.append(shown(text, here, x=x, y=y, text=field("arm:N")))
    return layers(*parts, rows=rows, height=300)


def _padded(
    rows: Sequence[Mapping[str, Any]],
    names: tuple[str, ...],
    *,
    is_log: bool,
    reverse: bool = False,
) -> Spec:
    """Return a scale with some room on both sides, and a width above 0."""
    values = [row[name] for row in rows for name in names if row.get(name) is not None]
    low, high = min(values), max(values)
    if is_log:
        room = (high / low) ** 0.12
        return {"type": "log", "domain": [low / room, high * room], "nice": False}
    room = (high - low) * 0.12 or max(abs(high), 1.0) * 0.5
    least = max(low - room, 0.0) if reverse and low >= 0 else low - room
    return {"domain": [least, high + room], "nice": False, "zero": False, "reverse": reverse}


def _spread_parts(figure: Figure) -> Spec:
    rows = figure.rows
    arms = [name for name in figure.facts["arms"] if any(row["arm"] == name for row in rows)]
    top = max(row["to"] for row in rows) or 1.0
    scale = {"domain": [0, 1.22 * top], "nice": False}
    y_axis = {"title": None, "domain": False, "ticks": False, "labelLimit": NAME_WIDTH}
    y = field("arm:N", sort=arms, axis=y_axis)
    colors = {"domain": ["independent", "excess"], "range": [var("accent-2"), var("alert-mark")]}
    return layers(
        shown(
            mark("bar", height={"band": 0.62}),
            x=field("from:Q", scale=scale, title=figure.facts["x"], axis={"tickCount": 5}),
            x2=field("to"),
            y=y,
            color=field("part:N", scale=colors, legend=None),
            tooltip=[field("arm:N"), field("text:N", title="points")],
        ),
        shown(
            mark("text", align="left", dx=6, fontWeight=600),
            [row for row in rows if row["part"] == "excess"],
            x=field("to:Q", scale=scale),
            y=y,
            text=field("text:N"),
        ),
        rows=rows,
        height=max(30 * len(arms), 60),
    )


def _votes_before_after(figure: Figure) -> Spec:
    facts, names = figure.facts, figure.facts["names"]
    axis = BARE | {"labelAngle": 0}
    place: dict[str, Any] = {
        "x": field("before:N", sort=names, scale={"domain": names}, axis=axis, title=facts["x"]),
        "y": field("after:N", sort=names[::-1], axis=axis, title=facts["y"]),
    }
    shades = SHADES | {"range": [var("bg"), *SHADES["range"][1:]]}
    return layers(
        shown(
            mark("rect", stroke=var("bg"), strokeWidth=2),
            **place,
            color=field("step:O", scale=shades, legend=None),
            tooltip=[
                field("before:N", title="% of votes before"),
                field("after:N", title="% of votes after"),
                field("count:Q", format=",", title="examples"),
            ],
        ),
        shown(
            mark("rect", filled=False, stroke=var("ink-3"), strokeWidth=1.2),
            where="datum.moved == 'kept'",
            **place,
        ),
        shown(mark("text", fontSize=11), **place, text=field("text:N"), color=ON_SHADE),
        rows=figure.rows,
        height=222,
    )


def _intervals(figure: Figure) -> Spec:
    facts, rows = figure.facts, figure.rows
    reference = facts["reference"]
    values = [row[key] for row in rows for key in ("low", "value", "high") if row[key] is not None]
    values += [] if reference is None else [reference]
    values += [tick["value"] for tick in facts["ticks"]]
    room = (max(values) - min(values)) * 0.06 or max(abs(max(values)), 1.0) * 0.1
    least = 0.0 if min(values) >= 0.0 and min(values) - room < 0.0 else min(values) - room
    scale = {"domain": [least, max(values) + room], "nice": False, "zero": False}
    x_axis = BARE | {"grid": True, "tickCount": 5, "labelOverlap": True}
    x = field("value:Q", scale=scale, axis=x_axis, title=in_lines(facts["axis"]))
    y_axis = BARE | {"title": None, "labelPadding": 8, "labelLimit": LINE_NAME_WIDTH}
    y = field("name:N", sort=facts["names"], scale={"domain": facts["names"]}, axis=y_axis)
    parts = []
    if reference is not None:
        at = [{"value": reference}]
        parts.append(shown(mark("rule", color=var("ink-2"), size=1.4), at, x=x))
    if facts["ticks"]:
        tick = mark("tick", color=var("ink-3"), size=22, thickness=1.2, opacity=0.8)
        parts.append(shown(tick, facts["ticks"], x=x, y=y))
    tooltip = [field("name:N", title=" "), field("text:N", title=" ")]
    parts += [_interval_lines(rows, scale, y), _points(90, x, y, tooltip)]
    return layers(*parts, rows=rows, height=ROW_HEIGHT * len(rows))


DRAWN_BY: Mapping[str, Callable[[Figure], Spec]] = {
    "forest": _forest,
    "intervals": _intervals,
    "tradeoff": _tradeoff,
    "spread_parts": _spread_parts,
    "votes_before_after": _votes_before_after,
}
