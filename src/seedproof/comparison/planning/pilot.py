"""What a first few runs tell a plan: how much runs differ, and how well that is known."""

from dataclasses import dataclass

import numpy as np

from seedproof.errors import TooFewRunsError
from seedproof.measurement.result import Measurement
from seedproof.metrics.statistic import SpreadOverRuns
from seedproof.stats.intervals import (
    NORMAL,
    Estimate,
    estimate,
    jackknife_variance,
    student,
)


@dataclass(frozen=True, slots=True)
class Pilot:
    """The figures that planning needs, from one arm's runs.

    Args:
        n_runs: How many runs it has.
        n_examples: On how many examples.
        sd: Standard deviation of the accuracy over runs; None without labels or without spread.
        cv: Standard deviation of the runs' mean disagreements over their mean; None where no
            answer flips or all runs disagree alike.
        example_variance: Variance of the log flip rate of this arm from drawing examples.
    """

    n_runs: int
    n_examples: int
    sd: Estimate | None
    cv: Estimate | None
    example_variance: float


def pilot_of(measurement: Measurement) -> Pilot:
    """What the runs of one measurement tell a plan."""
    if measurement.n_runs < 3:
        raise TooFewRunsError(
            "A pilot shows how much runs differ, but this one has {n_runs} runs. "
            "Make at least 3, better 10.",
            n_runs=measurement.n_runs,
        )
    sd = measurement.metrics.get("accuracy_sd")
    return Pilot(
        measurement.n_runs,
        measurement.n_examples,
        sd=sd if sd is not None and sd.value > 0.0 else None,
        cv=_variation(measurement),
        example_variance=_example_variance(measurement),
    )


def _variation(measurement: Measurement) -> Estimate | None:
    by_run = measurement.detail["flip_matrix"].sum(axis=1) / (measurement.n_runs - 1)
    mean = float(by_run.mean())
    spread = estimate(SpreadOverRuns(by_run))
    if spread.value <= 1e-12 * mean:
        return None
    if spread.low is None or spread.high is None:
        return Estimate(spread.value / mean)
    return Estimate(spread.value / mean, spread.low / mean, spread.high / mean, "runs")


def _example_variance(measurement: Measurement) -> float:
    """What examples add to the interval of the flip rate: its width less the runs' part."""
    flips, n_runs = measurement.metrics["flip_rate"], measurement.n_runs
    if flips.value == 0.0 or flips.low is None or flips.over != "runs × examples":
        return 0.0
    by_run = measurement.detail["flip_matrix"].sum(axis=1) / (n_runs - 1)
    without = flips.value - 2 * (by_run - flips.value) / (n_runs - 2)
    floor = 0.5 * min(1 / measurement.n_examples, flips.value)  # as the interval itself has it
    runs = jackknife_variance(np.log(np.maximum(without, floor)))
    half_width = float(np.log(flips.value / flips.low))
    return max(half_width**2 - student(n_runs) ** 2 * runs, 0.0) / NORMAL**2
