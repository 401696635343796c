"""Text for effects: a change in percent or points, its interval, the smallest detectable effect."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from seedproof.metrics.card import card
from seedproof.report.numbers import MINUS, NO_BREAK, TOO_WIDE, number, number_format, sign
from seedproof.stats.effect import Effect

NONE = "–"


def figure(metric: str, value: float) -> str:
    """Return the value of a metric with its unit."""
    about = card(metric)
    return number(value, about.unit) + sign(about.unit)


def change(effect: Effect) -> str:
    """Return a change with its unit: "−50 %" for a ratio, "+0.20 pts" for a difference."""
    return NONE if effect.value is None else _signed(effect, effect.value) + unit(effect)


def ends(effect: Effect) -> str:
    """Return an interval such as "[−68, −20]"; empty if there is none."""
    if effect.low is None:
        return ""
    if effect.is_too_wide:
        return TOO_WIDE
    # A ratio to a baseline of 0 has no upper end.
    high = "+∞" if effect.high is None else _signed(effect, effect.high)
    return f"[{_signed(effect, effect.low)}, {high}]"


def change_with_ends(effect: Effect) -> str:
    """Return a change and its interval, such as "−50 % [−68, −20]"."""
    return f"{change(effect)} {ends(effect)}".strip()


def changes(effects: Sequence[Effect]) -> str:
    """Return the range of several changes, or a single one with its interval."""
    if len(effects) == 1:
        return change_with_ends(effects[0])
    values = [(effect.value, effect) for effect in effects if effect.value is not None]
    return f"{_range(values, _signed)}{unit(values[0][1])}" if values else NONE


def values(effects: Sequence[Effect]) -> str:
    """Return the range of several changes without an interval, such as "−0.1 to −0.3"."""
    valued = [(effect.value, effect) for effect in effects if effect.value is not None]
    return f"{_range(valued, _signed)}{unit(valued[0][1])}" if valued else NONE


def is_in_points(effect: Effect) -> bool:
    """Return whether a change is a difference of shares."""
    return effect.scale == "difference" and bool(unit(effect))


def points(effects: Sequence[Effect]) -> str:
    """Return the sizes of differences of shares in words, such as "3.1 to 13.3 points"."""
    sizes = sorted(100 * abs(effect.value or 0.0) for effect in effects)
    n_digits = 1 if sizes[0] >= 0.05 else 2
    low, high = (f"{size:.{n_digits}f}" for size in (sizes[0], sizes[-1]))
    return f"{low if low == high else f'{low} to {high}'}{NO_BREAK}points"


def sizes(effects: Sequence[Effect]) -> str:
    """Return the same without signs; the interval of a fall is reversed: "50 % [20, 68]"."""
    values = [
        (abs(_moved(effect, effect.value)), effect)
        for effect in effects
        if effect.value is not None
    ]
    if not values:  # ratios to a baseline of 0
        return "an unbounded factor"
    text = f"{_range(values, lambda effect, _: _unsigned(effect))}{unit(values[0][1])}"
    return text + (_unsigned_ends(effects[0]) if len(effects) == 1 else "")


@dataclass(frozen=True)
class Amounts:
    """Effects of arms on one metric, written as one amount in a sentence."""

    effects: tuple[Effect, ...]
    write: Callable[[Sequence[Effect]], str]

    def __str__(self) -> str:
        return self.write(self.effects)


def smallest_detectable(effects: Sequence[Effect]) -> tuple[str, str]:
    """Return the smallest true effect that these runs can detect, such as ("reduction", "41 %")."""
    sizes = [(effect.detectable or 0.0, effect) for effect in effects if _detectable(effect)]
    if not sizes:
        return "", ""
    first = sizes[0][1]
    noun = "reduction" if first.scale == "ratio" else "difference"
    return noun, f"{_range(sizes, lambda effect, _: _detectable(effect))}{unit(first)}"


def detectable(effect: Effect) -> str:
    """Return the same in short: "−41 %" or "±0.43 pts"."""
    size = _detectable(effect)
    return f"{MINUS if effect.scale == 'ratio' else '±'}{size}{unit(effect)}" if size else ""


def margin(effect: Effect) -> str:
    """Return the margin within which a change does not matter: "10 %" or "0.50 pts"."""
    text = f"{100 * (effect.margin or 0.0):.3g}" if unit(effect) else f"{effect.margin or 0.0:.3g}"
    return text + unit(effect)


def confidence(effect: Effect) -> str:
    """Return the confidence of an interval, such as "95 %"; empty if there is none."""
    if effect.confidence is None:
        return ""
    return f"{100 * effect.confidence:.4g}{NO_BREAK}%"


def direction(effect: Effect) -> str:
    """Return "falls" or "rises"; from a baseline of 0 a metric can only rise."""
    is_fall = effect.value is not None and _moved(effect, effect.value) < 0
    return "falls" if is_fall else "rises"


def unit(effect: Effect) -> str:
    """Return the sign that follows a change; empty if there is none."""
    if effect.scale == "ratio":
        return f"{NO_BREAK}%"
    return sign("points") if card(effect.metric).unit in {"percent", "points"} else ""


def _range(effects: Sequence[tuple[float, Effect]], write: Callable[[Effect, float], str]) -> str:
    """Return the least and the largest value; a single one if both have the same text."""
    ordered = sorted(effects, key=lambda pair: pair[0])
    low, high = (write(effect, value) for value, effect in (ordered[0], ordered[-1]))
    return low if low == high else f"{low} to {high}"


def _unsigned_ends(effect: Effect) -> str:
    if effect.low is None or effect.high is None:
        return ""
    falls = direction(effect) == "falls"
    low, high = (effect.high, effect.low) if falls else (effect.low, effect.high)
    return f" [{_bare(effect, low, falls=falls)}, {_bare(effect, high, falls=falls)}]"


def _unsigned(effect: Effect) -> str:
    return _bare(effect, effect.value or 0.0, falls=direction(effect) == "falls")


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
        text = _difference(effect, moved)
    # A value that rounds to 0 has no sign.
    return text.replace("-", MINUS) if text.strip("-0.") else text.lstrip("-")


def _difference(effect: Effect, value: float) -> str:
    """Return a difference: in points, with three decimals, or with the digits of numbers."""
    if unit(effect):
        return f"{100 * value:.2f}"
    is_number = card(effect.metric).unit == "value"
    return format(value, number_format(value, "value") if is_number else ".3f")


def _detectable(effect: Effect) -> str:
    """Return the number alone; a ratio is given as the cut that is equally easy to detect.

    Empty if there is none, or if it is rounded to 0 (equal arms) or to a cut of 100 %.
    """
    least = effect.detectable
    if least is None:
        return ""
    if effect.scale == "ratio":
        text = f"{100 * (1 - 1 / least):.0f}"
        return "" if text in {"0", "100"} else text
    text = _difference(effect, least)
    return text if text.strip("0.") else ""
