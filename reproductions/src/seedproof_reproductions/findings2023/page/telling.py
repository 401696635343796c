"""How this paper's figures are written: shares of a cut, correlations, multiples of a cost."""

from collections.abc import Mapping, Sequence

from seedproof.comparison.effect import Effect
from seedproof.measurement.intervals import Estimate
from seedproof.report.numbers import MINUS, NO_BREAK
from seedproof_reproductions.page.words import MISSING, listed

KINDS = {
    "steadier": "a cut is shown",
    "less steady": "a rise is shown",
    "better": "a gain is shown",
    "worse": "a loss is shown",
    "too few runs": "there are too few runs for a verdict",
}
UNSHOWN = "no difference is shown"


def cut(percent: float) -> str:
    """A published cut as a change, such as "−31.4 %"; a negative one is a rise."""
    sign = "+" if percent < 0 else MINUS
    return f"{sign}{abs(percent):g}{NO_BREAK}%"


def share(estimate: Estimate | None) -> str:
    """A share of another's cut, such as "83 % [55, 120]"."""
    if estimate is None:
        return MISSING
    text = f"{_percent(estimate.value)}{NO_BREAK}%"
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} [{_percent(estimate.low)}, {_percent(estimate.high)}]"


def _percent(value: float) -> str:
    text = f"{100 * value:.0f}"
    return "0" if not text.strip("-0") else text.replace("-", MINUS)


def correlation(estimate: Estimate | None) -> str:
    """A correlation, such as "0.52 [0.49, 0.55]"."""
    if estimate is None:
        return MISSING
    value, *ends = (
        f"{x:.2f}".replace("-", MINUS)
        for x in (estimate.value, estimate.low, estimate.high)
        if x is not None
    )
    return f"{value} [{', '.join(ends)}]" if len(ends) == 2 else value


def multiple(cost: float | None) -> str:
    """A cost as a multiple of the control's, such as "1.06×"."""
    if cost is None:
        return MISSING
    digits = 2 if cost < 10 else 0
    return f"{cost:.{digits}f}×"


def outcome(effects: Mapping[str, Effect | None]) -> str:
    """What several settings show, in words no stronger than their verdicts.

    Args:
        effects: By the setting's title.

    Returns:
        Such as "a cut is shown on CLINC150, no difference is shown on MASSIVE"; nothing without an
        effect.
    """
    told: dict[str, list[str]] = {}
    for title, effect in effects.items():
        if effect is not None:
            told.setdefault(KINDS.get(effect.verdict, UNSHOWN), []).append(title)
    return ", ".join(f"{kind} on {listed(titles)}" for kind, titles in told.items())


def joined(parts: Sequence[str]) -> str:
    """Sentences one after the other; empty ones are left out."""
    return " ".join(part for part in parts if part)
