"""How figures and effects are written on the page."""

import re
from collections.abc import Iterable, Sequence
from statistics import median

from seedproof.comparison.effect import Effect
from seedproof.measurement.intervals import Estimate
from seedproof.metrics.card import card
from seedproof.papers.conll2019.names import ARMS
from seedproof.report.comparison import amounts
from seedproof.report.numbers import NO_BREAK, bracketed

MISSING = "–"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, in whose cells an interval is not broken."""
    lines = [header, ["---"] * len(header), *rows]
    text = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
    return re.sub(r"\[([^],]+), ([^]]+)\]", rf"[\1,{NO_BREAK}\2]", text)


def figure(metric: str, estimate: Estimate | None) -> str:
    """A figure with its unit and interval, such as "8.9 % [5.7, 14.0]"."""
    return MISSING if estimate is None else bracketed(estimate, card(metric).unit)


def changed(effect: Effect | None) -> str:
    """A change with its interval, such as "−50 % [−68, −20]"."""
    if effect is None:
        return MISSING
    return " ".join(part for part in (amounts.change(effect), amounts.ends(effect)) if part)


def judged(effect: Effect | None) -> str:
    """A change with its interval and what `compare` says of it."""
    return MISSING if effect is None else f"{changed(effect)}, {effect.verdict}"


def clauses(effects: Iterable[tuple[str, Effect | None]]) -> str:
    """What arms do to a figure that was named, in a sentence no stronger than their verdicts."""
    told: dict[str, list[str]] = {}
    for arm, effect in effects:
        kind, text = _clause(ARMS[arm], effect)
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


def listed(names: Sequence[str]) -> str:
    """Names as people list them."""
    if len(names) < 2:
        return "".join(names)
    return ", ".join(names[:-1]) + " and " + names[-1]


def paragraphs(texts: Iterable[str]) -> str:
    """Blocks of the page, with a blank line between them; empty ones are left out."""
    return "\n\n".join(text for text in texts if text)
