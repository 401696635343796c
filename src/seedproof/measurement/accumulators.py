"""All families of metrics together: add batches, merge parts, read the result."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import ClassVar, Generic, TypeAlias

import numpy as np
import pyarrow as pa

from seedproof.measurement.clusters import EXAMPLES, LABELED, ClusterAccumulator, ClusterKeys
from seedproof.measurement.examples import (
    KEYS,
    ExampleRows,
    least_stable,
    least_stable_rows,
    with_votes,
)
from seedproof.measurement.group_metrics import GroupAccumulator, GroupMetrics
from seedproof.measurement.selection import chosen_families
from seedproof.messages import Message
from seedproof.metrics import Accumulator, Batch, ClassFamily
from seedproof.metrics.accumulator import BatchT, Detail, Need
from seedproof.metrics.batch import batch_of, batches
from seedproof.metrics.flips import Flips
from seedproof.metrics.statistic import ExampleValues, Statistic
from seedproof.predictions.checks import Check
from seedproof.predictions.input_checks import checks_of
from seedproof.records.shards import Shard, ShardSource
from seedproof.stats.intervals import Estimate
from seedproof.typing import IntArray

# Metrics of each class, and by column of each value of a slice.
GroupResults: TypeAlias = tuple[tuple[GroupMetrics, ...], Mapping[str, tuple[GroupMetrics, ...]]]
# The largest block that glibc takes from its heap, less its overhead per block.
KEPT_BYTES = 2**25 - 2**16


@cache
def _keep_freed_memory() -> None:
    """Make the C library keep freed memory: otherwise every batch fetches the same pages again.

    It keeps blocks up to the size of the largest that was ever freed. This one is never written to,
    so that it takes no memory.
    """
    np.empty(KEPT_BYTES, dtype=np.uint8)


class Accumulators(ABC, Generic[BatchT]):
    """Partial results of several families of metrics for one kind of answers.

    Args:
        n_runs: Number of runs.
        families: Families of metrics, without examples.
    """

    keys: ClassVar[tuple[str, ...]]  # columns that order examples, the least stable first

    def __init__(self, n_runs: int, families: Sequence[Accumulator[BatchT]]) -> None:
        _keep_freed_memory()
        self.families = families
        self.unstable_examples: pa.Table | None = None
        self.clusters: ClusterAccumulator | None = None  # None if examples are independent
        self._n_runs = n_runs
        self._columns: dict[str, list[np.ndarray]] = {}

    @abstractmethod
    def batches(
        self, shard: Shard, blocks: IntArray | None, n_rows: int | None = None
    ) -> Iterator[BatchT]:
        """Yield a shard in pieces of so many rows; as many as fit the cache if omitted."""

    @abstractmethod
    def rows(self, shard: Shard, columns: Detail, classes: tuple[str, ...]) -> ExampleRows:
        """Return the examples of a shard with their columns."""

    @abstractmethod
    def with_answers(self, rows: pa.Table, shard: Shard) -> pa.Table:
        """Add the answer of each run to examples, which are all of this shard."""

    @abstractmethod
    def group_metrics(self, metrics: Mapping[str, Estimate]) -> GroupResults:
        """Return the metrics of each class and of each slice, given those of all examples."""

    @property
    def notes(self) -> tuple[Message, ...]:
        """Remarks on classes and slices that are left out."""
        return ()

    @abstractmethod
    def checks(self, source: ShardSource) -> Iterator[Check]:
        """Yield the findings about the input."""

    def run_names(self, source: ShardSource) -> tuple[str, ...]:
        """Return the names of the runs."""
        return source.runs

    def class_names(self, source: ShardSource) -> tuple[str, ...]:
        """Return the names of the classes that the detail is of."""
        return source.classes

    @property
    def levels(self) -> Mapping[str, int]:
        """Number of runs, of trials of each and so on; empty if runs have a single answer."""
        return {}

    def open(self, clusters: ClusterKeys | None) -> None:
        """Take the clusters of the examples of a shard, whose batches follow."""
        if clusters is not None:
            self.clusters = self.clusters or ClusterAccumulator(self._n_runs)
            self.clusters.open(clusters)

    def update(
        self,
        shard: Shard,
        classes: tuple[str, ...],
        clusters: ClusterKeys | None = None,
        blocks: IntArray | None = None,
    ) -> ExampleRows:
        """Add a shard, given the blocks of its examples; return these examples."""
        self.open(clusters)
        self.open_groups(shard, clusters, blocks)
        for batch in self.batches(shard, blocks):
            self.add(batch)
            self.add_to_groups(batch)
        return self.close(shard, classes)

    @abstractmethod
    def open_groups(
        self, shard: Shard, clusters: ClusterKeys | None, blocks: IntArray | None = None
    ) -> None:
        """Take the classes and slices of the examples of a shard, whose batches follow."""

    @abstractmethod
    def add_to_groups(self, batch: BatchT) -> None:
        """Add the next batch of the shard to its classes and slices."""

    def add(self, batch: BatchT) -> dict[str, ExampleValues]:
        """Add the next batch of a shard; return the values of its examples."""
        all_values: dict[str, ExampleValues] = {}
        if self.clusters is not None:
            self.clusters.start(batch)
        for family in self.families:
            values = family.values(batch)
            if self.clusters is not None:
                self.clusters.add(values, LABELED if "labels" in family.needs else EXAMPLES)
                # The variances from drawing clusters take their place.
                values = {name: replace(x, variances=0.0) for name, x in values.items()}
            for name, column in family.add(batch, values).items():
                self._columns.setdefault(name, []).append(column)
            all_values |= values
        return all_values

    def close(self, shard: Shard, classes: tuple[str, ...]) -> ExampleRows:
        """Return the examples of a shard after all of its batches were added."""
        columns = {name: np.concatenate(parts) for name, parts in self._columns.items()}
        self._columns = {}
        rows = self.rows(shard, columns, classes)
        places = least_stable_rows([columns[key] for key in self.keys if key in columns])
        self._keep(self.with_answers(rows.take(places).table(), shard.rows(places)))
        return rows

    def _keep(self, rows: pa.Table | None) -> None:
        """Keep the least stable of the examples so far and these rows."""
        if rows is not None:
            kept = [] if self.unstable_examples is None else [self.unstable_examples]
            rows = least_stable(pa.concat_tables([*kept, rows]), self.keys)
            self.unstable_examples = rows.combine_chunks()

    def merge(self, other: "Accumulators[BatchT]") -> None:
        """Add the examples of another part."""
        self._keep(other.unstable_examples)
        if other.clusters is not None:
            self.clusters = self.clusters or ClusterAccumulator(self._n_runs)
            self.clusters.merge(other.clusters)
        for family, other_family in zip(self.families, other.families, strict=True):
            family.merge(other_family)

    def result(self) -> dict[str, Statistic]:
        """Return every metric over all examples so far, in display order."""
        statistics = {
            name: statistic
            for family in self.families
            for name, statistic in family.result().items()
        }
        if self.clusters is None:
            return statistics
        return {name: self.clusters.result(name, x) for name, x in statistics.items()}

    def detail(self) -> Detail:
        """Return every array behind the metrics."""
        return {
            name: values for family in self.families for name, values in family.detail().items()
        }


class MetricAccumulators(Accumulators[Batch]):
    """Partial results of every requested metric of classes that the data allows.

    Args:
        n_runs: Number of runs.
        n_classes: Number of classes.
        has: Inputs other than predictions.
        requested: Names of metrics. If omitted, everything that the data allows.
        groups: Sums by class and slice. If omitted, there are none.
    """

    keys: ClassVar[tuple[str, ...]] = KEYS

    def __init__(
        self,
        n_runs: int,
        n_classes: int,
        has: frozenset[Need],
        requested: Collection[str] | None = None,
        groups: GroupAccumulator | None = None,
    ) -> None:
        families = self.chosen_families(has, requested)
        super().__init__(n_runs, [family(n_runs, n_classes) for family in families])
        self.groups = groups
        self._n_classes = n_classes
        # Groups of the examples whose batches are still to come.
        self._waiting: IntArray = np.zeros((0, 0), dtype=np.int64)

    def chosen_families(
        self, has: frozenset[Need], requested: Collection[str] | None
    ) -> tuple[type[ClassFamily], ...]:
        """Return the families to measure."""
        return chosen_families(has, requested)

    def open_groups(
        self, shard: Shard, clusters: ClusterKeys | None, blocks: IntArray | None = None
    ) -> None:
        """Take the classes and slices of the examples of a shard, whose batches follow."""
        del blocks
        if self.groups is not None:
            self._waiting = self.groups.codes(shard, clusters)

    def add_to_groups(self, batch: Batch) -> None:
        """Add the next batch of the shard to its classes and slices."""
        if self.groups is not None:
            codes, self._waiting = np.split(self._waiting, [batch.n_examples], axis=1)
            self.groups.add(batch, codes)

    def merge(self, other: Accumulators[Batch]) -> None:
        """Add the examples of another part."""
        super().merge(other)
        if isinstance(other, MetricAccumulators) and self.groups and other.groups:
            self.groups.merge(other.groups)

    def group_metrics(self, metrics: Mapping[str, Estimate]) -> GroupResults:
        """Return the metrics of each class and of each slice, given those of all examples."""
        return ((), {}) if self.groups is None else self.groups.result(metrics["flip_rate"])

    @property
    def notes(self) -> tuple[Message, ...]:
        """Remarks on classes and slices that are left out."""
        return () if self.groups is None else self.groups.notes

    def batches(
        self, shard: Shard, blocks: IntArray | None, n_rows: int | None = None
    ) -> Iterator[Batch]:
        """Yield a shard in pieces."""
        return batches(shard, self._n_classes, n_rows, blocks)

    def rows(self, shard: Shard, columns: Detail, classes: tuple[str, ...]) -> ExampleRows:
        """Return the examples of a shard with their columns."""
        return ExampleRows(shard.ids, shard.labels, shard.extras, columns, classes)

    def with_answers(self, rows: pa.Table, shard: Shard) -> pa.Table:
        """Add the class that each run predicts, and its probability where it is known."""
        return with_votes(rows, batch_of(shard, self._n_classes))

    def checks(self, source: ShardSource) -> Iterator[Check]:
        """Yield the findings about the input."""
        flips = next(family for family in self.families if isinstance(family, Flips))
        return checks_of(source, flips.run_sums())
