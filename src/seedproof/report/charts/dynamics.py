"""The charts of runs over their steps."""

from collections.abc import Callable, Mapping

import altair as alt

from seedproof.report.charts.theme import Chart, in_lines, inline, var
from seedproof.report.figures import Figure


def _one_run_map(figure: Figure) -> Chart:
    facts = figure.facts
    rows = [dict(row) for row in figure.rows]
    cells = inline([row for row in rows if row["kind"] == "cell"])
    line = inline([row for row in rows if row["kind"] == "mean"])
    bars = inline([row for row in rows if row["kind"] == "mean" and row["low"] is not None])
    top = max([facts["y_top"]] + [row["high"] for row in bars.values])
    shades = [var(f"r{i}") for i in range(6)]
    x_scale = alt.Scale(domain=[0, facts["x_top"]], nice=False)
    y_scale = alt.Scale(domain=[0, top], nice=False)
    x = alt.X("x:Q", title=in_lines(facts["x"]), scale=x_scale, axis=alt.Axis(tickCount=6))
    y_axis = alt.Axis(title=facts["y"], tickCount=6)
    mean = alt.Y("mean:Q", scale=y_scale, axis=y_axis)
    return alt.layer(
        alt.Chart(cells)
        .mark_rect()
        .encode(
            x=x,
            x2=alt.X2("x2:Q"),
            y=alt.Y("y:Q", scale=y_scale, axis=y_axis),
            y2=alt.Y2("y2:Q"),
            color=alt.Color(
                "step:O", scale=alt.Scale(domain=list(range(6)), range=shades), legend=None
            ),
            tooltip=[alt.Tooltip("count:Q", format=",", title="examples × traced runs")],
        ),
        alt.Chart(bars)
        .mark_rule(color=var("alert-mark"), size=1.5)
        .encode(x=x, y=alt.Y("low:Q", scale=y_scale, axis=y_axis), y2=alt.Y2("high:Q")),
        alt.Chart(line).mark_line(color=var("alert-mark"), strokeWidth=2).encode(x=x, y=mean),
        alt.Chart(line)
        .mark_point(color=var("alert-mark"), filled=True, size=40, opacity=1)
        .encode(
            x=x,
            y=mean,
            tooltip=[
                alt.Tooltip("x:Q", format=".2f", title="within one run"),
                alt.Tooltip("mean:Q", format=".3f", title="over the others"),
                alt.Tooltip("count:Q", format=",", title="examples × traced runs"),
            ],
        ),
        height=320,
    )


def _cumulative_entropy(figure: Figure) -> Chart:
    facts, data = figure.facts, inline([dict(row) for row in figure.rows])
    top = max(row["high"] for row in figure.rows) * 1.08 or 0.1
    scale = alt.Scale(domain=[0, top], nice=False)
    axis = alt.Axis(title=facts["y"], tickCount=6)
    last = figure.rows[-1]["step"]
    x = alt.X(
        "step:Q",
        title=facts["x"],
        scale=alt.Scale(domain=[0, last], nice=False),
        axis=alt.Axis(tickCount=6, format="~s"),
    )
    base = alt.Chart(data)
    return alt.layer(
        base.mark_area(color=var("accent-soft")).encode(
            x=x, y=alt.Y("low:Q", scale=scale, axis=axis), y2=alt.Y2("high:Q")
        ),
        base.mark_line(color=var("accent"), strokeWidth=2).encode(
            x=x,
            y=alt.Y("mean:Q", scale=scale),
            tooltip=[
                alt.Tooltip("step:Q", format=",", title="updates"),
                alt.Tooltip("mean:Q", format=".3f", title="nats"),
            ],
        ),
        height=250,
    )


DRAWN_BY: Mapping[str, Callable[[Figure], Chart]] = {
    "one_run_map": _one_run_map,
    "cumulative_entropy": _cumulative_entropy,
}
