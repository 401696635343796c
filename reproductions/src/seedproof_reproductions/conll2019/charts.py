"""The paper's curves by predicted probability, with ours, drawn by Altair."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import altair as alt
from altair import InlineData

from seedproof.stats.intervals import NORMAL
from seedproof_reproductions.charts import ACCENT, DARK, FAINT, INK, draw
from seedproof_reproductions.conll2019.names import ARMS, BASELINE, PAPER_ARMS
from seedproof_reproductions.conll2019.reading import Curve, SettingResults
from seedproof_reproductions.figures import MISSING
from seedproof_reproductions.page import Chart

# As in the charts of the report, whose bins have the same bound.
LEAST_EXAMPLES = 10
COLUMNS, WIDTH, HEIGHT, COUNT_HEIGHT = 2, 290, 130, 12
DRAWN = (BASELINE, *PAPER_ARMS)
COLORS = FAINT, ACCENT, DARK
SHAPES = "circle", "square", "triangle-up"
DASHES = [1, 0], [1, 0], [4, 2]
NOISE = "one model, explained twice"
LEGEND = alt.Legend(title=None, orient="top", symbolSize=60, symbolStrokeWidth=0)
Layers: TypeAlias = alt.LayerChart | alt.FacetChart
X_SCALE = alt.Scale(domain=[0, 1], nice=False)


@dataclass(frozen=True)
class Panel:
    """A small chart: a curve per arm, and the level of the explainer's own noise, if known."""

    title: str
    class_name: str
    curves: Mapping[str, Curve]
    noise: float | None = None


@dataclass(frozen=True)
class Figure:
    """A figure of the paper, as in `figures.toml`."""

    name: str
    heading: str
    about: str
    metric: str
    y_title: str
    method: str | None = None
    factor: float = 1.0
    has_classes: bool = False

    def panels(self, setting: SettingResults) -> list[Panel]:
        """The panels of a setting: one, one per class, or none."""
        if (len(setting.content["classes"]) > 2) != self.has_classes:
            return []
        by_arm = {arm: setting.curves(arm, self.metric, self.method) for arm in DRAWN}
        noise = setting.estimate(BASELINE, f"explanations.{self.method}.noise.{self.metric}")
        level = None if noise is None else noise.value
        return [
            Panel(setting.title, name, {a: c[name] for a, c in by_arm.items() if name in c}, level)
            for name in by_arm[BASELINE]
        ]


def points(curve: Curve) -> list[tuple[int, float, float]]:
    """Bins with enough examples: place, mean, and half of its 95 % interval over examples."""
    bins = zip(curve.counts, curve.means, curve.errors, strict=True)
    return [
        (place, mean, NORMAL * (error or 0.0))
        for place, (count, mean, error) in enumerate(bins)
        if mean is not None and count >= LEAST_EXAMPLES
    ]


def peak(panel: Panel) -> str:
    """The bin in which the curve of the baseline is highest."""
    place = max(points(panel.curves[BASELINE]), key=lambda point: point[1], default=(None,))[0]
    return MISSING if place is None else f"{place / 10:.1f}–{(place + 1) / 10:.1f}"


def count_lower(panels: Sequence[Panel], arm: str) -> tuple[int, int]:
    """Bins in which the curve of an arm is below that of the baseline, of all with both."""
    pairs = []
    for panel in (panel for panel in panels if arm in panel.curves):
        base = {place: mean for place, mean, _ in points(panel.curves[BASELINE])}
        pairs += [(mean, base[at]) for at, mean, _ in points(panel.curves[arm]) if at in base]
    return sum(mean < base for mean, base in pairs), len(pairs)


def title_of(figure: Figure, panels: Sequence[Panel]) -> str:
    """Text for readers who cannot see the figure."""
    settings = "; ".join(dict.fromkeys(panel.title for panel in panels))
    return f"{figure.about.removesuffix('.')} by predicted probability, for {settings}."


