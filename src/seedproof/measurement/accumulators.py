"""All families of metrics together: feed it batches, merge it, ask for the result."""

from collections.abc import Collection, Iterator
from functools import cache

import numpy as np
import pyarrow as pa

from seedproof.measurement.examples import ExampleRows
from seedproof.measurement.unstable_examples import (
    KEYS,
    least_stable,
    least_stable_rows,
    with_votes,
)
from seedproof.metrics import Accumulator, Batch
from seedproof.metrics.accumulator import Detail, Need
from seedproof.metrics.batch import batch_rows
from seedproof.metrics.selection import chosen_families
from seedproof.metrics.statistic import ExampleValues, Statistic
from seedproof.records.shards import Shard

# The largest block that glibc takes from its heap, less what it adds to a block.
KEPT_BYTES = 2**25 - 2**16


@cache
def _keep_freed_memory() -> None:
    """Let the C library keep what batches free: it would return and fetch the same pages forever.

    It keeps blocks up to the size of the largest that was ever freed. This one is never written to,
    so that it takes no memory.
    """
    np.empty(KEPT_BYTES, dtype=np.uint8)


class MetricAccumulators:
    """Partial results of every metric that is asked for and that the data allows.

    Args:
        n_runs: Number of runs.
        n_classes: Number of classes.
        has: What is known besides predictions.
        asked: Names of metrics; everything that the data allows if omitted.
    """

    def __init__(
        self,
        n_runs: int,
        n_classes: int,
        has: frozenset[Need],
        asked: Collection[str] | None = None,
    ) -> None:
        _keep_freed_memory()
        self.families: list[Accumulator] = [
            family(n_runs, n_classes) for family in chosen_families(has, asked)
        ]
        self.worst: pa.Table | None = None
        self._n_classes = n_classes
        self._columns: dict[str, list[np.ndarray]] = {}

    def update(self, shard: Shard, classes: tuple[str, ...]) -> ExampleRows:
        """Add a shard; return its examples."""
        for batch in batches(shard, self._n_classes):
            self.add(batch)
        return self.close(shard, classes)

    def add(self, batch: Batch) -> dict[str, ExampleValues]:
        """Add the next batch of a shard; return each mean over examples for single ones."""
        found: dict[str, ExampleValues] = {}
        for family in self.families:
            values = family.values(batch)
            for name, column in family.add(batch, values).items():
                self._columns.setdefault(name, []).append(column)
            found |= values
        return found

    def close(self, shard: Shard, classes: tuple[str, ...]) -> ExampleRows:
        """Return the examples of a shard, all batches of which were added."""
        columns = {name: np.concatenate(parts) for name, parts in self._columns.items()}
        self._columns = {}
        rows = ExampleRows(shard.ids, shard.labels, shard.extras, columns, classes)
        places = least_stable_rows([columns[key] for key in KEYS if key in columns])
        unstable = shard.rows(places)
        self._keep(with_votes(rows.take(places).table(), batch_of(unstable, self._n_classes)))
        return rows

    def _keep(self, rows: pa.Table | None) -> None:
        """Remember the least stable examples, and forget what no longer belongs to them."""
        if rows is not None:
            known = [] if self.worst is None else [self.worst]
            self.worst = least_stable(pa.concat_tables([*known, rows])).combine_chunks()

    def merge(self, other: "MetricAccumulators") -> None:
        """Add the examples of another part."""
        self._keep(other.worst)
        for mine, theirs in zip(self.families, other.families, strict=True):
            mine.merge(theirs)

    def result(self) -> dict[str, Statistic]:
        """Every metric over all examples so far, in the order in which they are shown."""
        return {
            name: statistic
            for family in self.families
            for name, statistic in family.result().items()
        }

    def detail(self) -> Detail:
        """Every array behind the metrics."""
        return {
            name: values for family in self.families for name, values in family.detail().items()
        }


def batches(shard: Shard, n_classes: int, n_rows: int | None = None) -> Iterator[Batch]:
    """A shard in pieces whose size depends on its shape alone, never on the machine."""
    n_rows = _batch_rows(shard) if n_rows is None else n_rows
    for start in range(0, len(shard), n_rows):
        yield batch_of(shard, n_classes, slice(start, start + n_rows))


def batch_of(shard: Shard, n_classes: int, rows: slice = slice(None)) -> Batch:
    """Some rows of a shard as formulas take them."""
    labels = None if shard.labels is None else shard.labels[rows]
    if shard.probs is not None:
        return Batch.from_probs(shard.probs[:, rows], labels)
    if shard.top is not None:
        return Batch.from_top(shard.top.rows(rows), n_classes, labels)
    if shard.predictions is None:
        raise ValueError("this shard holds no answers")
    predictions = np.ascontiguousarray(shard.predictions[:, rows])
    return Batch(predictions, n_classes=n_classes, labels=labels)


def _batch_rows(shard: Shard) -> int:
    known = (shard.probs, None if shard.top is None else shard.top.probs, shard.predictions)
    return batch_rows(next((values[:, 0].size for values in known if values is not None), 1))
