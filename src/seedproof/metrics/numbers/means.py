"""Mean score, its spread over runs, and the part of the spread that independent noise gives."""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import Detail
from seedproof.metrics.numbers.batch import NumberBatch
from seedproof.metrics.numbers.family import NumberFamily
from seedproof.metrics.numbers.spread import variance_over_runs
from seedproof.metrics.numbers.unequal import counts_of, mean_of_trials, variance_of_trials
from seedproof.metrics.statistic import (
    ExampleValues,
    ExcessSpread,
    RootOfMean,
    SpreadOverRuns,
    Statistic,
    mean_over_runs,
)
from seedproof.records.answer_settings import AnswerSettings


class Means(NumberFamily):
    """Mean over runs and examples, and its spread over runs."""

    figures: ClassVar[tuple[str, ...]] = (
        "mean",
        "mean_sd",
        "mean_sd_independent",
        "mean_sd_excess",
    )

    least_runs: ClassVar[int] = 1
    takes_unequal: ClassVar[bool] = True

    def __init__(self, n_runs: int, settings: AnswerSettings) -> None:
        super().__init__(n_runs, settings)
        self._n_beyond_shares = 0  # batches with a number below 0 or above 1
        # Examples by their number of trials, from 0.
        self._trial_counts = np.zeros(self.tree.n_repeats + 1, dtype=np.int64)

    def quantities(self, batch: NumberBatch) -> Mapping[str, ExampleValues]:
        """Return the mean, and the variance over runs, per example."""
        if batch.is_unequal:
            noise = variance_of_trials(batch.numbers)
            weights = None if batch.weights is None else batch.weights[noise.places]
            return {
                "mean": mean_of_trials(batch.numbers),
                "mean_sd_independent": noise.scaled(weights),
            }
        mean = {"mean": mean_over_runs(batch.of_runs, batch.weights)}
        if self.n_runs == 1:
            return mean
        # Noise enters the variance of a weighted mean by the square of the weight.
        noise = variance_over_runs(batch.of_runs).scaled(batch.weights)
        return {**mean, "mean_sd_independent": noise}

    def add(self, batch: NumberBatch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add a batch; there are no columns."""
        self._n_beyond_shares += not batch.are_shares
        if batch.is_unequal:
            counts = counts_of(batch.numbers)
            self._trial_counts += np.bincount(counts, minlength=len(self._trial_counts))
        return super().add(batch, values)

    def result(self) -> Mapping[str, Statistic]:
        """Return the mean and the parts of its spread, over all examples so far.

        Trials of one model differ by independent noise alone.
        """
        largest = None if self._n_beyond_shares else 1.0
        mean = self.mean_of("mean", scale="linear", largest=largest)
        if self.is_pass_or_fail:
            mean = self.mean_of("mean", scale="logit", largest=1.0, is_count=True)
        if largest is not None:
            # With unequal numbers, one trial may be all that an example has.
            mean = replace(mean, step=1.0 if self.tree.is_unequal else 1 / self.n_runs)
        if not self.has_any("mean_sd_independent"):
            return {"mean": mean}
        variance, size = self.mean_of("mean_sd_independent"), self.sums["mean"].size
        independent = RootOfMean(variance, divisor=size)
        if self.settings.are_trials:
            return {"mean": mean, "mean_sd_independent": independent}
        by_run = self.sums["mean"].mean_by_run
        return {
            "mean": mean,
            "mean_sd": SpreadOverRuns(by_run),
            "mean_sd_independent": independent,
            "mean_sd_excess": ExcessSpread(by_run, known=(variance.value / size) ** 0.5),
        }

    def detail(self) -> Detail:
        """Return the mean of each run, or the number of examples by their number of trials."""
        if self.tree.is_unequal:
            return {"trial_counts": self._trial_counts}
        return {"mean_by_run": self.sums["mean"].mean_by_run}
