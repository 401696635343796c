"""Rules of a gate: limits of metrics, margins against a baseline, and allowed checks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Real
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from seedproof.comparison.arms.arm_contrast import REPEATED
from seedproof.comparison.arms.judge import needs_equal_trials
from seedproof.comparison.arms.result import Comparison
from seedproof.errors import OptionError, UnknownNameError
from seedproof.measurement.selection import KIND_NAMES, check_decides, is_metric, unknown
from seedproof.metrics.card import Better, card, card_name
from seedproof.predictions.checks import CHECK_NAMES
from seedproof.stats.effect import COUNTED, UNBOUNDED, Scale, scale_of, usual_margin

Kind: TypeAlias = Literal["max", "min", "no-worse"]
# Card of flips across a threshold, which the name of the metric has.
AT_THRESHOLD = "flip_rate@t"


@dataclass(frozen=True, slots=True)
class Rule:
    """A limit of one metric, or a margin against a baseline (`no-worse`).

    A margin is a share of the baseline if arms are compared by a ratio, else a plain difference.
    """

    kind: Kind
    metric: str
    limit: float

    is_own: ClassVar[bool] = False  # of a metric of the user's own, which has no card

    def __post_init__(self) -> None:
        self._check_number()
        may_be_negative = self.metric in UNBOUNDED and self.kind != "no-worse"
        if not np.isfinite(self.limit) or (self.limit < 0.0 and not may_be_negative):
            raise OptionError(
                "--{kind} {metric}={limit:g} is not a limit. Pass a finite number of at least 0.",
                kind=self.kind,
                metric=self.metric,
                limit=self.limit,
            )
        is_share = is_metric(self.metric) and card(self.metric).unit in {"percent", "points"}
        if self.kind != "no-worse" and is_share and self.limit > 1.0:
            raise OptionError(
                "--{kind} {metric}={limit:g} has no effect, because {metric} is a share between 0 "
                "and 1. Write 0.05 for 5 %.",
                kind=self.kind,
                metric=self.metric,
                limit=self.limit,
            )

    def _check_number(self) -> None:
        if not _is_number(self.limit):
            raise OptionError(
                "The limit {limit!r} of {metric} is not a number. Write --{kind} {metric}=0.05, or "
                "{keyword}={{{metric!r}: 0.05}} in Python.",
                limit=self.limit,
                metric=self.metric,
                kind=self.kind,
                keyword=self.kind.replace("-", "_"),
            )

    @property
    def better(self) -> Better:
        """Direction in which the metric is better."""
        return card(self.metric).better

    @property
    def scale(self) -> Scale:
        """Scale on which the metric is compared with the baseline's."""
        return scale_of(self.metric)

    @classmethod
    def no_worse(cls, metric: str, margin: float | None = None) -> "Rule":
        """Make the rule that a metric is not worse than the baseline by more than a margin.

        Without a margin the mean of numbers is taken as one of shares; `sp.gate` refuses others.
        """
        return cls("no-worse", metric, usual_margin(metric) if margin is None else margin)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def direction_of(rule: Rule, mean: Better = "neither") -> Better:
    """Return the better direction of a metric, given that of the mean of numbers."""
    return mean if rule.metric == "mean" and not rule.is_own else rule.better


def limit_of(rule: Rule, mean: Better = "neither") -> float:
    """Return the limit of an effect, a ratio or a difference, given the direction of the mean."""
    if rule.scale == "ratio":
        return 1.0 + rule.limit
    return -rule.limit if direction_of(rule, mean) == "higher" else rule.limit


