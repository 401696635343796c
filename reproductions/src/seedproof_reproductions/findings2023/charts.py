"""Charts of the pages: counts in cells for the paper's figures, and the Pareto chart."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import altair as alt

from seedproof_reproductions.charts import ACCENT, FAINT, GROUND, WARNING, draw, rows
from seedproof_reproductions.findings2023.decision_data import NO_COST, Point, pareto_front
from seedproof_reproductions.findings2023.reading import SettingResults
from seedproof_reproductions.page import Chart

Box: TypeAlias = tuple[float, float, float, float]
Place: TypeAlias = tuple[float, float]

# The paper's figures: picture in the results, file name, titles of both axes, what is counted.
CELL_CHARTS = {
    "entropy_sigma": (
        "entropy-sigma",
        "label entropy over runs, LE_m, nats",
        "sd of the gold probability over runs",
        "utterances",
    ),
    "one_run_many": (
        "one-run-many",
        "label entropy within one run, LE_s, nats",
        "label entropy over the other runs, LE_m, nats",
        "utterances and traced runs",
    ),
    "map": (
        "confidence-map",
        "mean of the gold probability over runs",
        "sd of the gold probability over runs",
        "utterances",
    ),
}
COLUMNS, PANEL_WIDTH, PANEL_HEIGHT = 2, 300, 210
# A cell with one utterance must be visible.
FAINTEST = "#dbe7f0"

# The Pareto chart: its plot in pixels, and the strip on the left for arms without extra cost.
WIDTH, HEIGHT, STRIP, APART = 540, 270, 120, 10
COLORS = {"kept": ACCENT, "lost": WARNING, "shared": FAINT}
KINDS = {
    "kept": "all trained anew, accuracy kept",
    "lost": "accuracy lost",
    "shared": "runs share a teacher or first weights",
}
TICKS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
# Larger rises are triangles at the upper edge, with their number.
HIGHEST = 0.3
# Widest letter on average and distance of lines of text, in pixels; how far a label may move.
LETTER, LINE, MARK, FARTHEST = 5.6, 12.0, 5.0, 12


def cell_chart(picture: str, settings: Sequence[SettingResults], *, title: str) -> Chart | None:
    """Draw the counts of one of the paper's figures, a panel per setting.

    Args:
        picture: Name of the counts in the stored results, one of `CELL_CHARTS`.
        settings: Settings with a control.
        title: Text for readers who cannot see it.

    Returns:
        The chart; None if no setting kept these counts.
    """
    name, x_title, y_title, noun = CELL_CHARTS[picture]
    stored = {setting.title: setting.cells(picture) for setting in settings}
    panels = {key: cells for key, cells in stored.items() if cells is not None}
    if not panels:
        return None
    largest = max(count for cells in panels.values() for row in cells["counts"] for count in row)
    color = alt.Color(
        "count:Q",
        title=f"{noun} per cell",
        scale=alt.Scale(type="log", domain=[1, max(largest, 2)], range=[FAINTEST, ACCENT]),
        legend=alt.Legend(orient="top", values=[1, largest], format=",", gradientLength=120),
    )
    charts = [_panel(key, cells, color, x_title, y_title) for key, cells in panels.items()]
    return draw(alt.concat(*charts, columns=COLUMNS, spacing=24), name=name, title=title)


def _panel(
    title: str, cells: Mapping[str, Any], color: alt.Color, x_title: str, y_title: str
) -> alt.LayerChart:
    x, y = cells["x"], cells["y"]
    counts = [
        {"x": x[column], "x2": x[column + 1], "y": y[row], "y2": y[row + 1], "count": count}
        for row, line in enumerate(cells["counts"])
        for column, count in enumerate(line)
        if count
    ]
    axes = {
        "x": alt.X("x:Q", title=x_title, scale=alt.Scale(domain=[0, x[-1]], nice=False)),
        "y": alt.Y("y:Q", title=y_title, scale=alt.Scale(domain=[0, y[-1]], nice=False)),
    }
    layers: list[alt.Chart] = [
        alt.Chart(rows(counts)).mark_rect().encode(**axes, x2="x2:Q", y2="y2:Q", color=color)
    ]
    means = [
        {"x": (x[column] + x[column + 1]) / 2, "y": mean}
        for column, mean in enumerate(cells.get("means") or ())
        if mean is not None
    ]
    if means:
        line = alt.Chart(rows(means)).mark_line(color=WARNING, strokeWidth=1)
        layers.append(line.encode(**axes))
    return alt.layer(*layers, title=title, width=PANEL_WIDTH, height=PANEL_HEIGHT)


def pareto_chart(points: Sequence[Point], recommended: Collection[str], *, title: str) -> Chart:
    """Draw the change of the flip rate against the extra cost of training.

    Args:
        points: Every arm, the largest cuts first; at least one.
        recommended: Arms to label, in addition to the front, the paper's methods, and what rises
            out of the chart. All others are small marks.
        title: Text for readers who cannot see it.

    Returns:
        The chart.
    """
    front = pareto_front(points)
    above = [point for point in points if point.change > HIGHEST]
    others = [point for point in points if point.is_published or point.arm in recommended]
    # Labels placed first get the nearest places.
    named = list(dict.fromkeys((*above, *front, *others)))
    drawn = [point for point in points if point not in above]
    ends = [0.0, *(p.change for p in drawn), *(p.high for p in named if p not in above)]
    top = max(ends) + 0.06
    scale = _Scale(1.3 * max(0.3, *(point.cost for point in points)), top)
    places = scale.places(points)
    marks = [_mark(point, places[point.arm], is_named=point in named) for point in points]
    steps = [places[point.arm] for point in front]
    steps += [(float(WIDTH), y) for _, y in steps[-1:]]
    bars = [
        {"x": places[p.arm][0], "y": scale.y(p.high), "y2": scale.y(p.low), "kind": KINDS[p.kind]}
        for p in named
        if p not in above
    ]
    lines = [(bar["x"], bar["y"], bar["x"], bar["y2"]) for bar in bars]
    lines += [*_corners(steps), (0.0, scale.y(0.0), WIDTH, scale.y(0.0))]
    texts = [(_words(p), *places[p.arm], KINDS[p.kind]) for p in named]
    labels = list(placed(texts, places.values(), lines))
    return draw(_layers(scale, marks, bars, steps, labels), name="which-mitigation", title=title)


class _Scale:
    """Pixels from costs, on a logarithmic scale after a strip for none, and from changes."""

    def __init__(self, most: float, top: float) -> None:
        self.most, self.top = most, top

    def x(self, cost: float) -> float:
        if cost <= NO_COST:
            return STRIP / 2
        return STRIP + (WIDTH - STRIP) * math.log(cost / NO_COST) / math.log(self.most / NO_COST)

    def y(self, change: float) -> float:
        return HEIGHT * (self.top - min(change, self.top)) / (self.top + 1)

    def places(self, points: Sequence[Point]) -> dict[str, Place]:
        """Place of each arm; those without extra cost make room for each other."""
        places: dict[str, Place] = {}
        for point in points:
            x, y = self.x(point.cost), self.y(point.change)
            if point.cost <= NO_COST:
                near = [other for other, height in places.values() if abs(height - y) < APART]
                steps = (x + APART * step * side for step in range(6) for side in (1, -1))
                x = next((at for at in steps if all(abs(at - o) >= APART for o in near)), x)
            places[point.arm] = x, y
        return places


def _words(point: Point) -> str:
    return point.title + (f" (+{100 * point.change:.0f} %)" if point.change > HIGHEST else "")


def _mark(point: Point, place: Place, *, is_named: bool) -> dict[str, Any]:
    shape = "triangle-up" if point.change > HIGHEST else "circle" if point.is_honest else "diamond"
    size = (60 if shape != "circle" else 40) if is_named else (24 if shape != "circle" else 14)
    fill = GROUND if shape == "diamond" else COLORS[point.kind]
    x, y = place
    return {"x": x, "y": y, "shape": shape, "size": size, "fill": fill, "kind": KINDS[point.kind]}


def _corners(steps: Sequence[Place]) -> list[Box]:
    """Level and falling parts of the front."""
    boxes: list[Box] = []
    for (x, y), (end, below) in pairwise(steps):
        boxes += [(x, y, end, y), (end, y, end, below)]
    return boxes


def placed(
    labels: Sequence[tuple[str, float, float, str]], marks: Collection[Place], lines: Sequence[Box]
) -> Iterator[dict[str, Any]]:
    """Place labels next to their marks so that none covers another label or a mark.

    Args:
        labels: Text, place of its mark, and kind; those that matter most first.
        marks: Places of all marks.
        lines: Boxes of lines, which are avoided where there is room.

    Yields:
        Text with the place of its left end, and the place of the mark if the label is far from it;
        a label without a free place is left out.
    """
    taken = [(x - MARK, y - MARK, x + MARK, y + MARK) for x, y in marks]
    for words, x, y, kind in labels:
        width = LETTER * len(words)
        lefts = [
            (x + side if side > 0 else x + side - width, y + up, abs(up))
            for away in range(FARTHEST)
            for up in dict.fromkeys((-LINE * away, LINE * away))
            for side in ((8, -8) if away < 2 else (14, -14))
        ]
        for blocked in ([*taken, *lines], taken):
            free = [
                (left, middle, far)
                for left, middle, far in lefts
                if left >= 0 and left + width <= WIDTH + 8 and 6 <= middle <= HEIGHT - 6
                and not any(_meet((left, middle - 6, left + width, middle + 6), b) for b in blocked)
            ]  # fmt: skip
            if free:
                left, middle, far = free[0]
                taken.append((left, middle - 6, left + width, middle + 6))
                end = left - 2 if left > x else left + width + 2
                lead = {"mark_x": x, "mark_y": y, "end": end} if far > LINE else {}
                yield {"text": words, "x": left, "y": middle, "kind": kind, **lead}
                break


def _meet(box: Box, other: Box) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]


def _layers(
    scale: _Scale,
    marks: list[dict[str, Any]],
    bars: list[dict[str, Any]],
    steps: Sequence[Place],
    labels: list[dict[str, Any]],
) -> alt.LayerChart:
    x_ticks = {round(scale.x(0.0)): "none"}
    x_ticks |= {round(scale.x(tick)): f"+{100 * tick:g} %" for tick in TICKS if tick <= scale.most}
    levels = [percent for percent in range(-100, 40, 20) if percent / 100 <= scale.top]
    y_ticks = {round(scale.y(level / 100)): f"{level:+d} %".replace("-", "−") for level in levels}
    y_ticks[round(scale.y(0.0))] = "0 %"
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[0, WIDTH], nice=False),
        axis=_axis(x_ticks, "extra cost of training, the encoder counted, where it costs most"),
    )
    y = alt.Y(
        "y:Q",
        scale=alt.Scale(domain=[HEIGHT, 0], nice=False),
        axis=_axis(y_ticks, "change of the flip rate, where it is cut least"),
    )
    color = alt.Color(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=list(KINDS.values()), range=list(COLORS.values())),
        legend=alt.Legend(orient="top", symbolType="circle", symbolFillColor=None),
    )
    plain = {"x": x, "y": y}
    path = [{"x": left, "y": height, "order": place} for place, (left, height) in enumerate(steps)]
    leads = [
        {**label, "x": label["mark_x"], "y": label["mark_y"], "x2": label["end"], "y2": label["y"]}
        for label in labels
        if "end" in label
    ]
    ends = {"x2": "x2:Q", "y2": "y2:Q"}
    text = {"align": "left", "baseline": "middle"}
    step = {"interpolate": "step-after", "opacity": 0.6, "strokeWidth": 1}
    marked = alt.Chart(rows(marks)).mark_point(opacity=1, strokeWidth=1.5)
    written = alt.Chart(rows(labels)).encode(**plain, text="text:N")
    return alt.layer(
        alt.Chart(rows([{"y": scale.y(0.0)}])).mark_rule(color=FAINT).encode(y=y),
        alt.Chart(rows(path)).mark_line(color=ACCENT, **step).encode(**plain, order="order:Q"),
        alt.Chart(rows(bars)).mark_rule(opacity=0.6).encode(**plain, y2="y2:Q", color=color),
        alt.Chart(rows(leads)).mark_rule(opacity=0.6).encode(**plain, **ends, color=color),
        marked.encode(
            **plain,
            color=color,
            fill=alt.Fill("fill:N", scale=None, legend=None),
            shape=alt.Shape("shape:N", scale=None, legend=None),
            size=alt.Size("size:Q", scale=None, legend=None),
        ),
        # A rim in the color of the background keeps lines away from letters.
        written.mark_text(**text, stroke=GROUND, strokeWidth=4),
        written.mark_text(**text).encode(color=color),
        width=WIDTH,
        height=HEIGHT,
    )


def _axis(labels: Mapping[int, str], title: str) -> alt.Axis:
    expression = "{" + ", ".join(f"'{place}': '{text}'" for place, text in labels.items()) + "}"
    return alt.Axis(title=title, values=list(labels), labelExpr=f"({expression})[datum.value]")
