"""How figures and effects are written on a page."""

import math
import re
from collections.abc import Iterable, Sequence
from statistics import median

from seedproof.comparison.effect import Effect
from seedproof.measurement.intervals import Estimate
from seedproof.metrics.card import Unit, card
from seedproof.report.comparison import amounts
from seedproof.report.numbers import MINUS, NO_BREAK, bracketed, sign

MISSING = "–"
UNTOLD = "cannot be told with so few runs"
# A ratio that may be a fifth as well as five says nothing.
TOLD_WITHIN = 5.0
UNTOLD_MEANS = (
    f"*{UNTOLD[0].upper()}{UNTOLD[1:]}*: the interval excludes neither a cut to a fifth nor a rise "
    "to five times as much."
)
# What `number` gives to each unit.
DIGITS = {"percent": 1, "points": 2, "probability": 3, "nats": 3, "score": 3}
# Ends of an interval that are closer than so many units of the last digit get one digit more.
APART, MORE_DIGITS, ROUNDING = 3.0, 1, 1e-9


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, in whose cells an interval is not broken."""
    lines = [header, ["---"] * len(header), *rows]
    text = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
    return re.sub(r"\[([^],]+), ([^]]+)\]", rf"[\1,{NO_BREAK}\2]", text)


def figure(metric: str, estimate: Estimate | None) -> str:
    """A figure with its unit and interval, such as "8.9 % [5.7, 14.0]"; its ends are told apart."""
    if estimate is None:
        return MISSING
    unit = card(metric).unit
    if estimate.low is None or estimate.high is None:
        return bracketed(estimate, unit)
    factor = 100.0 if sign(unit) else 1.0
    value, low, high = (factor * x for x in (estimate.value, estimate.low, estimate.high))
    digits = _digits(high - low, unit)
    if digits == DIGITS[unit]:
        return bracketed(estimate, unit)
    value_text, *ends = (f"{x:.{digits}f}".replace("-", MINUS) for x in (value, low, high))
    return f"{value_text}{sign(unit)} [{', '.join(ends)}]"


def _digits(width: float, unit: Unit) -> int:
    """Digits after the point that an interval of this width needs: the usual, or one more."""
    usual = DIGITS[unit]
    if width <= 0.0:
        return usual
    needed = math.ceil(math.log10(APART / width) - ROUNDING)
    return min(max(needed, usual), usual + MORE_DIGITS)


def changed(effect: Effect | None) -> str:
    """A change with its interval, such as "−50 % [−68, −20]"; words where that says nothing."""
    if effect is None:
        return MISSING
    if is_untold(effect):
        return UNTOLD
    return " ".join(part for part in (amounts.change(effect), _ends(effect)) if part)


def is_untold(effect: Effect) -> bool:
    """Whether a ratio may be small as well as large, so that its value says nothing."""
    if effect.scale != "ratio" or effect.low is None:
        return False
    is_open_above = effect.high is None or effect.high > TOLD_WITHIN
    return effect.low < 1 / TOLD_WITHIN and is_open_above


def _ends(effect: Effect) -> str:
    """Its interval; an end that rounds to no change keeps its side, as the verdict does."""
    text = amounts.ends(effect)
    if effect.low is None or effect.high is None:
        return text
    nothing = 1.0 if effect.scale == "ratio" else 0.0
    both = zip((effect.low, effect.high), text.strip("[]").split(", "), strict=True)
    ends = [
        found
        if found.strip("0.") or end == nothing
        else f"{'+' if end > nothing else MINUS}{found}"
        for end, found in both
    ]
    return f"[{', '.join(ends)}]"


def judged(effect: Effect | None) -> str:
    """A change with its interval and what `compare` says of it."""
    if effect is None:
        return MISSING
    return UNTOLD if is_untold(effect) else f"{changed(effect)}, {effect.verdict}"


def clauses(effects: Iterable[tuple[str, Effect | None]]) -> str:
    """What arms do to a figure that was named, in a sentence no stronger than their verdicts.

    Args:
        effects: Each arm, by the name that people read, and what it changes.

    Returns:
        A sentence; nothing without an arm.
    """
    told: dict[str, list[str]] = {}
    for arm, effect in effects:
        kind, text = _clause(arm, effect)
        told.setdefault(kind, []).append(text)
    text = "; ".join(f"{kind} {listed(texts)}" for kind, texts in told.items())
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _clause(arm: str, effect: Effect | None) -> tuple[str, str]:
    """How a sentence begins, and how it goes on for this arm."""
    if effect is None or effect.verdict in {"too few runs", "not tested"}:
        return "no verdict is possible with", arm
    if not effect.is_shown:
        return "no difference is shown with", f"{arm} ({changed(effect)})"
    verb = "a cut" if amounts.direction(effect) == "falls" else "a rise"
    return f"{verb} is shown:", f"{amounts.size(effect)} with {arm}"


def epochs(values: Sequence[float]) -> str:
    """Epochs of several runs: the median and the range, such as "18 (14 to 20)"."""
    if not values:
        return MISSING
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{median(values):g} ({low:g} to {high:g})"


def in_all(count: int) -> str:
    """In how many comparisons a verdict is the same: nothing for a single one."""
    if count < 2:
        return ""
    return ", in both comparisons" if count == 2 else f", in all {count} comparisons"


def listed(names: Sequence[str]) -> str:
    """Names as people list them."""
    if len(names) < 2:
        return "".join(names)
    return ", ".join(names[:-1]) + " and " + names[-1]


def paragraphs(texts: Iterable[str]) -> str:
    """Blocks of the page, with a blank line between them; empty ones are left out."""
    return "\n\n".join(text for text in texts if text)
