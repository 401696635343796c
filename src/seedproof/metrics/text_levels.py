"""Metrics of free texts of several models, each of which was asked several times."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import Accumulator, Detail
from seedproof.metrics.accuracy import Accuracy
from seedproof.metrics.batch import Batch, agreement
from seedproof.metrics.distinct import distinct_answers
from seedproof.metrics.entropy import label_entropy
from seedproof.metrics.flips import Disagreement, flip_rate
from seedproof.metrics.numbers.levels import Tree
from seedproof.metrics.numbers.spread import variance_over_runs
from seedproof.metrics.statistic import ExampleValues, Statistic, mean_over_runs
from seedproof.typing import IntArray


class ModelAnswers(Disagreement):
    """Trials of one model that disagree, averaged over models.

    Sums over pairs, which checks of the input need, are of all trials of all models.
    """

    figures: ClassVar[tuple[str, ...]] = (
        "flip_rate",
        "ambiguity",
        "distinct_answers",
        "label_entropy",
    )

    def __init__(self, tree: Tree, n_classes: int) -> None:
        super().__init__(tree.n_repeats, n_classes)
        self.tree = tree

    def values(self, batch: Batch) -> Mapping[str, ExampleValues]:
        """Return disagreement, distinct answers and entropy of one model's trials per example."""

        def over_models(kernel: Callable[[IntArray], ExampleValues]) -> ExampleValues:
            def of_model(codes: IntArray) -> ExampleValues:
                return kernel(agreement(codes, batch.n_classes))

            return self.tree.over_all(batch.predictions, of_model)

        return {
            "flip_rate": over_models(flip_rate),
            "distinct_answers": over_models(distinct_answers),
            "label_entropy": over_models(label_entropy),
        }

    def add(self, batch: Batch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add a batch; return the share of the answers that are the majority's, and the values."""
        Accumulator.add(self, batch, values)
        self._disagreements += batch.disagreements
        self._majorities += np.bincount(batch.majority, minlength=len(self._majorities))
        columns = {name: of_examples.values for name, of_examples in values.items()}
        return {"consensus_share": batch.majority / batch.n_runs, **columns}

    def result(self) -> Mapping[str, Statistic]:
        """Return all figures over all examples so far."""
        n_trials = self.tree.n_answers
        distinct = self.sums["distinct_answers"].mean_over_examples(largest=float(n_trials))
        largest = float(np.log(n_trials))
        return {
            "flip_rate": self.sums["flip_rate"].mean_over_examples(largest=1.0, is_count=True),
            "ambiguity": super().result()["ambiguity"],
            "distinct_answers": replace(distinct, least=1.0),
            "label_entropy": self.sums["label_entropy"].mean_over_examples(largest=largest),
        }

    def detail(self) -> Detail:
        """Return nothing: charts of pairs of runs have no levels."""
        return {}


class ModelAccuracy(Accuracy):
    """Accuracy of models, each of which is the share of its right trials."""

    def __init__(self, tree: Tree, n_classes: int) -> None:
        super().__init__(tree.n_runs, n_classes)
        self.tree = tree

    def values(self, batch: Batch) -> Mapping[str, ExampleValues]:
        """Return the mean and the variance over models of the share of right trials."""
        shares = self.tree.numbers(batch.labeled.correct.astype(np.float64))[0]
        return {
            "accuracy": mean_over_runs(shares),
            "accuracy_sd_independent": variance_over_runs(shares),
        }
