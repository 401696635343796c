"""The verdict on each rule: pass, fail, or investigate if the interval contains the limit."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np

from seedproof.comparison.gate.rules import Kind, Rule, direction_of, limit_of
from seedproof.comparison.gate.stage import (
    LINEAR,
    LOG,
    LOGIT,
    Figure,
    IntervalScale,
    Stage,
    forecast,
)
from seedproof.errors import OptionError
from seedproof.exit_codes import ExitCode
from seedproof.measurement.selection import KIND_NAMES, is_metric, needs_in_words, needs_of, unknown
from seedproof.messages import Message
from seedproof.metrics.card import Better, card_name
from seedproof.predictions.checks import Check
from seedproof.stats.effect import COUNTED, ITEM_QUALITY, Effect
from seedproof.stats.intervals import PLAIN, Estimate, Level, Over

# Figures that describe these runs and not a population, so that their value alone is judged; those
# of trials that have an interval are judged by it.
FIGURES = frozenset(
    {"ambiguity", "discrepancy", "high_entropy_share", "mce", "probability_sd_error"} | COUNTED
)
# Metrics whose intervals are symmetric on another scale than the logarithm.
SCALES = dict.fromkeys(
    (
        *("accuracy", "balanced_accuracy", "macro_f1", "pass^k", "pass@k"),
        *("rank_biased_overlap", "average_overlap@k", *ITEM_QUALITY, *COUNTED),
    ),
    LOGIT,
) | dict.fromkeys(
    ("ece_corrected", "mean", "bias", "accuracy_sd_excess", "mean_sd_excess", "score_sd_excess"),
    LINEAR,
)

Outcome: TypeAlias = Literal["pass", "fail", "investigate"]
Reason: TypeAlias = Literal[
    "interval",
    "value",
    "next look",
    "last look",
    "too few examples",
    "too few trials or examples",
    "too few judges or examples",
    "too few runs",
    "declared runs missing",
    "between looks",
    "unlike numbers of runs",
    "no interval",
    "untrusted input",
]
# Reasons that further runs may remove.
NEEDS_RUNS = frozenset({"next look", "too few runs", "declared runs missing", "no interval"})
_V = TypeVar("_V")
EXIT_CODES: Mapping[Outcome, ExitCode] = {
    "pass": ExitCode.OK,
    "fail": ExitCode.FAILED,
    "investigate": ExitCode.UNDECIDED,
}


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """The verdict on a rule."""

    rule: Rule
    outcome: Outcome
    estimate: Estimate  # value and 95 % interval of the metric
    reason: Reason  # what decided (`interval` or `value`), or why the rule is open
    stage: Stage  # the runs that it rests on
    # Value and interval that were judged, of the metric or of the effect: wider than 95 % if the
    # study may grow; None if the rule was not judged by an interval.
    deciding: Estimate | None = None
    # Probability that the next look decides, if the value stays the same; None if it is unknown.
    chance: float | None = None
    baseline: Estimate | None = None  # if the rule compares
    effect: Effect | None = None  # with its 95 % interval
    better: Better = "neither"  # direction of the mean of numbers, if the rule compares
    caution: Message | None = None  # if the interval assumes more than the runs show

    @property
    def limit(self) -> float:
        """Limit of the value, or of the effect if the rule compares."""
        if self.rule.kind != "no-worse":
            return self.rule.limit
        return limit_of(self.rule, self.better)


@dataclass(frozen=True)
class GateResult:
    """The verdicts on all rules, in their order."""

    rules: tuple[RuleVerdict, ...]
    notes: tuple[Message, ...] = ()
    checks: tuple[Check, ...] = ()  # of the input
    allowed: tuple[str, ...] = ()  # names of checks that do not block the gate

    @property
    def stage(self) -> Stage:
        """The runs that were given and judged, the same for all rules."""
        return self.rules[0].stage

    @property
    def n_runs(self) -> int:
        """Number of runs that were given."""
        return self.stage.n_runs

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
        return int(EXIT_CODES[self.outcome])

    @property
    def can_grow(self) -> bool:
        """True if the gate is open, and the runs of the next look may decide it."""
        is_open = self.outcome == "investigate" and not self.blocking
        return is_open and any(verdict.reason in NEEDS_RUNS for verdict in self.rules)


@dataclass(frozen=True)
class Baseline:
    """The baseline of `no-worse`: its figures, and the effects of the judged runs at any level."""

    metrics: Mapping[str, Estimate]
    effects: Mapping[str, Callable[[Level], Effect]] = field(default_factory=dict)
    n_runs: int = 0
    better: Better = "neither"  # direction of the mean of numbers


def judge(
    figures: Mapping[str, Figure],
    rules: Sequence[Rule],
    *,
    stage: Stage,
    baseline: Baseline | None = None,
    notes: tuple[Message, ...] = (),
    checks: tuple[Check, ...] = (),
    allowed: tuple[str, ...] = (),
) -> GateResult:
    """Judge every rule; if the input has an error that is not allowed, all rules stay open.

    All rules hold together if each of them holds, so that a pass needs no adjustment. Any of them
    may be broken by chance, so that a fail does.
    """
    n_rules = sum(not _is_judged_by_value(rule, figures) for rule in rules)
    verdicts = []
    for rule in rules:
        figure = _required(figures, rule.metric, "these predictions")
        if rule.kind != "no-worse":
            verdicts.append(_within(rule, figure, stage, n_rules))
        elif baseline is None:
            raise OptionError(
                "no-worse {metric} needs a baseline. Pass {option}, or baseline= in Python.",
                metric=rule.metric,
                option="--baseline",
            )
        else:
            verdicts.append(_compare(rule, figure(PLAIN), stage, n_rules, baseline))
    result = GateResult(tuple(verdicts), notes, checks, allowed)
    if not result.blocking:
        return result
    undecided = [
        replace(verdict, outcome="investigate", reason="untrusted input", chance=None)
        for verdict in verdicts
    ]
    return replace(result, rules=tuple(undecided))


def _required(metrics: Mapping[str, _V], metric: str, where: str) -> _V:
    if metric in metrics:
        return metrics[metric]
    if not is_metric(metric):
        raise unknown(metric, KIND_NAMES)
    if card_name(metric) in KIND_NAMES and not needs_of([metric]):
        raise OptionError(
            "{metric} was not measured. It may need another kind of answers, targets or right "
            "items, scores of 0 and 1, more trials, or a tolerance or threshold. Measured: "
            "{metrics}.",
            metric=metric,
            metrics=tuple(metrics),
        )
    raise OptionError(
        "{metric} needs {listed}, which {where} do not all have. "
        "Provide them, or remove the rule. Measured: {metrics}.",
        metric=metric,
        listed=needs_in_words(metric),
        needs=needs_of([metric]),
        where=where,
        metrics=tuple(metrics),
    )


def _is_figure(rule: Rule) -> bool:
    return rule.metric in FIGURES and not rule.is_own


def _is_judged_by_value(rule: Rule, figures: Mapping[str, Figure]) -> bool:
    """Return whether a rule is about a figure, and its limit is not judged by an interval."""
    if not _is_figure(rule) or rule.kind == "no-worse":
        return _is_figure(rule)
    return rule.metric not in figures or figures[rule.metric](PLAIN).low is None


def _within(rule: Rule, figure: Figure, stage: Stage, n_rules: int) -> RuleVerdict:
    """Judge a limit of the metric itself."""
    value = figure(PLAIN)
    is_figure = _is_judged_by_value(rule, {rule.metric: figure})
    if stage.hold is not None and not is_figure:
        return RuleVerdict(rule, "investigate", value, stage.hold, stage)
    if is_figure:
        outcome = _side(rule.kind, value.value, value.value, rule.limit)
        return RuleVerdict(rule, outcome, value, "value", stage)
    # Also a spread of 0: runs that happen to be equally good do not show that others are.
    if value.low is None or value.high is None:
        return RuleVerdict(rule, "investigate", value, "no interval", stage)
    scale = LINEAR if rule.is_own else SCALES.get(card_name(rule.metric), LOG)
    judged = _by_interval(figure, rule.kind, rule.limit, stage, scale=scale, n_rules=n_rules)
    outcome, reason, deciding, chance = judged
    return RuleVerdict(rule, outcome, value, reason, stage, deciding, chance)


def _side(kind: Kind, low: float, high: float, limit: float) -> Outcome:
    """Outcome by the side of a limit that an interval lies on."""
    if kind == "max":
        return "pass" if high <= limit else "fail" if low > limit else "investigate"
    return "pass" if low >= limit else "fail" if high < limit else "investigate"


class _Judged(NamedTuple):
    outcome: Outcome
    reason: Reason
    deciding: Estimate
    chance: float | None = None


def _by_interval(
    figure: Figure, kind: Kind, limit: float, stage: Stage, *, scale: IntervalScale, n_rules: int
) -> _Judged:
    """Judge an interval whose end for a fail allows for all rules."""
    passing, failing = figure(stage.level), figure(stage.level.divided(n_rules))
    low, high = (failing.low, passing.high) if kind == "max" else (passing.low, failing.high)
    low, high = -np.inf if low is None else low, np.inf if high is None else high
    deciding = replace(passing, low=low, high=high)
    outcome = _side(kind, low, high, limit)
    if outcome != "investigate":
        return _Judged(outcome, "interval", deciding)
    would_pass = (passing.value <= limit) == (kind == "max")
    n_together = 1 if would_pass else n_rules
    chance = forecast(figure, limit, scale=scale, stage=stage, n_rules=n_together)
    if chance is None:
        return _Judged(outcome, _too_few(passing.over, stage), deciding)
    if stage.next_look is None:
        return _Judged(outcome, "last look", deciding)
    return _Judged(outcome, "next look", deciding, chance)


def _too_few(over: Over | None, stage: Stage) -> Reason:
    """Return what there is too little of, where further runs are unlikely to decide."""
    if over is not None and "judges" in over:
        return "too few judges or examples"
    if stage.are_trials and stage.level != PLAIN:
        return "too few trials or examples"
    return "too few examples"


def _compare(
    rule: Rule, value: Estimate, stage: Stage, n_rules: int, baseline: Baseline
) -> RuleVerdict:
    """Judge a metric that may not be worse than the baseline's."""
    base = _required(baseline.metrics, rule.metric, "the baseline's predictions")
    effect = baseline.effects[rule.metric](PLAIN)
    mean = baseline.better
    kind: Kind = "min" if direction_of(rule, mean) == "higher" else "max"
    is_figure = _is_figure(rule)
    outcome: Outcome = "investigate"
    deciding = chance = None
    if is_figure and stage.judged_runs != baseline.n_runs:
        reason: Reason = "unlike numbers of runs"
    elif stage.hold is not None and not is_figure:
        reason = stage.hold
    elif is_figure:
        reason = "value"
        outcome = _side(kind, value.value, value.value, base.value * (1 + rule.limit))
    # Also if both are 0: exact bounds of two rates leave their ratio unknown.
    elif effect.low is None:
        reason = "no interval"
    else:
        figure = _of_effect(baseline.effects[rule.metric])
        scale = LOG if effect.scale == "ratio" else LINEAR
        outcome, reason, deciding, chance = _by_interval(
            figure, kind, limit_of(rule, mean), stage, scale=scale, n_rules=n_rules
        )
    return RuleVerdict(rule, outcome, value, reason, stage, deciding, chance, base, effect, mean)


def _of_effect(effect_at: Callable[[Level], Effect]) -> Figure:
    """Return an effect as a figure; against a baseline of 0 it has no value and no upper end."""

    def at(level: Level) -> Estimate:
        effect = effect_at(level)
        value = np.inf if effect.value is None else effect.value
        return Estimate(value, effect.low, effect.high, effect.over)

    return at
