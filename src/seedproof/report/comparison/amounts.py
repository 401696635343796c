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
    """A number and its unit as text; `narrow` is the same without the unit of points."""

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
    falls = direction(effect) == "falls"
    values = (effect.value, effect.low, effect.high)
    value, *interval = (None if x is None else _bare(effect, x, falls=falls) for x in values)
    low, high = reversed(interval) if falls else interval
    text = f"{value}{unit(effect)}"
    return text if low is None or high is None else f"{text} [{low}, {high}]"


def would_show(effects: Sequence[Effect]) -> str:
    """The smallest true effect that these runs would show, such as "a cut of 41 %"."""
    sizes = [(effect.detectable, effect) for effect in effects if effect.detectable is not None]
    if not sizes:
        return ""
    first = sizes[0][1]
    noun = "cut" if first.scale == "ratio" else "difference"
    return f"a {noun} of {_range(sizes, lambda effect, _: _detectable(effect))}{unit(first)}"


def shows(effect: Effect) -> Written:
    """The same in short: "−41 %" or "±0.43 pts"."""
    if effect.detectable is None:
        return Written()
    sign_of = MINUS if effect.scale == "ratio" else "±"
    return Written(f"{sign_of}{_detectable(effect)}", unit(effect))


def direction(effect: Effect) -> str:
    """Whether the metric falls or rises; from a baseline of 0 it can only rise."""
    is_fall = effect.value is not None and _moved(effect, effect.value) < 0
    return "falls" if is_fall else "rises"


def span(effects: Sequence[Effect]) -> str:
    """The smallest and the largest change of several, without their signs."""
    sizes = [
        (abs(_moved(effect, effect.value)), effect)
        for effect in effects
        if effect.value is not None
    ]
    if not sizes:  # ratios to a baseline of 0
        return "more than can be said"

    def written(effect: Effect, _: float) -> str:
        return _bare(effect, effect.value or 0.0, falls=direction(effect) == "falls")

    return f"{_range(sizes, written)}{unit(sizes[0][1])}"


def changes(effects: Sequence[Effect]) -> str:
    """The estimates of several effects, or one with its interval."""
    if len(effects) == 1:
        return f"{change(effects[0])} {ends(effects[0])}".strip()
    values = [(effect.value, effect) for effect in effects if effect.value is not None]
    return f"{_range(values, _signed)}{unit(values[0][1])}" if values else NONE


def _range(effects: Sequence[tuple[float, Effect]], write: Callable[[Effect, float], str]) -> str:
    """The least and the largest of some values, or one of them if they are written alike."""
    ordered = sorted(effects, key=lambda pair: pair[0])
    low, high = (write(effect, value) for value, effect in (ordered[0], ordered[-1]))
    return low if low == high else f"{low} to {high}"


@dataclass(frozen=True)
class Amounts:
    """What arms change in one metric, for a sentence: all of them in one amount."""

    effects: tuple[Effect, ...]
    write: Callable[[Sequence[Effect]], str] = changes

    def __str__(self) -> str:
        return self.write(self.effects)


@dataclass(frozen=True)
class Size:
    """What one arm changes in one metric, for a sentence: without its sign."""

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
    return text if text.startswith(MINUS) or not text.strip("0.") else f"+{text}"


def _bare(effect: Effect, value: float, *, falls: bool) -> str:
    moved = -_moved(effect, value) if falls else _moved(effect, value)
    if np.isinf(moved):
        return f"{MINUS}∞" if moved < 0 else "∞"
    if effect.scale == "ratio":
        text = f"{100 * moved:.{0 if abs(moved) >= 0.0095 else 1}f}"
    else:
        text = f"{100 * moved:.2f}" if unit(effect) else f"{moved:.3f}"
    # What rounds to 0 has no sign.
    return text.replace("-", MINUS) if text.strip("-0.") else text.lstrip("-")


def _detectable(effect: Effect) -> str:
    """As a number without its unit. A ratio is told as the cut that is as easy to see."""
    least = effect.detectable or 0.0
    if effect.scale == "ratio":
        return f"{100 * (1 - 1 / least):.0f}"
    return f"{100 * least:.2f}" if unit(effect) else f"{least:.3f}"


def percent(share: float) -> str:
    """A share that may be negative, in percent."""
    return number(share, "percent") + sign("percent")


def figure(metric: str, value: float) -> Written:
    """A metric's own value with its unit."""
    about = card(metric)
    return Written(number(value, about.unit), sign(about.unit))
