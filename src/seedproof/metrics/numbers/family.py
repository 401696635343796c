"""The base class of the metric families of numbers."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import ClassVar

from seedproof.metrics.accumulator import Accumulator, Detail
from seedproof.metrics.block_statistic import Shape
from seedproof.metrics.numbers.batch import NumberBatch
from seedproof.metrics.numbers.levels import Tree
from seedproof.metrics.statistic import (
    ExampleSums,
    ExampleValues,
    MeanOverExamples,
    Scale,
    of_trials,
)
from seedproof.records.answer_settings import AnswerSettings
from seedproof.typing import FloatArray


class NumberFamily(Accumulator[NumberBatch]):
    """A family of metrics of numbers."""

    least_runs: ClassVar[int] = 2

    def __init__(self, n_runs: int, settings: AnswerSettings) -> None:
        super().__init__(n_runs)
        self.sums = defaultdict(partial(ExampleSums, shape=Shape()))
        self.settings, self.tree = settings, Tree.of(settings, n_runs)
        self._n_other_batches = 0  # with a number that is neither 0 nor 1

    @property
    def is_pass_or_fail(self) -> bool:
        """True if all numbers so far are 0 or 1."""
        return self._n_other_batches == 0

    def values(self, batch: NumberBatch) -> Mapping[str, ExampleValues]:
        """Return each quantity per example, with the weights of the examples."""
        values = self.quantities(batch)
        weights = (batch.labeled if "labels" in self.needs else batch).weights
        if weights is None:
            return values
        return {name: replace(x, weights=weights, variances=None) for name, x in values.items()}

    def quantities(self, batch: NumberBatch) -> Mapping[str, ExampleValues]:
        """Return each figure that is a mean over examples, or the root of one, per example."""
        del batch
        return {}

    def columns(
        self, batch: NumberBatch, values: Mapping[str, ExampleValues]
    ) -> Mapping[str, FloatArray]:
        """Return columns of the table of examples."""
        del batch, values
        return {}

    def add(self, batch: NumberBatch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add a batch; return columns with one value per example."""
        super().add(batch, values)
        self._n_other_batches += batch.is_passed is None
        return self.columns(batch, values)

    def mean_of(
        self,
        name: str,
        *,
        scale: Scale = "log",
        largest: float | None = None,
        is_count: bool = False,
    ) -> MeanOverExamples:
        """Return a quantity as a mean over examples, of which there may be few."""
        mean = self.sums[name].mean_over_examples(scale=scale, largest=largest, is_count=is_count)
        if self.settings.are_trials:
            mean = of_trials(mean)
        return replace(mean, is_small=True)
