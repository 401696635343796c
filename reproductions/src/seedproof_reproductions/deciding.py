"""The number of runs that would decide an open claim, if any number would.

Intervals are narrowed as by more runs, around values that stay, and judged again. More runs narrow
only the part of an interval that is from runs. The part from drawing the texts stays.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from seedproof.stats.distributions import student_quantile
from seedproof.stats.effect import Effect, judged
from seedproof.stats.families import MetricContrast
from seedproof.stats.intervals import CONFIDENCE, PLAIN, Estimate, Level
from seedproof_reproductions.results import short
from seedproof_reproductions.rules import (
    Evidence,
    Verdict,
    has_verdict,
    interval_of,
    judge,
    published_error,
)

# A noise ceiling needs at least so many runs.
CEILING_RUNS = 8
# A number of runs beyond this is not stated.
MOST_RUNS = 10_000
# Numbers of runs that are tried: those with two digits.
TRIED = (*range(2, 100), *range(100, 1000, 10), *range(1000, MOST_RUNS + 1, 100))
# Rules about an sd over runs.
OF_SPREADS = {"value"}


@dataclass(frozen=True)
class Forecast:
    """Runs per arm that would decide an open question, if our figure is the truth.

    Args:
        n_runs: The smallest number from which the question stays decided, with two digits; None if
            it is not known, or no number would do.
        above: The largest number that does not decide.
        is_bound: True if texts may widen the interval by an unknown part: more runs may be needed.
        needs_texts: True if no number of runs would do without more texts.
        needs_more: True if no number of runs would do, not even with more texts.
        refutes: Whether a claim would not hold then; None if it is not known.
    """

    n_runs: int | None = None
    above: int | None = None
    is_bound: bool = False
    needs_texts: bool = False
    needs_more: bool = False
    refutes: bool | None = None

    @property
    def words(self) -> str:
        """Part of a sentence on the forecast; empty if nothing is known."""
        if self.needs_texts:
            return "more texts are needed, whatever the number of seeds"
        if self.needs_more:
            reason = "the published one is too uncertain"
            return f"if our figure is the truth, no number of seeds decides: {reason}"
        if self.above is None:
            return ""
        if self.n_runs is None or self.is_bound:
            purposes = {None: "", True: " to refute it", False: " to show it"}
            return f"{self.short} would be needed{purposes[self.refutes]}"
        verbs = {None: "decide", True: "refute it", False: "show it"}
        return f"about {self.short} would {verbs[self.refutes]}"

    @property
    def short(self) -> str:
        """The number of seeds, or more texts; empty if nothing is known."""
        if self.needs_texts:
            return "more texts"
        if self.above is None:
            return ""
        is_least = self.n_runs is None or self.is_bound
        return f"more than {self.above:,} seeds" if is_least else f"{self.n_runs:,} seeds"


def forecast_claim(rule: str, evidence: Evidence) -> Forecast:
    """Forecast what would decide an open claim."""
    if rule == "correlation" and evidence.ceiling is None:
        is_short = evidence.n_runs is not None and evidence.n_runs < CEILING_RUNS
        return Forecast(CEILING_RUNS, CEILING_RUNS - 1, is_bound=True) if is_short else Forecast()
    # More runs of ours do not make the published figure more certain.
    evidence = replace(evidence, published_error=published_error(rule, evidence))
    later = forecast(
        lambda narrow: judge(rule, narrow) in {Verdict.HOLDS, Verdict.FAILS},
        evidence,
        is_spread=rule in OF_SPREADS,
    )
    # Only a published figure has an error that our runs do not narrow.
    later = replace(later, needs_more=later.needs_more and rule in {"value", "cut"})
    if later.above is None:
        return later
    left = math.sqrt(evidence.from_texts or 0.0)
    outcome = judge(rule, _narrowed(evidence, left, is_log=rule in OF_SPREADS))
    return replace(later, refutes=outcome == Verdict.FAILS)


def forecast(
    is_decided: Callable[[Evidence], bool], evidence: Evidence, *, is_spread: bool = False
) -> Forecast:
    """Forecast with how many runs a question would be decided, and would stay so.

    Args:
        is_decided: Whether the evidence decides it.
        evidence: An interval that does not decide, with the runs and the part from texts behind it.
        is_spread: The estimate is an sd over runs: it has a log scale, and nothing is from texts.

    Returns:
        The smallest such number, a lower bound, or that no number of runs would decide it.
    """
    n_runs, effect = evidence.n_runs, evidence.effect
    figure = effect if has_verdict(effect) else evidence.estimate if evidence.is_over_runs else None
    if n_runs is None or figure is None or figure.low is None or figure.high is None:
        return Forecast()
    is_of_runs = is_spread or (effect is not None and effect.over == "runs")
    known = 0.0 if is_of_runs else evidence.from_texts
    from_texts = known or 0.0

    def decides(later: int | None, texts: float) -> bool:
        part = 0.0 if later is None else n_runs / later
        if later is not None and not is_of_runs:
            part *= _quantile(later, effect) ** 2 / _quantile(n_runs, effect) ** 2
        factor = math.sqrt(texts + (1 - texts) * part)
        return is_decided(_narrowed(evidence, factor, is_log=is_spread))

    if not decides(None, from_texts):
        is_by_texts = from_texts > 0 and decides(None, 0.0)
        return Forecast(needs_texts=is_by_texts, needs_more=not is_by_texts)
    above = max(
        (later for later in TRIED if later > n_runs and not decides(later, from_texts)),
        default=n_runs,
    )
    enough = next((later for later in TRIED if later > above), None)
    return Forecast(enough, above, is_bound=known is None)


def _quantile(n_runs: int, effect: Effect | None) -> float:
    """Return Student's quantile of an interval over so many runs."""
    confidence = CONFIDENCE if effect is None else effect.confidence or CONFIDENCE
    return student_quantile(n_runs - 1, (1 + confidence) / 2)


