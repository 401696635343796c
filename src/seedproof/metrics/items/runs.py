"""Sums over examples that show which runs of lists or sets are no evidence."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import Detail
from seedproof.metrics.items.batch import ItemBatch
from seedproof.metrics.items.family import Catalog, ItemFamily
from seedproof.metrics.statistic import ExampleValues, Statistic
from seedproof.typing import BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class ItemRunSums:
    """Sums that checks of the input need; see `predictions.item_checks`."""

    n_examples: int
    differ: BoolArray  # whether two runs differ on any example: (runs, runs)
    n_varied: IntArray  # examples with other items than the first of its batch: (runs)
    n_empty: IntArray  # examples without any item: (runs)
    n_flips: float  # examples on which two runs are expected to differ


class ItemEquality(ItemFamily):
    """Runs that are equal to each other, or that give the same items to every example."""

    least_runs: ClassVar[int] = 1
    memory: ClassVar[str] = "runs²"

    def __init__(self, n_runs: int, catalog: Catalog) -> None:
        super().__init__(n_runs, catalog)
        self._n_examples = 0
        self._differ = np.zeros((n_runs, n_runs), dtype=np.bool_)
        self._n_varied = np.zeros(n_runs, dtype=np.int64)
        self._n_empty = np.zeros(n_runs, dtype=np.int64)
        self._n_unlike_first = 0

    def add(self, batch: ItemBatch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add a batch; there are no columns."""
        columns, items = super().add(batch, values), batch.items
        self._n_examples += batch.n_examples
        contents = [hash(of_run.tobytes()) for of_run in items]
        self._differ |= np.not_equal.outer(contents, contents)
        self._n_varied += np.count_nonzero((items != items[:, :1]).any(axis=2), axis=1)
        self._n_empty += np.count_nonzero(batch.whole_sizes == 0, axis=1)
        self._n_unlike_first += int(np.count_nonzero((items != items[0]).any(axis=2)))
        return columns

    def result(self) -> Mapping[str, Statistic]:
        """Return no metric."""
        return {}

    def run_sums(self) -> ItemRunSums:
        """Return the sums that checks of the input need."""
        n_flips = self._n_unlike_first / max(self.n_runs - 1, 1)
        return ItemRunSums(self._n_examples, self._differ, self._n_varied, self._n_empty, n_flips)
