"""Errors against targets, and their spread over runs."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import Detail, Need
from seedproof.metrics.block_statistic import ExplainedVariance, log_ratio
from seedproof.metrics.calibration import N_BLOCKS
from seedproof.metrics.numbers.batch import NumberBatch
from seedproof.metrics.numbers.family import NumberFamily
from seedproof.metrics.numbers.moments import Moments
from seedproof.metrics.statistic import (
    ExampleValues,
    RootOfMean,
    SpreadOverRuns,
    Statistic,
    ValueOnly,
    mean_over_runs,
)
from seedproof.records.answer_settings import AnswerSettings
from seedproof.typing import FloatArray


class Errors(NumberFamily):
    """Mean absolute error, root mean squared error and bias of each run, and their spread."""

    figures: ClassVar[tuple[str, ...]] = ("mae", "mae_sd", "rmse", "rmse_sd", "bias", "bias_sd")
    needs: ClassVar[frozenset[Need]] = frozenset({"labels"})
    least_runs: ClassVar[int] = 1

    def quantities(self, batch: NumberBatch) -> Mapping[str, ExampleValues]:
        """Return errors per example with a target, averaged over runs."""
        labeled = batch.labeled
        if labeled.targets is None:
            raise ValueError("errors need targets")
        errors = labeled.numbers - labeled.targets
        return {
            "mae": mean_over_runs(labeled.by_run(np.abs(errors)), labeled.weights),
            "rmse": mean_over_runs(labeled.by_run(np.square(errors)), labeled.weights),
            "bias": mean_over_runs(labeled.by_run(errors), labeled.weights),
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


class Explained(NumberFamily):
    """Share of the variance of the targets that each run explains, and its spread."""

    figures: ClassVar[tuple[str, ...]] = ("r2", "r2_sd")
    needs: ClassVar[frozenset[Need]] = frozenset({"labels"})
    memory: ClassVar[str] = "runs × blocks"
    least_runs: ClassVar[int] = 1

    def __init__(self, n_runs: int, settings: AnswerSettings) -> None:
        super().__init__(n_runs, settings)
        self._squares = np.zeros((n_runs, N_BLOCKS))  # of errors, summed over examples
        self._targets = Moments.empty((1,))

    def add(self, batch: NumberBatch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add the examples with a target; a single example has no variance."""
        columns, labeled = super().add(batch, values), batch.labeled
        if labeled.targets is not None and labeled.n_examples:
            blocks, weights = labeled.filled_blocks, labeled.weights
            squares = labeled.by_run(np.square(labeled.numbers - labeled.targets))
            if weights is not None:
                squares = squares * weights
            self._squares += [np.bincount(blocks, row, N_BLOCKS) for row in squares]
            targets = Moments.of([labeled.targets[np.newaxis]], blocks, weights)
            self._targets = self._targets + targets
        return columns

    def result(self) -> Mapping[str, Statistic]:
        """Return the mean over runs and the spread; none if all targets are equal."""
        sizes = self._targets.sizes
        if not sizes.any():
            return {}
        targets = self._targets.left_out()
        errors = self._squares[:, sizes > 0]
        whole = errors.sum(axis=1, keepdims=True)
        by_run = np.concatenate([whole, whole - errors], axis=1)
        variance = targets.squares[0][0]
        if not variance[0] > 0.0:
            return {}
        n_runs, total = self.n_runs, by_run.sum(axis=0, keepdims=True)
        ratios = total / n_runs
        if n_runs > 2 and not self.settings.are_trials:
            ratios = np.concatenate([ratios, (total - by_run) / (n_runs - 1)])
        with np.errstate(divide="ignore", invalid="ignore"):
            jackknife = log_ratio(ratios / variance, targets.sizes)
        r2: Statistic = ValueOnly(1 - float(ratios[0, 0] / variance[0]))
        if jackknife is not None:
            ratio, without, blocks = jackknife
            r2 = ExplainedVariance(ratio=ratio, without=without, blocks=blocks)
        if self.settings.are_trials or n_runs == 1:
            return {"r2": r2}
        return {"r2": r2, "r2_sd": SpreadOverRuns(1 - by_run[:, 0] / variance[0])}
