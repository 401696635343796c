"""The chart of runs over their steps."""

from collections.abc import Callable, Mapping

import altair as alt

from seedproof.report.charts.theme import Chart, in_lines, inline, var
from seedproof.report.figures import Figure


def _cartography(figure: Figure) -> Chart:
    facts, cells = figure.facts, inline([dict(row) for row in figure.rows])
    shades = [var(f"r{i}") for i in range(6)]
    x_scale = alt.Scale(domain=[0, 1], nice=False)
    y_scale = alt.Scale(domain=[0, max(row["y2"] for row in figure.rows)], nice=False)
    color = alt.Scale(domain=list(range(6)), range=shades)
    marks = (
        alt.Chart(cells)
        .mark_rect()
        .encode(
            x=alt.X("x:Q", title=in_lines(facts["x"]), scale=x_scale, axis=alt.Axis(tickCount=6)),
            x2=alt.X2("x2:Q"),
            y=alt.Y("y:Q", title=facts["y"], scale=y_scale, axis=alt.Axis(tickCount=6)),
            y2=alt.Y2("y2:Q"),
            color=alt.Color("step:O", scale=color, legend=None),
            tooltip=[alt.Tooltip("count:Q", format=",", title="examples")],
        )
    )
    return alt.layer(marks, height=320)


DRAWN_BY: Mapping[str, Callable[[Figure], Chart]] = {"cartography": _cartography}