def check_names(rules: Sequence[Rule]) -> None:
    """Refuse rules that can never be judged, before anything is measured."""
    if not rules:
        raise OptionError(
            "A gate needs at least one rule. Pass one, such as --max flip_rate=0.05, or "
            'max={"flip_rate": 0.05} in Python, or write '
            "max = {flip_rate = 0.05} under [tool.seedproof.gate] in pyproject.toml."
        )
    given = {(rule.kind, rule.metric) for rule in rules}
    # A maximum of a metric that should be high is a slip, unless a minimum makes it a range.
    slips: dict[str, tuple[Kind, Kind]] = {"higher": ("max", "min"), "lower": ("min", "max")}
    for rule in rules:
        if rule.is_own:
            continue
        if not is_metric(rule.metric):
            raise unknown(rule.metric, KIND_NAMES)
        check_decides([rule.metric])
        better = rule.better
        # The direction of the mean depends on the numbers.
        if rule.kind == "no-worse" and direction_of(rule, "higher") == "neither":
            raise OptionError(
                "Neither higher nor lower values of {metric} are better, so no-worse does not "
                "apply. Remove it.",
                metric=rule.metric,
            )
        slip, meant = slips.get(better, (None, None))
        if rule.kind == slip and (meant, rule.metric) not in given:
            raise OptionError(
                "--{slip} {metric}={limit:g} would reject good runs, because {metric} is better "
                "when {better}. Write --{meant} {metric}={limit:g}, {meant}= in Python; or pass "
                "both limits.",
                slip=slip,
                metric=rule.metric,
                limit=rule.limit,
                better=better,
                meant=meant,
            )


def thresholds_of(rules: Sequence[Rule]) -> list[float]:
    """Return the thresholds that rules name, such as 0.5 in flip_rate@0.5."""
    ends = [x.metric.partition("@")[2] for x in rules if card_name(x.metric) == AT_THRESHOLD]
    try:
        return list(map(float, ends))
    except ValueError as error:
        raise OptionError(
            "The threshold of a rule is not a number: {thresholds}. Write flip_rate@0.5.",
            thresholds=tuple(ends),
        ) from error


def check_means(
    rules: Sequence[Rule],
    no_worse: Mapping[str, float | None] | Iterable[str] | None,
    compared: Comparison,
) -> None:
    """Refuse `no-worse` for means without a direction, and without a margin for those of any size.

    The usual margin, half a point, is small for shares between 0 and 1 only.
    """
    if not any(rule.kind == "no-worse" and rule.metric == "mean" for rule in rules):
        return
    if compared.better == "neither":
        raise OptionError(
            "Neither a higher nor a lower {metric} of predictions with targets is better, so "
            "no-worse does not apply. Judge mae instead.",
            metric="mean",
        )
    margin = no_worse.get("mean") if isinstance(no_worse, Mapping) else None
    if margin is None and compared.arms[0].effects["mean"].margin is None:
        raise OptionError(
            "These numbers are not between 0 and 1, so no usual margin fits their {metric}. Write "
            "--no-worse {metric}=0.1, or no_worse={{{metric!r}: 0.1}} in Python.",
            metric="mean",
        )


def check_compared(rules: Sequence[Rule], compared: Comparison) -> None:
    """Refuse `no-worse` for metrics that both sides have and that do not compare them."""
    sides = [x.measurement for x in (compared.baseline, compared.arms[0])]
    are_unequal = any(side.trial_counts for side in sides)
    effects = compared.arms[0].effects
    for metric in dict.fromkeys(rule.metric for rule in rules if rule.kind == "no-worse"):
        if any(metric not in side.metrics for side in sides):
            continue
        if are_unequal and metric not in REPEATED and metric not in effects.keys() - COUNTED:
            raise needs_equal_trials(metric, [x for x in effects if x not in COUNTED])
        if metric not in effects:
            raise OptionError(
                "no-worse does not apply to {metric}: here it says the same as another metric, or "
                "depends on numbers of trials that differ. Name one of {metrics}.",
                metric=metric,
                metrics=tuple(effects),
            )


def allowed_checks(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of allowed checks, each once; refuse unknown ones."""
    if isinstance(names, str):
        raise OptionError(
            "allow= is the string {names!r}. Pass a list of names: [{names!r}].",
            names=names,
            keyword="allow",
        )
    for name in (allowed := tuple(dict.fromkeys(names))):
        if name not in CHECK_NAMES:
            near = get_close_matches(str(name), CHECK_NAMES)
            raise UnknownNameError(
                "There is no check {check!r} to allow. Known: {known}.",
                check=name,
                known=tuple(dict.fromkeys((*near, *CHECK_NAMES))),
            )
    return allowed
