"""Where the name of a point goes, so that names do not cover each other."""

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

# Where a name may go beside its point: side, and offset of its anchor in pixels.
SPOTS: tuple[tuple[str, int, int], ...] = (
    ("left", 9, -9),
    ("left", 9, 10),
    ("right", -9, -9),
    ("right", -9, 10),
    ("left", 9, -24),
    ("left", 9, 25),
    ("right", -9, -24),
    ("right", -9, 25),
    ("left", 9, -39),
    ("left", 9, 40),
)
CHARACTER, LINE = 7.2, 15


@dataclass(frozen=True)
class Place:
    """How large the part with points is expected to be, and whether costs are logarithmic."""

    width: float = 330
    height: float = 240
    is_log: bool = False


def placed(rows: Sequence[MutableMapping[str, Any]], place: Place) -> None:
    """Give each row the `spot` of its name: the first that covers least."""
    points = _points(rows, place)
    boxes: list[tuple[float, float, float, float]] = []
    for row, (x, y) in zip(rows, points, strict=True):
        width = CHARACTER * len(row["arm"])
        options = [_box(x, y, spot, width) for spot in SPOTS]
        costs = [_cost(box, boxes, points, place) for box in options]
        chosen = costs.index(min(costs))
        boxes.append(options[chosen])
        row["spot"] = list(SPOTS[chosen])


def _points(rows: Sequence[MutableMapping[str, Any]], place: Place) -> list[tuple[float, float]]:
    def ends(*names: str) -> list[float]:
        return [row[name] for row in rows for name in names if name in row]

    lefts = [log(x) if place.is_log else x for x in ends("x", "x_low", "x_high")]
    tops = ends("flips", "y_low", "y_high")
    across, down = max(lefts) - min(lefts) or 1.0, max(tops) - min(tops) or 1.0
    return [
        (
            place.width * ((log(row["x"]) if place.is_log else row["x"]) - min(lefts)) / across,
            place.height * (row["flips"] - min(tops)) / down,
        )
        for row in rows
    ]


def _box(
    x: float, y: float, spot: tuple[str, int, int], width: float
) -> tuple[float, float, float, float]:
    side, dx, dy = spot
    start = x + dx if side == "left" else x + dx - width
    return start, y + dy - LINE / 2, start + width, y + dy + LINE / 2


def _cost(
    box: tuple[float, float, float, float],
    boxes: Sequence[tuple[float, float, float, float]],
    points: Sequence[tuple[float, float]],
    place: Place,
) -> float:
    over = sum(
        max(0.0, min(box[2], other[2]) - max(box[0], other[0]))
        * max(0.0, min(box[3], other[3]) - max(box[1], other[1]))
        for other in boxes
    )
    hit = sum(
        60.0 for x, y in points if box[0] - 6 < x < box[2] + 6 and box[1] - 6 < y < box[3] + 6
    )
    outside = max(0.0, -box[0]) + max(0.0, box[2] - place.width)
    return over + hit + 20 * outside
