"""The runs that the verdicts of a gate rest on, and what the next look may decide."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from seedproof.stats.distributions import expit, logit, normal_quantile
from seedproof.stats.intervals import NORMAL, PLAIN, WITHOUT_RUNS, Estimate, Level
from seedproof.stats.looks import AT_LOOK, AT_TRIAL_LOOK, LOOKS, first_look, look_at

EVEN = 0.5
# A figure with its interval at any level.
Figure: TypeAlias = Callable[[Level], Estimate]
# Reasons why no rule with an interval is judged.
Hold: TypeAlias = Literal["too few runs", "declared runs missing", "between looks"]


@dataclass(frozen=True, slots=True)
class Stage:
    """The point of a study at which it is judged."""

    n_runs: int  # that were given, on the side with fewer
    judged_runs: int  # the first of them, in the order of the plan
    level: Level = PLAIN
    next_look: int | None = None  # number of runs; None after the last look
    declared: int | None = None  # number of runs that was declared; None if none was
    hold: Hold | None = None
    are_trials: bool = False  # of one model, all of which are judged

    @property
    def repeats(self) -> str:
        """Unit of repetition, for texts."""
        return "trials" if self.are_trials else "runs"

    @property
    def more_runs(self) -> int | None:
        """Number of runs to the next look."""
        if self.next_look is None or self.next_look <= self.n_runs:
            return None
        return self.next_look - self.n_runs


def stage_of(
    n_runs: int,
    declared: int | None = None,
    *,
    lacks_declared: bool = False,
    allows_missing: bool = False,
) -> Stage:
    """Return the stage of a number of runs.

    `lacks_declared` says that a run of the declared plan is not finished, even if later ones are.
    """
    if declared is not None and declared < LOOKS[0]:
        declared = None
    if declared is not None and (n_runs < declared or lacks_declared):
        if not allows_missing:
            return Stage(n_runs, n_runs, PLAIN, declared, declared, "declared runs missing")
        if n_runs >= LOOKS[0]:
            # It may be judged again when they are finished, so that the plain interval is too bold.
            return Stage(n_runs, min(n_runs, declared), AT_LOOK, declared, declared)
    look = look_at(n_runs, declared)
    if look is None:
        return Stage(n_runs, n_runs, PLAIN, first_look(declared), declared, "too few runs")
    return Stage(n_runs, look.n_runs, look.level, look.following, declared)


def stage_of_trials(
    n_trials: int, declared: int | None = None, *, allows_missing: bool = False
) -> Stage:
    """Return the stage of a number of trials of one model: any number of them is judged.

    Unless their number was declared, more may be added and judged again after each: the part of
    the interval that is their noise is wider.
    """
    level = PLAIN if n_trials == declared else AT_TRIAL_LOOK
    stage = Stage(n_trials, n_trials, level, declared=declared, are_trials=True)
    if declared is None or n_trials >= declared or allows_missing:
        return stage
    return replace(stage, next_look=declared, hold="declared runs missing")


class IntervalScale(NamedTuple):
    """The scale on which an interval is symmetric, and its inverse."""

    to: Callable[[float], float]
    back: Callable[[float], float]


LINEAR = IntervalScale(float, float)
LOG = IntervalScale(lambda x: float(np.log(x)), lambda x: float(np.exp(x)))
LOGIT = IntervalScale(lambda x: float(logit(x)), lambda x: float(expit(x)))


def forecast(
    figure: Figure, limit: float, *, scale: IntervalScale, stage: Stage, n_rules: int = 1
) -> float | None:
    """Return the probability that the next look decides, if the value stays the same.

    None if more examples are needed: any number of runs would more likely than not leave the limit
    inside the interval from examples alone.
    The end of the interval on the side of the limit allows for `n_rules` rules.
    """
    level = AT_LOOK.divided(n_rules)
    now = figure(level)
    if now.over in WITHOUT_RUNS:
        return None
    n_runs, following = stage.judged_runs, stage.next_look or stage.judged_runs
    share = n_runs / following
    quantiles = level.student(following) / level.student(n_runs)
    with np.errstate(divide="ignore", invalid="ignore"):
        place, bound = scale.to(now.value), scale.to(limit)
        if not np.isfinite([place, bound]).all():
            scale, place, bound = LINEAR, now.value, limit
        if not np.isfinite(place):
            return 0.0

        def half_width(level: Level) -> float:
            estimate = figure(level)
            end = estimate.high if limit > now.value else estimate.low
            return float("inf") if end is None else abs(scale.to(end) - place)

        plain = replace(level, is_of_pairs=False)
        whole = half_width(plain)
        if now.over == "runs":
            alone, then = 0.0, half_width(level) * quantiles * float(np.sqrt(share))
        else:
            alone = half_width(replace(plain, run_share=0.0))
            then = half_width(replace(level, run_share=share * quantiles**2))
    distance = abs(bound - place)
    if not np.isfinite([whole, then]).all():
        return 0.0
    error = float(np.sqrt(max(whole**2 - alone**2, 0.0))) / plain.student(n_runs)
    if error == 0.0:
        return None if distance <= alone else float(distance > then)
    # With any number of runs: the value may still move by its error, to either side.
    ends = (distance - alone) / error, (-distance - alone) / error
    if sum(map(NormalDist().cdf, ends)) < EVEN:
        return None
    change = error * float(np.sqrt(1 - share))
    return NormalDist().cdf((distance - then) / change) if change > 0.0 else 0.0


def widened(
    plain: Estimate, scale: IntervalScale, n_runs: int, *, are_trials: bool = False
) -> Figure:
    """Return a figure of which only its 95 % interval is known, as in a saved report.

    Its half widths grow with Student's quantile, as if all of them came from the runs; with the
    normal one, as if all of them were the noise of trials.
    """

    def at(level: Level) -> Estimate:
        if plain.low is None or plain.high is None:
            return plain
        if are_trials:
            factor = normal_quantile(1 - level.tail) / NORMAL
        else:
            factor = level.student(n_runs) / PLAIN.student(n_runs) if n_runs > 1 else 1.0
        if factor == 1.0 or (plain.over in WITHOUT_RUNS and not are_trials):
            return plain
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            low, value, high = (scale.to(x) for x in (plain.low, plain.value, plain.high))
            if not np.isfinite(value):
                return plain
            ends = (
                scale.back(value - factor * (value - low)),
                scale.back(value + factor * (high - value)),
            )
        return replace(plain, low=ends[0], high=ends[1])

    return at
