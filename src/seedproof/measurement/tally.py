"""All families of metrics together: feed it shards, merge it, ask for the result."""

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pyarrow as pa

from seedproof.measurement.worst import VOTE_COLUMNS, least_stable, with_votes
from seedproof.metrics import Accumulator, Batch
from seedproof.metrics.accumulator import Detail, Need
from seedproof.metrics.choice import chosen_families
from seedproof.metrics.statistic import ExampleValues, Statistic
from seedproof.records.arrow import texts_to_arrow, to_arrow
from seedproof.records.schema import UNLABELED
from seedproof.records.shards import Shard

# Batches of about this many probabilities stay in the processor's cache.
BATCH_VALUES = 2**18
MIN_BATCH_ROWS = 64


class Tally:
    """Partial results of every metric that is asked for and that the data allows.

    Args:
        n_runs: How many runs there are.
        n_classes: How many classes there are.
        has: What is known beside predictions.
        asked: Names of metrics; everything that the data allows without them.
    """

    def __init__(
        self,
        n_runs: int,
        n_classes: int,
        has: frozenset[Need],
        asked: Collection[str] | None = None,
    ) -> None:
        self.families: list[Accumulator] = [
            family(n_runs, n_classes) for family in chosen_families(has, asked)
        ]
        self.worst: pa.Table | None = None
        self._n_classes = n_classes

    def update(self, shard: Shard, classes: tuple[str, ...]) -> pa.Table:
        """Add one shard."""
        columns = [self.add(batch) for batch in batches(shard, self._n_classes)]
        return self.rows(shard, classes, columns)

    def add(self, batch: Batch) -> Detail:
        """Add some examples of a shard; returns their values by column."""
        return {
            name: values
            for family in self.families
            for name, values in family.update(batch).items()
        }

    def rows(self, shard: Shard, classes: tuple[str, ...], columns: Sequence[Detail]) -> pa.Table:
        """Return one row per example of a shard, of which all batches were added."""
        names = dict.fromkeys(name for one in columns for name in one)
        joined = {name: np.concatenate([one[name] for one in columns]) for name in names}
        table = _examples(shard, joined, classes)
        self._keep(with_votes(table, shard, self._n_classes))
        return table

    def values(self, batch: Batch) -> dict[str, ExampleValues]:
        """What each figure that is a mean over examples says of single ones."""
        return {
            name: values
            for family in self.families
            for name, values in family.values(batch).items()
        }

    def _keep(self, rows: pa.Table | None) -> None:
        """Remember the least stable examples, and forget what no longer belongs to them."""
        if rows is not None:
            known = [] if self.worst is None else [self.worst]
            self.worst = least_stable(pa.concat_tables([*known, rows])).combine_chunks()

    def merge(self, other: "Tally") -> None:
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
        rows = slice(start, start + n_rows)
        labels = None if shard.labels is None else shard.labels[rows]
        if shard.probs is not None:
            yield Batch.from_probs(np.ascontiguousarray(shard.probs[:, rows]), labels)
        elif shard.top is not None:
            yield Batch.from_top(shard.top.rows(rows), n_classes, labels)
        elif shard.predictions is not None:
            predictions = np.ascontiguousarray(shard.predictions[:, rows])
            yield Batch(predictions, n_classes=n_classes, labels=labels)


def _batch_rows(shard: Shard) -> int:
    known = (shard.probs, None if shard.top is None else shard.top.probs, shard.predictions)
    return batch_rows(next((values[:, 0].size for values in known if values is not None), 1))


def batch_rows(width: int) -> int:
    """How many examples a batch has, if each has so many values over all runs."""
    return max(MIN_BATCH_ROWS, BATCH_VALUES // width)


def _examples(shard: Shard, columns: Detail, classes: tuple[str, ...]) -> pa.Table:
    """One row for each example of a shard, with class names instead of indices."""
    names = texts_to_arrow(classes)
    table: dict[str, pa.Array | pa.ChunkedArray] = {"example": shard.ids}
    if shard.labels is not None:
        indices = to_arrow(shard.labels, missing=shard.labels == UNLABELED)
        table["label"] = names.take(indices)
    for name, values in columns.items():
        if name == "consensus":
            table[name] = names.take(to_arrow(values))
        else:
            table[name] = to_arrow(values, missing=np.isnan(values))
    if shard.extras is not None:
        for name in shard.extras.column_names:
            free = f"extra.{name}" if name in table or name in VOTE_COLUMNS else name
            table[free] = shard.extras.column(name)
    return pa.table(table)
