"""The verdict on each rule: pass, fail, or investigate if the interval contains the limit."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np

from seedproof.comparison.gate.rules import Kind, Rule, limit_of
from seedproof.errors import OptionError
from seedproof.measurement.selection import needs_in_words, needs_of, unknown
from seedproof.messages import Message
from seedproof.metrics import METRIC_NAMES
from seedproof.metrics.card import card
from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.predictions.checks import Check
from seedproof.stats.distributions import logit
from seedproof.stats.effect import Effect
from seedproof.stats.intervals import WITHOUT_RUNS, Estimate, student

# More runs than this are not advised.
MOST_RUNS = 200
# Figures that describe these runs and not a population, so that their value alone is judged.
FIGURES = frozenset({"ambiguity", "discrepancy", "high_entropy_share", "probability_sd_error"})
# Metrics whose intervals are symmetric on this scale; all others are on the logarithm.
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
    "untrusted input",
]
EXIT_CODES: Mapping[Outcome, int] = {"pass": 0, "fail": 1, "investigate": 3}


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """The verdict on a rule."""

    rule: Rule
    outcome: Outcome
    estimate: Estimate  # value and interval of the metric
    reason: Reason  # what decided (`interval` or `value`), or why the rule is open
    # Runs that would about settle an open rule, or that a verdict needs; None if unknown.
    more_runs: int | None = None
    baseline: Estimate | None = None  # if the rule compares
    effect: Effect | None = None


@dataclass(frozen=True)
class GateResult:
    """The verdicts on all rules, in their order."""

    rules: tuple[RuleVerdict, ...]
    n_runs: int
    notes: tuple[Message, ...] = ()
    checks: tuple[Check, ...] = ()  # of the input
    allowed: tuple[str, ...] = ()  # names of checks that do not block the gate

    @property
    def blocking(self) -> tuple[Check, ...]:
        """Errors in the input that are not allowed, so that nothing can be judged."""
        errors = (check for check in self.checks if check.severity == "error")
        return tuple(check for check in errors if check.name not in self.allowed)

    @property
    def outcome(self) -> Outcome:
        """`fail` if a rule fails, else `investigate` if a rule is open, else `pass`.

        Always `investigate` if the input has an error.
        """
        if self.blocking:
            return "investigate"
        outcomes = {verdict.outcome for verdict in self.rules}
        if "fail" in outcomes:
            return "fail"
        return "investigate" if "investigate" in outcomes else "pass"

    @property
    def exit_code(self) -> int:
        """Exit code of the command line: 0, 1 or 3."""
        return EXIT_CODES[self.outcome]


@dataclass(frozen=True)
class Baseline:
    """The baseline of `no-worse`: its figures, and the effects of the judged runs."""

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
    checks: tuple[Check, ...] = (),
    allowed: tuple[str, ...] = (),
) -> GateResult:
    """Judge every rule; if the input has an error that is not allowed, all rules stay open."""
    verdicts = []
    for rule in rules:
        value = _required(metrics, rule.metric, "these predictions")
        if rule.kind != "no-worse":
            verdicts.append(_within(rule, value, n_runs))
        elif baseline is None:
            raise OptionError(
                "no-worse {metric} needs a baseline. Give {option}, or baseline= in Python.",
                metric=rule.metric,
                option="--baseline",
            )
        else:
            verdicts.append(_compare(rule, value, n_runs, baseline))
    result = GateResult(tuple(verdicts), n_runs, notes, checks, allowed)
    if not result.blocking:
        return result
    undecided = [
        replace(verdict, outcome="investigate", reason="untrusted input", more_runs=None)
        for verdict in verdicts
    ]
    return replace(result, rules=tuple(undecided))


def _required(metrics: Mapping[str, Estimate], metric: str, where: str) -> Estimate:
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


def _within(rule: Rule, value: Estimate, n_runs: int) -> RuleVerdict:
    """Judge a limit of the metric itself."""
    is_figure = rule.metric in FIGURES
    if n_runs < VERDICT_FROM and not is_figure:
        return RuleVerdict(rule, "investigate", value, "too few runs", VERDICT_FROM - n_runs)
    if is_figure or (value.low is None and value.value == 0.0):
        outcome = _side(rule.kind, value.value, value.value, rule.limit)
        return RuleVerdict(rule, outcome, value, "value")
    if value.low is None or value.high is None:
        return RuleVerdict(rule, "investigate", value, "no interval")
    outcome = _side(rule.kind, value.low, value.high, rule.limit)
    if outcome != "investigate":
        return RuleVerdict(rule, outcome, value, "interval")
    reason, more = _settle(value, rule.limit, _scale(rule.metric), n_runs)
    return RuleVerdict(rule, outcome, value, reason, more)


def _side(kind: Kind, low: float, high: float, limit: float) -> Outcome:
    """Outcome by the side of a limit that an interval lies on."""
    if kind == "max":
        return "pass" if high <= limit else "fail" if low > limit else "investigate"
    return "pass" if low >= limit else "fail" if high < limit else "investigate"


def _compare(rule: Rule, value: Estimate, n_runs: int, baseline: Baseline) -> RuleVerdict:
    """Judge a metric that may not be worse than the baseline's."""
    base = _required(baseline.metrics, rule.metric, "the baseline's predictions")
    effect = baseline.effects[rule.metric]
    kind: Kind = "min" if card(rule.metric).better == "higher" else "max"
    is_figure, fewest = rule.metric in FIGURES, min(n_runs, baseline.n_runs)
    outcome: Outcome = "investigate"
    more = None
    if is_figure and n_runs != baseline.n_runs:
        reason: Reason = "unlike numbers of runs"
    elif fewest < VERDICT_FROM and not is_figure:
        reason, more = "too few runs", VERDICT_FROM - fewest
    elif is_figure or value.value == base.value == 0.0:
        reason = "value"
        outcome = _side(kind, value.value, value.value, base.value * (1 + rule.limit))
    elif effect.low is None:
        reason = "no interval"
    else:
        high = np.inf if effect.high is None else effect.high  # as against a baseline of 0
        outcome, reason = _side(kind, effect.low, high, limit_of(rule)), "interval"
        if outcome == "investigate":
            reason = "too few examples"
            if effect.value is not None:
                change = Estimate(effect.value, effect.low, effect.high, effect.over)
                scale = np.log if effect.scale == "ratio" else _identity
                reason, more = _settle(change, limit_of(rule), scale, fewest)
    return RuleVerdict(rule, outcome, value, reason, more, base, effect)


