"""Accuracy of the runs, its spread, and the part of the spread that is chance."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import ClassFamily, Detail, Need
from seedproof.metrics.batch import Batch
from seedproof.metrics.statistic import (
    ExampleValues,
    ExcessSpread,
    RootOfMean,
    SpreadOverRuns,
    Statistic,
    mean_over_runs,
)
from seedproof.typing import BoolArray


def accuracy(correct: BoolArray) -> ExampleValues:
    """Return the share of correct runs per example, from the axes (runs, examples)."""
    return mean_over_runs(correct)


def correctness_variance(correct: BoolArray) -> ExampleValues:
    """Return the variance of correctness over runs per example: p(1-p)·R/(R-1), in [0, 0.5].

    The accuracy of n examples that flip independently of each other has the variance mean/n.
    """
    n_runs = len(correct)
    right = correct.sum(axis=0, dtype=np.int64)
    without = None
    if n_runs > 2:
        right_left = right - correct
        without = right_left * (n_runs - 1 - right_left)
    return ExampleValues(
        right * (n_runs - right),
        without,
        whole_denominator=n_runs * (n_runs - 1),
        without_denominator=(n_runs - 1) * (n_runs - 2),
    )


class Accuracy(ClassFamily):
    """Accuracy, its spread over runs, and the spread that independent flips would give."""

    figures: ClassVar[tuple[str, ...]] = (
        "accuracy",
        "accuracy_sd",
        "accuracy_sd_independent",
        "accuracy_sd_excess",
    )
    needs: ClassVar[frozenset[Need]] = frozenset({"labels"})

    def values(self, batch: Batch) -> Mapping[str, ExampleValues]:
        """Return share and variance of correctness per labeled example."""
        labeled = batch.labeled
        contested = labeled.correct[:, labeled.contested]
        return {
            "accuracy": accuracy(labeled.correct),
            "accuracy_sd_independent": labeled.of_contested(correctness_variance(contested)),
        }

    def add(self, batch: Batch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add a batch; return the share of correct runs, NaN where unlabeled."""
        super().add(batch, values)
        shares = np.full(batch.n_examples, np.nan)
        if batch.labels is not None:
            shares[batch.labels >= 0] = values["accuracy"].values
        return {"correct_share": shares}

    def result(self) -> Mapping[str, Statistic]:
        """Return accuracy and the parts of its spread, over all labeled examples so far."""
        total = self.sums["accuracy"]
        by_run, n_examples = total.mean_by_run, total.n_examples
        independent = self.sums["accuracy_sd_independent"].mean_over_examples(
            largest=0.5, is_count=True
        )
        return {
            "accuracy": total.mean_over_examples(scale="logit", largest=1.0, is_count=True),
            "accuracy_sd": SpreadOverRuns(by_run, largest=1.0),
            "accuracy_sd_independent": RootOfMean(independent, divisor=n_examples),
            "accuracy_sd_excess": ExcessSpread(
                by_run, known=(independent.value / n_examples) ** 0.5
            ),
        }

    def detail(self) -> Detail:
        """Return the accuracy of each run."""
        return {"accuracy_by_run": self.sums["accuracy"].mean_by_run}
