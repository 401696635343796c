"""The chart of runs over their steps."""

from collections.abc import Callable, Mapping

from seedproof.report.charts.theme import Spec, field, in_lines, layers, mark, shown, var
from seedproof.report.figures import Figure


def _cartography(figure: Figure) -> Spec:
    facts = figure.facts
    top = max(row["y2"] for row in figure.rows)
    shades = {"domain": list(range(6)), "range": [var(f"r{i}") for i in range(6)]}
    marks = shown(
        mark("rect"),
        x=field(
            "x:Q",
            title=in_lines(facts["x"]),
            scale={"domain": [0, 1], "nice": False},
            axis={"tickCount": 6},
        ),
        x2=field("x2"),
        y=field(
            "y:Q",
            title=facts["y"],
            scale={"domain": [0, top], "nice": False},
            axis={"tickCount": 6},
        ),
        y2=field("y2"),
        color=field("step:O", scale=shades, legend=None),
        tooltip=[field("count:Q", format=",", title="examples")],
    )
    return layers(marks, rows=figure.rows, height=320)


DRAWN_BY: Mapping[str, Callable[[Figure], Spec]] = {"cartography": _cartography}