def draw_figure(figure: Figure, panels: Sequence[Panel]) -> Chart:
    """Draw one panel or more on one scale."""
    curves = [curve for panel in panels for curve in panel.curves.values()]
    ends = [mean + half for curve in curves for _, mean, half in points(curve)]
    ends += [panel.noise for panel in panels if panel.noise is not None]
    top = figure.factor * (max(ends, default=0.0) or 1.0)
    arms = [arm for arm in DRAWN if any(arm in panel.curves for panel in panels)]
    parts = [
        alt.vconcat(
            _curves(figure, panel, top, arms),
            _counts(panel, arms),
            spacing=4,
            title=alt.TitleParams(f"{panel.title}: {panel.class_name}", fontSize=11),
        )
        for panel in panels
    ]
    chart = alt.concat(*parts, columns=COLUMNS, title=figure.about.removesuffix("."))
    return draw(chart, name=figure.name, title=title_of(figure, panels))


def _curves(figure: Figure, panel: Panel, top: float, arms: Sequence[str]) -> Layers:
    """Means with their intervals, and the explainer's noise as a level."""
    values = [
        {
            "arm": ARMS[arm],
            "x": (place + 0.5) / 10,
            "mean": figure.factor * mean,
            "low": max(figure.factor * (mean - half), 0.0),
            "high": figure.factor * (mean + half),
        }
        for arm, curve in panel.curves.items()
        for place, mean, half in points(curve)
    ]
    x_axis = alt.Axis(title=None, values=[0, 0.2, 0.4, 0.6, 0.8, 1], grid=False)
    y_scale, y_axis = alt.Scale(domain=[0, top], nice=True), alt.Axis(tickCount=4)
    y = alt.Y("mean:Q", title=figure.y_title, scale=y_scale, axis=y_axis)
    base = alt.Chart(InlineData(values=values), width=WIDTH, height=HEIGHT).encode(
        x=alt.X("x:Q", scale=X_SCALE, axis=x_axis),
        color=alt.Color("arm:N", scale=_scale(COLORS, arms), legend=LEGEND),
    )
    dashes = alt.StrokeDash("arm:N", scale=_scale(DASHES, arms), legend=None)
    shape = alt.Shape("arm:N", scale=_scale(SHAPES, arms), legend=LEGEND)
    layers = [
        base.mark_line(strokeWidth=1.4).encode(y=y, strokeDash=dashes),
        base.mark_rule().encode(y=alt.Y("low:Q", title=figure.y_title), y2="high:Q"),
        base.mark_point(filled=True, opacity=1, size=34).encode(y=y, shape=shape),
    ]
    if panel.noise is not None:
        values = [{"mean": figure.factor * panel.noise, "text": NOISE}]
        level = alt.Chart(InlineData(values=values)).encode(y=y)
        label = level.mark_text(align="left", dy=-6, color=INK)
        layers.append(level.mark_rule(strokeDash=[1, 3], color=INK))
        layers.append(label.encode(x=alt.value(4), text="text:N"))
    return alt.layer(*layers)


def _counts(panel: Panel, arms: Sequence[str]) -> alt.Chart:
    """Texts in each bin, as rows of numbers below the curves."""
    values = [
        {"arm": ARMS[arm], "x": (place + 0.5) / 10, "n": count}
        for arm, curve in panel.curves.items()
        for place, count in enumerate(curve.counts)
    ]
    names = [ARMS[arm] for arm in arms]
    plain: dict[str, Any] = {"ticks": False, "grid": False, "domain": False}
    title = f"mean predicted probability of “{panel.class_name}”, over runs"
    y_axis = alt.Axis(title="texts", labelFontSize=9, **plain)
    chart = alt.Chart(InlineData(values=values), width=WIDTH, height=COUNT_HEIGHT * len(arms))
    counts: alt.Chart = chart.mark_text(fontSize=9).encode(
        x=alt.X("x:Q", scale=X_SCALE, axis=alt.Axis(title=title, labels=False, **plain)),
        y=alt.Y("arm:N", sort=names, scale=alt.Scale(domain=names), axis=y_axis),
        text="n:Q",
        color=alt.Color("arm:N", scale=_scale(COLORS, arms), legend=LEGEND),
    )
    return counts


def _scale(styles: Sequence[Any], arms: Sequence[str]) -> alt.Scale:
    """Colors, shapes or dashes of the arms that are drawn."""
    chosen = [style for arm, style in zip(DRAWN, styles, strict=True) if arm in arms]
    return alt.Scale(domain=[ARMS[arm] for arm in arms], range=chosen)
