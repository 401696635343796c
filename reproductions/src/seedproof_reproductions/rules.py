"""Rules that turn evidence, an effect or an estimate with its interval, into a verdict."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from scipy.special import ndtri

from seedproof.stats.effect import Effect
from seedproof.stats.intervals import NORMAL, TAIL, Estimate

Interval: TypeAlias = tuple[float, float, float]
# "Almost no loss" of accuracy: the default margin of `seedproof gate --no-worse`.
MARGIN = 0.005
# If a figure is not known to a factor of two, a value inside its interval says little.
KNOWN_WITHIN = 2.0
# How far the logarithm of an sd of ten seeds is from the truth at most, in 95 of 100 studies.
SD_OF_TEN_SEEDS = 0.6
# A correlation from here on counts as strong.
STRONG = 0.7
# Half of another arm's computation, or less, is a fraction of it.
FRACTION = 0.5
# Verdicts of comparisons that say nothing of seeds.
WITHOUT_VERDICT = frozenset({"too few runs", "not tested"})
# Factor by which two intervals are widened so that they hold simultaneously.
BOTH = float(ndtri(1 - TAIL / 2)) / NORMAL


class Verdict(StrEnum):
    """Codes of the verdicts on a claim; `words` is the text of each."""

    HOLDS = "holds"
    FAILS = "fails"
    SIZE_OPEN = "size-open"
    SHARE_OPEN = "share-open"
    OPEN = "open"

    @property
    def words(self) -> str:
        """Text on the page."""
        return WORDS[self]


WORDS: Mapping[Verdict, str] = {
    Verdict.HOLDS: "holds here",
    Verdict.FAILS: "does not hold here",
    Verdict.SIZE_OPEN: "a reduction is shown, its size is open",
    Verdict.SHARE_OPEN: "its size is open",
    Verdict.OPEN: "not shown here",
}


@dataclass(frozen=True)
class Evidence:
    """Everything that a rule may need to judge one case; each rule reads its own part."""

    effect: Effect | None = None  # against the baseline, or of one arm against another
    estimate: Estimate | None = None  # for values, ranges, shares and correlations
    published: float | None = None  # a cut or a share in percent, otherwise in our unit
    between: tuple[float, float] | None = None  # both ends of a published range, in our unit
    is_over_runs: bool = True  # False for an interval over examples, which says nothing of seeds
    also: Effect | None = None  # by another choice of examples; must show a cut, too
    others: Mapping[str, Effect] = field(default_factory=dict)  # arms to beat, by title
    ceiling: Estimate | None = None  # correlation that as many other runs reach
    n_runs: int | None = None  # behind the interval, per arm
    # Share of the squared width of the interval that more runs do not remove, because it is from
    # drawing the texts; if omitted, it is not known.
    from_texts: float | None = None
    # Half the width of the published figure's interval, as a log for a ratio. If omitted, it is
    # taken to be as uncertain as ours.
    published_error: float | None = None
    cost: float | None = None  # as a multiple of the control's
    other_cost: float | None = None  # of the arm that it is compared with

    @property
    def interval(self) -> Interval | None:
        """Value, low and high of the estimate, if its interval is over runs."""
        return interval_of(self.estimate) if self.is_over_runs else None


def judge(rule: str, evidence: Evidence) -> Verdict:
    """Apply one of `RULES`; `OPEN` if evidence is missing or its interval includes both answers."""
    return RULES[rule](evidence)


def decide(*, fails: bool, holds: bool) -> Verdict:
    """Return the verdict if one of two answers is shown, `OPEN` if neither is."""
    return Verdict.FAILS if fails else Verdict.HOLDS if holds else Verdict.OPEN


def judge_direction(evidence: Evidence) -> Verdict:
    """Hold if a cut or a gain is shown, fail if the contrary is."""
    verdict = None if evidence.effect is None else evidence.effect.verdict
    return decide(
        fails=verdict in {"less steady", "worse"}, holds=verdict in {"steadier", "better"}
    )


def judge_cut(evidence: Evidence) -> Verdict:
    """Hold if a cut is shown, reaches the published percentage, and is known to a factor of two.

    It fails if the two cuts differ by more than both errors allow. In between, and if ratio or cut
    are not known to a factor of two, the size is open. If `also` shows no cut, nothing is shown.
    """
    effect, percent, also = evidence.effect, evidence.published, evidence.also
    if effect is None or effect.low is None or not has_verdict(effect) or percent is None:
        return Verdict.OPEN
    if _is_smaller_cut(effect, percent, published_error("cut", evidence)):
        return Verdict.FAILS
    if also is not None and also.verdict != "steadier":
        return Verdict.OPEN
    direction, interval = judge_direction(evidence), interval_of(effect)
    if direction != Verdict.HOLDS or interval is None:
        return direction
    reaches = 100 * (1 - effect.low) >= percent
    return Verdict.HOLDS if reaches and _is_known_cut(*interval) else Verdict.SIZE_OPEN


def _is_known_cut(value: float, low: float, high: float) -> bool:
    """Return True if an interval is known to a factor of two, as a ratio and as a cut.

    A ratio alone would let small cuts pass that may be almost nothing; a cut alone, large ones.
    """
    return is_known(value, low, high) and is_known(1 - value, 1 - high, 1 - low)


def published_error(rule: str, evidence: Evidence) -> float | None:
    """Return the error of a published cut or share; if it is not stated, that of ours."""
    if evidence.published_error is not None:
        return evidence.published_error
    effect, interval = evidence.effect, evidence.interval
    match rule:
        case "cut" if effect is not None and effect.value and effect.low:
            is_ratio = min(effect.value, effect.low) > 0
            return math.log(effect.value / effect.low) if is_ratio else None
        case "share" if interval is not None:
            value, _, high = interval
            return high - value
    return None


def _is_smaller_cut(effect: Effect, percent: float, error: float | None) -> bool:
    """Return True if a cut is smaller than the published one by more than both errors allow."""
    if effect.value is None or effect.low is None:
        return False
    if min(effect.value, effect.low) <= 0 or percent >= 100:
        return 100 * (1 - effect.low) < percent
    allowed = math.hypot(math.log(effect.value / effect.low), error or 0.0)
    return math.log(effect.value) - math.log(1 - percent / 100) > allowed


def judge_loss(evidence: Evidence) -> Verdict:
    """Hold if a loss of accuracy of more than `MARGIN` is excluded, fail if one is shown."""
    interval = interval_of(evidence.effect)
    is_shown = interval is not None and interval[2] < -MARGIN
    return decide(fails=is_shown, holds=excludes_loss(evidence.effect, MARGIN))


def judge_accuracy(evidence: Evidence) -> Verdict:
    """Fail if a loss of accuracy is shown, hold if one of `MARGIN` is excluded."""
    return decide(fails=loses(evidence.effect), holds=excludes_loss(evidence.effect, MARGIN))


def judge_value(evidence: Evidence) -> Verdict:
    """Hold if the published sd is in our interval, and that is known to a factor of two.

    The published sd is an estimate from ten seeds: its own sampling error is allowed for before the
    claim fails.
    """
    interval, paper = evidence.interval, evidence.published
    if interval is None or paper is None:
        return Verdict.OPEN
    value, low, high = interval
    if low <= paper <= high:
        return Verdict.HOLDS if is_known(*interval) else Verdict.OPEN
    if paper <= 0.0 or low <= 0.0:
        return Verdict.OPEN
    end = high if paper > value else low
    allowed = math.hypot(math.log(end / value), SD_OF_TEN_SEEDS)
    return Verdict.FAILS if abs(math.log(paper / value)) > allowed else Verdict.OPEN


def judge_range(evidence: Evidence) -> Verdict:
    """Hold if the published range contains our interval, fail if both are apart."""
    interval, between = evidence.interval, evidence.between
    if interval is None or between is None:
        return Verdict.OPEN
    (_, low, high), (least, most) = interval, between
    return decide(fails=high < least or low > most, holds=least <= low and high <= most)


def judge_positive(evidence: Evidence) -> Verdict:
    """Hold if the interval of a difference lies above 0, fail if it lies below."""
    interval = evidence.interval
    if interval is None:
        return Verdict.OPEN
    _, low, high = interval
    return decide(fails=high < 0, holds=low > 0)


def judge_share(evidence: Evidence) -> Verdict:
    """Hold if our share of another cut reaches the published percentage and is known.

    It fails if it falls short of that percentage by more than both errors allow. The share must
    begin above 0, and be known to a factor of two; otherwise its size is open. See `share_of_cut`.
    """
    interval, percent = evidence.interval, evidence.published
    if interval is None or percent is None:
        return Verdict.OPEN
    value, low, high = interval
    if percent / 100 - value > math.hypot(high - value, published_error("share", evidence) or 0.0):
        return Verdict.FAILS
    if low <= 0:
        return Verdict.OPEN
    reaches = 100 * high >= percent
    return Verdict.HOLDS if reaches and is_known(*interval) else Verdict.SHARE_OPEN


def judge_correlation(evidence: Evidence) -> Verdict:
    """Hold if the whole interval is at `STRONG` or above, fail if it is below a noise ceiling.

    A figure over few runs is noisy. Nothing correlates with it by more than the square root of what
    as many other runs reach, so the claim fails only below `STRONG` times that root.
    """
    interval, ceiling = evidence.interval, evidence.ceiling
    if interval is None or ceiling is None:
        return Verdict.OPEN
    _, low, high = interval
    attainable = math.sqrt(max(ceiling.value, 0.0))
    return decide(fails=high < STRONG * attainable, holds=low >= STRONG)


def judge_cost(evidence: Evidence) -> Verdict:
    """Hold if the arm costs `FRACTION` of the other arm or less, fail otherwise."""
    if evidence.cost is None or evidence.other_cost is None:
        return Verdict.OPEN
    is_fraction = evidence.cost <= FRACTION * evidence.other_cost
    return decide(fails=not is_fraction, holds=is_fraction)


def judge_better(evidence: Evidence) -> Verdict:
    """Hold if the arm's interval lies below those of all others, fail if one lies below it."""
    effect, others = evidence.effect, tuple(evidence.others.values())
    is_best = bool(others) and all(is_below(effect, other) for other in others)
    return decide(fails=any(is_below(other, effect) for other in others), holds=is_best)


