"""Several verdicts at once: contrasts that are judged together, and the level for all of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from seedproof.metrics.card import Better, card
from seedproof.metrics.statistic import MeanOverExamples, Statistic
from seedproof.stats.contrast import compared, left_out_values
from seedproof.stats.covariance import Cross
from seedproof.stats.distributions import student_tail
from seedproof.stats.effect import (
    UNBOUNDED,
    Effect,
    directed,
    is_inside,
    scale_of,
    usual_margin,
    with_enough_runs,
)
from seedproof.stats.intervals import PLAIN, Level
from seedproof.typing import FloatArray

# Draws from the joint distribution of all statistics, the same ones every time.
N_DRAWS = 20_000
# With fewer runs, correlations over runs look larger than they are.
CORRELATED_FROM = 10
# With more rows, drawing takes longer than measuring, and the plain division by their number is
# hardly wider.
MOST_ROWS = 200


@dataclass(frozen=True, eq=False)
class MetricContrast:
    """One metric of an arm and of the baseline, ready to be judged at any level."""

    metric: str
    seed_groups: tuple[str, str]  # of the baseline and of the arm: runs of one share their seeds
    base: Statistic
    arm: Statistic
    is_paired: bool
    n_runs: tuple[int, int]  # of the baseline and of the arm
    cross: Cross | None = None  # covariance over examples, if known
    # Trials of one model: examples contain their noise, so that any number of them is judged.
    are_trials: bool = False
    better: Better = "neither"  # of a metric whose card names no direction

    @property
    def like(self) -> str:
        """Name of the metric whose scale and direction it has."""
        return self.metric

    @property
    def direction(self) -> Better:
        """Direction in which the metric is better."""
        of_card = card(self.like).better
        return self.better if of_card == "neither" else of_card

    def effect(self, level: Level = PLAIN, *, margin: float | None = None) -> Effect:
        """Return the effect, judged equivalent if it is shown to be within the margin."""
        if margin is None and (self.metric not in UNBOUNDED or _is_share(self.base, self.arm)):
            margin = usual_margin(self.metric)
        return with_equivalence(self._at, level, margin, needs_runs=not self.are_trials)

    def _at(self, level: Level) -> Effect:
        effect = compared(
            self.metric,
            self.base,
            self.arm,
            cross=self.cross,
            is_paired=self.is_paired,
            level=level,
            needs_runs=not self.are_trials,
        )
        effect = directed(effect, self.better)
        return effect if self.are_trials else with_enough_runs(effect, min(self.n_runs))

    def left_out(self) -> Mapping[str, FloatArray]:
        """Return its values with one run left out, by independent group of runs."""
        is_ratio = scale_of(self.metric) == "ratio"
        base, arm = (left_out_values(x, is_ratio=is_ratio) for x in (self.base, self.arm))
        if base is None or arm is None:
            return {}
        first, second = self.seed_groups
        if self.is_paired:
            return {f"{first} of {len(base)}": arm - base}
        return {f"{first} of {len(base)}": -base, f"{second} of {len(arm)}": arm}


def _is_share(*statistics: Statistic) -> bool:
    """Return whether all numbers behind means are between 0 and 1."""
    return all(isinstance(x, MeanOverExamples) and x.largest == 1.0 for x in statistics)


def with_equivalence(
    effect_at: Callable[[Level], Effect],
    level: Level,
    margin: float | None,
    *,
    needs_runs: bool = True,
) -> Effect:
    """Return the effect at a level, judged equivalent if it is shown to be within the margin."""
    effect = effect_at(level)
    if effect.low is None:
        return effect
    effect = replace(effect, confidence=level.confidence, margin=margin)
    if margin is None or effect.verdict != "no difference shown":
        return effect
    # Two one-sided tests: the interval that leaves out twice as much on each side.
    is_equivalent = is_inside(effect_at(level.divided(0.5)), margin, needs_runs=needs_runs)
    return replace(effect, verdict="equivalent") if is_equivalent else effect


def shared_level(rows: Sequence[MetricContrast], level: Level) -> Level:
    """Return the level of each row at which all rows hold simultaneously."""
    if len(rows) < 2:
        return level
    n_runs = min(min(row.n_runs) for row in rows)
    # How rows of trials correlate over examples is not known.
    if _is_divided(len(rows), n_runs) or any(row.are_trials for row in rows):
        return level.divided(len(rows))
    vectors = [row.left_out() for row in rows]
    correlation = _correlation(vectors, shrinkage=_shrinkage(n_runs))
    return _level_of_each(correlation, n_runs - 1, level)


def common_level(families: Sequence[Sequence[MetricContrast]], level: Level) -> Level:
    """Return the level of each row at which the rows of a few families hold simultaneously.

    Families, such as the rows of two metrics, share the level equally, whatever their correlation.
    Those without a row take no part.
    """
    judged = [rows for rows in families if rows]
    if not judged:
        return level
    levels = [shared_level(rows, level.divided(len(judged))) for rows in judged]
    # The smallest, so that a single number describes all rows.
    return replace(
        level,
        tail=min(x.tail for x in levels),
        example_tail=min(x.example_tail for x in levels),
    )


@lru_cache(maxsize=256)
def level_of_arms(n_arms: int, n_runs: int, level: Level) -> Level:
    """Return the level of each of several arms that `shared_level` is expected to give.

    Arms that vary alike have contrasts with the baseline that correlate by one half: Dunnett
    (1955), JASA 50:1096.
    """
    if n_arms < 2:
        return level
    if _is_divided(n_arms, n_runs):
        return level.divided(n_arms)
    correlation = np.full((n_arms, n_arms), (1 - _shrinkage(n_runs)) / 2)
    np.fill_diagonal(correlation, 1.0)
    return _level_of_each(correlation, n_runs - 1, level)


def _is_divided(n_rows: int, n_runs: int) -> bool:
    """Return whether the level is divided by the number of rows, whatever their correlation."""
    return n_rows > MOST_ROWS or n_runs < CORRELATED_FROM


def _shrinkage(n_runs: int) -> float:
    return 1 / float(np.sqrt(n_runs))


def _level_of_each(correlation: FloatArray, df: int, level: Level) -> Level:
    largest, n_rows = _largest(correlation, df), len(correlation)
    return replace(
        level,
        tail=_tail_of_each(largest, level.tail, df, n_rows),
        example_tail=_tail_of_each(largest, level.example_tail, df, n_rows),
    )


def _correlation(vectors: Sequence[Mapping[str, FloatArray]], *, shrinkage: float) -> FloatArray:
    """Correlation over runs of the values left out, shrunk toward independence."""
    groups = {name: len(values) for vector in vectors for name, values in vector.items()}
    stacked = np.zeros((len(vectors), sum(groups.values())))
    start = 0
    for name, n_runs in groups.items():
        for row, vector in zip(stacked, vectors, strict=True):
            if name in vector:
                deviations = vector[name] - vector[name].mean()
                row[start : start + n_runs] = deviations * np.sqrt((n_runs - 1) / n_runs)
        start += n_runs
    norms = np.sqrt(np.square(stacked).sum(axis=1))
    stacked /= np.where(norms > 0.0, norms, 1.0)[:, None]
    correlation = (1 - shrinkage) * (stacked @ stacked.T)
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(correlation)


def _largest(correlation: FloatArray, df: int) -> FloatArray:
    """Draws of the largest absolute value among Student's variables with this correlation."""
    rng = np.random.default_rng(0)
    normals = rng.standard_normal((N_DRAWS, len(correlation)))
    scales = np.sqrt(rng.chisquare(df, N_DRAWS) / df)
    values = normals @ np.linalg.cholesky(correlation).T
    return np.asarray(np.abs(values).max(axis=1) / scales)


def _tail_of_each(largest: FloatArray, tail: float, df: int, n_rows: int) -> float:
    bound = float(np.quantile(largest, 1 - 2 * tail))
    each = min(max(student_tail(df, bound), tail / n_rows), tail)
    # Three digits, so that no rounding error of the matrix shows.
    return float(f"{each:.3g}")
