"""Charts of the pages: counts in cells for the paper's figures, and the Pareto chart."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import altair as alt

from seedproof_reproductions.charts import ACCENT, FAINT, GROUND, WARNING, draw, rows
from seedproof_reproductions.figures import listed
from seedproof_reproductions.findings2023.decision_data import NO_COST, Point, pareto_front
from seedproof_reproductions.findings2023.names import title_of
from seedproof_reproductions.findings2023.published import published
from seedproof_reproductions.findings2023.reading import SettingResults
from seedproof_reproductions.page import Chart
from seedproof_reproductions.reading import lookup

Box: TypeAlias = tuple[float, float, float, float]
Row: TypeAlias = dict[str, Any]

COLUMNS, PANEL_WIDTH, PANEL_HEIGHT, N_TICKS = 2, 310, 220, 5
# A cell with one utterance must be visible.
FAINTEST = "#dbe7f0"

# The Pareto chart: its plot in pixels, and a strip on the left for arms without extra cost.
WIDTH, HEIGHT, STRIP, APART = 556, 274, 120, 10
COLORS = {"kept": ACCENT, "lost": WARNING, "shared": FAINT}
TICKS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
# Larger rises are triangles at the upper edge, with their number.
HIGHEST = 0.3
# Width of a letter, distance of lines, half a mark, and how many lines away a label may be.
LETTER, LINE, MARK, FARTHEST = 5.8, 12.0, 5.0, 12
# Above the plot: text, kind and shape of each entry, and its place.
LEGEND = (
    ("all trained anew, accuracy kept", "kept", "circle", 6, -28),
    ("accuracy lost", "lost", "circle", 226, -28),
    ("runs share a teacher or first weights", "shared", "diamond", 340, -28),
    ("largest cut for the cost", "kept", "stroke", 6, -12),
)


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
        alt.Chart(rows(counts)).mark_rect().encode(**axes, **ends, color=color),
        alt.Chart(rows(means)).mark_line(color=WARNING, strokeWidth=1).encode(**axes),
        title=title,
        width=PANEL_WIDTH,
        height=PANEL_HEIGHT,
    )


def pareto_chart(
    points: Sequence[Point], recommended: Collection[str], datasets: Sequence[str]
) -> Chart | None:
    """Draw the change of the flip rate against the extra cost of training; None without points."""
    if not points:
        return None
    front = pareto_front(points)
    above = [point for point in points if point.change > HIGHEST]
    others = [point for point in points if point.arm.is_published or point.arm.arm in recommended]
    # Only these have labels; those that are placed first get the nearest places.
    named = list(dict.fromkeys((*above, *front, *others)))
    ends = [point.high for point in named if point not in above]
    top = max((0.0, *ends, *(p.change for p in points if p not in above))) + 0.06
    most = 1.3 * max(0.3, *(point.cost for point in points))

    def across(cost: float) -> float:
        share = math.log(max(cost, NO_COST) / NO_COST) / math.log(most / NO_COST)
        return STRIP + (WIDTH - STRIP) * share if cost > NO_COST else STRIP / 2

    def down(change: float) -> float:
        return HEIGHT * (top - min(change, top)) / (top + 1)

    places: dict[Point, tuple[float, float]] = {}
    for point in points:
        x, y = across(point.cost), down(point.change)
        if point.cost <= NO_COST:
            # Arms without extra cost make room for each other.
            near = [other for other, height in places.values() if abs(height - y) < APART]
            steps = (x + APART * step * side for step in range(6) for side in (1, -1))
            x = next((at for at in steps if all(abs(at - o) >= APART for o in near)), x)
        places[point] = x, y
    marks = [_mark(point, *places[point], is_named=point in named) for point in points]
    bars: list[Row] = [
        {"x": places[p][0], "y": down(p.high), "y2": down(p.low), "kind": p.kind}
        for p in named
        if p not in above
    ]
    path = [places[point] for point in front]
    path += [(float(WIDTH), y) for _, y in path[-1:]]
    lines: list[Box] = [(bar["x"], bar["y"], bar["x"], bar["y2"]) for bar in bars]
    lines += [(x, y, end, y) for (x, y), (end, _) in pairwise(path)]
    lines += [(end, y, end, below) for (_, y), (end, below) in pairwise(path)]
    lines.append((0.0, down(0.0), WIDTH, down(0.0)))
    labels = [(_words(point), *places[point], point.kind) for point in named]
    x_ticks = {across(tick): f"+{100 * tick:g} %" for tick in TICKS if tick <= most}
    percents = [percent for percent in range(-100, 40, 20) if percent / 100 <= top]
    y_ticks = {down(p / 100): f"{p:+d} %".replace("-", "−") if p else "0 %" for p in percents}
    content: dict[str, list[Row]] = {
        "zero": [{"x": 0, "y": down(0.0), "x2": WIDTH, "y2": down(0.0)}],
        "front": [{"x": x, "y": y, "order": order} for order, (x, y) in enumerate(path)],
        "bars": bars,
        "marks": marks,
        "labels": list(placed(labels, places.values(), lines)),
    }
    chart = _layers(content, {STRIP / 2: "none", **x_ticks}, y_ticks)
    title = f"Change of the flip rate against the extra cost of training, on {listed(datasets)}."
    return draw(chart, name="which-mitigation", title=title)


def _words(point: Point) -> str:
    rise = f" (+{100 * point.change:.0f} %)" if point.change > HIGHEST else ""
    return f"{title_of(point.arm.arm)}{rise}"


def _mark(point: Point, x: float, y: float, *, is_named: bool) -> Row:
    shape = "circle" if point.arm.is_honest else "diamond"
    size = {"circle": (14, 40), "diamond": (24, 60)}[shape][is_named]
    shape = "triangle-up" if point.change > HIGHEST else shape
    fill = GROUND if shape == "diamond" else COLORS[point.kind]
    return {"x": x, "y": y, "shape": shape, "size": size, "fill": fill, "kind": point.kind}


def placed(
    labels: Sequence[tuple[str, float, float, str]],
    marks: Collection[tuple[float, float]],
    lines: Sequence[Box],
) -> Iterator[Row]:
    """Place texts next to their marks: off other texts and marks, and off lines if possible."""
    taken = [(x - MARK, y - MARK, x + MARK, y + MARK) for x, y in marks]
    for words, x, y, kind in labels:
        width = LETTER * len(words)
        boxes = [
            (left, y + up - 6, left + width, y + up + 6)
            for away in range(FARTHEST)
            for up in dict.fromkeys((-LINE * away, LINE * away))
            for aside in (8 if away < 2 else 14,)
            for left in (x + aside, x - aside - width)
            if left >= 0 and left + width <= WIDTH + 8 and 6 <= y + up <= HEIGHT - 6
        ]
        free = [box for box in boxes if not any(_meet(box, other) for other in (*taken, *lines))]
        free = free or [box for box in boxes if not any(_meet(box, other) for other in taken)]
        if free:
            left, upper, right, lower = free[0]
            middle = (upper + lower) / 2
            taken.append(free[0])
            end = left - 2 if left > x else right + 2
            lead = {"x3": x, "y3": y, "x2": end, "y2": middle} if abs(middle - y) > LINE else {}
            yield {"text": words, "x": left, "y": middle, "kind": kind, **lead}


def _meet(box: Box, other: Box) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]


def _layers(
    content: Mapping[str, list[Row]], x_ticks: Mapping[float, str], y_ticks: Mapping[float, str]
) -> alt.LayerChart | alt.FacetChart:
    def axis(channel: Any, ends: list[float], ticks: Mapping[float, str], title: str) -> Any:  # noqa: ANN401 - altair
        texts = ", ".join(f"'{round(place)}': '{text}'" for place, text in ticks.items())
        expression = f"({{{texts}}})[round(datum.value)]"
        return channel(
            f"{channel.__name__.lower()}:Q",
            scale=alt.Scale(domain=ends, nice=False),
            axis=alt.Axis(title=title, values=list(ticks), labelExpr=expression),
        )

    cost = "extra cost of training, the encoder counted, where it costs most"
    x = axis(alt.X, [0, WIDTH], x_ticks, cost)
    y = axis(alt.Y, [HEIGHT, 0], y_ticks, "change of the flip rate, where it is cut least")
    scale = alt.Scale(domain=list(COLORS), range=list(COLORS.values()))
    color = alt.Color("kind:N", scale=scale, legend=None)
    place, ends = {"x": x, "y": y}, {"x2": "x2:Q", "y2": "y2:Q"}
    marks, labels = list(content["marks"]), content["labels"]
    leads = [{**row, "x": row["x3"], "y": row["y3"]} for row in labels if "x3" in row]
    for words, kind, shape, left, up in LEGEND:
        fill = GROUND if shape == "diamond" else COLORS[kind]
        marks.append({"x": left, "y": up, "shape": shape, "size": 60, "fill": fill, "kind": kind})
        labels.append({"text": words, "x": left + 9, "y": up, "kind": kind})
    bars = alt.Chart(rows(content["bars"])).mark_rule(opacity=0.6)
    written = alt.Chart(rows(labels)).encode(**place, text="text:N")
    text: Row = {"align": "left", "baseline": "middle"}
    line: Row = {"color": ACCENT, "interpolate": "step-after", "opacity": 0.6, "strokeWidth": 1}
    return alt.layer(
        alt.Chart(rows(content["zero"])).mark_rule(color=FAINT).encode(**place, **ends),
        alt.Chart(rows(content["front"])).mark_line(**line).encode(**place, order="order:Q"),
        bars.encode(**place, y2="y2:Q", color=color),
        alt.Chart(rows(leads)).mark_rule(opacity=0.6).encode(**place, **ends, color=color),
        alt.Chart(rows(marks)).mark_point(opacity=1, strokeWidth=1.5).encode(
            **place,
            color=color,
            fill=alt.Fill("fill:N", scale=None),
            shape=alt.Shape("shape:N", scale=None),
            size=alt.Size("size:Q", scale=None),
        ),
        # A rim in the color of the background keeps lines away from letters.
        written.mark_text(**text, stroke=GROUND, strokeWidth=4),
        written.mark_text(**text).encode(color=color),
        width=WIDTH,
        height=HEIGHT,
    )  # fmt: skip
