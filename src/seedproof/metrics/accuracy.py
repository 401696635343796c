"""How often are the runs right, how far apart are they, and how much of that is chance?"""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import Detail, Need
from seedproof.metrics.batch import Batch
from seedproof.metrics.statistic import (
    ExampleSums,
    ExampleValues,
    ExcessSpread,
    RootOfMean,
    SpreadOverRuns,
    Statistic,
)
from seedproof.typing import BoolArray


def accuracy(correct: BoolArray) -> ExampleValues:
    """Share of the runs that are right, for each example.

    Args:
        correct: Whether each run is right, axes (runs, examples).

    Returns:
        Shares in [0, 1]. Higher is better.
    """
    n_runs = len(correct)
    whole = correct.sum(axis=0, dtype=np.int64)
    return ExampleValues(
        whole,
        whole - correct if n_runs > 2 else None,
        whole_denominator=n_runs,
        without_denominator=n_runs - 1,
    )


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


class Accuracy:
    """Accuracy, its spread over runs, and what independent flips would give."""

    figures: ClassVar[tuple[str, ...]] = (
        "accuracy",
        "accuracy_sd",
        "accuracy_sd_independent",
        "accuracy_sd_excess",
    )
    needs: ClassVar[frozenset[Need]] = frozenset({"labels"})
    memory: ClassVar[str] = "runs"

    def __init__(self, n_runs: int, n_classes: int) -> None:
        del n_classes
        self._accuracy = ExampleSums()
        self._variance = ExampleSums()
        self._right = np.zeros(n_runs, dtype=np.int64)

    def values(self, batch: Batch) -> Mapping[str, ExampleValues]:
        """Share of right runs of each labeled example, and the variance of being right."""
        labeled = batch.labeled

        def variance() -> ExampleValues:
            contested = labeled.correct[:, labeled.contested]
            return labeled.of_contested(correctness_variance(contested))

        return {
            "accuracy": batch.once("accuracy", lambda: accuracy(labeled.correct)),
            "accuracy_sd_independent": batch.once("accuracy_sd_independent", variance),
        }

    def update(self, batch: Batch) -> Detail:
        """Add one batch; returns the share of the runs that are right, NaN where unlabeled."""
        labeled = batch.labeled
        shares, variance = self.values(batch).values()
        self._accuracy.update(shares)
        self._variance.update(variance)
        self._right += labeled.correct.sum(axis=1)
        columns = np.full(batch.n_examples, np.nan)
        if batch.labels is not None:
            columns[batch.labels >= 0] = shares.values
        return {"correct_share": columns}

    def merge(self, other: "Accuracy") -> None:
        """Add the examples of another part."""
        self._accuracy.merge(other._accuracy)
        self._variance.merge(other._variance)
        self._right += other._right

    def result(self) -> Mapping[str, Statistic]:
        """Accuracy and the parts of its spread, over all labeled examples so far."""
        n_examples = self._accuracy.n_examples
        by_run = self._right / n_examples
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
        return {"accuracy_by_run": self._right / self._accuracy.n_examples}
