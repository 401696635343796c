"""How an effect is written: a change in percent or in points, its interval, what would show."""

from collections.abc import Sequence

import numpy as np

from seedproof.comparison.effect import Effect
from seedproof.metrics.card import card
from seedproof.report.numbers import MINUS, NO_BREAK, number, sign

NONE = "–"


def change(effect: Effect) -> str:
    """What changes, with its unit: "−50 %" of a ratio, "+0.20 pts" of a difference."""
    if effect.value is None:
        return NONE
    return _signed(effect, effect.value) + unit(effect)


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
    found = sorted({_detectable(effect) for effect in known}, key=float)
    span = found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}"
    if known[0].scale == "ratio":
        return f"a cut of {span}{NO_BREAK}%"
    return f"a difference of {span}{unit(known[0])}"


def shows(effect: Effect) -> str:
    """The same in short: "−41 %" or "±0.43 pts"."""
    if effect.detectable is None:
        return ""
    sign_of = MINUS if effect.scale == "ratio" else "±"
    return f"{sign_of}{_detectable(effect)}{unit(effect)}"


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
    low, high = (size(one).split(" [")[0] for one in (ordered[0], ordered[-1]))
    return low if low == high else f"{low.removesuffix(unit(ordered[0]))} to {high}"


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


def figure(metric: str, value: float) -> str:
    """A metric's own value with its unit."""
    about = card(metric)
    return number(value, about.unit) + sign(about.unit)