def _settle(
    estimate: Estimate, limit: float, scale: Callable[[float], float], n_runs: int
) -> tuple[Reason, int | None]:
    """Reason why an interval contains the limit, and runs that would decide it."""
    if estimate.over in WITHOUT_RUNS:
        return "too few examples", None
    more = more_runs(estimate, limit, scale=scale, n_runs=n_runs)
    return ("more runs" if more else "too near"), more


def _identity(value: float) -> float:
    return value


def _scale(metric: str) -> Callable[[float], float]:
    if metric in LINEAR:
        return _identity
    return (lambda value: float(logit(value))) if metric in LOGITS else np.log


def more_runs(
    estimate: Estimate, limit: float, *, scale: Callable[[float], float], n_runs: int
) -> int | None:
    """Return about how many more runs would decide, if the value stays the same.

    The half width is assumed to shrink with Student's quantile over the root of the runs, as if all
    of it came from the runs. None if it takes more than `MOST_RUNS` runs in all.
    """
    end = estimate.high if limit > estimate.value else estimate.low
    if end is None or limit == estimate.value:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        place, bound, edge = (float(scale(x)) for x in (estimate.value, limit, end))
    if not np.isfinite([place, bound, edge]).all():
        place, bound, edge = estimate.value, limit, end
    # As a share of today's half width.
    wanted = abs(bound - place) / abs(edge - place) * _shrinkage(n_runs)
    for n_then in range(n_runs + 1, MOST_RUNS + 1):
        if _shrinkage(n_then) <= wanted:
            return n_then - n_runs
    return None


def _shrinkage(n_runs: int) -> float:
    return student(n_runs) / float(np.sqrt(n_runs))
