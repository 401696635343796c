"""Rules for this paper's claims and for what lies beyond it: on intervals, never by hand."""

import math
from collections.abc import Sequence

from scipy.special import ndtri

from seedproof.comparison.effect import Effect
from seedproof.measurement.intervals import NORMAL, TAIL, Estimate
from seedproof_reproductions.page.verdicts import (
    FAILS,
    HOLDS,
    MARGIN,
    OPEN,
    SHARE_OPEN,
    Verdict,
    is_known,
)

# A correlation from here on counts as strong.
STRONG = 0.7
# Half of the other's computation, or less, is a fraction of it.
FRACTION = 0.5
# By how much wider an interval is that two of them hold together by.
BOTH = float(ndtri(1 - TAIL / 2)) / NORMAL
# The goal beyond the paper.
MOST_TRAINING, AT_MOST, EXCLUDED = 1.5, 0.5, 0.6


def is_judged(effect: Effect | None) -> bool:
    """Whether an interval is over runs: with too few of them its ends say nothing of seeds."""
    return effect is not None and effect.verdict not in {"too few runs", "not tested"}


def judge_strong(estimate: Estimate | None, reference: Estimate | None) -> Verdict:
    """Whether a correlation with the entropy over runs is strong: from `STRONG` on.

    The entropy over few runs is noisy, and nothing correlates with it by more than the square root
    of what as many other runs do: what is short of `STRONG` for that reason alone does not fail.

    Args:
        estimate: A correlation with its interval.
        reference: The correlation of that entropy with the one of as many other runs.

    Returns:
        It holds if the whole interval lies there, and fails if none of it does once the noise is
        taken off; open without a reference.
    """
    if estimate is None or estimate.low is None or estimate.high is None or reference is None:
        return OPEN
    if estimate.high < STRONG * math.sqrt(max(reference.value, 0.0)):
        return FAILS
    return HOLDS if estimate.low >= STRONG else OPEN


def recovered(ours: Effect | None, reference: Effect | None) -> Estimate | None:
    """Our cut as a share of another arm's.

    Both intervals are widened so that they hold together, whatever binds the two arms: with many
    runs, that of the share is at least one of 95 %.

    Args:
        ours: A ratio.
        reference: The ratio of the other arm.

    Returns:
        The share with an interval; None if the other's cut is not shown, so that there is nothing
        to take a share of.
    """
    mine, theirs = _widened(ours), _widened(reference)
    if mine is None or theirs is None or theirs[2] >= 1:
        return None
    cuts, whole = [1 - x for x in mine], [1 - x for x in theirs]
    ends = [cut / all_of_it for cut in cuts[1:] for all_of_it in whole[1:]]
    return Estimate(cuts[0] / whole[0], min(ends), max(ends))


def _widened(effect: Effect | None) -> tuple[float, float, float] | None:
    """Value, low and high of a ratio, by intervals of 97.5 %."""
    if effect is None or effect.value is None or effect.low is None or effect.high is None:
        return None
    if not is_judged(effect) or min(effect.value, effect.low) <= 0:
        return None
    ends = [
        effect.value * math.exp(BOTH * math.log(end / effect.value))
        for end in (effect.low, effect.high)
    ]
    return effect.value, ends[0], ends[1]


def judge_share(share: Estimate | None, published: float) -> Verdict:
    """Whether a method recovers what the paper says of another's cut.

    Args:
        share: Ours.
        published: The paper's, in percent.

    Returns:
        It fails if the interval ends short of the paper's. It holds if it reaches there, begins
        above 0, and is known to a factor of two; where it is not, the size is open.
    """
    if share is None or share.low is None or share.high is None:
        return OPEN
    if 100 * share.high < published:
        return FAILS
    if share.low <= 0:
        return OPEN
    return HOLDS if is_known(share.value, share.low, share.high) else SHARE_OPEN


def is_below(one: Effect | None, other: Effect | None) -> bool:
    """Whether an arm's whole interval lies below another's: both are ratios to one control."""
    if one is None or other is None or one.high is None or other.low is None:
        return False
    if not (is_judged(one) and is_judged(other)):
        return False
    return one.high < other.low


def judge_below(one: Effect | None, others: Sequence[Effect | None]) -> Verdict:
    """Whether an arm is better than all of some others.

    Args:
        one: A ratio to the control.
        others: Those of other arms, to the same control.

    Returns:
        It holds if its interval lies below all of theirs, and fails if one of theirs lies below it.
    """
    if any(is_below(other, one) for other in others):
        return FAILS
    return HOLDS if others and all(is_below(one, other) for other in others) else OPEN


def judge_accuracy(accuracy: Effect | None) -> Verdict:
    """Whether an arm is as accurate as the control, or more so.

    Args:
        accuracy: The difference.

    Returns:
        It fails if a loss is shown. It holds if none is, and a loss of half a point is excluded.
    """
    if loses(accuracy):
        return FAILS
    return HOLDS if is_no_worse(accuracy) else OPEN


def loses(accuracy: Effect | None) -> bool:
    """Whether a loss of accuracy is shown: the interval of the difference lies below 0."""
    return accuracy is not None and accuracy.verdict == "worse"


def keeps(accuracy: Effect | None) -> bool:
    """Whether no loss is shown while the runs are enough for a verdict."""
    return is_judged(accuracy) and not loses(accuracy)


def is_no_worse(accuracy: Effect | None) -> bool:
    """Whether a loss of half a point is excluded."""
    return excludes_loss(accuracy, MARGIN)


def excludes_loss(accuracy: Effect | None, loss: float) -> bool:
    """Whether a loss of so much is excluded, by an interval over runs."""
    if accuracy is None or accuracy.low is None or not is_judged(accuracy):
        return False
    return accuracy.low >= -loss


def halves(flips: Effect | None) -> bool:
    """Whether flips are cut by half or more, with an interval that excludes 40 %."""
    if flips is None or flips.value is None or flips.high is None or flips.verdict != "steadier":
        return False
    return flips.value <= AT_MOST and flips.high < EXCLUDED
