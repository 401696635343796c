"""The verdict on each rule: pass, fail, or investigate where the interval straddles the limit."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from seedproof.comparison.gate.rules import Kind, Rule, limit_of
from seedproof.errors import OptionError
from seedproof.measurement.selection import needs_in_words, needs_of, unknown
from seedproof.messages import Message
from seedproof.metrics import METRIC_NAMES
from seedproof.metrics.card import card
from seedproof.stats.distributions import logit
from seedproof.stats.effect import Effect
from seedproof.stats.intervals import SPREAD_FROM, Estimate, student

# More seeds than this are no advice.
MOST_RUNS = 200
# Over runs a mean has an interval from here on.
MEAN_FROM = 3
# They describe these runs and no population, so that their value alone is judged.
FIGURES = frozenset({"ambiguity", "discrepancy", "high_entropy_share", "probability_sd_error"})
SPREADS = frozenset({"accuracy_sd", "accuracy_sd_excess", "ece_sd", "mce_sd", "nll_sd", "brier_sd"})
# Where their intervals are symmetric; all others are on the logarithm.
LOGITS = frozenset({"accuracy"})
LINEAR = frozenset({"ece", "mce", "accuracy_sd_excess"})

Outcome: TypeAlias = Literal["pass", "fail", "investigate"]
Reason: TypeAlias = Literal[
    "interval",
    "value",
    "more runs",
    "too near",
    "too few examples",
    "too few runs",
    "unlike numbers of runs",
    "no interval",
]
EXIT_CODES: Mapping[Outcome, int] = {"pass": 0, "fail": 1, "investigate": 3}


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """What came of a rule.

    Args:
        rule: The rule.
        outcome: Its verdict.
        found: The metric's value and interval.
        reason: `interval` or `value`, by which it was decided; or why it is open.
        more_runs: How many more runs about settle an open one; None if that is not known.
        baseline: The baseline's value, if the rule compares.
        effect: What changes against the baseline, if the rule compares.
    """

    rule: Rule
    outcome: Outcome
    found: Estimate
    reason: Reason
    more_runs: int | None = None
    baseline: Estimate | None = None
    effect: Effect | None = None


@dataclass(frozen=True)
class GateResult:
    """The verdicts on all rules.

    Args:
        checks: One for each rule, in the order of the rules.
        n_runs: How many runs were judged.
        notes: What a person should know about how the verdicts came about.
    """

    checks: tuple[RuleVerdict, ...]
    n_runs: int
    notes: tuple[Message, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """`fail` if one rule fails, else `investigate` if one is open, else `pass`."""
        outcomes = {check.outcome for check in self.checks}
        if "fail" in outcomes:
            return "fail"
        return "investigate" if "investigate" in outcomes else "pass"

    @property
    def exit_code(self) -> int:
        """What the command line ends with: 0, 1 or 3."""
        return EXIT_CODES[self.outcome]


@dataclass(frozen=True)
class Baseline:
    """What `no-worse` compares with.

    Args:
        metrics: The baseline's figures.
        effects: What the judged runs change in each metric.
        n_runs: How many runs the baseline has.
    """

    metrics: Mapping[str, Estimate]
    effects: Mapping[str, Effect] = field(default_factory=dict)
    n_runs: int = 0


def judge(
    metrics: Mapping[str, Estimate],
    rules: Sequence[Rule],
    *,
    n_runs: int,
    baseline: Baseline | None = None,
    notes: tuple[Message, ...] = (),
) -> GateResult:
    """Every rule with its verdict."""
    checks = []
    for rule in rules:
        found = _asked(metrics, rule.metric, "these predictions")
        if rule.kind != "no-worse":
            checks.append(_within(rule, found, n_runs))
        elif baseline is None:
            raise OptionError(
                "no-worse {metric} compares with a baseline. Give {option}, or baseline= "
                "in Python.",
                metric=rule.metric,
                option="--baseline",
            )
        else:
            checks.append(_compare(rule, found, n_runs, baseline))
    return GateResult(tuple(checks), n_runs, notes)


def _asked(metrics: Mapping[str, Estimate], metric: str, where: str) -> Estimate:
    if metric in metrics:
        return metrics[metric]
    if metric not in METRIC_NAMES:
        raise unknown(metric)
    raise OptionError(
        "{metric} needs {listed}, and {where} lack some of that. "
        "Give them, or leave the rule out. Measured: {metrics}.",
        metric=metric,
        listed=needs_in_words(metric),
        needs=needs_of([metric]),
        where=where,
        metrics=tuple(metrics),
    )


def _within(rule: Rule, found: Estimate, n_runs: int) -> RuleVerdict:
    """A limit of the metric itself."""
    reason = _why_not(rule.metric, found, n_runs)
    if reason == "value":
        return RuleVerdict(
            rule, _side(rule.kind, found.value, found.value, rule.limit), found, reason
        )
    if reason == "too few runs":
        return RuleVerdict(rule, "investigate", found, reason, least_runs(rule.metric) - n_runs)
    if found.low is None or found.high is None:
        return RuleVerdict(rule, "investigate", found, "no interval")
    outcome = _side(rule.kind, found.low, found.high, rule.limit)
    if outcome != "investigate":
        return RuleVerdict(rule, outcome, found, "interval")
    if found.over == "examples":
        return RuleVerdict(rule, outcome, found, "too few examples")
    more = more_runs(found, rule.limit, scale=_scale(rule.metric), n_runs=n_runs)
    return RuleVerdict(rule, outcome, found, "more runs" if more else "too near", more)


def _why_not(metric: str, found: Estimate, n_runs: int) -> Reason | None:
    """Why no interval over runs can decide; None if one can."""
    if metric in FIGURES:
        return "value"
    if found.low is not None and not (found.over == "examples" and n_runs < MEAN_FROM):
        return None
    # Two runs are one pair: their interval is over examples, and another pair may differ more.
    if n_runs < least_runs(metric):
        return "too few runs"
    return "value" if found.value == 0.0 else "no interval"


def least_runs(metric: str) -> int:
    """From how many runs on a metric can be judged."""
    return SPREAD_FROM if metric in SPREADS else MEAN_FROM


def _side(kind: Kind, low: float, high: float, limit: float) -> Outcome:
    """On which side of a limit an interval lies."""
    if kind == "max":
        return "pass" if high <= limit else "fail" if low > limit else "investigate"
    return "pass" if low >= limit else "fail" if high < limit else "investigate"


def _compare(rule: Rule, found: Estimate, n_runs: int, baseline: Baseline) -> RuleVerdict:
    """A metric that may not be worse than the baseline's."""
    base = _asked(baseline.metrics, rule.metric, "the baseline's predictions")
    effect = baseline.effects[rule.metric]
    kind: Kind = "min" if card(rule.metric).better == "higher" else "max"
    fewest = min(n_runs, baseline.n_runs)
    outcome: Outcome = "investigate"
    more = None
    if rule.metric in FIGURES and n_runs != baseline.n_runs:
        reason: Reason = "unlike numbers of runs"
    elif rule.metric in FIGURES or found.value == base.value == 0.0:
        reason = "value"
        outcome = _side(kind, found.value, found.value, base.value * (1 + rule.limit))
    elif fewest < least_runs(rule.metric):
        reason, more = "too few runs", least_runs(rule.metric) - fewest
    elif effect.low is None:
        reason = "no interval"
    else:
        high = np.inf if effect.high is None else effect.high  # as against a baseline of 0
        outcome = _side(kind, effect.low, high, limit_of(rule))
        reason, more = (
            _settle(effect, rule, fewest) if outcome == "investigate" else ("interval", None)
        )
    return RuleVerdict(rule, outcome, found, reason, more, base, effect)


