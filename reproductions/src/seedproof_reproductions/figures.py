"""Figures, changes and intervals as text for the pages of reproduced papers."""

import math
from collections.abc import Callable, Sequence
from statistics import median

from seedproof.metrics.card import Unit, card
from seedproof.report.comparison import amounts
from seedproof.report.numbers import MINUS, NO_BREAK, bracketed, sign
from seedproof.stats.effect import Effect
from seedproof.stats.intervals import Estimate

MISSING = "–"
UNDETERMINED = "not determined with so few runs"
# A ratio that may be a fifth as well as five says nothing.
DETERMINED_WITHIN = 5.0
# Digits that the library's `number` gives to each unit.
DIGITS = {"percent": 1, "points": 2, "probability": 3, "nats": 3, "score": 3}
# Ends of an interval that are closer than so many units of the last digit get one digit more.
APART, MORE_DIGITS, ROUNDING = 3.0, 1, 1e-9


def figure(metric: str, estimate: Estimate | None) -> str:
    """A figure with its unit and interval, such as "8.9 % [5.7, 14.0]"; its ends always differ."""
    if estimate is None:
        return MISSING
    unit = card(metric).unit
    if estimate.low is None or estimate.high is None:
        return bracketed(estimate, unit)
    factor = 100.0 if sign(unit) else 1.0
    digits = _digits(factor * (estimate.high - estimate.low), unit)
    if digits == DIGITS[unit]:
        return bracketed(estimate, unit)
    return _with_ends(
        estimate, lambda value: f"{factor * value:.{digits}f}".replace("-", MINUS), sign(unit)
    )


def _digits(width: float, unit: Unit) -> int:
    """Digits after the point that an interval of this width needs: the usual, or one more."""
    usual = DIGITS[unit]
    if width <= 0.0:
        return usual
    needed = math.ceil(math.log10(APART / width) - ROUNDING)
    return min(max(needed, usual), usual + MORE_DIGITS)


def change(effect: Effect | None) -> str:
    """A change with its interval, such as "−50 % [−68, −20]"."""
    if effect is None:
        return MISSING
    if is_undetermined(effect):
        return UNDETERMINED
    return " ".join(part for part in (amounts.change(effect), _ends(effect)) if part)


def judged_change(effect: Effect | None) -> str:
    """A change with its interval and the verdict of `seedproof compare`, if it was tested."""
    if effect is None or is_undetermined(effect) or effect.verdict == "not tested":
        return change(effect)
    return f"{change(effect)}, {effect.verdict}"


def is_undetermined(effect: Effect) -> bool:
    """Return True for a ratio that may be small as well as large: its value says nothing."""
    if effect.scale != "ratio" or effect.low is None:
        return False
    is_open_above = effect.high is None or effect.high > DETERMINED_WITHIN
    return effect.low < 1 / DETERMINED_WITHIN and is_open_above


def _ends(effect: Effect) -> str:
    """Its interval; an end that rounds to no change keeps its sign, as the verdict does."""
    text = amounts.ends(effect)
    if effect.low is None or effect.high is None:
        return text
    nothing = 1.0 if effect.scale == "ratio" else 0.0
    both = zip((effect.low, effect.high), text.strip("[]").split(", "), strict=True)
    ends = [
        number
        if number.strip("0.") or end == nothing
        else f"{'+' if end > nothing else MINUS}{number}"
        for end, number in both
    ]
    return f"[{', '.join(ends)}]"


def cut(percent: float, *, digits: int | None = None) -> str:
    """A published cut as a change, such as "−31.4 %"; a negative cut is a rise."""
    number = f"{abs(percent):g}" if digits is None else f"{abs(percent):.{digits}f}"
    return f"{'+' if percent < 0 else MINUS}{number}{NO_BREAK}%"


def share(estimate: Estimate | None, *, digits: int = 0) -> str:
    """A share in percent, such as "83 % [55, 120]"."""
    return _with_ends(estimate, lambda value: _signed(100 * value, digits), f"{NO_BREAK}%")


def points(estimate: Estimate | None) -> str:
    """A difference of shares or probabilities, such as "15.2 pts [14.4, 16.0]"."""
    return _with_ends(estimate, lambda value: _signed(100 * value, 1), f"{NO_BREAK}pts")


def plain(estimate: Estimate | None) -> str:
    """A figure without a unit, such as "1.57 [1.49, 1.64]"."""
    return _with_ends(estimate, lambda value: _signed(value, 2))


def correlation(estimate: Estimate | None) -> str:
    """A correlation, such as "0.52 [0.49, 0.55]"."""
    return plain(estimate)


def _signed(value: float, digits: int) -> str:
    """A number whose minus sign is typographic; one that rounds to 0 has none."""
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text.replace("-", MINUS)


def _with_ends(estimate: Estimate | None, write: Callable[[float], str], unit: str = "") -> str:
    """A figure with its unit, and both ends of its interval if it has one."""
    if estimate is None:
        return MISSING
    ends = [write(end) for end in (estimate.low, estimate.high) if end is not None]
    return f"{write(estimate.value)}{unit}" + (f" [{', '.join(ends)}]" if len(ends) == 2 else "")


def multiple(cost: float | None) -> str:
    """A cost as a multiple of the control's, such as "1.06×"."""
    return MISSING if cost is None else f"{cost:.{2 if cost < 10 else 0}f}×"


def median_and_range(values: Sequence[float]) -> str:
    """The median and the range of what runs logged, such as "18 (14 to 20)"."""
    if not values:
        return MISSING
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{median(values):g} ({low:g} to {high:g})"


def listed(names: Sequence[str]) -> str:
    """Join names with commas and "and"."""
    if len(names) < 2:
        return "".join(names)
    return ", ".join(names[:-1]) + " and " + names[-1]
