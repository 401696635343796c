"""The answer on a candidate at one of its planned numbers of runs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import log1p, sqrt
from statistics import NormalDist
from typing import Literal, TypeAlias

from seedproof.comparison.decide.ledger import Settings
from seedproof.comparison.decide.schedule import Schedule
from seedproof.errors import OptionError
from seedproof.exit_codes import ExitCode
from seedproof.messages import Message
from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.predictions.checks import Check
from seedproof.stats.contrast import Pair, contrast, left_out_values
from seedproof.stats.distributions import student_quantile
from seedproof.stats.effect import Contrast, Effect, scale_of
from seedproof.stats.estimate_contrast import NO_COUNTERPART
from seedproof.stats.families import MetricContrast
from seedproof.stats.intervals import PLAIN, WITHOUT_RUNS, Level, jackknife_variance

# A candidate is discarded if its chance of being kept at the last look is lower.
FUTILE = 0.05
# Share outside the one-sided interval that must exclude the least gain of interest.
NO_GAIN_TAIL = 0.1

Answer: TypeAlias = Literal["keep", "discard", "run more", "repair"]
Reason: TypeAlias = Literal[
    "shown better",
    "quality lost",  # shown to be worse by the quality that guards the metric
    "not shown",  # at the last look
    "futile",  # hardly a chance at the last look
    "gain too small",  # the interval excludes the least gain of interest
    "open",
    "too few runs",
    "untrusted input",
]
EXIT_CODES: Mapping[Answer, ExitCode] = {
    "keep": ExitCode.OK,
    "discard": ExitCode.FAILED,
    "run more": ExitCode.UNDECIDED,
    "repair": ExitCode.UNDECIDED,
}


@dataclass(frozen=True)
class Verdict:
    """An answer, and its reason."""

    answer: Answer
    reason: Reason
    chance: float | None = None  # of being kept at the last look; None if it is not known


@dataclass(frozen=True)
class Decision:
    """The answer on a candidate, with everything that it is based on."""

    verdict: Verdict
    settings: Settings
    name: str
    ledger: str
    n_runs: int  # first runs of the candidate that were judged
    n_candidate: int  # all of its runs
    n_baseline: int  # all runs of the baseline
    n_selecting: int = 0  # runs of the baseline that it was kept for, earlier in the loop
    more_candidate: int = 0
    more_baseline: int = 0
    effect: Effect | None = None  # with its 95 % interval
    quality: Effect | None = None  # that guards the metric, with its 95 % interval
    level: float | None = None
    position: int | None = None  # of the candidate in the loop
    n_kept: int = 0
    candidate: str | None = None
    is_recorded: bool = False  # the decision was made earlier
    are_trials: bool = False  # of one model, where runs are models of their own
    notes: tuple[Message, ...] = ()
    checks: tuple[Check, ...] = ()

    @property
    def repeats(self) -> str:
        """Unit of repetition, for texts."""
        return "trials" if self.are_trials else "runs"

    @property
    def exit_code(self) -> int:
        """Exit code of the command line: 0, 1 or 3."""
        return int(EXIT_CODES[self.verdict.answer])


def judge(
    row: MetricContrast,
    schedule: Schedule,
    *,
    level: float,
    min_gain: float,
    quality: MetricContrast | None = None,
) -> Verdict:
    """Return the answer on the runs of a contrast, whose number is planned.

    A candidate that is shown to be worse in its quality is discarded, whatever else it gains: at
    the level of the look, or by the 95 % interval where it would be kept. The level needs no
    division: a guard makes no keep, so that it can only lower their number.
    """
    n_runs, levels = row.n_runs[1], schedule.levels(level)
    if n_runs in levels:
        is_better = row.effect(levels[n_runs]).verdict in {"better", "steadier"}
        # The level of a look is strict, most of all the first: a loss of two standard deviations
        # would be kept in a quarter of the simulated candidates.
        of_guard = PLAIN if is_better else levels[n_runs]
        if quality is not None and quality.effect(of_guard).verdict == "worse":
            return Verdict("discard", "quality lost")
        if is_better:
            return Verdict("keep", "shown better")
    return _not_kept(row, schedule, levels, min_gain)


def _not_kept(
    row: MetricContrast, schedule: Schedule, levels: Mapping[int, Level], min_gain: float
) -> Verdict:
    """Return the answer on a candidate that is not shown to be better."""
    last = schedule.last
    if row.n_runs[1] >= last or not levels:
        return Verdict("discard", "not shown")
    gain = _gain(row)
    if gain is None:
        return Verdict("run more", "open")
    forecast = _chance_of_trials if row.are_trials else _chance
    chance = forecast(row, gain, levels[last], last)
    if chance < FUTILE:
        return Verdict("discard", "futile", chance)
    most = gain.center + gain.half_width(_NO_GAIN)
    covers_runs = row.are_trials or gain.over not in WITHOUT_RUNS
    if covers_runs and most <= _least_gain(row, min_gain):
        return Verdict("discard", "gain too small", chance)
    return Verdict("run more", "open", chance)


_NO_GAIN = Level(tail=NO_GAIN_TAIL, example_tail=NO_GAIN_TAIL)


def check_row(row: MetricContrast) -> None:
    """Refuse a metric without a better direction, or without an interval at any number of runs."""
    if row.direction == "neither":
        raise OptionError(
            "Neither a higher nor a lower {metric} is better here, so that no candidate is kept "
            "for it. Name another metric, such as {example}.",
            metric=row.metric,
            example="mae" if row.metric == "mean" else "mean",
        )
    note = row.effect().note
    is_judged = row.are_trials or row.n_runs[1] >= VERDICT_FROM
    if is_judged and note is not None and note.code == NO_COUNTERPART.code:
        raise OptionError(
            "{metric} cannot be decided on: it has no interval here. Name another metric, such as "
            "accuracy, or mean of numbers.",
            metric=row.metric,
        )


def _gain(row: MetricContrast) -> Contrast | None:
    """Contrast with a positive center if the candidate is better; None if it has no such form."""
    pair = Pair(row.like, row.is_paired, row.cross)
    if pair.is_ratio and not row.effect().value:  # one of the two is 0
        return None
    difference = contrast(row.base, row.arm, pair)
    if difference is None or row.direction == "higher":
        return difference
    return replace(difference, center=-difference.center)


def _least_gain(row: MetricContrast, min_gain: float) -> float:
    if scale_of(row.like) != "ratio":
        return min_gain
    return log1p(min_gain) if row.direction == "higher" else -log1p(-min_gain)


def _chance(row: MetricContrast, gain: Contrast, level: Level, last: int) -> float:
    """Chance of being kept at the last look, if the gain is about what these runs show."""
    n_base, n_runs = row.n_runs
    per_run, of_base = gain.run_variance * n_runs, 0.0
    if not row.is_paired or gain.over in WITHOUT_RUNS:
        # A few runs say little about their own spread; the baseline has more of them.
        is_ratio = scale_of(row.like) == "ratio"
        squares = degrees = 0.0
        for statistic in (row.base, row.arm):
            left_out = left_out_values(statistic, is_ratio=is_ratio)
            if left_out is not None:
                squares += jackknife_variance(left_out) * len(left_out) * (len(left_out) - 1)
                degrees += len(left_out) - 1
        per_run = squares / degrees if degrees else per_run
        of_base = per_run / max(n_base, last)
    runs = student_quantile(last - 1, 1 - level.tail) ** 2 * (per_run / last + of_base)
    drawn = student_quantile(gain.example_df, 1 - level.example_tail) ** 2 * gain.example_variance
    missing = sqrt(runs + drawn) + gain.residual_bias + gain.error - gain.center
    spread = sqrt(per_run * (1 / n_runs - 1 / last))
    if spread == 0.0:
        return float(missing < 0)
    return NormalDist().cdf(-missing / spread)


def _chance_of_trials(row: MetricContrast, gain: Contrast, level: Level, last: int) -> float:
    """Chance of being kept at the last look of trials: more of them shrink their noise alone."""
    n_base, n_trials = row.n_runs
    per_trial = gain.run_variance / (1 / n_base + 1 / n_trials)
    noise = per_trial * (1 / max(n_base, last) + 1 / last)
    then = replace(
        gain,
        run_variance=noise,
        interaction_variance=noise,
        example_variance=gain.example_variance - gain.run_variance + noise,
    )
    missing, spread = then.half_width(level) - gain.center, sqrt(gain.run_variance - noise)
    return NormalDist().cdf(-missing / spread) if spread > 0.0 else float(missing < 0)
