"""Charts of the page about confidence, attention and vectors."""

from typing import Any

import altair as alt
from altair import InlineData

from seedproof_reproductions.charts import ACCENT, DARK, FAINT, WARNING, draw
from seedproof_reproductions.page import Chart
from seedproof_reproductions.thesis2019.arms import BASELINE
from seedproof_reproductions.thesis2019.charts import LEGEND
from seedproof_reproductions.thesis2019.inside_tables import BINS
from seedproof_reproductions.thesis2019.reading import ARMS, SettingResults

WIDTH, HEIGHT, MAP = 290, 200, 280
GAPS = {"gap": "tested items", "gap_if_calibrated": "if calibrated"}


def draw_confidence(setting: SettingResults) -> Chart | None:
    """Draw over-confidence next to the change by shuffled attention, in the same bins.

    None without shuffled attention.
    """
    changes = _changes(setting)
    if not changes:
        return None
    panels = (
        _panel(_gaps(setting), "Confidence less share of right answers", "%"),
        _panel(changes, "Change of the probability by shuffled attention", ".2f"),
    )
    title = "Tested items by confidence: over-confidence, and change by shuffled attention"
    both = alt.hconcat(*panels).resolve_scale(color="independent")
    return draw(
        both, name=f"confidence-{setting.content['name']}", title=f"{title}, for {setting.title}."
    )


def _gaps(setting: SettingResults) -> list[dict[str, Any]]:
    """Return rows of a chart: the gap in each bin, with the labels and if calibrated."""
    return _rows(
        {
            words: {
                name: of_bin and of_bin[field]
                for name, of_bin in setting.of(BASELINE, "confidence.bins").items()
            }
            for field, words in GAPS.items()
        }
    )


def _changes(setting: SettingResults) -> list[dict[str, Any]]:
    """Return rows of a chart: the change of each arm in each bin."""
    by_arm = {
        words: setting.of(arm, "permutation.all.probability.bins") for arm, words in ARMS.items()
    }
    return _rows({words: bins for words, bins in by_arm.items() if bins})


def _rows(figures: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"line": line, "bin": BINS[name]} | dict(zip(("value", "low", "high"), figure, strict=True))
        for line, bins in figures.items()
        for name, figure in bins.items()
        if figure and len(figure) > 1
    ]


def _panel(
    rows: list[dict[str, Any]], title: str, number_format: str
) -> alt.LayerChart | alt.FacetChart:
    lines = list(dict.fromkeys(row["line"] for row in rows))
    colors = [ACCENT, FAINT, WARNING, DARK]
    base = alt.Chart(InlineData(values=rows)).encode(
        x=alt.X(
            "bin:O",
            scale=alt.Scale(domain=[*BINS.values()]),
            axis=alt.Axis(title="confidence in the predicted class", labelAngle=0),
        ),
        color=alt.Color(
            "line:N", scale=alt.Scale(domain=lines, range=colors[: len(lines)]), legend=LEGEND
        ),
    )
    y = alt.Y("low:Q", axis=alt.Axis(title=None, format=number_format))
    return alt.layer(
        base.mark_rule().encode(y=y, y2="high:Q"),
        base.mark_line(point=True).encode(y="value:Q"),
        width=WIDTH,
        height=HEIGHT,
        title=title,
    )


def draw_users(setting: SettingResults) -> Chart | None:
    """Draw maps of the same users from two seeds; None without maps."""
    stored = setting.of(BASELINE, "vectors.users.map")
    if stored is None:
        return None
    panels = []
    for run, (x, y) in zip(setting.of(BASELINE, "runs"), stored["places"], strict=False):
        rows = [
            {"x": a, "y": b, "age": "56 or older" if old == "1" else "younger"}
            for a, b, old in zip(x, y, stored["is_old"], strict=True)
        ]
        panels.append(_map(rows, f"Seed {run}"))
    title = "Maps of the same users by the vectors of two seeds"
    return draw(
        alt.hconcat(*panels),
        name=f"users-{setting.content['name']}",
        title=f"{title}, for {setting.title}.",
    )


def _map(rows: list[dict[str, Any]], title: str) -> alt.Chart:
    ages, colors = ["younger", "56 or older"], [FAINT, WARNING]
    # Marked users come last, so that no other hides them.
    rows = sorted(rows, key=lambda row: ages.index(row["age"]))
    color = alt.Color("age:N", scale=alt.Scale(domain=ages, range=colors), legend=LEGEND)
    chart = alt.Chart(InlineData(values=rows), width=MAP, height=MAP, title=title)
    x, y = alt.X("x:Q", axis=None), alt.Y("y:Q", axis=None)
    drawn: alt.Chart = chart.mark_circle(size=14, opacity=0.75).encode(x=x, y=y, color=color)
    return drawn
