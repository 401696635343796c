"""The examples that gain or lose most stability with an arm, with the votes of both arms."""

from collections import Counter
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.measurement.examples import ExampleRows
from seedproof.metrics.batch import batch_of
from seedproof.records.arrow import texts_to_arrow, to_arrow
from seedproof.records.shards import Shard
from seedproof.typing import IntArray

N_KEPT = 10
N_NAMED = 3

# A shard, and the figures of its examples.
ShardRows: TypeAlias = tuple[Shard, ExampleRows]


class MostChanged:
    """A short list in each direction, of the same size for any number of examples."""

    def __init__(self) -> None:
        self.settled: pa.Table | None = None
        self.unsettled: pa.Table | None = None

    def update(self, base: ShardRows, arm: ShardRows) -> None:
        """Add the same shard of both arms."""
        change = arm[1].columns["flip_rate"] - base[1].columns["flip_rate"]
        # Stable: among equal changes the order of the ids decides, for any size of shards.
        fallen, risen = (np.argsort(x, kind="stable")[:N_KEPT] for x in (change, -change))
        fallen, risen = fallen[change[fallen] < 0], risen[change[risen] > 0]
        self._keep(_rows(base, arm, change, fallen), _rows(base, arm, change, risen))

    def merge(self, other: "MostChanged") -> None:
        """Add other examples."""
        self._keep(other.settled, other.unsettled)

    def _keep(self, settled: pa.Table | None, unsettled: pa.Table | None) -> None:
        self.settled = _first(self.settled, settled, "ascending")
        self.unsettled = _first(self.unsettled, unsettled, "descending")


def _first(kept: pa.Table | None, added: pa.Table | None, order: str) -> pa.Table | None:
    tables = [table for table in (kept, added) if table is not None]
    if not tables:
        return None
    rows = pa.concat_tables(tables)
    keys = [("change", order), ("example", "ascending")]
    return rows.take(pc.sort_indices(rows, sort_keys=keys)[:N_KEPT]).combine_chunks()


def _rows(base: ShardRows, arm: ShardRows, change: np.ndarray, places: IntArray) -> pa.Table:
    before, after = (rows.take(places) for _, rows in (base, arm))
    columns = {
        "example": before.ids,
        "change": to_arrow(change[places]),
        "votes_before": texts_to_arrow(_votes(base, places)),
        "votes_after": texts_to_arrow(_votes(arm, places)),
        "entropy_before": to_arrow(before.columns["label_entropy"]),
        "entropy_after": to_arrow(after.columns["label_entropy"]),
    }
    if before.labels is not None:
        columns["label"] = before.table().column("label")
    if before.extras is not None:
        extras = before.extras
        columns |= {n: extras.column(n) for n in extras.column_names if n not in columns}
    return pa.table(columns)


def _votes(arm: ShardRows, places: IntArray) -> list[str]:
    """Votes of the runs on some examples, such as "positive (7), negative (3)"."""
    shard, classes = arm[0], arm[1].classes
    if not len(places):
        return []
    texts = []
    for votes in batch_of(shard.rows(places), len(classes)).predictions.T:
        counts = sorted(Counter(votes.tolist()).items(), key=lambda pair: (-pair[1], pair[0]))
        parts = [f"{classes[index]} ({count})" for index, count in counts[:N_NAMED]]
        rest = sum(count for _, count in counts[N_NAMED:])
        texts.append(", ".join([*parts, f"others ({rest})"] if rest else parts))
    return texts
