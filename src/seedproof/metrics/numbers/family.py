"""The base class of the metric families of numbers."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import ClassVar, Self

import numpy as np

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
from seedproof.typing import FloatArray, IntArray


class NumberFamily(Accumulator[NumberBatch]):
    """A family of metrics of numbers."""

    least_runs: ClassVar[int] = 2
    takes_unequal: ClassVar[bool] = False  # examples may have different numbers of trials

    def __init__(self, n_runs: int, settings: AnswerSettings) -> None:
        super().__init__(n_runs)
        self.sums = defaultdict(partial(ExampleSums, shape=Shape()))
        self.settings, self.tree = settings, Tree.of(settings, n_runs)
        self.per_judge = tuple(self._without_each_judge())
        self._n_other_batches = 0  # with a number that is neither 0 nor 1

    @classmethod
    def applies(cls, tree: Tree) -> bool:
        """Return whether there are enough runs or trials for the family."""
        return cls.least_runs <= tree.n_runs and (cls.takes_unequal or not tree.is_unequal)

    @property
    def is_pass_or_fail(self) -> bool:
        """True if all numbers so far are 0 or 1."""
        return self._n_other_batches == 0

    def values(self, batch: NumberBatch) -> Mapping[str, ExampleValues]:
        """Return each quantity per example, with the weights of the examples."""
        values = self.quantities(batch)
        if self.per_judge:
            values = self._with_judges(batch, values)
        weights = (batch.labeled if "labels" in self.needs else batch).weights
        if weights is None:
            return values
        return {
            name: replace(
                x,
                weights=weights[x.places] if x.is_subset else weights,
                variances=None,
            )
            for name, x in values.items()
        }

    def _without_each_judge(self) -> Iterator[tuple[IntArray, Self]]:
        """Yield, for each judge who grades every answer, the repeats of the others, and a family.

        These families give quantities, and no examples are ever added to them.
        """
        levels = self.settings.levels
        if levels is None:
            return
        for judge in range(len(levels.judges)):
            order, others = levels.without_judge(judge)
            settings = replace(self.settings, levels=others)
            yield np.array(order), type(self)(self.n_runs, settings)

    def _with_judges(
        self, batch: NumberBatch, values: Mapping[str, ExampleValues]
    ) -> dict[str, ExampleValues]:
        """Return quantities with those that they would be without each judge."""
        without = [
            family.quantities(replace(batch, numbers=batch.numbers[order], tree=family.tree))
            for order, family in self.per_judge
        ]
        return {
            name: replace(x, without_judge=np.stack([rest[name].values for rest in without]))
            for name, x in values.items()
        }

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

    def has_any(self, name: str) -> bool:
        """Return whether any example so far has a quantity."""
        return name in self.sums and self.sums[name].n_examples > 0

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
        if mean.judges is not None and self.settings.levels is not None:
            mean = replace(mean, judges=replace(mean.judges, names=self.settings.levels.judges))
        return replace(mean, is_small=True)
