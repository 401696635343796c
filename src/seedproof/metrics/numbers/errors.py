"""Errors against targets, and their spread over runs."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import Detail, Need
from seedproof.metrics.numbers.batch import NumberBatch
from seedproof.metrics.numbers.family import NumberFamily
from seedproof.metrics.statistic import (
    ExampleValues,
    RootOfMean,
    SpreadOverRuns,
    Statistic,
    mean_over_runs,
)
from seedproof.typing import FloatArray


class Errors(NumberFamily):
    """Mean absolute error, root mean squared error and bias of each run, and their spread."""

    figures: ClassVar[tuple[str, ...]] = ("mae", "mae_sd", "rmse", "rmse_sd", "bias", "bias_sd")
    needs: ClassVar[frozenset[Need]] = frozenset({"labels"})
    least_runs: ClassVar[int] = 1

    def values(self, batch: NumberBatch) -> Mapping[str, ExampleValues]:
        """Return errors per example with a target, averaged over runs."""
        labeled = batch.labeled
        if labeled.targets is None:
            raise ValueError("errors need targets")
        errors = labeled.numbers - labeled.targets
        return {
            "mae": mean_over_runs(labeled.by_run(np.abs(errors))),
            "rmse": mean_over_runs(labeled.by_run(np.square(errors))),
            "bias": mean_over_runs(labeled.by_run(errors)),
        }

    def columns(
        self, batch: NumberBatch, values: Mapping[str, ExampleValues]
    ) -> dict[str, FloatArray]:
        """Return the mean absolute error of each example, NaN without a target."""
        column = np.full(batch.n_examples, np.nan)
        column[batch.is_labeled] = values["mae"].values
        return {"absolute_error": column}

    def result(self) -> Mapping[str, Statistic]:
        """Return errors and their spreads over runs, over all examples with a target so far."""
        results: dict[str, Statistic] = {
            "mae": self.mean_of("mae"),
            "rmse": RootOfMean(self.mean_of("rmse"), divisor=1.0),
            "bias": self.mean_of("bias", scale="linear"),
        }
        if self.settings.are_trials:
            return results
        spreads = {f"{name}_sd": SpreadOverRuns(values) for name, values in self._by_run().items()}
        return {name: {**results, **spreads}[name] for name in self.figures}

    def detail(self) -> Detail:
        """Return the errors of each run."""
        return {f"{name}_by_run": values for name, values in self._by_run().items()}

    def _by_run(self) -> dict[str, FloatArray]:
        by_run = {name: sums.mean_by_run for name, sums in self.sums.items()}
        return {**by_run, "rmse": np.sqrt(by_run["rmse"])} if by_run else {}
