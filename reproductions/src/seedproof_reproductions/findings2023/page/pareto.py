"""The Pareto picture: what arms cut against what their training costs."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from seedproof_reproductions.findings2023.names import title_of
from seedproof_reproductions.findings2023.page.goal import Candidate, candidates
from seedproof_reproductions.findings2023.page.labels import LETTER, Box, Label, placed
from seedproof_reproductions.findings2023.page.reading import SettingResults
from seedproof_reproductions.page.svg import image, text
from seedproof_reproductions.page.theme import ACCENT, FAINT, GRID, GROUND, INK, STYLE, WARNING

WIDTH, HEIGHT = 620, 360
LEFT, RIGHT, TOP, BOTTOM = 52, 608, 44, 318
# Costs no higher than this are drawn as none, side by side.
NOTHING = 0.005
GUTTER, BESIDE = 120, 10
# Rises above this are arrows at the edge, with their number.
HIGHEST = 0.3
# Marks without a name, beside the others.
SMALL = 0.6
TICKS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


@dataclass(frozen=True)
class Point:
    """An arm in the picture.

    Args:
        arm: Its name.
        title: What is written beside it.
        cost: Extra training as a share of one, on the data set where it costs most.
        change: Of the flip rate, on the data set where it is cut less.
        low: Where the interval of the change begins; that holds together with all arms'.
        high: Where it ends.
        is_honest: Whether its runs share nothing.
        keeps_accuracy: Whether no loss is shown.
        is_published: Whether it is one of the paper's methods.
    """

    arm: str
    title: str
    cost: float
    change: float
    low: float
    high: float
    is_honest: bool
    keeps_accuracy: bool
    is_published: bool

    @property
    def is_far_above(self) -> bool:
        """Whether the picture has no room for its rise."""
        return self.change > HIGHEST

    @property
    def words(self) -> str:
        """Its title, with the number of what the picture has no room for."""
        return f"{self.title} (+{100 * self.change:.0f} %)" if self.is_far_above else self.title

    @property
    def color(self) -> str:
        """By what it does to accuracy, then by what its runs share."""
        if not self.keeps_accuracy:
            return WARNING
        return ACCENT if self.is_honest else FAINT


def points_of(settings: Sequence[SettingResults]) -> tuple[Point, ...]:
    """Every arm that all settings with a head have.

    Args:
        settings: Our results.

    Returns:
        The largest cuts first; arms whose change or cost is not known are left out.
    """
    found = (_point(one) for one in candidates(settings))
    return tuple(one for one in found if one is not None)


def _point(one: Candidate) -> Point | None:
    effects = [found.effect_of_all(one.arm, "flip_rate") for found in one.settings]
    known = [effect for effect in effects if effect is not None and effect.value is not None]
    cost = one.cost("training")
    if len(known) < len(effects) or cost is None:
        return None
    worst = max(known, key=lambda effect: effect.value or 0.0)
    value = worst.value or 0.0
    low, high = (value if end is None else end for end in (worst.low, worst.high))
    return Point(
        one.arm,
        title_of(one.arm),
        cost - 1,
        value - 1,
        low - 1,
        high - 1,
        one.is_honest,
        one.keeps_accuracy,
        one.settings[0].of(one.arm)["group"] == "paper",
    )


def front(points: Sequence[Point]) -> tuple[Point, ...]:
    """Arms that no other beats: none costs no more and cuts more.

    Args:
        points: All arms; those that share something or lose accuracy have no part in it.

    Returns:
        What costs least first.
    """
    found: list[Point] = []
    able = [one for one in points if one.is_honest and one.keeps_accuracy]
    for one in sorted(able, key=lambda one: (max(one.cost, NOTHING), one.change)):
        if one.change < min((other.change for other in found), default=0.0):
            found.append(one)
    return tuple(found)


@dataclass(frozen=True)
class _Scale:
    """From costs and changes to places."""

    most: float
    top: float

    @classmethod
    def of(cls, points: Sequence[Point], named: Sequence[Point]) -> "_Scale":
        """Up to the largest rise that is no more than `HIGHEST`, with whole intervals."""
        most = max(one.cost for one in points)
        drawn = [one.change for one in points if not one.is_far_above]
        ends = [one.high for one in named if not one.is_far_above]
        return cls(1.3 * max(most, 0.3), max(0.0, *drawn, *ends, 0.0) + 0.06)

    def x(self, cost: float) -> float:
        if cost <= NOTHING:
            return LEFT + GUTTER / 2
        share = math.log(cost / NOTHING) / math.log(self.most / NOTHING)
        return LEFT + GUTTER + (RIGHT - LEFT - GUTTER) * share

    def y(self, change: float) -> float:
        return TOP + (BOTTOM - TOP) * (self.top - min(change, self.top)) / (self.top + 1)

    def places(self, points: Sequence[Point]) -> dict[str, tuple[float, float]]:
        """Where each arm is; those that cost nothing step aside for each other."""
        found: dict[str, tuple[float, float]] = {}
        for one in points:
            x, y = self.x(one.cost), self.y(one.change)
            if one.cost <= NOTHING:
                near = [there[0] for there in found.values() if abs(there[1] - y) < BESIDE]
                steps = (place * side for place in range(6) for side in (1, -1))
                free = (x + BESIDE * step for step in steps)
                x = next((at for at in free if all(abs(at - o) >= BESIDE for o in near)), x)
            found[one.arm] = x, y
        return found


def draw_pareto(points: Sequence[Point], title: str, recommended: Collection[str] = ()) -> str:
    """The picture as a file.

    Args:
        points: Every arm, at least one.
        title: For those who cannot see it.
        recommended: Arms that have a name beside them, with the front, the paper's methods and
            what rises out of the picture; all others are small marks.

    Returns:
        SVG that needs nothing from elsewhere.
    """
    best = front(points)
    others = [one for one in points if one.is_published or one.arm in recommended]
    above = [one for one in points if one.is_far_above]
    # The first get the nearest places: what has little room, then what nobody beats.
    named = list(dict.fromkeys((*above, *best, *others)))
    scale = _Scale.of(points, named)
    places = scale.places(points)
    parts = [STYLE, *_legend(), *_axes(scale), *_steps(best, places)]
    bars = _bars([one for one in named if not one.is_far_above], places, scale)
    parts += [
        f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" stroke="{color}" opacity="0.6"/>'
        for color, (x, high, _, low) in bars
    ]
    unnamed = [one for one in points if one not in named]
    parts += [_mark(one, places, size=SMALL) for one in unnamed]
    parts += [_mark(one, places) for one in named]
    zero = scale.y(0.0)
    parts += placed(
        [Label(one.words, *places[one.arm], one.color) for one in named],
        within=(LEFT, TOP, RIGHT + 8, BOTTOM),
        marks=[places[one.arm] for one in unnamed],
        lines=[
            *(box for _, box in bars),
            *_lines(best, places),
            (LEFT, zero, RIGHT, zero),
        ],
    )
    return image(WIDTH, HEIGHT, title, parts, ground=GROUND)


def _bars(
    points: Sequence[Point], places: Mapping[str, tuple[float, float]], scale: _Scale
) -> list[tuple[str, Box]]:
    """The interval of each arm: its color, and where it is."""
    return [
        (one.color, (x, scale.y(one.high), x, scale.y(one.low)))
        for one in points
        for x in places[one.arm][:1]
    ]


def _mark(one: Point, places: Mapping[str, tuple[float, float]], *, size: float = 1.0) -> str:
    x, y = places[one.arm]
    if one.is_far_above:
        return f'<path d="M{x:.1f} {y - 4:.1f}l4.5 8h-9z" fill="{one.color}"/>'
    return _shape(*places[one.arm], one.color, is_honest=one.is_honest, size=size)


def _legend() -> Iterator[str]:
    yield text(12, 16, "change of the flip rate, where it is cut less (lower is better)", color=INK)
    yield f'<path d="M430 12h24" stroke="{ACCENT}"/>'
    yield text(460, 16, "the largest cut for the cost", color=INK)
    x = 18.0
    for words, color, is_honest in (
        ("all trained anew, accuracy kept", ACCENT, True),
        ("accuracy lost", WARNING, True),
        ("runs share a teacher or first weights", FAINT, False),
    ):
        yield _shape(x, 31, color, is_honest=is_honest)
        yield text(x + 9, 35, words, color=INK)
        x += 26 + LETTER * len(words)


def _axes(scale: _Scale) -> Iterator[str]:
    for percent in range(-100, 40, 20):
        if percent / 100 <= scale.top:
            y = scale.y(percent / 100)
            color = FAINT if percent == 0 else GRID
            yield f'<path d="M{LEFT} {y:.1f}H{RIGHT}" stroke="{color}"/>'
            label = f"{percent:+d}".replace("-", "\N{MINUS SIGN}") if percent else "0"
            yield text(LEFT - 6, y + 4, f"{label} %", anchor="end", color=INK)
    yield text(LEFT + GUTTER / 2, BOTTOM + 15, "none", anchor="middle", color=INK)
    for tick in TICKS:
        if tick <= scale.most:
            x = scale.x(tick)
            yield f'<path d="M{x:.1f} {TOP}V{BOTTOM}" stroke="{GRID}"/>'
            yield text(x, BOTTOM + 15, f"+{100 * tick:g} %", anchor="middle", color=INK)
    words = "extra cost of training, the encoder counted, where it costs most"
    yield text((LEFT + RIGHT) / 2, HEIGHT - 8, words, anchor="middle", color=INK)


def _lines(best: Sequence[Point], places: Mapping[str, tuple[float, float]]) -> Iterator[Box]:
    """Where the front is level, and where it goes down."""
    found = [places[one.arm] for one in best]
    for (x, y), (end, below) in pairwise((*found, (RIGHT, BOTTOM))):
        yield x, y, end, y
        if end < RIGHT:
            yield end, y, end, below


def _steps(best: Sequence[Point], places: Mapping[str, tuple[float, float]]) -> Iterator[str]:
    """The front as steps: what one gets for at most so much."""
    if not best:
        return
    (x, y), *others = (places[one.arm] for one in best)
    path = f"M{x:.1f} {y:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in others)
    yield f'<path d="{path}H{RIGHT}" fill="none" stroke="{ACCENT}" opacity="0.6"/>'


def _shape(x: float, y: float, color: str, *, is_honest: bool, size: float = 1.0) -> str:
    """A dot, or an empty diamond where runs share something."""
    if is_honest:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{3.5 * size:.1f}" fill="{color}"/>'
    arm = f"{4.5 * size:.1f}"
    return (
        f'<path d="M{x:.1f} {y:.1f}m0 -{arm}l{arm} {arm}l-{arm} {arm}l-{arm} -{arm}z" '
        f'fill="{GROUND}" stroke="{color}" stroke-width="{1.5 * size:.1f}"/>'
    )
