"""Effects from figures with intervals alone, as saved reports have them."""

import numpy as np

from seedproof.messages import Message
from seedproof.stats.distributions import normal_quantile
from seedproof.stats.effect import Effect, Scale, judged, scale_of
from seedproof.stats.intervals import NORMAL, PLAIN, WITHOUT_RUNS, Estimate, Level
from seedproof.typing import FloatArray

NO_COUNTERPART = Message(
    "no-interval", "depends on the number of runs, or has no interval of its own"
)
BOTH_ZERO = Message("both-zero", "both are 0")
BASELINE_ZERO = Message("baseline-zero", "the baseline is 0 with an upper bound of 0")


def plain_effect(metric: str, base: float, arm: float) -> float | None:
    """Return a ratio or a difference; None for a ratio to 0."""
    if scale_of(metric) == "difference":
        return arm - base
    return arm / base if base > 0.0 else None


def from_estimates(metric: str, base: Estimate, arm: Estimate, *, level: Level = PLAIN) -> Effect:
    """Return an effect from two figures with intervals alone, as saved reports have them.

    The squares of the two half widths are added on the scale of the effect (MOVER, Zou 2008). What
    the arms share, seeds and examples, is unknown, so the interval is wider than necessary.
    """
    scale, value = scale_of(metric), plain_effect(metric, base.value, arm.value)
    ends = [_ends(x, scale) for x in (base, arm)]
    if ends[0] is None or ends[1] is None:
        return Effect(metric, scale, value, note=NO_COUNTERPART)
    if base.value == arm.value == 0.0:
        return Effect(metric, scale, None, note=BOTH_ZERO)
    if not np.isfinite(ends[0][2]):
        return Effect(metric, scale, value, note=BASELINE_ZERO)
    low, high = _mover(ends[1], ends[0], factor=normal_quantile(1 - level.tail) / NORMAL)
    if scale == "ratio":
        low, high = float(np.exp(low)), float(np.exp(high))
    over = next((x.over for x in (base, arm) if x.over in WITHOUT_RUNS), base.over)
    verdict = judged(metric, low, high)
    # Against a baseline of 0 the ratio has no upper end.
    upper = high if np.isfinite(high) else None
    return Effect(metric, scale, value, low, upper, over, verdict=verdict)


def _ends(figure: Estimate, scale: Scale) -> FloatArray | None:
    """Low, value and high on the scale of the effect; None if there is no interval."""
    if figure.low is None or figure.high is None:
        return None
    ends = np.array([figure.low, figure.value, figure.high])
    with np.errstate(divide="ignore"):
        return np.log(ends) if scale == "ratio" else ends


def _mover(arm: FloatArray, base: FloatArray, *, factor: float) -> tuple[float, float]:
    """Ends of the difference of two figures, each as (low, value, high)."""
    if np.isinf(arm[1]):  # the arm is 0: only its upper end is known
        return -np.inf, float(arm[2] - base[0])
    if np.isinf(base[1]):
        return float(arm[0] - base[2]), np.inf
    center = arm[1] - base[1]
    below = factor * np.hypot(arm[1] - arm[0], base[2] - base[1])
    above = factor * np.hypot(arm[2] - arm[1], base[1] - base[0])
    return float(center - below), float(center + above)
