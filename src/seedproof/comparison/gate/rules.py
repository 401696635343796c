"""What a gate asks of metrics: limits of their own, and margins against a baseline."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Literal, TypeAlias

import numpy as np

from seedproof.errors import OptionError
from seedproof.measurement.selection import unknown
from seedproof.metrics import METRIC_NAMES
from seedproof.metrics.card import card
from seedproof.stats.effect import scale_of

# A tenth of the baseline for ratios; half a percentage point for what says how good the runs are.
RATIO_MARGIN, DIFFERENCE_MARGIN = 0.1, 0.005

Kind: TypeAlias = Literal["max", "min", "no-worse"]


@dataclass(frozen=True, slots=True)
class Rule:
    """What one metric must keep to.

    Args:
        kind: `max` and `min` are limits of the metric, `no-worse` compares with a baseline.
        metric: Name of the metric.
        limit: The limit; for `no-worse` the margin: a share of the baseline where arms are compared
            by a ratio, a plain difference otherwise.

    Raises:
        OptionError: The limit is not allowed.
    """

    kind: Kind
    metric: str
    limit: float

    def __post_init__(self) -> None:
        if not _is_number(self.limit):
            keyword = self.kind.replace("-", "_")
            raise OptionError(
                "{limit!r} as the limit of {metric} is no number. Write "
                "--{kind} {metric}=0.05, or {keyword}={{{metric!r}: 0.05}} "
                "in Python.",
                limit=self.limit,
                metric=self.metric,
                kind=self.kind,
                keyword=keyword,
            )
        if not np.isfinite(self.limit) or self.limit < 0.0:
            raise OptionError(
                "--{kind} {metric}={limit:g} is not a limit. Give a number that is not negative.",
                kind=self.kind,
                metric=self.metric,
                limit=self.limit,
            )
        is_share = self.metric in METRIC_NAMES and card(self.metric).unit in {"percent", "points"}
        if self.kind != "no-worse" and is_share and self.limit > 1.0:
            raise OptionError(
                "--{kind} {metric}={limit:g} can never matter, because {metric} is a share between "
                "0 and 1. Write 0.05 for 5 %.",
                kind=self.kind,
                metric=self.metric,
                limit=self.limit,
            )

    @classmethod
    def no_worse(cls, metric: str, margin: float | None = None) -> "Rule":
        """A metric that may not be worse than the baseline's by more than a margin."""
        usual = RATIO_MARGIN if scale_of(metric) == "ratio" else DIFFERENCE_MARGIN
        return cls("no-worse", metric, usual if margin is None else margin)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def limit_of(rule: Rule) -> float:
    """The limit that an effect must keep to: a ratio, or a difference."""
    if scale_of(rule.metric) == "ratio":
        return 1.0 + rule.limit
    return -rule.limit if card(rule.metric).better == "higher" else rule.limit


def check_names(rules: Sequence[Rule]) -> None:
    """Refuse rules that can never be judged, before anything is measured."""
    if not rules:
        raise OptionError(
            "There is no rule to judge by. Give one, such as --max flip_rate=0.05, or "
            'max={"flip_rate": 0.05} in Python, or write '
            "max = {flip_rate = 0.05} under [tool.seedproof.gate] in pyproject.toml."
        )
    for rule in rules:
        if rule.metric not in METRIC_NAMES:
            raise unknown(rule.metric)
        if rule.kind == "no-worse" and card(rule.metric).better == "neither":
            raise OptionError(
                "{metric} has no better direction, so nothing can be worse. Leave it out.",
                metric=rule.metric,
            )
    _refuse_limits_of_the_good_side(rules)


def _refuse_limits_of_the_good_side(rules: Sequence[Rule]) -> None:
    """A maximum of what should be high is a slip, unless a minimum makes it a range."""
    given = {(rule.kind, rule.metric) for rule in rules}
    slips: dict[str, tuple[Kind, Kind]] = {"higher": ("max", "min"), "lower": ("min", "max")}
    for rule in rules:
        better = card(rule.metric).better
        slip, meant = slips.get(better, (None, None))
        if rule.kind == slip and (meant, rule.metric) not in given:
            raise OptionError(
                "--{slip} {metric}={limit:g} would refuse good runs, because "
                "{metric} is better when {better}. Write "
                "--{meant} {metric}={limit:g}, {meant}= in Python; or give both limits.",
                slip=slip,
                metric=rule.metric,
                limit=rule.limit,
                better=better,
                meant=meant,
            )