_JUDGES: tuple[Callable[[Evidence], Verdict], ...] = (
    judge_direction, judge_cut, judge_loss, judge_accuracy, judge_value, judge_range,
    judge_positive, judge_share, judge_correlation, judge_cost, judge_better,
)  # fmt: skip
RULES = {rule.__name__.removeprefix("judge_"): rule for rule in _JUDGES}


def interval_of(figure: Effect | Estimate | None) -> Interval | None:
    """Return value, low and high; None if one is unknown, or if runs are too few for a verdict."""
    if figure is None or figure.value is None or figure.low is None or figure.high is None:
        return None
    if isinstance(figure, Effect) and not has_verdict(figure):
        return None
    return figure.value, figure.low, figure.high


def is_known(value: float, low: float, high: float) -> bool:
    """Return True if both ends of an interval are within a factor of two of the value."""
    return high <= KNOWN_WITHIN * value and value <= KNOWN_WITHIN * low


def has_verdict(effect: Effect | None) -> bool:
    """Return True if the interval is over enough runs to say something of seeds."""
    return effect is not None and effect.verdict not in WITHOUT_VERDICT


def is_below(effect: Effect | None, other: Effect | None) -> bool:
    """Return True if an arm's whole interval lies below another's; both are against one control."""
    if effect is None or other is None or effect.high is None or other.low is None:
        return False
    return has_verdict(effect) and has_verdict(other) and effect.high < other.low


