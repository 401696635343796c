"""The same examples of all runs: the input of the measuring pass."""

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from seedproof.errors import ShapeError
from seedproof.records.answer_settings import AnswerSettings, ExampleWeights
from seedproof.records.arrow import to_arrow, to_numpy
from seedproof.records.items import Relevance
from seedproof.records.probabilities import UNLABELED, TopProbs
from seedproof.records.schema import Kind, Layout
from seedproof.records.text_answers import AnswerKeys, TextAnswers
from seedproof.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from seedproof.records.location import Location
    from seedproof.records.manifest import RunManifest

# Limit of the runs that are measured together: memory grows with the square of their number.
MAX_RUNS = 5_000


@dataclass(frozen=True, eq=False)
class Shard:
    """Row group `index` of every run."""

    index: int  # partial results are merged in this order
    ids: pa.Array  # example ids, int64 or text
    labels: IntArray | None  # gold class indices, -1 where unknown; None if no example has one
    probs: FloatArray | None  # float32 (runs, rows, classes); None if only predictions are known
    predictions: IntArray | None  # (runs, rows); None if probabilities are known
    extras: pa.Table | None = None  # further columns, by the user's own names
    top: TopProbs | None = None  # the most probable classes, where no others are known
    numbers: FloatArray | None = None  # (runs, rows), in place of classes
    targets: FloatArray | None = None  # (rows), NaN where unknown; None if no example has one
    items: IntArray | None = None  # (runs, rows, places), in place of classes; see `ItemShards`
    relevance: Relevance | None = None  # the right items; None if no example has any
    answers: AnswerKeys | None = None  # (runs, rows), in place of classes; see `text_answers`
    texts: TextAnswers | None = None  # the texts of `answers`

    def __len__(self) -> int:
        return len(self.ids)

    def rows(self, chosen: slice | IntArray) -> "Shard":
        """Return some of its rows."""
        positions = np.arange(len(self))[chosen]
        taken = to_arrow(positions)
        return replace(
            self,
            ids=self.ids.take(taken),
            labels=None if self.labels is None else self.labels[chosen],
            probs=None if self.probs is None else self.probs[:, chosen],
            predictions=None if self.predictions is None else self.predictions[:, chosen],
            top=None if self.top is None else self.top.rows(chosen),
            numbers=None if self.numbers is None else self.numbers[:, chosen],
            targets=None if self.targets is None else self.targets[chosen],
            items=None if self.items is None else self.items[:, chosen],
            relevance=None if self.relevance is None else self.relevance.rows(chosen),
            answers=None if self.answers is None else self.answers[:, chosen],
            texts=None if self.texts is None else self.texts.examples(chosen),
            extras=None if self.extras is None else self.extras.take(taken),
        )

    @staticmethod
    def joined(pieces: Sequence["Shard"]) -> "Shard":
        """Concatenate the rows of several shards."""
        if len(pieces) == 1:
            return pieces[0]

        def together(name: str, axis: int) -> Any:  # noqa: ANN401 - an array of the field's dtype
            arrays = [getattr(piece, name) for piece in pieces]
            return None if arrays[0] is None else np.concatenate(arrays, axis=axis)

        extras = [piece.extras for piece in pieces if piece.extras is not None]
        tops = [piece.top for piece in pieces if piece.top is not None]
        relevances = [piece.relevance for piece in pieces if piece.relevance is not None]
        texts = [piece.texts for piece in pieces if piece.texts is not None]
        return replace(
            pieces[0],
            ids=pa.concat_arrays([piece.ids for piece in pieces]),
            labels=together("labels", 0),
            probs=together("probs", 1),
            predictions=together("predictions", 1),
            numbers=together("numbers", 1),
            targets=together("targets", 0),
            items=together("items", 1),
            answers=together("answers", 1),
            texts=TextAnswers.joined(texts, axis=1) if texts else None,
            relevance=Relevance.joined(relevances) if relevances else None,
            top=TopProbs.joined(tops) if tops else None,
            extras=pa.concat_tables(extras) if extras else None,
        )

    def with_texts(
        self, texts: TextAnswers, settings: AnswerSettings, *, is_labeled: bool
    ) -> "Shard":
        """Return the same examples with the answers of all runs, compared by the settings."""
        return replace(
            self,
            labels=texts.labels if is_labeled else None,
            answers=texts.keys(settings.normalization),
            texts=texts,
        )

    def weights(self, chosen: ExampleWeights | None) -> FloatArray | None:
        """Return the weights of the examples, with a mean of 1 over all; None if there are none."""
        if chosen is None or self.extras is None:
            return None
        return as_weights(self.extras.column(chosen.column)) / chosen.mean

    @property
    def gold(self) -> IntArray:
        """Gold class indices of all examples, -1 where unknown."""
        return np.full(len(self), UNLABELED) if self.labels is None else self.labels


