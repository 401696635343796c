"""The examples that all runs have, where some runs lack some."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.errors import ClassesError, LabelConflictError, MissingExampleError
from seedproof.messages import Message
from seedproof.records.arrow import to_numpy
from seedproof.records.manifest import RunManifest
from seedproof.records.probabilities import UNLABELED, TopProbs
from seedproof.records.schema import Kind
from seedproof.records.shards import (
    Shard,
    ShardSource,
    WrappedShards,
    canonical_order,
)
from seedproof.typing import IntArray


def example_ids(source: ShardSource) -> pa.Array:
    """Ids of all examples, in the order of the shards."""
    alone = source.predictions_alone()
    return pa.concat_arrays([alone.shard(index).ids for index in range(source.n_shards)])


def common_ids(sources: Sequence[ShardSource]) -> tuple[pa.Array, int]:
    """The examples that all sources have, and how many there are in any of them."""
    ids = [example_ids(source) for source in sources]
    if len({one.type for one in ids}) > 1:
        ids = [one.cast(pa.string()) for one in ids]
    shared = reduce(lambda left, right: left.filter(pc.is_in(left, right)), ids)
    n_all = len(pc.unique(pa.chunked_array(ids)))
    if not len(shared):
        raise MissingExampleError(
            "The runs have no example in common, of {n_examples:,}. Give the same ids to the same "
            "examples.",
            n_examples=n_all,
        )
    return shared, n_all


def note_on_dropped(n_kept: int, n_all: int) -> Message | None:
    """Return a note on examples that were dropped; None if there are none."""
    if n_kept == n_all:
        return None
    return Message(
        "examples-dropped",
        "{n_dropped:,} of {n_examples:,} examples are missing in some run and were dropped.",
        n_dropped=n_all - n_kept,
        n_examples=n_all,
    )


class SubsetShards(WrappedShards):
    """Some examples of a source.

    Args:
        source: Aligned runs.
        ids: The examples to keep, in canonical order; the source has all of them.
    """

    def __init__(self, source: ShardSource, ids: pa.Array) -> None:
        super().__init__(source)
        mine = example_ids(source)
        self._ids = ids
        self._positions: IntArray = to_numpy(
            pc.index_in(ids, mine if mine.type == ids.type else mine.cast(ids.type))
        )

    @property
    def n_examples(self) -> int:
        """Number of examples that are kept."""
        return len(self._positions)

    @property
    def n_labeled(self) -> int:
        """Number of them with a gold label."""
        if self.source.n_labeled in {0, self.source.n_examples}:
            return self.n_examples if self.source.n_labeled else 0
        return sum(self.counts(index)[1] for index in range(self.n_shards))

    @property
    def manifests(self) -> tuple[RunManifest, ...]:
        """Seeds, versions and times of each run."""
        return self.source.manifests

    def shard(self, index: int) -> Shard:
        """Rows of one shard, from as many shards of the source as they lie in."""
        size = self.rows_per_shard
        chosen = slice(index * size, (index + 1) * size)
        wanted = self._positions[chosen]
        homes = wanted // size
        pieces = [
            self.source.shard(int(home)).rows(wanted[homes == home] - home * size)
            for home in np.unique(homes)
        ]
        # Ids that are numbers in one run and text in another are in another order there.
        as_wanted = np.argsort(np.argsort(homes, kind="stable"))
        return replace(Shard.joined(pieces).rows(as_wanted), index=index, ids=self._ids[chosen])


class StackedShards(ShardSource):
    """Several sources of the same examples as one with the runs of all.

    Args:
        sources: Runs on the same examples, the further columns in the first.

    Raises:
        ClassesError: They have probabilities of different classes.
    """

    def __init__(self, sources: Sequence[ShardSource]) -> None:
        first = sources[0]
        self._sources = list(sources)
        self.runs = tuple(run for source in sources for run in source.runs)
        self.kind = first.kind
        lists = {source.classes for source in sources}
        if len({source.kind for source in sources}) > 1 or (
            self.kind is not Kind.LABELS and len(lists) > 1
        ):
            raise ClassesError(
                "The runs have probabilities of different classes, or only some of them have any. "
                "Give every run the same classes.",
                n_lists=len(lists),
            )
        self.classes = tuple(canonical_order(sorted({name for one in lists for name in one})))
        if len(lists) == 1:
            self.classes = first.classes
        self.rows_per_shard = first.rows_per_shard

    @property
    def n_examples(self) -> int:
        """Number of examples."""
        return self._sources[0].n_examples

    @property
    def n_labeled(self) -> int:
        """Number of examples with a gold label."""
        return self._sources[0].n_labeled

    @property
    def manifests(self) -> tuple[RunManifest, ...]:
        """Seeds, versions and times of each run."""
        return tuple(run for source in self._sources for run in source.manifests)

    @property
    def extras(self) -> tuple[str, ...]:
        """Names of the further columns."""
        return self._sources[0].extras

    def shard(self, index: int) -> Shard:
        """Rows of one shard of every source."""
        shards = [source.shard(index) for source in self._sources]
        first = shards[0]
        if not all(one.ids.equals(first.ids) for one in shards):
            raise MissingExampleError("The runs hold different examples.", runs=self.runs)
        labels = [self._common(one.gold, of) for one, of in zip(shards, self._sources, strict=True)]
        for number, (one, found) in enumerate(zip(shards, labels, strict=True)):
            if not np.array_equal(found, labels[0]):
                place = int(np.flatnonzero(found != labels[0])[0])
                raise LabelConflictError(
                    "Example {example!r} has different labels in the runs {run!r} and "
                    "{other_run!r}. Give the same labels in every run.",
                    example=one.ids[place].as_py(),
                    run=self._sources[0].runs[0],
                    other_run=self._sources[number].runs[0],
                )
        predictions = top = probs = None
        if first.predictions is not None:
            predictions = np.concatenate(
                [
                    self._common(np.asarray(one.predictions), source)
                    for one, source in zip(shards, self._sources, strict=True)
                ]
            )
        if first.probs is not None:
            probs = np.concatenate([np.asarray(one.probs) for one in shards])
        if first.top is not None:
            parts = [one.top for one in shards if one.top is not None]
            top = TopProbs(*(np.concatenate(values) for values in zip(*parts, strict=True)))
        gold = labels[0] if first.labels is not None else None
        return Shard(index, first.ids, gold, probs, predictions, first.extras, top)

    def _common(self, indices: IntArray, source: ShardSource) -> IntArray:
        """Class indices of one source as indices into the classes of all."""
        if source.classes == self.classes:
            return indices
        place = {name: i for i, name in enumerate(self.classes)}
        table = np.array([*(place[name] for name in source.classes), UNLABELED], dtype=np.int32)
        return np.asarray(table[indices])


def on_shared_examples(sources: Sequence[ShardSource]) -> tuple[ShardSource, list[Message]]:
    """Several runs on the examples that all of them have, and notes on what was dropped."""
    ids, n_all = common_ids(sources)
    note = note_on_dropped(len(ids), n_all)
    stacked = StackedShards([SubsetShards(source, ids) for source in sources])
    notes = [] if note is None else [note]
    parts = [part.path for run in stacked.manifests for part in run.parts]
    if any(path.startswith(("explanations/", "dynamics/")) for path in parts):
        notes.append(
            Message(
                "only-predictions-of-common-examples",
                "Explanations and dynamics are left out, because examples were dropped.",
            )
        )
    return stacked, notes


class OrderedShards(WrappedShards):
    """The same runs in another order.

    Args:
        source: Aligned runs.
        order: Position of each run in the source.
    """

    def __init__(self, source: ShardSource, order: Sequence[int]) -> None:
        super().__init__(source)
        self._order = list(order)
        self.runs = tuple(source.runs[position] for position in order)

    def shard(self, index: int) -> Shard:
        """Rows of one shard, runs in this order."""
        shard, order = self.source.shard(index), self._order
        top = shard.top
        return replace(
            shard,
            probs=None if shard.probs is None else shard.probs[order],
            predictions=None if shard.predictions is None else shard.predictions[order],
            top=None if top is None else TopProbs(top.classes[order], top.probs[order]),
        )
