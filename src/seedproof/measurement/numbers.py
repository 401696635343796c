"""The measuring pass over numbers."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa

from seedproof.measurement.accumulators import Accumulators, GroupResults
from seedproof.measurement.clusters import ClusterKeys
from seedproof.measurement.examples import ExampleRows, lists
from seedproof.measurement.number_groups import NumberGroups
from seedproof.metrics.accumulator import Detail
from seedproof.metrics.card import card_name
from seedproof.metrics.numbers import NUMBER_FAMILIES
from seedproof.metrics.numbers.batch import NumberBatch, number_batches
from seedproof.metrics.numbers.family import NumberFamily
from seedproof.metrics.numbers.levels import Tree, run_names
from seedproof.metrics.numbers.means import Means
from seedproof.metrics.numbers.runs import RunEquality
from seedproof.metrics.numbers.spread import Spread, with_whole_runs
from seedproof.metrics.statistic import Statistic
from seedproof.predictions.checks import Check
from seedproof.predictions.number_checks import number_checks_of
from seedproof.records.shards import Shard, ShardSource
from seedproof.stats.intervals import Estimate
from seedproof.typing import IntArray

# Every report begins with them.
ALWAYS: tuple[type[NumberFamily], ...] = (Means, Spread, RunEquality)


class NumberAccumulators(Accumulators[NumberBatch]):
    """Partial results of every requested metric of numbers that the data allows."""

    keys: ClassVar[tuple[str, ...]] = ("sd",)

    def __init__(
        self,
        source: ShardSource,
        requested: Collection[str] | None = None,
        slices: Sequence[str] = (),
    ) -> None:
        self._tree = Tree.of(source.settings, len(source.runs))
        self._rows_per_shard, self._weights = source.rows_per_shard, source.settings.weights
        n_runs, names = self._tree.n_runs, {card_name(name) for name in requested or ()}
        families = [
            family(n_runs, source.settings)
            for family in NUMBER_FAMILIES
            if (source.n_labeled or "labels" not in family.needs)
            and family.applies(self._tree)
            and (requested is None or family in ALWAYS or not names.isdisjoint(family.figures))
        ]
        super().__init__(n_runs, families)
        self.slices = NumberGroups(self._tree, source.settings, slices) if slices else None

    def open_groups(
        self, shard: Shard, clusters: ClusterKeys | None, blocks: IntArray | None = None
    ) -> None:
        """Add a whole shard to its slices."""
        if self.slices is not None:
            self.slices.add(shard, clusters, blocks)

    def add_to_groups(self, batch: NumberBatch) -> None:
        """Do nothing: the whole shard was added."""

    def merge(self, other: Accumulators[NumberBatch]) -> None:
        """Add the examples of another part."""
        super().merge(other)
        if isinstance(other, NumberAccumulators) and self.slices and other.slices:
            self.slices.merge(other.slices)

    def result(self) -> dict[str, Statistic]:
        """Return every metric over all examples so far, in display order."""
        return with_whole_runs(super().result())

    def group_metrics(self, metrics: Mapping[str, Estimate]) -> GroupResults:
        """Return no classes, and the metrics of each value of a slice."""
        slices = {} if self.slices is None else self.slices.result(metrics.get("mean_difference"))
        return (), slices

    def batches(
        self, shard: Shard, blocks: IntArray | None, n_rows: int | None = None
    ) -> Iterator[NumberBatch]:
        """Yield a shard in pieces."""
        first = shard.index * self._rows_per_shard
        weights = shard.weights(self._weights)
        return number_batches(shard, n_rows, blocks, self._tree, first=first, weights=weights)

    def rows(self, shard: Shard, columns: Detail, classes: tuple[str, ...]) -> ExampleRows:
        """Return the examples of a shard with their columns."""
        targets = {} if shard.targets is None else {"target": shard.targets}
        return ExampleRows(shard.ids, None, shard.extras, {**targets, **columns}, classes)

    def with_answers(self, rows: pa.Table, shard: Shard) -> pa.Table:
        """Add the number of each run."""
        numbers = np.asarray(shard.numbers)
        return rows.append_column("numbers", lists(numbers.T, np.float64))

    def run_names(self, source: ShardSource) -> tuple[str, ...]:
        """Return the names of the runs, each of which may have several trials or judges."""
        return run_names(source.settings, source.runs)

    @property
    def levels(self) -> Mapping[str, int]:
        """Number of runs, of trials of each and so on; empty if runs have a single answer."""
        return self._tree.sizes if len(self._tree.names) > 1 else {}

    def checks(self, source: ShardSource) -> Iterator[Check]:
        """Yield the findings about the input."""
        equality = next(family for family in self.families if isinstance(family, RunEquality))
        return number_checks_of(source, equality.run_sums())
