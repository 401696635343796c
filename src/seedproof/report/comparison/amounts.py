"""How an effect is written: a change in percent or in points, its interval, what would show."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from seedproof.metrics.card import card
from seedproof.report.numbers import MINUS, NO_BREAK, number, sign
from seedproof.stats.effect import Effect

NONE = "–"


class Written(str):
    """A number and its unit as text, which is also known without the unit of points.

    Args:
        number: The number.
        unit: What follows it.
    """

    __slots__ = ("narrow",)
    narrow: str

    def __new__(cls, number: str = "", unit: str = "") -> Self:
        """Put both together."""
        text = super().__new__(cls, number + unit)
        text.narrow = number if unit == sign("points") else number + unit
        return text


def change(effect: Effect) -> Written:
    """What changes, with its unit: "−50 %" of a ratio, "+0.20 pts" of a difference."""
    if effect.value is None:
        return Written(NONE)
    return Written(_signed(effect, effect.value), unit(effect))


def ends(effect: Effect) -> str:
    """Its interval, such as "[−68, −20]"; nothing without one."""
    if effect.low is None:
        return ""
    # From a baseline of 0 a ratio has no upper end.
    high = "+∞" if effect.high is None else _signed(effect, effect.high)
    return f"[{_signed(effect, effect.low)}, {high}]"


def size(effect: Effect) -> str:
    """The change without its sign, and its interval turned the same way: "50 % [20, 68]"."""
    if effect.value is None:
        return NONE
    falls = _moved(effect, effect.value) < 0
    values = [effect.value, effect.low, effect.high]
    texts = [None if x is None else _bare(effect, x, falls=falls) for x in values]
    low, high = (texts[2], texts[1]) if falls else (texts[1], texts[2])
    found = f"{texts[0]}{unit(effect)}"
    return found if low is None or high is None else f"{found} [{low}, {high}]"


def would_show(effects: Sequence[Effect]) -> str:
    """The smallest true effect that these runs would show, such as "a cut of 41 %"."""
    known = [effect for effect in effects if effect.detectable is not None]
    if not known:
        return ""
    ordered = sorted(known, key=lambda effect: effect.detectable or 0.0)
    span = _joined([_detectable(effect) for effect in (ordered[0], ordered[-1])])
    if known[0].scale == "ratio":
        return f"a cut of {span}{NO_BREAK}%"
    return f"a difference of {span}{unit(known[0])}"


def shows(effect: Effect) -> Written:
    """The same in short: "−41 %" or "±0.43 pts"."""
    if effect.detectable is None:
        return Written()
    sign_of = MINUS if effect.scale == "ratio" else "±"
    return Written(f"{sign_of}{_detectable(effect)}", unit(effect))


def direction(effect: Effect) -> str:
    """Whether the metric falls or rises; from a baseline of 0 it can only rise."""
    if effect.value is None:
        return "rises"
    return "falls" if effect.value < (1.0 if effect.scale == "ratio" else 0.0) else "rises"


def span(effects: Sequence[Effect]) -> str:
    """The smallest and the largest change of several, without their signs."""
    known = [effect for effect in effects if effect.value is not None]
    if not known:  # ratios to a baseline of 0
        return "more than can be said"
    ordered = sorted(known, key=lambda effect: abs(_moved(effect, effect.value or 0.0)))
    both = [_bare_size(effect, effect.value or 0.0) for effect in (ordered[0], ordered[-1])]
    return f"{_joined(both)}{unit(ordered[0])}"


def changes(effects: Sequence[Effect]) -> str:
    """The estimates of several effects, or one with its interval."""
    if len(effects) == 1:
        return f"{change(effects[0])} {ends(effects[0])}".strip()
    known = [effect for effect in effects if effect.value is not None]
    if not known:
        return NONE
    ordered = sorted(known, key=lambda effect: effect.value or 0.0)
    both = [_signed(effect, effect.value or 0.0) for effect in (ordered[0], ordered[-1])]
    return f"{_joined(both)}{unit(ordered[0])}"


def _joined(ends: Sequence[str]) -> str:
    """Two numbers as a range, or one if they are written alike."""
    low, high = ends
    return low if low == high else f"{low} to {high}"


def _bare_size(effect: Effect, value: float) -> str:
    return _bare(effect, value, falls=_moved(effect, value) < 0)


@dataclass(frozen=True)
class Amounts:
    """What arms change in one metric, for a sentence.

    Args:
        effects: The effects, at least one.
        write: Writes them: `changes`, `span` or `would_show`.
    """

    effects: tuple[Effect, ...]
    write: Callable[[Sequence[Effect]], str] = changes

    def __str__(self) -> str:
        return self.write(self.effects)


@dataclass(frozen=True)
class Size:
    """What one arm changes in one metric, for a sentence: without its sign.

    Args:
        effect: The effect.
    """

    effect: Effect

    def __str__(self) -> str:
        return size(self.effect)


def unit(effect: Effect) -> str:
    """What follows a change: a sign, or nothing."""
    if effect.scale == "ratio":
        return f"{NO_BREAK}%"
    return sign("points") if card(effect.metric).unit in {"percent", "points"} else ""


def in_percent(effect: Effect) -> float | None:
    """Reduction of a ratio in percent; negative where it rises."""
    return None if effect.value is None else 100 * (1 - effect.value)


def _moved(effect: Effect, value: float) -> float:
    return value - 1 if effect.scale == "ratio" else value


def _signed(effect: Effect, value: float) -> str:
    text = _bare(effect, value, falls=False)
    if text.startswith(MINUS) or not text.strip("0."):
        return text
    return f"+{text}"


def _bare(effect: Effect, value: float, *, falls: bool) -> str:
    moved = -_moved(effect, value) if falls else _moved(effect, value)
    if np.isinf(moved):
        return f"{MINUS}∞" if moved < 0 else "∞"
    if effect.scale == "ratio":
        digits = 0 if abs(moved) >= 0.0095 else 1
        text = f"{100 * moved:.{digits}f}"
    elif unit(effect):
        text = f"{100 * moved:.2f}"
    else:
        text = f"{moved:.3f}"
    if not text.strip("-0."):
        return text.lstrip("-")
    return text.replace("-", MINUS)


def _detectable(effect: Effect) -> str:
    """As a number without its unit. A ratio is told as the cut that is as easy to see."""
    assert effect.detectable is not None  # noqa: S101 - asked before
    if effect.scale == "ratio":
        return f"{100 * (1 - 1 / effect.detectable):.0f}"
    return f"{100 * effect.detectable:.2f}" if unit(effect) else f"{effect.detectable:.3f}"


def percent(share: float) -> str:
    """A share that may be negative, in percent."""
    return number(share, "percent") + sign("percent")


def figure(metric: str, value: float) -> Written:
    """A metric's own value with its unit."""
    about = card(metric)
    return Written(number(value, about.unit), sign(about.unit))
