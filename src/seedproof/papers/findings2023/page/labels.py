"""Names beside marks, each at the nearest place that is free."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from seedproof.papers.page.svg import text
from seedproof.papers.page.theme import GROUND

# How wide a letter is at most, on average, and how far lines of text are apart.
LETTER, LINE = 6.1, 12.0
MARK = 5.0
# So many lines up or down a name that is needed may stand, and one that is not.
FAR, NEAR = 9, 1

Box: TypeAlias = tuple[float, float, float, float]


@dataclass(frozen=True)
class Label:
    """A name beside a mark.

    Args:
        words: What is written.
        x: Where the mark is.
        y: Where the mark is.
        color: Of the words.
        is_needed: Whether it may stand far away, with a line; otherwise it is near or not at all.
    """

    words: str
    x: float
    y: float
    color: str
    is_needed: bool = True


def placed(labels: Sequence[Label], *, within: Box) -> Iterator[str]:
    """Names so that none covers another or a mark.

    Args:
        labels: Those that matter most first.
        within: Left, top, right and bottom of where they may stand.

    Yields:
        Words, and lines to those that stand far from their mark; a name without a free place is
        left out.
    """
    taken = [(one.x - MARK, one.y - MARK, one.x + MARK, one.y + MARK) for one in labels]
    for one in labels:
        for x, y, anchor in _places(one):
            left = x if anchor == "start" else x - LETTER * len(one.words)
            box = left, y - 9, left + LETTER * len(one.words), y + 3
            if _is_inside(box, within) and not any(_meet(box, other) for other in taken):
                taken.append(box)
                yield from _written(one, x, y, anchor)
                break


def _places(one: Label) -> Iterator[tuple[float, float, str]]:
    """Where a name may stand, the nearest first."""
    for away in range(FAR if one.is_needed else NEAR):
        aside = 8.0 if away < 2 else 14.0
        for up in dict.fromkeys((-LINE * away, LINE * away)):
            yield one.x + aside, one.y + 4 + up, "start"
            yield one.x - aside, one.y + 4 + up, "end"


def _written(one: Label, x: float, y: float, anchor: str) -> Iterator[str]:
    if abs(y - 4 - one.y) > LINE:
        end = x - 2 if anchor == "start" else x + 2
        path = f"M{one.x:.1f} {one.y:.1f}L{end:.1f} {y - 4:.1f}"
        yield f'<path d="{path}" stroke="{one.color}" stroke-width="0.7" opacity="0.7"/>'
    # A rim in the color of the ground keeps lines away from the letters.
    yield f'<g paint-order="stroke" stroke="{GROUND}" stroke-width="3">'
    yield text(x, y, one.words, anchor=anchor, color=one.color)
    yield "</g>"


def _is_inside(box: Box, within: Box) -> bool:
    return (
        within[0] <= box[0] and within[1] <= box[1] and box[2] <= within[2] and box[3] <= within[3]
    )


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
