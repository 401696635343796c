"""Rules of a gate: limits of metrics, margins against a baseline, and allowed checks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Real
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from seedproof.errors import OptionError, UnknownNameError
from seedproof.measurement.selection import unknown
from seedproof.metrics import METRIC_NAMES
from seedproof.metrics.card import Better, card
from seedproof.predictions.checks import CHECK_NAMES
from seedproof.stats.effect import Scale, scale_of, usual_margin

Kind: TypeAlias = Literal["max", "min", "no-worse"]


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
        if not np.isfinite(self.limit) or self.limit < 0.0:
            raise OptionError(
                "--{kind} {metric}={limit:g} is not a limit. Pass a finite number of at least 0.",
                kind=self.kind,
                metric=self.metric,
                limit=self.limit,
            )
        is_share = self.metric in METRIC_NAMES and card(self.metric).unit in {"percent", "points"}
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
        """Make the rule that a metric is not worse than the baseline by more than a margin."""
        margin = usual_margin(metric) if margin is None else margin
        if margin is None:
            raise OptionError(
                "--no-worse {metric} needs a margin, because numbers may have any size. Write "
                '--no-worse {metric}=0.1, or no_worse={{"{metric}": 0.1}} in Python.',
                metric=metric,
            )
        return cls("no-worse", metric, margin)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def limit_of(rule: Rule) -> float:
    """Return the limit of an effect: a ratio, or a difference."""
    if rule.scale == "ratio":
        return 1.0 + rule.limit
    return -rule.limit if rule.better == "higher" else rule.limit


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
        if rule.metric not in METRIC_NAMES:
            raise unknown(rule.metric)
        better = rule.better
        if rule.kind == "no-worse" and better == "neither":
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
