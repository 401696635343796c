"""All families of metrics together: add batches, merge parts, read the result."""

from collections.abc import Collection
from dataclasses import replace
from functools import cache

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
from seedproof.measurement.group_metrics import GroupAccumulator
from seedproof.measurement.selection import chosen_families
from seedproof.metrics import Accumulator, Batch
from seedproof.metrics.accumulator import Detail, Need
from seedproof.metrics.batch import batch_of, batches
from seedproof.metrics.flips import Flips, RunSums
from seedproof.metrics.statistic import ExampleValues, Statistic
from seedproof.records.shards import Shard
from seedproof.typing import IntArray

# The largest block that glibc takes from its heap, less its overhead per block.
KEPT_BYTES = 2**25 - 2**16


@cache
def _keep_freed_memory() -> None:
    """Make the C library keep freed memory: otherwise every batch fetches the same pages again.

    It keeps blocks up to the size of the largest that was ever freed. This one is never written to,
    so that it takes no memory.
    """
    np.empty(KEPT_BYTES, dtype=np.uint8)


class MetricAccumulators:
    """Partial results of every requested metric that the data allows.

    Args:
        n_runs: Number of runs.
        n_classes: Number of classes.
        has: Inputs other than predictions.
        requested: Names of metrics. If omitted, everything that the data allows.
        groups: Sums by class and slice. If omitted, there are none.
    """

    def __init__(
        self,
        n_runs: int,
        n_classes: int,
        has: frozenset[Need],
        requested: Collection[str] | None = None,
        groups: GroupAccumulator | None = None,
    ) -> None:
        _keep_freed_memory()
        self.families: list[Accumulator] = [
            family(n_runs, n_classes) for family in chosen_families(has, requested)
        ]
        self.groups = groups
        self.unstable_examples: pa.Table | None = None
        self.clusters: ClusterAccumulator | None = None  # None if examples are independent
        self._n_runs = n_runs
        self._n_classes = n_classes
        self._columns: dict[str, list[np.ndarray]] = {}

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
        codes = None if self.groups is None else self.groups.codes(shard, clusters)
        start = 0
        for batch in batches(shard, self._n_classes, blocks=blocks):
            self.add(batch)
            if self.groups is not None and codes is not None:
                rows = slice(start, start + batch.n_examples)
                self.groups.add(batch, codes[:, rows])
                start = rows.stop
        return self.close(shard, classes)

    def add(self, batch: Batch) -> dict[str, ExampleValues]:
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
        rows = ExampleRows(shard.ids, shard.labels, shard.extras, columns, classes)
        places = least_stable_rows([columns[key] for key in KEYS if key in columns])
        unstable = shard.rows(places)
        self._keep(with_votes(rows.take(places).table(), batch_of(unstable, self._n_classes)))
        return rows

    def _keep(self, rows: pa.Table | None) -> None:
        """Keep the least stable of the examples so far and these rows."""
        if rows is not None:
            kept = [] if self.unstable_examples is None else [self.unstable_examples]
            rows = least_stable(pa.concat_tables([*kept, rows]))
            self.unstable_examples = rows.combine_chunks()

    def merge(self, other: "MetricAccumulators") -> None:
        """Add the examples of another part."""
        self._keep(other.unstable_examples)
        if other.clusters is not None:
            self.clusters = self.clusters or ClusterAccumulator(self._n_runs)
            self.clusters.merge(other.clusters)
        for family, other_family in zip(self.families, other.families, strict=True):
            family.merge(other_family)
        if self.groups is not None and other.groups is not None:
            self.groups.merge(other.groups)

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

    def run_sums(self) -> RunSums:
        """Return the sums that checks of the input need."""
        return next(family for family in self.families if isinstance(family, Flips)).run_sums()

    def detail(self) -> Detail:
        """Return every array behind the metrics."""
        return {
            name: values for family in self.families for name, values in family.detail().items()
        }
