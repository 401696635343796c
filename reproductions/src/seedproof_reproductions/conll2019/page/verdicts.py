"""The rule for an sd that the paper prints."""

import math

from seedproof.measurement.intervals import Estimate
from seedproof_reproductions.page.verdicts import FAILS, HOLDS, OPEN, Verdict, is_known

# How far the logarithm of an sd of ten seeds is from the truth at most, in 95 of 100 studies.
OF_TEN_SEEDS = 0.6


def judge_value(estimate: Estimate | None, value: float, *, is_over_runs: bool) -> Verdict:
    """Whether an sd is what the paper says, if it is known to a factor of two at all.

    The paper's own is an estimate from ten seeds, too: that is allowed for before it fails.

    Args:
        estimate: Our figure.
        value: The paper's.
        is_over_runs: Whether the interval is. One over texts alone says nothing of other seeds.

    Returns:
        Open without an interval over runs.
    """
    if not is_over_runs or estimate is None or estimate.low is None or estimate.high is None:
        return OPEN
    if estimate.low <= value <= estimate.high:
        return HOLDS if is_known(estimate.value, estimate.low, estimate.high) else OPEN
    if value <= 0.0 or estimate.low <= 0.0:
        return OPEN
    end = estimate.high if value > estimate.value else estimate.low
    allowed = math.hypot(math.log(end / estimate.value), OF_TEN_SEEDS)
    return FAILS if abs(math.log(value / estimate.value)) > allowed else OPEN
