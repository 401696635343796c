"""Charts of a measurement."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from seedproof.metrics.confidence import AGREEMENTS
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

# Characters of a name, and pixels of a chart on a phone.
LONG_NAME, PHONE_WIDTH = 20, 270


def _by_run(figure: Figure) -> Spec:
    """Return a value of each run, with the band expected by chance, and an interval if known."""
    facts, interval = figure.facts, figure.facts.get("interval")
    value, format_ = facts.get("value", "accuracy"), facts.get("format", ".2f")
    ends = [row[value] for row in figure.rows] + [facts["low"], facts["high"]]
    ends += [] if interval is None else [interval["low"], interval["high"]]
    low, high = min(ends), max(ends)
    room = (high - low) * 0.18 or 1.0
    scale = {"domain": [low - room, high + room], "nice": False, "zero": False}
    x_axis = {"tickCount": 6, "labelOverlap": True}
    x = field(f"{value}:Q", scale=scale, title=facts["axis"], axis=x_axis)
    names = [row["run"] for row in figure.rows] + ([] if interval is None else [interval["run"]])
    y_axis = BARE | {"title": facts.get("repeat", "run"), "labels": facts["named"]}
    y = field("run:N", sort=names, axis=y_axis)
    band = [{"low": facts["low"], "high": facts["high"], "mean": facts["mean"]}]
    where = ["inside", "outside"]
    colors = {"domain": where, "range": [var("accent"), var("alert-mark")]}
    shapes = {"domain": where, "range": ["circle", "diamond"]}
    mean = field("mean:Q", scale=scale)
    parts = [
        shown(
            mark("rect", color=var("accent-soft")),
            band,
            x=field("low:Q", scale=scale),
            x2=field("high"),
        ),
        shown(mark("rule", color=var("accent"), size=1.5), band, x=mean),
        shown(
            mark("rule", color=var("rule-2"), opacity=1 if facts["named"] else 0),
            x=mean,
            x2=field(value),
            y=y,
        ),
        shown(
            mark("point", filled=True, size=70, opacity=1),
            x=x,
            y=y,
            color=field("where:N", scale=colors, legend=None),
            shape=field("where:N", scale=shapes, legend=None),
            tooltip=[field("run:N"), field(f"{value}:Q", format=format_)],
        ),
    ]
    if interval is not None:
        ink = {"color": var("ink")}
        parts += [
            shown(mark("rule", size=2, **ink), [interval], x=field("low:Q"), x2=field("high"), y=y),
            shown(
                mark("point", filled=True, shape="square", size=70, opacity=1, **ink),
                [interval],
                x=field("value:Q"),
                y=y,
            ),
        ]
    if facts["named"]:
        text = field(f"{value}:Q", format=facts.get("text", ".1f"))
        parts += [
            shown(
                mark("text", align=align, dx=dx),
                where=f"datum['{value}'] {sign} datum.mean",
                x=x,
                y=y,
                text=text,
            )
            for sign, align, dx in ((">=", "left", 9), ("<", "right", -9))
        ]
    height = max(22 * len(names), 60) if facts["named"] else 320
    rows = [{**row, "mean": facts["mean"]} for row in figure.rows]
    return layers(*parts, rows=rows, height=height)


def _flip_matrix(figure: Figure) -> Spec:
    facts = figure.facts
    names = list(facts["names"])
    angle = {"labelOverlap": True} if len(names) > 30 else {"labelAngle": 0}
    axis = BARE | {"title": "run"} | angle
    is_half = len(figure.rows) in {0, len(names) * (len(names) - 1) // 2}
    columns, rows = (names[:-1] or names, names[1:] or names) if is_half else (names, names)
    # Long names would overlap, and leave the screen of a phone.
    is_long = max(map(len, names)) > LONG_NAME
    x_axis = axis | {"labelLimit": max(PHONE_WIDTH // len(names), 30)} if is_long else axis
    x = field("column:N", sort=names, axis=x_axis, scale={"domain": columns})
    y = field("row:N", sort=names, axis=axis, scale={"domain": rows})
    parts = [
        shown(
            mark("rect", stroke=var("bg"), strokeWidth=1 if len(names) <= 50 else 0),
            x=x,
            y=y,
            color=field("step:O", scale=SHADES, legend=None),
            tooltip=[
                field("row:N", title="run"),
                field("column:N", title="and run"),
                field("rate:Q", format=".2f", title="differ on, %"),
            ],
        )
    ]
    if facts["printed"]:
        text = mark("text", fontSize=12 if len(names) <= 12 else 10)
        rate = field("rate:Q", format=".0f")
        parts.append(shown(text, x=x, y=y, text=rate, color=ON_SHADE))
    return layers(*parts, rows=figure.rows, height=min(max(26 * len(names), 60), 420))


def _by_group(range_: list[str]) -> Spec:
    scale = {"domain": list(AGREEMENTS), "range": range_}
    return field("group:N", scale=scale, legend=None)


def _group_color() -> Spec:
    return _by_group([var("quiet"), var("accent"), var("alert-mark")])


def _entropies(figure: Figure) -> Spec:
    height = 240
    start, top = figure.facts["start"], figure.facts["top"]
    x_axis = {"values": np.arange(0, top, 0.1 if top < 1 else 0.2).round(1).tolist()}
    x_scale = {"domain": [start, top], "nice": False}
    y_axis = {"tickCount": 5, "format": "~s"}
    bars = shown(
        mark("rect", stroke=var("bg")),
        x=field("low:Q", title=figure.facts["axis"], scale=x_scale, axis=x_axis),
        x2=field("high"),
        y=field("count:Q", title="examples", scale={"type": "symlog"}, axis=y_axis),
        y2={"value": height},
        color=_group_color(),
        tooltip=[
            field("low:Q", format=".2f", title="entropy from"),
            field("high:Q", format=".2f", title="to"),
            field("count:Q", format=",", title="examples"),
        ],
    )
    return layers(bars, rows=figure.rows, height=height)


def _splits(figure: Figure) -> Spec:
    order = [row["split"] for row in figure.rows]
    y_axis = {"domain": False, "ticks": False, "title": "runs for each class"}
    y = field("split:N", sort=order, axis=y_axis)
    # Room for the text behind a bar of 100 %.
    x_scale = {"domain": [0, 130], "nice": False}
    x_axis = {"values": [0, 25, 50, 75, 100]}
    x = field("percent:Q", title=figure.facts["axis"], scale=x_scale, axis=x_axis)
    return layers(
        shown(
            mark("bar", height={"band": 0.6}),
            x=x,
            y=y,
            color=_group_color(),
            tooltip=[field("split:N"), field("count:Q", format=",")],
        ),
        shown(mark("text", align="left", dx=6), x=x, y=y, text=field("text:N")),
        rows=figure.rows,
        height=max(28 * len(order), 80),
    )


def _confidence_points(figure: Figure) -> Spec:
    facts = figure.facts
    marks = shown(
        mark("point", filled=True, size=22, opacity=0.65),
        x=field("mean:Q", title=in_lines(facts["x"]), scale={"domain": [0, 1]}),
        y=field("sd:Q", title=facts["y"]),
        color=_group_color(),
        shape=_by_group(["circle", "circle", "diamond"]),
        tooltip=[
            field("example:N"),
            field("mean:Q", format=".3f"),
            field("sd:Q", format=".3f"),
        ],
    )
    return layers(marks, rows=figure.rows, height=320)


def _confidence_cells(figure: Figure) -> Spec:
    strength = {"domain": [0, 1], "range": [0, 1]}
    opacity = field("strength:Q", scale=strength, legend=None)
    return _cells(figure, color=_group_color(), opacity=opacity)


def _cartography(figure: Figure) -> Spec:
    return _cells(figure, color=field("step:O", scale=SHADES, legend=None))


def _cells(figure: Figure, **looks: Any) -> Spec:  # noqa: ANN401 - channels
    """Return counts in cells of mean (across) and standard deviation (up)."""
    top = max(row["y2"] for row in figure.rows)
    x_scale, y_scale = ({"domain": [0, end], "nice": False} for end in (1, top))
    axis = {"tickCount": 6}
    marks = shown(
        mark("rect"),
        x=field("x:Q", title=in_lines(figure.facts["x"]), scale=x_scale, axis=axis),
        x2=field("x2"),
        y=field("y:Q", title=figure.facts["y"], scale=y_scale, axis=axis),
        y2=field("y2"),
        **looks,
        tooltip=[field("count:Q", format=",", title="examples")],
    )
    return layers(marks, rows=figure.rows, height=320)


def _by_confidence(figure: Figure) -> Spec:
    """Return values in bins of the mean probability, with their band, and a floor if known."""
    facts = figure.facts
    value, floor = facts["value"], facts.get("floor")
    top = max([row["high"] for row in figure.rows] + ([] if floor is None else [floor])) * 1.08
    top = top or 0.1
    x = field(
        "x:Q",
        title=in_lines(facts["x"]),
        scale={"domain": [0, 1]},
        axis={"format": ".1f", "tickCount": 5, "labelOverlap": True},
    )
    scale = {"domain": [-0.14 * top, top], "nice": False}
    axis = {"title": facts["y"], "values": _ticks(top), "format": facts["ticks"]}
    y = field(f"{value}:Q", scale=scale)
    parts = [
        shown(
            mark("area", color=var("accent-soft"), interpolate="monotone"),
            x=x,
            y=field("low:Q", scale=scale, axis=axis),
            y2=field("high"),
        ),
        shown(mark("line", color=var("accent"), interpolate="monotone", strokeWidth=2), x=x, y=y),
        shown(
            mark("point", color=var("accent"), filled=True, size=55, opacity=1),
            x=x,
            y=y,
            tooltip=[field(f"{value}:Q", format=facts["format"]), field("count:Q", format=",")],
        ),
        shown(
            mark("text", fontSize=11, color=var("ink-3"), baseline="bottom"),
            x=x,
            y={"value": 248},
            text=field("count:Q", format=".3~s"),
        ),
    ]
    if floor is not None:
        line = mark("rule", color=var("ink-3"), strokeDash=[5, 4], size=1.6)
        parts.append(shown(line, [{"floor": floor}], y=field("floor:Q", scale=scale)))
    return layers(*parts, rows=figure.rows, height=250)


def _ticks(top: float) -> list[float]:
    step = next(s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 1, 2, 5, 10, 20) if top / s <= 6)
    return [round(i * step, 2) for i in range(int(top / step) + 1)]


def _reliability(figure: Figure) -> Spec:
    facts = figure.facts
    together = [row for row in figure.rows if row["kind"] == "all"]
    single = [row for row in figure.rows if row["kind"] == "one"]
    start = facts["start"]
    scale = {"domain": [min([*(row["low"] for row in together), start]), 1], "nice": True}
    axis = {"format": ".1f", "tickCount": 6}
    x = field("x:Q", title=facts["x"], scale={"domain": [start, 1]}, axis=axis)
    y = field("right:Q", title=facts["y"], scale=scale, axis=axis)
    one_run = mark("line", color=var("accent-2"), strokeWidth=0.8, opacity=0.7)
    dashed = mark("line", color=var("ink-3"), strokeDash=[4, 4], strokeWidth=1.2)
    return layers(
        _lowest_to_highest(x, field("low:Q", scale=scale, title=facts["y"])),
        shown(one_run, single, x=x, y=y, detail=field("run:N")),
        shown(dashed, [{"x": start, "right": start}, {"x": 1, "right": 1}], x=x, y=y),
        shown(mark("line", color=var("accent"), strokeWidth=2.4), x=x, y=y),
        _share_right(x, y),
        rows=together,
        height=260,
    )


def _lowest_to_highest(x: Spec, low: Spec) -> Spec:
    """Return the area between the lowest and the highest run."""
    return shown(mark("area", color=var("accent-soft")), x=x, y=low, y2=field("high"))


def _share_right(x: Spec, y: Spec, *further: Spec) -> Spec:
    """Return a point per bin; its tooltip has the share right, then the further fields."""
    return shown(
        mark("point", color=var("accent"), filled=True, size=55, opacity=1),
        x=x,
        y=y,
        tooltip=[
            field("x:Q", format=".2f", title="confidence"),
            field("right:Q", format=".2f", title="share right"),
            *further,
            field("low:Q", format=".2f", title="lowest run"),
            field("high:Q", format=".2f", title="highest run"),
            field("count:Q", format=",", title="examples per run"),
        ],
    )


def _reliability_by_label(figure: Figure) -> Spec:
    facts = figure.facts
    lowest = min([*(min(row["low"], row["expected"]) for row in figure.rows), 1.0])
    scale, axis = {"domain": [lowest, 1], "nice": True}, {"format": ".1f", "tickCount": 6}
    x = field("x:Q", title=facts["x"], scale={"domain": [facts["start"], 1]}, axis=axis)
    y = field("right:Q", title=facts["y"], scale=scale, axis=axis)
    dashed = mark("line", color=var("ink"), strokeDash=[4, 4], strokeWidth=1.4)
    return layers(
        _lowest_to_highest(x, field("low:Q", scale=scale, title=facts["y"])),
        shown(dashed, x=x, y=field("expected:Q", scale=scale)),
        shown(mark("line", color=var("accent"), strokeWidth=2.4), x=x, y=y),
        _share_right(x, y, field("expected:Q", format=".2f", title="expected")),
        rows=figure.rows,
        height=260,
    )


def _permutation(figure: Figure) -> Spec:
    """Return changes by confidence with their band, and those between runs."""
    facts = figure.facts
    ends = [max(row["high"], row["other"]) for row in figure.rows]
    scale = {"domain": [0, max(ends) or 1.0], "nice": True}
    axis = {"format": ".1f", "tickCount": 6}
    x = field("x:Q", title=facts["x"], scale={"domain": [facts["start"], 1]}, axis=axis)
    y = field("change:Q", title=facts["y"], scale=scale)
    dashed = mark("line", color=var("ink-3"), strokeDash=[4, 4], strokeWidth=1.6)
    return layers(
        _lowest_to_highest(x, field("low:Q", scale=scale, title=facts["y"])),
        shown(dashed, x=x, y=field("other:Q", scale=scale)),
        shown(mark("line", color=var("accent"), strokeWidth=2.4), x=x, y=y),
        shown(
            mark("point", color=var("accent"), filled=True, size=55, opacity=1),
            x=x,
            y=y,
            tooltip=[
                field("x:Q", format=".2f", title="confidence"),
                field("change:Q", format=".3f", title="shuffled attention"),
                field("other:Q", format=".3f", title="between two runs"),
                field("count:Q", format=",", title="answers"),
            ],
        ),
        rows=figure.rows,
        height=260,
    )


def _ece_by_run(figure: Figure) -> Spec:
    facts = figure.facts
    top = max(row["ece"] for row in figure.rows) * 1.1 or 1.0
    scale = {"domain": [0, top], "nice": True}
    return layers(
        shown(
            mark("tick", color=var("ink"), thickness=2, size=34),
            [{"mean": facts["mean"]}],
            x=field("mean:Q", scale=scale, title=facts["axis"]),
        ),
        shown(
            mark("point", color=var("accent"), filled=True, size=80, opacity=0.75),
            x=field("ece:Q", scale=scale),
            tooltip=[field("run:N"), field("ece:Q", format=".2f")],
        ),
        rows=figure.rows,
        height=46,
    )


DRAWN_BY: Mapping[str, Callable[[Figure], Spec]] = {
    "accuracy_by_run": _by_run,
    "flip_matrix": _flip_matrix,
    "splits": _splits,
    "entropies": _entropies,
    "confidence_points": _confidence_points,
    "confidence_cells": _confidence_cells,
    "sd_by_confidence": _by_confidence,
    "top_words": _by_confidence,
    "reliability": _reliability,
    "reliability_by_label": _reliability_by_label,
    "ece_by_run": _ece_by_run,
    "permutation": _permutation,
    "cartography": _cartography,
}