def loses(accuracy: Effect | None) -> bool:
    """Return True if a loss of accuracy is shown: the interval lies below 0."""
    return accuracy is not None and accuracy.verdict == "worse"


def excludes_loss(accuracy: Effect | None, loss: float) -> bool:
    """Return True if an interval over runs excludes a loss of this size."""
    if accuracy is None or accuracy.low is None:
        return False
    return has_verdict(accuracy) and accuracy.low >= -loss


def share_of_cut(effect: Effect | None, reference: Effect | None) -> Estimate | None:
    """Return a cut as a share of another arm's cut; None if that arm shows no cut.

    Both intervals are widened so that they hold simultaneously, whatever the correlation
    of the arms: with many runs, that of the share covers at least 95 %.
    """
    part, whole = _widened(effect), _widened(reference)
    if part is None or whole is None or whole[2] >= 1:
        return None
    cuts, whole_cuts = [1 - x for x in part], [1 - x for x in whole]
    ends = [cut / whole_cut for cut in cuts[1:] for whole_cut in whole_cuts[1:]]
    return Estimate(cuts[0] / whole_cuts[0], min(ends), max(ends))


def _widened(effect: Effect | None) -> Interval | None:
    """Value, low and high of a ratio, by intervals of 97.5 %."""
    interval = interval_of(effect)
    if interval is None or min(interval) <= 0:
        return None
    value, *ends = interval
    low, high = (value * math.exp(BOTH * math.log(end / value)) for end in ends)
    return value, low, high
