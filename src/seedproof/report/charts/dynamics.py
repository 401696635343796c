"""The charts of runs over their steps."""

from collections.abc import Callable, Mapping

from seedproof.report.charts.theme import Spec, field, in_lines, layers, mark, shown, var
from seedproof.report.figures import Figure


def _one_run_map(figure: Figure) -> Spec:
    facts = figure.facts
    line = [row for row in figure.rows if row["kind"] == "mean"]
    bars = [row for row in line if row["low"] is not None]
    y_scale = {"domain": [0, max([facts["y_top"]] + [row["high"] for row in bars])], "nice": False}
    x_scale = {"domain": [0, facts["x_top"]], "nice": False}
    x = field("x:Q", title=in_lines(facts["x"]), scale=x_scale, axis={"tickCount": 6})
    vertical = {"scale": y_scale, "axis": {"title": facts["y"], "tickCount": 6}}
    shades = {"domain": list(range(6)), "range": [var(f"r{i}") for i in range(6)]}
    return layers(
        shown(
            mark("rect"),
            [row for row in figure.rows if row["kind"] == "cell"],
            x=x,
            x2=field("x2"),
            y=field("y:Q", **vertical),
            y2=field("y2"),
            color=field("step:O", scale=shades, legend=None),
            tooltip=[field("count:Q", format=",", title="examples × traced runs")],
        ),
        shown(
            mark("rule", color=var("alert-mark"), size=1.5),
            bars,
            x=x,
            y=field("low:Q", **vertical),
            y2=field("high"),
        ),
        shown(
            mark("line", color=var("alert-mark"), strokeWidth=2),
            line,
            x=x,
            y=field("mean:Q", **vertical),
        ),
        shown(
            mark("point", color=var("alert-mark"), filled=True, size=40, opacity=1),
            line,
            x=x,
            y=field("mean:Q", **vertical),
            tooltip=[
                field("x:Q", format=".2f", title="within one run"),
                field("mean:Q", format=".3f", title="over the others"),
                field("count:Q", format=",", title="examples × traced runs"),
            ],
        ),
        height=320,
    )


def _cumulative_entropy(figure: Figure) -> Spec:
    facts = figure.facts
    top = max(row["high"] for row in figure.rows) * 1.08 or 0.1
    scale = {"domain": [0, top], "nice": False}
    x = field(
        "step:Q",
        title=facts["x"],
        scale={"domain": [0, figure.rows[-1]["step"]], "nice": False},
        axis={"tickCount": 6, "format": "~s"},
    )
    return layers(
        shown(
            mark("area", color=var("accent-soft")),
            x=x,
            y=field("low:Q", scale=scale, axis={"title": facts["y"], "tickCount": 6}),
            y2=field("high"),
        ),
        shown(
            mark("line", color=var("accent"), strokeWidth=2),
            x=x,
            y=field("mean:Q", scale=scale),
            tooltip=[
                field("step:Q", format=",", title="updates"),
                field("mean:Q", format=".3f", title="nats"),
            ],
        ),
        rows=figure.rows,
        height=250,
    )


DRAWN_BY: Mapping[str, Callable[[Figure], Spec]] = {
    "one_run_map": _one_run_map,
    "cumulative_entropy": _cumulative_entropy,
}
