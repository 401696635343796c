"""What an arm changes in one metric: a ratio or a difference, with its interval and its power."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from seedproof.messages import Message
from seedproof.metrics.card import card
from seedproof.stats.distributions import normal_quantile, student_quantile
from seedproof.stats.intervals import TAIL, Over

POWER = 0.8
# Means that say how good the runs are; everything else says how steady they are.
QUALITY = frozenset({"accuracy", "nll", "brier", "ece", "mce"})
# Agreements near 1 hardly have a ratio; like means they are compared by their difference.
AGREEMENTS = frozenset({"explanation_overlap", "explanation_tau", "explanation_rbo"})
# Among them those between 0 and 1, whose differences are never beyond one.
SHARES = frozenset({"accuracy", "ece", "mce", "explanation_overlap", "explanation_rbo"})

Scale: TypeAlias = Literal["ratio", "difference"]
Verdict: TypeAlias = Literal[
    "steadier",
    "less steady",
    "better",
    "worse",
    "no difference shown",
    "too few runs",
    "not tested",
]


@dataclass(frozen=True, slots=True)
class Effect:
    """What an arm changes in one metric, against the baseline.

    Args:
        metric: Name of the metric.
        scale: `ratio` of the arm to the baseline for what says how steady it is, `difference` for
            what says how good it is.
        value: The ratio or the difference; None for a ratio to a baseline of 0.
        low: Lower end of the interval, adjusted for the number of arms; None without one.
        high: Its upper end.
        over: What the interval is over.
        detectable: The smallest true effect that these runs would show in 80 of 100 studies: a
            ratio above 1, whose inverse is as easy to see, or a difference above 0.
        verdict: What may be said.
        note: Why there is no interval; None if there is one.

    Examples:
        >>> import seedproof as sp
        >>> sp.Effect(
        ...     "flip_rate", "ratio", 0.5, low=0.4, high=0.7, verdict="steadier"
        ... ).is_shown
        True
    """

    metric: str
    scale: Scale
    value: float | None
    low: float | None = None
    high: float | None = None
    over: Over | None = None
    detectable: float | None = None
    verdict: Verdict = "not tested"
    note: Message | None = None

    @property
    def is_shown(self) -> bool:
        """Whether the interval excludes that nothing changes."""
        return self.verdict in {"steadier", "less steady", "better", "worse"}

    def summary(self) -> dict[str, Any]:
        """Return plain data, with the text of the note."""
        return asdict(self) | {"note": "" if self.note is None else str(self.note)}


@dataclass(frozen=True, slots=True)
class Contrast:
    """Arm less baseline on the scale of its interval: the logarithm for ratios.

    Args:
        center: The difference on that scale.
        run_variance: Its variance over runs.
        df: Degrees of freedom of that variance.
        example_variance: What drawing examples adds.
        doubt: What is unknown beside: it widens the interval, whatever the confidence.
        error: The most that the center is off by because of what was not kept: added whole.
        over: What both are over.
    """

    center: float
    run_variance: float
    df: float
    example_variance: float = 0.0
    doubt: float = 0.0
    error: float = 0.0
    over: Over = "runs × examples"

    def half_width(self, tail: float) -> float:
        """Half of the interval that leaves out `tail` on each side."""
        student, normal = student_quantile(self.df, 1 - tail), normal_quantile(1 - tail)
        spread = student**2 * self.run_variance + normal**2 * self.example_variance
        return float(np.sqrt(spread + self.doubt**2)) + self.error

    def detectable(self, tail: float) -> float:
        """The smallest true difference that is shown with a probability of `POWER`."""
        error = np.sqrt(self.run_variance + self.example_variance)
        return self.half_width(tail) + student_quantile(self.df, POWER) * float(error)


def scale_of(metric: str) -> Scale:
    """Whether arms are compared by a ratio or by a difference."""
    return "difference" if metric in QUALITY | AGREEMENTS else "ratio"


def each_tail(n_arms: int) -> float:
    """What each of several comparisons may leave out on a side, so that all hold together."""
    return TAIL / n_arms


def judged(metric: str, low: float, high: float) -> Verdict:
    """The verdict on an interval of a ratio or a difference."""
    nothing = 0.0 if scale_of(metric) == "difference" else 1.0
    if low <= nothing <= high:
        return "no difference shown"
    is_higher = low > nothing
    is_good = is_higher == (card(metric).better == "higher")
    if metric in QUALITY:
        return "better" if is_good else "worse"
    return "steadier" if is_good else "less steady"


def effect_of(
    metric: str,
    value: float | None,
    contrast: Contrast | None,
    *,
    tail: float,
    note: Message | None = None,
) -> Effect:
    """The effect with its interval, verdict and power.

    Args:
        metric: Name of the metric.
        value: The plain ratio or difference.
        contrast: What the interval is made of; None where there is none.
        tail: What the interval leaves out on each side.
        note: Why there is no interval.

    Returns:
        A verdict only where the interval is over runs.
    """
    scale = scale_of(metric)
    if contrast is None:
        return Effect(metric, scale, value, note=note)
    half_width, detectable = contrast.half_width(tail), contrast.detectable(tail)
    low, high = contrast.center - half_width, contrast.center + half_width
    if scale == "ratio":
        low, high, detectable = float(np.exp(low)), float(np.exp(high)), float(np.exp(detectable))
    if metric in SHARES:
        low, high = max(low, -1.0), min(high, 1.0)
    if value is not None:  # people expect a value inside its own interval
        low, high = min(low, value), max(high, value)
    if contrast.over == "examples":
        return Effect(
            metric, scale, value, low, high, "examples", verdict="too few runs", note=note
        )
    verdict = judged(metric, low, high)
    shows = detectable if np.isfinite(detectable) else None
    return Effect(metric, scale, value, low, high, contrast.over, shows, verdict, note)