def _settle(effect: Effect, rule: Rule, n_runs: int) -> tuple[Reason, int | None]:
    """What would decide an effect whose interval holds the limit."""
    if effect.over == "examples" or effect.value is None:
        return "too few examples", None
    change = Estimate(effect.value, effect.low, effect.high, effect.over)
    scale = np.log if effect.scale == "ratio" else _plain
    more = more_runs(change, limit_of(rule), scale=scale, n_runs=n_runs)
    return ("more runs" if more else "too near"), more


def _plain(value: float) -> float:
    return value


def _scale(metric: str) -> Callable[[float], float]:
    if metric in LINEAR:
        return _plain
    return (lambda value: float(logit(value))) if metric in LOGITS else np.log


def more_runs(
    found: Estimate, limit: float, *, scale: Callable[[float], float], n_runs: int
) -> int | None:
    """About how many more runs would move the interval off the limit, if the value stays.

    The half width is taken to shrink with Student's quantile over the root of the runs, as if all
    of it came from the runs.

    A number; None if it would take more than `MOST_RUNS` runs in all.
    """
    end = found.high if limit > found.value else found.low
    if end is None or limit == found.value:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        place, bound, edge = (float(scale(one)) for one in (found.value, limit, end))
    if not np.isfinite([place, bound, edge]).all():
        place, bound, edge = found.value, limit, end
    # As a share of today's half width.
    wanted = abs(bound - place) / abs(edge - place) * _shrinkage(n_runs)
    for n_then in range(n_runs + 1, MOST_RUNS + 1):
        if _shrinkage(n_then) <= wanted:
            return n_then - n_runs
    return None


def _shrinkage(n_runs: int) -> float:
    return student(n_runs) / float(np.sqrt(n_runs))
