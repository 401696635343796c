"""Charts of the page: lists that change with the seed, and the overlap of the attention."""

from collections.abc import Sequence
from typing import Any

import altair as alt
from altair import InlineData

from seedproof.stats.intervals import NORMAL
from seedproof_reproductions.charts import ACCENT, DARK, FAINT, WARNING, draw
from seedproof_reproductions.page import Chart
from seedproof_reproductions.thesis2019.arms import BASELINE
from seedproof_reproductions.thesis2019.reading import ARMS, PARTS, SettingResults

WIDTH, HEIGHT, ROW = 420, 200, 34
# As in the charts of the report.
LEAST_EXAMPLES = 10
LEGEND = alt.Legend(title=None, orient="top", symbolOpacity=1)


def draw_lists(settings: Sequence[SettingResults]) -> Chart:
    """Draw the share of users with another first item, by model and by what is ranked."""
    rows = []
    for setting in settings:
        for part, title in PARTS.items():
            first = setting.estimate(BASELINE, f"{part}.metrics.first_item_flips")
            if first is not None:
                ends = {"low": first.low or first.value, "high": first.high or first.value}
                rows.append({"model": setting.title, "part": title, "value": first.value} | ends)
    base = alt.Chart(InlineData(values=rows)).encode(
        y=alt.Y("model:N", sort=None, axis=alt.Axis(title=None, grid=True)),
        yOffset=alt.YOffset("part:N", sort=None),
        color=_color("part", [*PARTS.values()], [FAINT, ACCENT]),
    )
    title = "Users for whom another seed puts another item first"
    axis = alt.Axis(title=title.lower(), format="%")
    x = alt.X("low:Q", scale=alt.Scale(domainMin=0), axis=axis)
    chart = alt.layer(
        base.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q"),
        base.mark_point(filled=True, opacity=1, size=50).encode(x="value:Q"),
        width=WIDTH,
        height=alt.Step(ROW),
    )
    models = "; ".join(setting.title for setting in settings)
    return draw(chart, name="first-item", title=f"{title}, for {models}.")


def draw_attention(setting: SettingResults) -> Chart | None:
    """Draw the overlap of the attended items by predicted probability; None without a curve."""
    rows: list[dict[str, Any]] = []
    for arm, title in ARMS.items():
        curve = setting.of(arm, "attention.curve") or {"counts": (), "means": (), "errors": ()}
        bins = zip(curve["counts"], curve["means"], curve["errors"], strict=True)
        for place, (count, mean, error) in enumerate(bins):
            if count >= LEAST_EXAMPLES:
                half = NORMAL * (error or 0.0)
                ends = {"value": 1 - mean, "low": 1 - mean - half, "high": 1 - mean + half}
                rows.append({"arm": title, "p": (place + 0.5) / 10} | ends)
    if not rows:
        return None
    arms = list(dict.fromkeys(row["arm"] for row in rows))
    base = alt.Chart(InlineData(values=rows)).encode(
        x=alt.X(
            "p:Q",
            scale=alt.Scale(domain=[0, 1], nice=False),
            axis=alt.Axis(title="mean predicted probability of an interaction"),
        ),
        color=_color("arm", arms, [FAINT, WARNING, DARK]),
    )
    title = "Jaccard index of the top 10 % of the attended items of two seeds"
    y = alt.Y("low:Q", scale=alt.Scale(domainMin=0), axis=alt.Axis(title="Jaccard index"))
    chart = alt.layer(
        base.mark_rule().encode(y=y, y2="high:Q"),
        base.mark_line(point=True).encode(y="value:Q"),
        width=WIDTH,
        height=HEIGHT,
        title=title,
    )
    name = f"attention-{setting.content['name']}"
    return draw(chart, name=name, title=f"{title}, for {setting.title}.")


def _color(field: str, names: Sequence[str], colors: Sequence[str]) -> alt.Color:
    scale = alt.Scale(domain=[*names], range=[*colors[: len(names)]])
    return alt.Color(f"{field}:N", scale=scale, legend=LEGEND)