def _narrowed(evidence: Evidence, factor: float, *, is_log: bool) -> Evidence:
    """Return the evidence with all intervals narrowed by a factor, around the same values."""
    estimate = evidence.estimate
    if estimate is not None and estimate.low is not None and estimate.high is not None:
        ends = (estimate.low, estimate.high)
        low, high = _ends(estimate.value, ends, factor, is_log=is_log)
        estimate = replace(estimate, low=low, high=high)
    return replace(
        evidence,
        effect=None if evidence.effect is None else _effect(evidence.effect, factor),
        also=None if evidence.also is None else _effect(evidence.also, factor),
        others={name: _effect(other, factor) for name, other in evidence.others.items()},
        estimate=estimate,
    )


def _effect(effect: Effect, factor: float) -> Effect:
    interval = interval_of(effect)
    if interval is None:
        return effect
    value, *ends = interval
    low, high = _ends(value, (ends[0], ends[1]), factor, is_log=effect.scale == "ratio")
    return replace(effect, low=low, high=high, verdict=judged(effect.metric, low, high))


def _ends(
    value: float, ends: tuple[float, float], factor: float, *, is_log: bool
) -> tuple[float, float]:
    """Return both ends of an interval that is narrower by a factor."""
    if is_log and min(value, *ends) > 0:
        low, high = (value * (end / value) ** factor for end in ends)
    else:
        low, high = (value + factor * (end - value) for end in ends)
    return low, high


def share_from_texts(contrast: MetricContrast, level: Level = PLAIN) -> float | None:
    """Return `from_texts` of the effect of an arm at a level, rounded."""
    return short(from_texts(lambda level: contrast.effect(level, margin=0.0), level))


def from_texts(at: Callable[[Level], Effect | Estimate], level: Level = PLAIN) -> float | None:
    """Return the share of the squared width of an interval that more runs do not remove.

    It is from drawing the texts: 0 if the interval is over runs alone, and None without one.
    """
    full, left = at(level), at(replace(level, run_share=0.0))
    if full.low is None or full.high is None or left.low is None or left.high is None:
        return None
    if full.over == "runs" or full.high == full.low:
        return 0.0
    is_ratio = isinstance(full, Effect) and full.scale == "ratio" and min(full.low, left.low) > 0
    if is_ratio:
        width, kept = math.log(full.high / full.low), math.log(left.high / left.low)
    else:
        width, kept = full.high - full.low, left.high - left.low
    return min((kept / width) ** 2, 1.0)
