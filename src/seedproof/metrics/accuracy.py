"""How often are the runs right, how far apart are they, and how much of that is chance?"""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import Accumulator, Detail, Need
from seedproof.metrics.batch import Batch
from seedproof.metrics.statistic import (
    ExampleSums,
    ExampleValues,
    ExcessSpread,
    RootOfMean,
    SpreadOverRuns,
    Statistic,
    mean_over_runs,
)
from seedproof.typing import BoolArray


def accuracy(correct: BoolArray) -> ExampleValues:
    """Share of the runs that are right, for each example.

    Args:
        correct: Whether each run is right, axes (runs, examples).

    Returns:
        Shares in [0, 1]. Higher is better.
    """
    return mean_over_runs(correct)


def correctness_variance(correct: BoolArray) -> ExampleValues:
    """Variance over runs of being right, for each example: p(1-p)·R/(R-1).

    The accuracy of n examples that flip independently of each other has the variance mean/n.

    Args:
        correct: Whether each run is right, axes (runs, examples).

    Returns:
        Variances in [0, 0.5]; 0 where all runs are right or all are wrong.
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


class Accuracy(Accumulator):
    """Accuracy, its spread over runs, and what independent flips would give."""

    figures: ClassVar[tuple[str, ...]] = (
        "accuracy",
        "accuracy_sd",
        "accuracy_sd_independent",
        "accuracy_sd_excess",
    )
    needs: ClassVar[frozenset[Need]] = frozenset({"labels"})

    def __init__(self, n_runs: int, n_classes: int) -> None:
        super().__init__(n_runs, n_classes)
        self._accuracy = ExampleSums()
        self._variance = ExampleSums()

    def values(self, batch: Batch) -> Mapping[str, ExampleValues]:
        """Share of right runs of each labeled example, and the variance of being right."""
        labeled = batch.labeled
        contested = labeled.correct[:, labeled.contested]
        return {
            "accuracy": accuracy(labeled.correct),
            "accuracy_sd_independent": labeled.of_contested(correctness_variance(contested)),
        }

    def add(self, batch: Batch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add a batch; return the share of the runs that are right, NaN where unlabeled."""
        self._accuracy.update(values["accuracy"])
        self._variance.update(values["accuracy_sd_independent"])
        shares = np.full(batch.n_examples, np.nan)
        if batch.labels is not None:
            shares[batch.labels >= 0] = values["accuracy"].values
        return {"correct_share": shares}

    def result(self) -> Mapping[str, Statistic]:
        """Accuracy and the parts of its spread, over all labeled examples so far."""
        n_examples = self._accuracy.n_examples
        by_run = self._accuracy.mean_by_run
        independent = self._variance.mean_over_examples(largest=0.5, is_count=True)
        return {
            "accuracy": self._accuracy.mean_over_examples(
                scale="logit", largest=1.0, is_count=True
            ),
            "accuracy_sd": SpreadOverRuns(by_run, largest=1.0),
            "accuracy_sd_independent": RootOfMean(independent, divisor=n_examples),
            "accuracy_sd_excess": ExcessSpread(
                by_run, known=(independent.value / n_examples) ** 0.5
            ),
        }

    def detail(self) -> Detail:
        """Accuracy of each run."""
        return {"accuracy_by_run": self._accuracy.mean_by_run}