def as_weights(column: pa.ChunkedArray) -> FloatArray:
    """Return the values of a column as numbers, NaN where a value is missing or no number."""
    try:
        return to_numpy(column.cast(pa.float64()).combine_chunks(), missing=np.nan)
    except pa.ArrowException:
        return np.array([_as_number(value) for value in column.to_pylist()])


def _as_number(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return np.nan


class ShardSource(ABC):
    """Aligned runs, cut into shards independently of the number of workers."""

    runs: tuple[str, ...]
    classes: tuple[str, ...]
    kind: Kind
    rows_per_shard: int  # of every shard but the last
    n_examples: int
    n_labeled: int  # examples with a gold label or a target
    settings: AnswerSettings = AnswerSettings()  # for the metrics of numbers and texts
    extras: tuple[str, ...] = ()  # names of the further columns
    spelled: frozenset[str] = frozenset()  # names of classes as arrays have them
    is_in_memory: bool = False
    manifests: tuple["RunManifest", ...] = ()  # empty if the runs are not from a store
    location: "Location | None" = None
    split: str | None = None

    @abstractmethod
    def shard(self, index: int) -> Shard:
        """Read one shard."""

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return -(-self.n_examples // self.rows_per_shard)

    @property
    def run_of_repeats(self) -> tuple[int, ...]:
        """The run of each repeat: itself, unless runs have several trials or judges."""
        levels = self.settings.levels
        return tuple(range(len(self.runs))) if levels is None else levels.codes[0]

    @property
    def n_runs(self) -> int:
        """Number of runs, each of which may have several trials or judges."""
        return len(set(self.run_of_repeats))

    @property
    def repeats(self) -> str:
        """Unit of repetition: trials, seeds where they are recorded, runs otherwise."""
        if self.settings.are_trials:
            return "trials"
        return "seeds" if any(run.seeds for run in self.manifests) else "runs"

    def counts(self, index: int) -> tuple[int, int]:
        """Return the number of examples in one shard, and of those with a gold label."""
        shard = self.shard(index)
        if shard.targets is not None:
            return len(shard), int(np.count_nonzero(~np.isnan(shard.targets)))
        if shard.relevance is not None:
            return len(shard), int(np.count_nonzero(shard.relevance.is_known))
        return len(shard), int(np.count_nonzero(shard.gold != UNLABELED))

    def ids(self, index: int) -> pa.Array:
        """Return the ids of the examples of one shard."""
        return self.shard(index).ids

    def further_column(self, index: int, column: str) -> tuple[pa.Array, pa.ChunkedArray]:
        """Return the ids of the examples of one shard, and their values in a further column."""
        shard = self.shard(index)
        if shard.extras is None:
            raise ValueError(f"this shard has no column {column!r}")
        return shard.ids, shard.extras.column(column)

    def predictions_alone(self) -> "ShardSource":
        """Return the same runs with predicted classes only, if that saves reading."""
        return self

    def in_full(self) -> "ShardSource":
        """Return the same runs with everything that is known of them."""
        return self

    def some_runs(self, order: Sequence[int]) -> "ShardSource":
        """Return the runs at these positions, in this order."""
        return OrderedShards(self, order)


class TableShards(ShardSource):
    """Aligned runs in memory, in the order in which a store would have them."""

    is_in_memory = True

    def __init__(
        self,
        runs: Sequence[str],
        classes: Sequence[str],
        ids: pa.Array,
        *,
        labels: IntArray | None,
        values: np.ndarray,
        extras: pa.Table | None,
    ) -> None:
        self.runs, self.classes = tuple(runs), tuple(classes)
        self.kind = Kind.PROBS if values.ndim == 3 else Kind.LABELS
        self.rows_per_shard = Layout(self.kind, self.classes).rows_per_group
        self.n_examples = len(ids)
        self.n_labeled = 0 if labels is None else int(np.count_nonzero(labels != UNLABELED))
        self.extras = () if extras is None else tuple(extras.column_names)
        self._ids, self._labels, self._values, self._extras = ids, labels, values, extras

    def shard(self, index: int) -> Shard:
        """Return one shard, without a copy."""
        start = index * self.rows_per_shard
        rows = slice(start, start + self.rows_per_shard)
        values = self._values[:, rows]
        is_probs = self.kind is Kind.PROBS
        return Shard(
            index,
            self._ids[rows],
            None if self._labels is None else self._labels[rows],
            probs=values if is_probs else None,
            predictions=None if is_probs else values,
            extras=None if self._extras is None else self._extras[rows],
        )


class NumberShards(ShardSource):
    """Numbers of aligned runs in memory, in the order in which a store would have them.

    Args:
        runs: Names of the runs.
        ids: Ids of the examples, in canonical order.
        numbers: Numbers with the axes (runs, examples).
        targets: Right numbers of the examples, NaN where unknown.
        settings: Choices for the metrics.
        extras: Further columns.
    """

    is_in_memory = True
    kind = Kind.NUMBERS
    classes = ()

    def __init__(
        self,
        runs: Sequence[str],
        ids: pa.Array,
        numbers: FloatArray,
        *,
        targets: FloatArray | None = None,
        settings: AnswerSettings,
        extras: pa.Table | None = None,
    ) -> None:
        self.runs, self.settings = tuple(runs), settings
        self.rows_per_shard = Layout(self.kind, ()).rows_per_group
        self.n_examples = len(ids)
        self.n_labeled = 0 if targets is None else int(np.count_nonzero(~np.isnan(targets)))
        self.extras = () if extras is None else tuple(extras.column_names)
        self._ids, self.numbers, self._extras = ids, numbers, extras
        self._targets = targets if self.n_labeled else None

    @property
    def has_text_ids(self) -> bool:
        """True if ids are text; int64 otherwise."""
        return bool(pa.types.is_string(self._ids.type))

    def shard(self, index: int) -> Shard:
        """Return one shard, without a copy."""
        start = index * self.rows_per_shard
        rows = slice(start, start + self.rows_per_shard)
        return Shard(
            index,
            self._ids[rows],
            labels=None,
            probs=None,
            predictions=None,
            extras=None if self._extras is None else self._extras[rows],
            numbers=self.numbers[:, rows],
            targets=None if self._targets is None else self._targets[rows],
        )


class ItemShards(ShardSource):
    """Ranked lists or sets of aligned runs in memory, in the order in which a store has them.

    Args:
        kind: Rankings or sets.
        runs: Names of the runs.
        ids: Ids of the examples, in canonical order.
        names: Names of all items; `source.classes` of the pass.
        items: Places in `names`, axes (runs, examples, places): the best first in a ranking, in
            ascending order in a set, distinct, and `NO_ITEM` after the end of each.
        relevance: The right items.
        settings: Choices for the metrics.
        extras: Further columns.
        spelled: Names of items as they were given, of which some may be the same.
    """

    is_in_memory = True

    def __init__(
        self,
        kind: Kind,
        runs: Sequence[str],
        ids: pa.Array,
        *,
        names: Sequence[str],
        items: IntArray,
        relevance: Relevance | None = None,
        settings: AnswerSettings,
        extras: pa.Table | None = None,
        spelled: Collection[str] = (),
    ) -> None:
        self.kind, self.runs, self.settings = kind, tuple(runs), settings
        self.classes, self.spelled = tuple(names), frozenset(spelled)
        self.rows_per_shard = Layout(kind, self.classes, n_top=items.shape[2]).rows_per_group
        self.n_examples = len(ids)
        self.n_labeled = 0 if relevance is None else int(np.count_nonzero(relevance.is_known))
        self.extras = () if extras is None else tuple(extras.column_names)
        self._ids, self.items, self._extras = ids, items, extras
        self.relevance = relevance if self.n_labeled else None

    @property
    def has_text_ids(self) -> bool:
        """True if ids are text; int64 otherwise."""
        return bool(pa.types.is_string(self._ids.type))

    def shard(self, index: int) -> Shard:
        """Return one shard, without a copy."""
        start = index * self.rows_per_shard
        rows = slice(start, start + self.rows_per_shard)
        return Shard(
            index,
            self._ids[rows],
            labels=None,
            probs=None,
            predictions=None,
            extras=None if self._extras is None else self._extras[rows],
            items=self.items[:, rows],
            relevance=None if self.relevance is None else self.relevance.rows(rows),
        )


class WrappedShards(ShardSource):
    """The shards of another source, changed when they are read."""

    def __init__(self, source: ShardSource) -> None:
        self.source = source
        self.runs, self.classes, self.kind = source.runs, source.classes, source.kind
        self.rows_per_shard, self.n_examples = source.rows_per_shard, source.n_examples

    @cached_property
    def settings(self) -> AnswerSettings:  # type: ignore[override] # mypy takes it as read-only
        """Choices for the metrics of numbers."""
        return self.source.settings

    @property
    def repeats(self) -> str:
        """Unit of repetition of the other source."""
        return self.source.repeats

    @cached_property
    def extras(self) -> tuple[str, ...]:  # type: ignore[override] # mypy takes it as read-only
        """Names of the further columns."""
        return self.source.extras

    @cached_property
    def is_in_memory(self) -> bool:  # type: ignore[override] # same
        """True if all rows are in memory already."""
        return self.source.is_in_memory

    @cached_property
    def n_labeled(self) -> int:  # type: ignore[override] # mypy takes it as read-only
        """Number of examples with a gold label."""
        return self.source.n_labeled


class OrderedShards(WrappedShards):
    """Some of the runs, or all in another order, given by their positions in the source."""

    def __init__(self, source: ShardSource, order: Sequence[int]) -> None:
        super().__init__(source)
        self._order = list(order)
        self.runs = tuple(source.runs[position] for position in order)
        self.settings = of_repeats(source.settings, order)

    def shard(self, index: int) -> Shard:
        """Read one shard, with the runs in this order."""
        shard, order = self.source.shard(index), self._order
        top = shard.top
        return replace(
            shard,
            probs=None if shard.probs is None else shard.probs[order],
            predictions=None if shard.predictions is None else shard.predictions[order],
            numbers=None if shard.numbers is None else shard.numbers[order],
            items=None if shard.items is None else shard.items[order],
            answers=None if shard.answers is None else shard.answers[order],
            texts=None if shard.texts is None else shard.texts.runs(order),
            top=None if top is None else TopProbs(top.classes[order], top.probs[order]),
        )


def of_repeats(settings: AnswerSettings, order: Sequence[int]) -> AnswerSettings:
    """Return the settings for the runs at these positions, in this order."""
    if settings.levels is None:
        return settings
    return replace(settings, levels=settings.levels.at(order))


def check_run_count(n_runs: int) -> None:
    """Raise an error if there are more runs than can be measured together."""
    if n_runs > MAX_RUNS:
        raise ShapeError(
            "There are {n_runs:,} runs, and at most {at_most:,} are measured together. Axes are "
            "(runs, examples, classes): if the first two are swapped, use "
            "np.swapaxes(values, 0, 1).",
            n_runs=n_runs,
            at_most=MAX_RUNS,
        )


def all_classes(lists: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the classes that occur in any of several lists."""
    if len(set(lists)) == 1:
        return lists[0]
    return tuple(canonical_order(sorted({name for names in lists for name in names})))


def reindexed(indices: IntArray, classes: tuple[str, ...], into: tuple[str, ...]) -> IntArray:
    """Return indices into one list of classes as indices into another."""
    if classes is into or classes == into:
        return indices
    place = {name: index for index, name in enumerate(into)}
    table = np.array([*(place[name] for name in classes), UNLABELED], dtype=np.int32)
    return np.asarray(table[indices])


def canonical_order(names: list[str]) -> list[str]:
    """Return names in an order independent of their source: numbers by value."""
    if all(is_integer(name) for name in names):
        return sorted(names, key=int)
    return sorted(names, key=lambda name: name.encode())


def natural_order(names: list[str]) -> list[str]:
    """Return names in the order that people expect: seed_2 comes before seed_10.

    >>> natural_order(["seed_10", "seed_2", "a"])
    ['a', 'seed_2', 'seed_10']
    """
    if all(is_integer(name) for name in names):
        return sorted(names, key=int)
    return sorted(names, key=_natural)


def _natural(name: str) -> tuple[list[tuple[int, int, bytes]], bytes]:
    parts = [part for part in re.split(r"(\d+)", name) if part]
    key = []
    for part in parts:
        digits = part.lstrip("0")
        is_number = part.isdecimal() and part.isascii()
        key.append((0, len(digits), digits.encode()) if is_number else (1, 0, part.encode()))
    return key, name.encode()


def is_integer(text: str) -> bool:
    """Return whether a text is an integer without leading zeros that fits int64."""
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdigit() and len(digits) <= 18
    return plain and (digits[0] != "0" or text == "0")
