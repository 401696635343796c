"""Differences between runs on the same example, and across a tolerance or a threshold."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np

from seedproof.metrics.flips import flip_rate
from seedproof.metrics.numbers.batch import NumberBatch
from seedproof.metrics.numbers.family import NumberFamily
from seedproof.metrics.numbers.unequal import (
    beyond_of_trials,
    difference_of_trials,
    flips_of_trials,
    variance_of_trials,
)
from seedproof.metrics.statistic import (
    ExampleValues,
    MeanOverExamples,
    RootOfMean,
    SpreadOverRuns,
    Statistic,
    WholeRuns,
)
from seedproof.records.answer_settings import Tolerance
from seedproof.typing import BoolArray, FloatArray, IntArray


def variance_over_runs(numbers: FloatArray) -> ExampleValues:
    """Return the sample variance over runs per example, from the axes (runs, examples)."""
    n_runs = len(numbers)
    squares = np.square(numbers - numbers.mean(axis=0))
    whole = squares.sum(axis=0)
    without = None
    if n_runs > 2:
        # Rounding may leave less than nothing where a single run differs.
        without = np.maximum(whole - squares * (n_runs / (n_runs - 1)), 0.0)
    return ExampleValues(
        whole, without, whole_denominator=n_runs - 1, without_denominator=n_runs - 2
    )


def mean_difference(numbers: FloatArray) -> ExampleValues:
    """Return the mean absolute difference of two runs per example (Gini's mean difference)."""
    n_runs, n_examples = numbers.shape
    # The numbers of an example next to each other: sorting takes most of the time.
    of_examples = np.ascontiguousarray(numbers.T)
    places = np.argsort(of_examples, axis=1, kind="stable")
    places += n_runs * np.arange(n_examples)[:, np.newaxis]
    # Differences from the lowest: sums of large numbers would lose their digits.
    ascending = of_examples.ravel()[places]
    ascending = ascending - ascending[:, :1]
    below = np.cumsum(ascending, axis=1)
    # Of each number: its differences from the lower ones, and from the higher ones.
    sums = (2 * np.arange(n_runs) + 2 - n_runs) * ascending - 2 * below + below[:, -1:]
    by_run = np.empty_like(sums)
    by_run.ravel()[places] = sums
    return _over_pairs(np.ascontiguousarray(by_run.T))


def pairs_beyond(numbers: FloatArray, tolerance: Tolerance) -> ExampleValues:
    """Return the share of the pairs of runs that differ by more than a tolerance, per example."""
    n_runs = len(numbers)
    by_run = np.zeros(numbers.shape, dtype=np.int64)
    for shift in range(1, n_runs):
        differ = tolerance.is_exceeded(numbers[shift:], numbers[:-shift])
        by_run[shift:] += differ
        by_run[:-shift] += differ
    return _over_pairs(by_run)


def flips_across(is_above: BoolArray) -> ExampleValues:
    """Return the share of the pairs of runs on different sides of a threshold, per example."""
    n_above: IntArray = is_above.sum(axis=0, dtype=np.int64)
    return flip_rate(np.where(is_above, n_above, len(is_above) - n_above))


def _over_pairs(by_run: FloatArray | IntArray) -> ExampleValues:
    """Return means over pairs of runs, given the sum over all others of each run."""
    n_runs = len(by_run)
    whole = by_run.sum(axis=0)
    return ExampleValues(
        whole,
        whole - 2 * by_run if n_runs > 2 else None,
        whole_denominator=n_runs * (n_runs - 1),
        without_denominator=(n_runs - 1) * (n_runs - 2),
    )


# Limit of the power by which a share of pairs follows the variance over runs.
STEEPEST = 4.0


def with_whole_runs(statistics: Mapping[str, Statistic]) -> dict[str, Statistic]:
    """Return the same statistics, those over pairs of runs with the part of whole runs."""
    spread, variance = statistics.get("mean_sd"), statistics.get("example_sd")
    if not (isinstance(spread, SpreadOverRuns) and isinstance(variance, RootOfMean)):
        return dict(statistics)
    means, over = spread.values, variance.mean
    if over.value <= 0.0:
        return dict(statistics)
    share = min(float(means.var(ddof=1)) / over.value, 1.0)

    def of_whole_runs(figure: MeanOverExamples) -> MeanOverExamples:
        return replace(figure, whole_runs=WholeRuns(means, share, _power(figure, over)))

    def changed(name: str, statistic: Statistic) -> Statistic:
        if statistic is variance:
            return replace(variance, mean=of_whole_runs(over))
        if isinstance(statistic, MeanOverExamples) and _is_over_pairs(name):
            return of_whole_runs(statistic)
        return statistic

    return {name: changed(name, statistic) for name, statistic in statistics.items()}


def _is_over_pairs(name: str) -> bool:
    return name in {"mean_difference", "beyond_tolerance"} or name.startswith("flip_rate")


def _power(figure: MeanOverExamples, variance: MeanOverExamples) -> float:
    """Return the power of the variance that a figure follows, from those without each run."""
    if figure.without is None or variance.without is None or figure.value <= 0.0:
        return 0.0
    across = np.log(np.maximum(variance.without, 1e-9 * variance.value))
    up = np.log(np.maximum(figure.without, 1e-9 * figure.value))
    across, up = across - across.mean(), up - up.mean()
    squares = float(across @ across)
    return float(np.clip(across @ up / squares, 0.0, STEEPEST)) if squares > 0.0 else 0.0


class Spread(NumberFamily):
    """Spread over runs on the same example."""

    figures: ClassVar[tuple[str, ...]] = ("example_sd", "mean_difference")
    least_runs: ClassVar[int] = 1  # its columns name the examples
    takes_unequal: ClassVar[bool] = True

    def quantities(self, batch: NumberBatch) -> Mapping[str, ExampleValues]:
        """Return variance and mean difference per example."""
        if self.n_runs == 1:
            return {}
        if batch.is_unequal:
            return {
                "example_sd": variance_of_trials(batch.numbers),
                "mean_difference": difference_of_trials(batch.numbers),
            }
        return {
            "example_sd": self.tree.over_pairs(batch.numbers, variance_over_runs),
            "mean_difference": self.tree.over_pairs(batch.numbers, mean_difference),
        }

    def columns(
        self, batch: NumberBatch, values: Mapping[str, ExampleValues]
    ) -> dict[str, FloatArray]:
        """Return mean, standard deviation and mean difference of each example.

        A single trial has no spread: its standard deviation and difference are NaN.
        """
        if self.n_runs == 1:
            return {"mean": batch.means, "sd": np.full(batch.n_examples, np.nan)}
        if batch.is_unequal:
            columns = {name: np.full(batch.n_examples, np.nan) for name in values}
            for name, of_examples in values.items():
                columns[name][of_examples.places] = of_examples.values
            sd, difference = np.sqrt(columns["example_sd"]), columns["mean_difference"]
            return {"mean": batch.means, "sd": sd, "mean_difference": difference}
        return {
            "mean": batch.means,
            "sd": np.sqrt(values["example_sd"].values),
            "mean_difference": values["mean_difference"].values,
        }

    def result(self) -> Mapping[str, Statistic]:
        """Return the spread on a typical example, over all examples so far."""
        if not self.has_any("example_sd"):
            return {}
        return {
            "example_sd": RootOfMean(self.mean_of("example_sd"), divisor=1.0),
            "mean_difference": self.mean_of("mean_difference"),
        }


class Limits(NumberFamily):
    """Pairs of runs that differ by more than a tolerance, or lie across a threshold."""

    figures: ClassVar[tuple[str, ...]] = ("beyond_tolerance", "flip_rate@t")
    takes_unequal: ClassVar[bool] = True

    def quantities(self, batch: NumberBatch) -> Mapping[str, ExampleValues]:
        """Return the share of pairs per example, for each limit."""
        settings, tree, numbers = self.settings, self.tree, batch.numbers
        if tree.is_unequal:
            of_trials = {
                f"flip_rate@{threshold:g}": flips_of_trials(numbers >= threshold, numbers)
                for threshold in settings.thresholds
            }
            if settings.tolerance is not None:
                of_trials["beyond_tolerance"] = beyond_of_trials(numbers, settings.tolerance)
            return of_trials
        values = {
            f"flip_rate@{threshold:g}": tree.over_pairs(numbers >= threshold, flips_across)
            for threshold in settings.thresholds
        }
        if settings.tolerance is not None:
            beyond = partial(pairs_beyond, tolerance=settings.tolerance)
            values["beyond_tolerance"] = tree.over_pairs(numbers, beyond)
        return values

    def result(self) -> Mapping[str, Statistic]:
        """Return the shares over all examples so far."""
        return {
            name: self.mean_of(name, largest=1.0, is_count=True)
            for name in self.sums
            if self.has_any(name)
        }
