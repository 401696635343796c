"""Examples that all runs have, if some runs lack some of them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.errors import ClassesError, LabelConflictError, MissingExampleError
from seedproof.messages import Message
from seedproof.records.arrow import to_numpy
from seedproof.records.items import NO_ITEM, Relevance, sorted_items
from seedproof.records.levels import recorded_settings
from seedproof.records.manifest import RunManifest
from seedproof.records.probabilities import TopProbs
from seedproof.records.schema import Kind, are_known
from seedproof.records.shards import Shard, ShardSource, WrappedShards, all_classes, reindexed
from seedproof.records.text_answers import TextAnswers
from seedproof.typing import BoolArray


def example_ids(source: ShardSource) -> pa.Array:
    """Return the ids of all examples, in the order of the shards."""
    alone = source.predictions_alone()
    return pa.concat_arrays([alone.ids(index) for index in range(source.n_shards)])


def common_ids(sources: Sequence[ShardSource]) -> tuple[pa.Array, int]:
    """Return the examples that all sources have, and the number of examples in any of them."""
    ids = [example_ids(source) for source in sources]
    if len({array.type for array in ids}) > 1:
        ids = [array.cast(pa.string()) for array in ids]
    shared = reduce(lambda left, right: left.filter(pc.is_in(left, right)), ids)
    n_all = len(pc.unique(pa.chunked_array(ids)))
    if not len(shared):
        raise MissingExampleError(
            "The runs have no examples in common ({n_examples:,} in total). Use the same id for "
            "the same example in every run.",
            n_examples=n_all,
        )
    return shared, n_all


def note_on_dropped(n_kept: int, n_all: int) -> Message | None:
    """Return a note on examples that were dropped; None if there are none."""
    if n_kept == n_all:
        return None
    return Message(
        "examples-dropped",
        "{n_dropped:,} of {n_examples:,} examples are missing from some runs and were dropped.",
        n_dropped=n_all - n_kept,
        n_examples=n_all,
    )


class SubsetShards(WrappedShards):
    """Some examples of a source: `ids`, in canonical order."""

    def __init__(self, source: ShardSource, ids: pa.Array) -> None:
        super().__init__(source)
        source_ids = example_ids(source)
        self._ids = ids
        self._positions = to_numpy(pc.index_in(ids, source_ids.cast(ids.type)))
        self.n_examples = len(ids)
        self.manifests = source.manifests
        self.spelled = source.spelled

    @cached_property
    def n_labeled(self) -> int:  # type: ignore[override] # mypy takes it as read-only
        """Number of examples with a gold label."""
        if self.source.n_labeled in {0, self.source.n_examples}:
            return self.n_examples if self.source.n_labeled else 0
        return sum(self.counts(index)[1] for index in range(self.n_shards))

    def shard(self, index: int) -> Shard:
        """Read one shard, from as many shards of the source as needed."""
        size = self.rows_per_shard
        chosen = slice(index * size, (index + 1) * size)
        positions = self._positions[chosen]
        shards = positions // size
        pieces = [
            self.source.shard(int(shard)).rows(positions[shards == shard] - shard * size)
            for shard in np.unique(shards)
        ]
        # Ids that are numbers in one run and text in another are ordered differently there.
        order = np.argsort(np.argsort(shards, kind="stable"))
        return replace(Shard.joined(pieces).rows(order), index=index, ids=self._ids[chosen])


class StackedShards(ShardSource):
    """Several sources of the same examples as one with the runs of all.

    Further columns are those of the first source.
    """

    def __init__(self, sources: Sequence[ShardSource]) -> None:
        first = sources[0]
        self._sources = list(sources)
        self.runs = tuple(run for source in sources for run in source.runs)
        self.manifests = tuple(run for source in sources for run in source.manifests)
        self.kind, self.extras, self.n_examples = first.kind, first.extras, first.n_examples
        self.rows_per_shard = first.rows_per_shard
        lists = [source.classes for source in sources]
        may_differ = self.kind is Kind.LABELS or self.kind.has_items
        has_one_list = may_differ or len(set(lists)) == 1
        if len({source.kind for source in sources}) > 1 or not has_one_list:
            raise ClassesError(
                "The runs have probabilities for different classes, or some runs have none. "
                "Give every run the same classes.",
                n_lists=len(set(lists)),
            )
        self.classes = all_classes(lists)
        self.spelled = frozenset[str]().union(*(source.spelled for source in sources))
        self.settings = first.settings
        if not self.kind.has_classes and self.manifests:
            by_meaning = any(source.settings.by_meaning for source in sources)
            self.settings = replace(
                recorded_settings(self.manifests, self.kind), by_meaning=by_meaning
            )

    @cached_property
    def n_labeled(self) -> int:  # type: ignore[override] # mypy takes it as read-only
        """Number of examples with a gold label."""
        counts = {source.n_labeled for source in self._sources}
        if self.kind is not Kind.TEXTS or counts in ({0}, {self.n_examples}):
            return self._sources[0].n_labeled
        # Answers of runs may be marked as right on different examples.
        shards = ([s.shard(index) for s in self._sources] for index in range(self.n_shards))
        return sum(int(np.count_nonzero(_texts(of_all).is_known)) for of_all in shards)

    def shard(self, index: int) -> Shard:
        """Read one shard of every source."""
        shards = [source.shard(index) for source in self._sources]
        first = shards[0]
        if not all(shard.ids.equals(first.ids) for shard in shards):
            raise MissingExampleError("The runs hold different examples.", runs=self.runs)
        predictions = top = probs = None
        if first.predictions is not None:
            predictions = np.concatenate(
                [
                    reindexed(np.asarray(shard.predictions), source.classes, self.classes)
                    for shard, source in zip(shards, self._sources, strict=True)
                ]
            )
        if first.probs is not None:
            probs = np.concatenate([np.asarray(shard.probs) for shard in shards])
        if first.top is not None:
            parts = [shard.top for shard in shards if shard.top is not None]
            top = TopProbs(*(np.concatenate(values) for values in zip(*parts, strict=True)))
        if first.items is not None:
            return self._of_items(index, shards)
        if first.texts is not None:
            return self._of_texts(index, shards)
        if first.numbers is not None:
            numbers = np.concatenate([np.asarray(shard.numbers) for shard in shards])
            missing = np.full(len(first), np.nan)
            targets = [missing if s.targets is None else s.targets for s in shards]
            self._check_gold(shards, targets)
            return replace(first, index=index, numbers=numbers)
        labels = [
            reindexed(shard.gold, source.classes, self.classes)
            for shard, source in zip(shards, self._sources, strict=True)
        ]
        self._check_gold(shards, labels)
        gold = labels[0] if first.labels is not None else None
        return Shard(index, first.ids, gold, probs, predictions, first.extras, top)

    def _of_items(self, index: int, shards: Sequence[Shard]) -> Shard:
        """Return the lists or sets of all sources, numbered among the items of all."""
        first = shards[0]
        width = max(np.asarray(shard.items).shape[2] for shard in shards)
        items = np.full((len(self.runs), len(first), width), NO_ITEM, dtype=np.int32)
        right = []
        start = 0
        for source, shard in zip(self._sources, shards, strict=True):
            of_source = reindexed(np.asarray(shard.items), source.classes, self.classes)
            if self.kind is Kind.SETS:
                of_source = sorted_items(of_source)
            items[start : start + len(of_source), :, : of_source.shape[2]] = of_source
            start += len(of_source)
            relevance = shard.relevance or Relevance.unknown(len(shard))
            numbered = reindexed(relevance.items, source.classes, self.classes)
            right.append(replace(relevance, items=numbered))
        for source, others in zip(self._sources, right, strict=True):
            self._refuse_conflict(first, source, right[0].differs_from(others))
        known = None if first.relevance is None else right[0]
        return replace(first, index=index, items=items, relevance=known)

    def _of_texts(self, index: int, shards: Sequence[Shard]) -> Shard:
        """Return the answers of all sources, compared anew."""
        for source, other in zip(self._sources, shards, strict=True):
            pairs = zip(_texts(shards[:1]).right, _texts([other]).right, strict=True)
            differs = np.array([here != there for here, there in pairs])
            self._refuse_conflict(shards[0], source, differs)
        shard = replace(shards[0], index=index)
        return shard.with_texts(_texts(shards), self.settings, is_labeled=self.n_labeled > 0)

    def _check_gold(self, shards: Sequence[Shard], gold: Sequence[npt.NDArray[Any]]) -> None:
        """Raise an error unless gold labels or targets are the same in all sources."""
        first = gold[0]
        for source, others in zip(self._sources, gold, strict=True):
            differ = (others != first) & (are_known(others) | are_known(first))
            self._refuse_conflict(shards[0], source, differ)

    def _refuse_conflict(self, shard: Shard, source: ShardSource, differ: BoolArray) -> None:
        """Raise an error if right answers of a source differ from those of the first."""
        if differ.any():
            raise LabelConflictError(
                "Example {example!r} has different {noun} in the runs {run!r} and {other_run!r}. "
                "Pass the same {noun} in every run.",
                noun=self.kind.gold_noun,
                example=shard.ids[int(np.flatnonzero(differ)[0])].as_py(),
                run=self._sources[0].runs[0],
                other_run=source.runs[0],
            )


def _texts(shards: Sequence[Shard]) -> TextAnswers:
    """Return the answers of all runs to the same examples."""
    return TextAnswers.joined([shard.texts for shard in shards if shard.texts], axis=0)


def on_shared_examples(sources: Sequence[ShardSource]) -> tuple[ShardSource, list[Message]]:
    """Return several runs on the examples that all of them have, and notes."""
    ids, n_all = common_ids(sources)
    note = note_on_dropped(len(ids), n_all)
    stacked = StackedShards([SubsetShards(source, ids) for source in sources])
    notes = [] if note is None else [note]
    return stacked, notes + note_on_other_records(stacked.manifests)


def note_on_other_records(runs: Sequence[RunManifest]) -> list[Message]:
    """Return a note that explanations and dynamics are left out; none if runs have none."""
    paths = [part.path for run in runs for part in run.parts]
    if not any(path.startswith(("explanations/", "dynamics/")) for path in paths):
        return []
    note = Message(
        "only-predictions-of-common-examples",
        "Explanations and dynamics are left out, because examples were dropped.",
    )
    return [note]
