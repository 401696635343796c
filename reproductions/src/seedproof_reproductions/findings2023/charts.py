"""Charts of the pages: counts in cells for the paper's figures, and the arms worth naming."""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

import altair as alt
from altair import InlineData

from seedproof_reproductions.charts import ACCENT, FAINT, INK, WARNING, draw
from seedproof_reproductions.figures import listed
from seedproof_reproductions.findings2023.decision_data import NO_COST, Point, pareto_front
from seedproof_reproductions.findings2023.names import layout, title_of
from seedproof_reproductions.findings2023.reading import SettingResults, published
from seedproof_reproductions.page import Chart
from seedproof_reproductions.reading import lookup

COLUMNS, PANEL_WIDTH, PANEL_HEIGHT, N_TICKS = 2, 310, 220, 5
# A cell with one utterance must be visible.
FAINTEST = "#dbe7f0"

# Rows of the chart of mitigations; larger rises are at the edge, with their number. Browsers may
# draw names wider than they are measured here, so they have more space than they need.
PLOT_WIDTH, NAME_WIDTH, ROW, HIGHEST = 210, 290, 16, 0.3


def cell_chart(name: str, settings: Sequence[SettingResults]) -> Chart | None:
    """Draw one of `figures` in `published.toml`, a panel per setting; None without counts."""
    about = published()["figures"][name]
    stored = {s.title: lookup(s.content, f"control.pictures.{name}") for s in settings}
    panels = {title: cells for title, cells in stored.items() if cells is not None}
    if not panels:
        return None
    largest = max(count for cells in panels.values() for row in cells["counts"] for count in row)
    color = alt.Color(
        "count:Q",
        title=f"{about['noun']} per cell",
        scale=alt.Scale(type="log", domain=[1, max(largest, 2)], range=[FAINTEST, ACCENT]),
        legend=alt.Legend(orient="top", values=[1, largest], format=",", gradientLength=120),
    )
    charts = [_panel(title, cells, color, about) for title, cells in panels.items()]
    chart = alt.concat(*charts, columns=COLUMNS, spacing=24)
    title = f"{about['about']}, for {'; '.join(panels)}."
    return draw(chart, name=about["file"], title=title)


def _panel(
    title: str, cells: Mapping[str, Any], color: alt.Color, about: Mapping[str, str]
) -> alt.LayerChart | alt.FacetChart:
    x, y, axes = cells["x"], cells["y"], {}
    for key, channel in (("x", alt.X), ("y", alt.Y)):
        scale = alt.Scale(domain=[0, cells[key][-1]], nice=False)
        axis = alt.Axis(title=about[key], titlePadding=10, tickCount=N_TICKS)
        axes[key] = channel(f"{key}:Q", scale=scale, axis=axis)
    counts = [
        {"x": x[column], "x2": x[column + 1], "y": y[row], "y2": y[row + 1], "count": count}
        for row, line in enumerate(cells["counts"])
        for column, count in enumerate(line)
        if count
    ]
    middles = [(low + high) / 2 for low, high in pairwise(x)]
    means = [
        {"x": middle, "y": mean}
        for middle, mean in zip(middles, cells.get("means") or (), strict=False)
        if mean is not None
    ]
    ends = {"x2": "x2:Q", "y2": "y2:Q"}
    return alt.layer(
        alt.Chart(InlineData(values=counts)).mark_rect().encode(**axes, **ends, color=color),
        alt.Chart(InlineData(values=means)).mark_line(color=WARNING, strokeWidth=1).encode(**axes),
        title=title,
        width=PANEL_WIDTH,
        height=PANEL_HEIGHT,
    )


def mitigation_chart(
    points: Sequence[Point], recommended: Collection[str], datasets: Sequence[str]
) -> Chart | None:
    """Draw how the arms worth naming change the flip rate, a row each; None without points.

    These are the published arms, the recommended ones, those that no cheaper arm beats, and those
    that make the flip rate much larger.
    """
    front, kinds = pareto_front(points), layout()["titles"]["kinds"]
    named = [
        point
        for point in points
        if point in front
        or point.arm.is_published
        or point.arm.arm in recommended
        or point.change > HIGHEST
    ]
    if not named:
        return None
    rows_of = [
        {
            "arm": _words(point),
            "cost": f"+{100 * point.cost:.0f} %" if point.cost > NO_COST else "none",
            "kind": kinds[point.kind],
            **{end: min(getattr(point, end), HIGHEST) for end in ("change", "low", "high")},
        }
        for point in sorted(named, key=lambda point: point.change)
    ]
    names = alt.Axis(title=None, minExtent=NAME_WIDTH, labelLimit=400, grid=True)
    base = alt.Chart(InlineData(values=rows_of)).encode(
        y=alt.Y("arm:N", sort=None, axis=names),
        color=alt.Color(
            "kind:N",
            scale=alt.Scale(domain=list(kinds.values()), range=[ACCENT, WARNING, FAINT]),
            legend=alt.Legend(title=None, orient="top", columns=1, symbolOpacity=1),
        ),
    )
    scale = alt.Scale(domain=[-1, HIGHEST], nice=False)
    title, ticks = "change of the flip rate, where it is cut least", [-1, -0.75, -0.5, -0.25, 0]
    axis = alt.Axis(title=title, values=ticks, format="+%")
    zero = alt.Chart(InlineData(values=[{"at": 0}])).mark_rule(color=FAINT)
    head, right = alt.Chart(InlineData(values=[{"text": "extra cost"}])), alt.value(PLOT_WIDTH + 10)
    chart = alt.layer(
        zero.encode(x=alt.X("at:Q", scale=scale, axis=axis)),
        base.mark_rule(opacity=0.6).encode(x=alt.X("low:Q", scale=scale, axis=axis), x2="high:Q"),
        base.mark_point(filled=True, opacity=1, size=40).encode(x=alt.X("change:Q", scale=scale)),
        base.mark_text(align="left").encode(x=right, text="cost:N", color=alt.value(INK)),
        head.mark_text(align="left").encode(x=right, y=alt.value(-8), text="text:N"),
        width=PLOT_WIDTH,
        height=alt.Step(ROW),
    )
    about = f"Change of the flip rate by each arm, with its extra cost, on {listed(datasets)}."
    return draw(chart, name="which-mitigation", title=about)


def _words(point: Point) -> str:
    """Name an arm, with its change where that is off the chart."""
    change = f" (flips +{100 * point.change:.0f} %)" if point.change > HIGHEST else ""
    return f"{title_of(point.arm.arm)}{change}"
