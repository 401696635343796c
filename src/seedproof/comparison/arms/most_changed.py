"""The examples that change most with an arm, with the answers of both arms."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.measurement.examples import ExampleRows, lists
from seedproof.measurement.texts import answer_names
from seedproof.metrics.batch import batch_of
from seedproof.records.arrow import texts_to_arrow, to_arrow
from seedproof.records.items import NO_ITEM
from seedproof.records.shards import Shard
from seedproof.records.text_answers import codes_of
from seedproof.typing import IntArray

N_KEPT = 10
N_NAMED = 3

N_ITEMS = 5
# A shard, and the figures of its examples.
ShardRows: TypeAlias = tuple[Shard, ExampleRows]


class MostChanged(ABC):
    """A short list in each direction, of the same size for any number of examples."""

    key: ClassVar[str]  # column of the examples whose change is ranked

    def __init__(self) -> None:
        self.fallen: pa.Table | None = None
        self.risen: pa.Table | None = None

    @abstractmethod
    def columns(self, base: ShardRows, arm: ShardRows) -> dict[str, pa.Array]:
        """Return the columns of examples that show what both arms do."""

    def update(self, base: ShardRows, arm: ShardRows) -> None:
        """Add the same shard of both arms."""
        change = arm[1].columns[self.key] - base[1].columns[self.key]
        # Stable: among equal changes the order of the ids decides, for any size of shards.
        fallen, risen = (np.argsort(x, kind="stable")[:N_KEPT] for x in (change, -change))
        fallen, risen = fallen[change[fallen] < 0], risen[change[risen] > 0]
        self._keep(*(self._rows(base, arm, change, places) for places in (fallen, risen)))

    def merge(self, other: Self) -> None:
        """Add other examples."""
        self._keep(other.fallen, other.risen)

    def _keep(self, fallen: pa.Table | None, risen: pa.Table | None) -> None:
        self.fallen = _first(self.fallen, fallen, "ascending")
        self.risen = _first(self.risen, risen, "descending")

    def _rows(
        self, base: ShardRows, arm: ShardRows, change: np.ndarray, places: IntArray
    ) -> pa.Table:
        before, after = ((shard.rows(places), rows.take(places)) for shard, rows in (base, arm))
        table = before[1].table()
        gold = [name for name in ("label", "target") if name in table.column_names]
        columns = {
            "example": before[1].ids,
            "change": to_arrow(change[places]),
            **self.columns(before, after),
            **{name: table.column(name) for name in gold},
        }
        if before[1].extras is not None:
            extras = before[1].extras
            columns |= {n: extras.column(n) for n in extras.column_names if n not in columns}
        return pa.table(columns)


class MostChangedVotes(MostChanged):
    """Examples on which runs agree much more, or much less."""

    key = "flip_rate"

    def columns(self, base: ShardRows, arm: ShardRows) -> dict[str, pa.Array]:
        """Return votes and entropies."""
        return {
            "votes_before": texts_to_arrow(_votes(*base)),
            "votes_after": texts_to_arrow(_votes(*arm)),
            "entropy_before": to_arrow(base[1].columns["label_entropy"]),
            "entropy_after": to_arrow(arm[1].columns["label_entropy"]),
        }


class MostChangedTexts(MostChangedVotes):
    """The same for texts, whose answers have the same letter in both arms."""

    def columns(self, base: ShardRows, arm: ShardRows) -> dict[str, pa.Array]:
        """Return how often each answer is given, and entropies."""
        keys = [np.asarray(shard.answers) for shard, _ in (base, arm)]
        codes = codes_of(np.concatenate(keys))
        names = [answer_names(of_example) for of_example in codes.T.tolist()]
        before, after = np.split(codes, [len(keys[0])])
        return {
            "votes_before": texts_to_arrow(_named_votes(before, names)),
            "votes_after": texts_to_arrow(_named_votes(after, names)),
            "entropy_before": to_arrow(base[1].columns["label_entropy"]),
            "entropy_after": to_arrow(arm[1].columns["label_entropy"]),
        }


class MostChangedNumbers(MostChanged):
    """Examples whose mean falls or rises most."""

    key = "mean"

    def columns(self, base: ShardRows, arm: ShardRows) -> dict[str, pa.Array]:
        """Return means, and the numbers of all runs."""
        return {
            "mean_before": to_arrow(base[1].columns["mean"]),
            "mean_after": to_arrow(arm[1].columns["mean"]),
            "numbers_before": _numbers(base[0]),
            "numbers_after": _numbers(arm[0]),
        }


class MostChangedItems(MostChanged):
    """Examples on whose lists or sets runs agree much more, or much less."""

    key = "jaccard_distance"

    def columns(self, base: ShardRows, arm: ShardRows) -> dict[str, pa.Array]:
        """Return distances of two runs, and the items with the number of runs that give them."""
        return {
            "distance_before": to_arrow(base[1].columns[self.key]),
            "distance_after": to_arrow(arm[1].columns[self.key]),
            "items_before": texts_to_arrow(_items(*base)),
            "items_after": texts_to_arrow(_items(*arm)),
        }


def _first(kept: pa.Table | None, added: pa.Table | None, order: str) -> pa.Table | None:
    tables = [table for table in (kept, added) if table is not None]
    if not tables:
        return None
    rows = pa.concat_tables(tables)
    keys = [("change", order), ("example", "ascending")]
    return rows.take(pc.sort_indices(rows, sort_keys=keys)[:N_KEPT]).combine_chunks()


def _numbers(shard: Shard) -> pa.Array:
    return lists(np.asarray(shard.numbers).T, np.float64)


def _items(shard: Shard, rows: ExampleRows) -> list[str]:
    """Most frequent items of the runs on some examples, such as "i7 (9), i2 (5), i3 (1)"."""
    items = np.asarray(shard.items).transpose(1, 0, 2)
    return [
        ", ".join(
            f"{rows.classes[item]} ({count})"
            for item, count in Counter(given[given != NO_ITEM].tolist()).most_common(N_ITEMS)
        )
        for given in items
    ]


def _votes(shard: Shard, rows: ExampleRows) -> list[str]:
    """Votes of the runs on some examples, such as "positive (7), negative (3)"."""
    if not len(shard):
        return []
    predictions = batch_of(shard, len(rows.classes)).predictions
    return _named_votes(predictions, [dict(enumerate(rows.classes))] * predictions.shape[1])


def _named_votes(predictions: IntArray, names: Sequence[Mapping[int, str]]) -> list[str]:
    """Votes of the runs, given the names of the answers to each example."""
    texts = []
    for votes, named in zip(predictions.T, names, strict=True):
        counts = sorted(Counter(votes.tolist()).items(), key=lambda pair: (-pair[1], pair[0]))
        parts = [f"{named[index]} ({count})" for index, count in counts[:N_NAMED]]
        rest = sum(count for _, count in counts[N_NAMED:])
        texts.append(", ".join([*parts, f"others ({rest})"] if rest else parts))
    return texts
