"""Charts of runs that give a number for each example."""

from collections.abc import Callable, Mapping

from seedproof.report.charts.theme import SHADES, Spec, field, in_lines, layers, mark, shown, var
from seedproof.report.figures.base import Figure

AXIS = {"tickCount": 6, "labelOverlap": True}


def _points(figure: Figure) -> Spec:
    facts = figure.facts
    marks = shown(
        mark("point", filled=True, size=26, opacity=0.65, color=var("accent")),
        x=field("mean:Q", title=in_lines(facts["x"]), scale={"zero": False}, axis=AXIS),
        y=field("sd:Q", title=facts["y"]),
        tooltip=[
            field("example:N"),
            field("mean:Q", format=".4~g"),
            field("sd:Q", format=".4~g"),
        ],
    )
    return layers(marks, rows=figure.rows, height=320)


def _cells(figure: Figure) -> Spec:
    facts = figure.facts
    scale = {"nice": False, "zero": False}
    marks = shown(
        mark("rect"),
        x=field("x:Q", title=in_lines(facts["x"]), scale=scale, axis=AXIS),
        x2=field("x2"),
        y=field("y:Q", title=facts["y"], scale=scale, axis=AXIS),
        y2=field("y2"),
        color=field("step:O", scale=SHADES, legend=None),
        tooltip=[field("count:Q", format=",", title="examples")],
    )
    return layers(marks, rows=figure.rows, height=320)


def _passed(figure: Figure) -> Spec:
    facts = figure.facts
    x = field("passed:O", title=facts["axis"], axis={"labelAngle": 0, "labelOverlap": True})
    y = field("count:Q", title="examples", axis={"tickCount": 5, "format": "~s"})
    colors = {
        "domain": ["broken", "flaky", "solid"],
        "range": [var("quiet"), var("alert-mark"), var("accent")],
    }
    parts = [
        shown(
            mark("bar", width={"band": 0.7}),
            x=x,
            y=y,
            color=field("group:N", scale=colors, legend=None),
            tooltip=[field("group:N"), field("passed:O"), field("count:Q", format=",")],
        )
    ]
    if facts["printed"]:
        parts.append(shown(mark("text", dy=-8), x=x, y=y, text=field("count:Q", format=",")))
    return layers(*parts, rows=figure.rows, height=220)


def _variance_parts(figure: Figure) -> Spec:
    """Return the parts of the variance as one bar."""
    names = [row["part"] for row in figure.rows]
    colors = {"domain": names, "range": [var(color) for color in figure.facts["colors"]]}
    bar = shown(
        mark("bar", height=34, stroke=var("bg")),
        x=field("low:Q", title=figure.facts["axis"], scale={"domain": [0, 100]}),
        x2=field("high"),
        color=field("part:N", scale=colors, legend=None),
        tooltip=[field("part:N"), field("text:N", title="share")],
    )
    return layers(bar, rows=figure.rows, height=60)


DRAWN_BY: Mapping[str, Callable[[Figure], Spec]] = {
    "value_points": _points,
    "value_cells": _cells,
    "passed_counts": _passed,
    "variance_parts": _variance_parts,
}
