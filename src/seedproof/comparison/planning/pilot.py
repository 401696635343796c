"""Variation over the first runs of an arm, with its uncertainty, as a plan needs it."""

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
    """The figures that planning needs, from the runs of one arm."""

    n_runs: int
    n_examples: int
    sd: Estimate | None  # of the accuracy over runs; None if unlabeled or without spread
    # Standard deviation of the runs' mean disagreements over their mean; None if it is 0.
    cv: Estimate | None
    example_variance: float  # of the log flip rate of this arm, from drawing examples
    n_clusters: int | None = None  # drawn in place of examples; None if those are independent


def pilot_of(measurement: Measurement) -> Pilot:
    """Return the figures that planning needs from a measurement."""
    if measurement.n_runs < 3:
        raise TooFewRunsError(
            "A pilot needs at least 3 runs, preferably 10, to show how much runs differ. This one "
            "has {n_runs}.",
            n_runs=measurement.n_runs,
        )
    sd = measurement.metrics.get("accuracy_sd")
    return Pilot(
        measurement.n_runs,
        measurement.n_examples,
        sd=sd if sd is not None and sd.value > 0.0 else None,
        cv=_variation(measurement),
        example_variance=_example_variance(measurement),
        n_clusters=None if measurement.clusters is None else measurement.clusters.n_clusters,
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
    """Variance from examples in the interval of the flip rate: its width less the runs' part."""
    flips, n_runs = measurement.metrics["flip_rate"], measurement.n_runs
    is_over_both = flips.over in {"runs × examples", "runs × clusters"}
    if flips.value == 0.0 or flips.low is None or not is_over_both:
        return 0.0
    by_run = measurement.detail["flip_matrix"].sum(axis=1) / (n_runs - 1)
    without = flips.value - 2 * (by_run - flips.value) / (n_runs - 2)
    floor = 0.5 * min(1 / measurement.n_examples, flips.value)  # as in the interval itself
    runs = jackknife_variance(np.log(np.maximum(without, floor)))
    half_width = float(np.log(flips.value / flips.low))
    clusters = measurement.clusters
    quantile = NORMAL if clusters is None else student(clusters.n_clusters)
    return max(half_width**2 - student(n_runs) ** 2 * runs, 0.0) / quantile**2
