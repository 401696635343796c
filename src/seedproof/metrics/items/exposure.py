"""Exposure: how often each item is among the first ones of a run's lists."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import Detail
from seedproof.metrics.classwise import add_counts
from seedproof.metrics.items.batch import ItemBatch
from seedproof.metrics.items.family import Catalog, ItemFamily
from seedproof.metrics.statistic import ExampleValues, Statistic
from seedproof.records.items import NO_ITEM
from seedproof.typing import IntArray

# Limit of the entries of the table of runs and items; exposure is left out beyond it.
MOST_EXPOSURES = 2**24
N_LISTED = 20


class Exposure(ItemFamily):
    """Items whose exposure varies over runs by more than independent examples would give.

    If the lists of an example changed independently of all others, the exposure of an item would
    vary over runs by the sum over examples of its variance there.
    """

    memory: ClassVar[str] = "runs × items"

    def __init__(self, n_runs: int, catalog: Catalog) -> None:
        super().__init__(n_runs, catalog)
        n_items = catalog.n_items if self.is_kept else 0
        self._shown = np.zeros((n_runs, n_items), dtype=np.int64)
        self._variances = np.zeros(n_items)
        self._n_examples = 0

    @property
    def most_items(self) -> int:
        """Largest number of items that are counted."""
        return MOST_EXPOSURES // self.n_runs

    @property
    def is_kept(self) -> bool:
        """True if there are few enough items."""
        return self.catalog.n_items <= self.most_items

    def add(self, batch: ItemBatch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add a batch; there are no columns."""
        columns = super().add(batch, values)
        self._n_examples += batch.n_examples
        if not self._shown.size:
            return columns
        runs = np.arange(self.n_runs)[:, np.newaxis, np.newaxis] * self.catalog.n_items
        add_counts(self._shown, (batch.top + runs)[batch.top != NO_ITEM])
        items, ranks, _, starts, is_item = batch.occurrences
        first = np.flatnonzero(starts)
        is_top = is_item & (ranks < batch.top.shape[2])
        n_with = np.add.reduceat(is_top.ravel(), first, dtype=np.int64)
        # The sample variance over runs of whether an example is shown the item.
        variances = n_with * (self.n_runs - n_with) / (self.n_runs * (self.n_runs - 1))
        is_varied = variances > 0.0
        np.add.at(self._variances, items.ravel()[first][is_varied], variances[is_varied])
        return columns

    def result(self) -> Mapping[str, Statistic]:
        """Return no metric."""
        return {}

    def listed(self) -> IntArray:
        """Return the items whose exposure varies most beyond independent changes."""
        excess = self._shown.var(axis=0, ddof=1) - self._variances
        largest = np.argsort(-excess, kind="stable")[:N_LISTED]
        return np.asarray(largest[excess[largest] > 0.0])

    def detail(self) -> Detail:
        """Return the exposure of the listed items.

        That is the share of the examples that each run shows them to, and the standard deviation
        of that share if examples changed independently of each other.
        """
        if not self._shown.size:
            return {}
        largest = self.listed()
        return {
            "exposure_by_run": self._shown[:, largest] / self._n_examples,
            "exposure_sd_independent": np.sqrt(self._variances[largest]) / self._n_examples,
            "n_items_varied": np.array([np.count_nonzero(self._variances)]),
            "n_items_shown": np.count_nonzero(self._shown, axis=1),
        }
