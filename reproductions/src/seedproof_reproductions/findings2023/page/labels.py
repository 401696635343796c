"""Names beside marks, each at the nearest place that is free."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from seedproof_reproductions.page.svg import text
from seedproof_reproductions.page.theme import GROUND

# How wide a letter is at most, on average, and how far lines of text are apart.
LETTER, LINE = 6.1, 12.0
MARK = 5.0
# So many lines up or down a name may stand.
FAR = 12
# How wide the rim is that keeps lines away from letters.
RIM = 4

Box: TypeAlias = tuple[float, float, float, float]


@dataclass(frozen=True)
class Label:
    """A name beside a mark.

    Args:
        words: What is written.
        x: Where the mark is.
        y: Where the mark is.
        color: Of the words.
    """

    words: str
    x: float
    y: float
    color: str


def placed(
    labels: Sequence[Label],
    *,
    within: Box,
    marks: Sequence[tuple[float, float]] = (),
    lines: Sequence[Box] = (),
) -> Iterator[str]:
    """Names so that none covers another or a mark, nor a line where there is room beside it.

    Args:
        labels: Those that matter most first.
        within: Left, top, right and bottom of where they may stand.
        marks: Places of marks without a name.
        lines: What is drawn beside marks, as boxes without width or height.

    Yields:
        Words, and lines to those that stand far from their mark; a name without a free place is
        left out.
    """
    places = [*((one.x, one.y) for one in labels), *marks]
    taken = [(x - MARK, y - MARK, x + MARK, y + MARK) for x, y in places]
    written: list[str] = []
    for one in labels:
        found = _free(one, within, [*taken, *lines]) or _free(one, within, taken)
        if found is not None:
            x, y, anchor = found
            taken.append(_box(one, x, y, anchor))
            yield from _led(one, x, y, anchor)
            written += _written(one, x, y, anchor)
    # Words are above all lines, also those that lead to other words.
    yield from written


def _free(one: Label, within: Box, taken: Sequence[Box]) -> tuple[float, float, str] | None:
    """The nearest place that nothing else has; None if there is none."""
    for place in _places(one):
        box = _box(one, *place)
        if _is_inside(box, within) and not any(_meet(box, other) for other in taken):
            return place
    return None


def _box(one: Label, x: float, y: float, anchor: str) -> Box:
    left = x if anchor == "start" else x - LETTER * len(one.words)
    return left, y - 9, left + LETTER * len(one.words), y + 3


def _places(one: Label) -> Iterator[tuple[float, float, str]]:
    """Where a name may stand, the nearest first."""
    for away in range(FAR):
        aside = 8.0 if away < 2 else 14.0
        for up in dict.fromkeys((-LINE * away, LINE * away)):
            yield one.x + aside, one.y + 4 + up, "start"
            yield one.x - aside, one.y + 4 + up, "end"


def _led(one: Label, x: float, y: float, anchor: str) -> Iterator[str]:
    """A line from a mark to a name that stands far from it."""
    if abs(y - 4 - one.y) > LINE:
        end = x - 2 if anchor == "start" else x + 2
        path = f"M{one.x:.1f} {one.y:.1f}L{end:.1f} {y - 4:.1f}"
        yield f'<path d="{path}" stroke="{one.color}" stroke-width="0.7" opacity="0.7"/>'


def _written(one: Label, x: float, y: float, anchor: str) -> Iterator[str]:
    """The words, with a rim in the color of the ground."""
    rim = f"paint-order:stroke;stroke:{GROUND};stroke-width:{RIM};stroke-linejoin:round"
    yield f'<g style="{rim}">'
    yield text(x, y, one.words, anchor=anchor, color=one.color)
    yield "</g>"


def _is_inside(box: Box, within: Box) -> bool:
    return (
        within[0] <= box[0] and within[1] <= box[1] and box[2] <= within[2] and box[3] <= within[3]
    )


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
