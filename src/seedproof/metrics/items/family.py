"""The base class of the metric families of lists and sets."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import Accumulator, Detail
from seedproof.metrics.block_statistic import Shape
from seedproof.metrics.items.batch import ItemBatch
from seedproof.metrics.statistic import ExampleSums, ExampleValues, MeanOverExamples, Scale
from seedproof.typing import FloatArray, IntArray

# A span of a document: start, end and type.
SPAN = re.compile(r"\d+:\d+:(.+)", re.DOTALL)


@dataclass(frozen=True, eq=False)
class Catalog:
    """The items that runs may give.

    Args:
        n_items: Number of items.
        depth: Number of the first items of a list that figures such as `ndcg@10` are of.
        labels: Names of the labels of a set. Those of spans are their types.
        label_of: Label of each item, as a place in `labels`; None if each item is a label.
    """

    n_items: int
    depth: int
    labels: tuple[str, ...] = ()
    label_of: IntArray | None = None

    def to_labels(self, items: IntArray) -> IntArray:
        """Return the labels of items."""
        return items if self.label_of is None else self.label_of[items]


@lru_cache(maxsize=4)
def catalog_of(names: tuple[str, ...], depth: int) -> Catalog:
    """Return the catalog of items with these names."""
    types = [SPAN.fullmatch(name) for name in names]
    if not names or not all(types):
        return Catalog(len(names), depth, names)
    of_items = [match[1] for match in types if match]
    labels, label_of = np.unique(np.array(of_items), return_inverse=True)
    return Catalog(len(names), depth, tuple(labels.tolist()), label_of)


class ItemFamily(Accumulator[ItemBatch]):
    """A family of metrics of lists or sets."""

    least_runs: ClassVar[int] = 2

    def __init__(self, n_runs: int, catalog: Catalog) -> None:
        super().__init__(n_runs)
        self.sums = defaultdict(partial(ExampleSums, shape=Shape()))
        self.catalog = catalog

    def named(self, name: str) -> str:
        """Return the name of a figure, such as "ndcg@10" for "ndcg@k"."""
        return name.replace("@k", f"@{self.catalog.depth}")

    def mean_of(
        self, name: str, *, scale: Scale = "log", largest: float = 1.0, is_count: bool = False
    ) -> MeanOverExamples:
        """Return a quantity as a mean over examples, of which there may be few."""
        mean = self.sums[name].mean_over_examples(scale=scale, largest=largest, is_count=is_count)
        return replace(mean, is_small=True)

    def columns(
        self, batch: ItemBatch, values: Mapping[str, ExampleValues]
    ) -> Mapping[str, FloatArray]:
        """Return columns of the table of examples."""
        del batch, values
        return {}

    def add(self, batch: ItemBatch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add a batch; return columns with one value per example."""
        super().add(batch, values)
        return self.columns(batch, values)


def of_labeled(batch: ItemBatch, values: FloatArray) -> FloatArray:
    """Return values of the labeled examples with NaN for all others."""
    column = np.full(batch.n_examples, np.nan)
    column[batch.is_labeled] = values
    return column
