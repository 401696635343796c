"""The same examples of all runs, side by side: what the measuring pass reads."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from seedproof.records.arrow import to_arrow
from seedproof.records.probabilities import UNLABELED, TopProbs
from seedproof.records.schema import Kind, Layout
from seedproof.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from seedproof.records.location import Location
    from seedproof.records.manifest import RunManifest


@dataclass(frozen=True, eq=False)
class Shard:
    """Row group `index` of every run.

    Args:
        index: Which one; partial results are folded in this order.
        ids: Example ids, int64 or text.
        labels: Gold class indices, -1 where unknown; None if no example has one.
        probs: Axes (runs, rows, classes), float32; None where only predictions are known.
        predictions: Axes (runs, rows), class indices; None where probabilities are known.
        extras: Further columns, by the user's own names.
        top: The most probable classes, where no others are known.
    """

    index: int
    ids: pa.Array
    labels: IntArray | None
    probs: FloatArray | None
    predictions: IntArray | None
    extras: pa.Table | None = None
    top: TopProbs | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def rows(self, chosen: slice | IntArray) -> "Shard":
        """Some of its rows."""
        positions = np.arange(len(self))[chosen]
        taken = to_arrow(positions)
        return replace(
            self,
            ids=self.ids.take(taken),
            labels=None if self.labels is None else self.labels[chosen],
            probs=None if self.probs is None else self.probs[:, chosen],
            predictions=None if self.predictions is None else self.predictions[:, chosen],
            top=None if self.top is None else self.top.rows(chosen),
            extras=None if self.extras is None else self.extras.take(taken),
        )

    @staticmethod
    def joined(pieces: Sequence["Shard"]) -> "Shard":
        """The rows of several, one after the other."""
        if len(pieces) == 1:
            return pieces[0]

        def together(name: str, axis: int) -> Any:  # noqa: ANN401 - an array of the field's dtype
            arrays = [getattr(piece, name) for piece in pieces]
            return None if arrays[0] is None else np.concatenate(arrays, axis=axis)

        extras = [piece.extras for piece in pieces if piece.extras is not None]
        tops = [piece.top for piece in pieces if piece.top is not None]
        return replace(
            pieces[0],
            ids=pa.concat_arrays([piece.ids for piece in pieces]),
            labels=together("labels", 0),
            probs=together("probs", 1),
            predictions=together("predictions", 1),
            top=TopProbs.joined(tops) if tops else None,
            extras=pa.concat_tables(extras) if extras else None,
        )

    @property
    def gold(self) -> IntArray:
        """Gold class indices of all examples, -1 where unknown."""
        return np.full(len(self), UNLABELED) if self.labels is None else self.labels


class ShardSource(ABC):
    """Aligned runs, cut into shards in a way that no worker count can change.

    Attributes:
        runs: Names of the runs, in their order.
        classes: Names of the classes, in the order of their indices.
        kind: What is known of each example.
        rows_per_shard: Number of examples in every shard but the last.
    """

    runs: tuple[str, ...]
    classes: tuple[str, ...]
    kind: Kind
    rows_per_shard: int

    @property
    @abstractmethod
    def n_examples(self) -> int:
        """Number of examples in all shards together."""

    @property
    @abstractmethod
    def n_labeled(self) -> int:
        """Number of examples with a gold label."""

    @abstractmethod
    def shard(self, index: int) -> Shard:
        """Read one shard."""

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return -(-self.n_examples // self.rows_per_shard)

    @property
    def manifests(self) -> tuple["RunManifest", ...]:
        """Seeds, versions and times of each run; empty if nothing is recorded."""
        return ()

    @property
    def location(self) -> "Location | None":
        """The store that holds the runs; None for anything else."""
        return None

    @property
    def split(self) -> str | None:
        """The data split of a store that was predicted."""
        return None

    @property
    def extras(self) -> tuple[str, ...]:
        """Names of the further columns."""
        return ()

    @property
    def is_in_memory(self) -> bool:
        """Whether all rows are in memory already."""
        return False

    def counts(self, index: int) -> tuple[int, int]:
        """Number of examples in one shard, and how many of them have a gold label."""
        shard = self.shard(index)
        return len(shard), int(np.count_nonzero(shard.gold != UNLABELED))

    def predictions_alone(self) -> "ShardSource":
        """The same runs with no more than their predicted classes, if that saves reading."""
        return self


class TableShards(ShardSource):
    """Aligned runs in memory, in the order in which a store would have them.

    Args:
        runs: Names of the runs.
        classes: Names of the classes.
        ids: Ids of the examples, in order.
        labels: Gold class index per example; None if no example has one.
        values: Probabilities (runs, examples, classes), or class indices (runs, examples).
        extras: Further columns.
    """

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
        self._ids, self._labels, self._values, self._extras = ids, labels, values, extras

    @property
    def n_examples(self) -> int:
        """Number of examples in all shards together."""
        return len(self._ids)

    @property
    def n_labeled(self) -> int:
        """Number of examples with a gold label."""
        return 0 if self._labels is None else int(np.count_nonzero(self._labels != UNLABELED))

    @property
    def extras(self) -> tuple[str, ...]:
        """Names of the further columns."""
        return () if self._extras is None else tuple(self._extras.column_names)

    @property
    def is_in_memory(self) -> bool:
        """Whether all rows are in memory already."""
        return True

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


class WrappedShards(ShardSource):
    """The shards of another source, changed on the way.

    Args:
        source: Aligned runs.
    """

    def __init__(self, source: ShardSource) -> None:
        self.source = source
        self.runs, self.classes, self.kind = source.runs, source.classes, source.kind
        self.rows_per_shard = source.rows_per_shard

    @property
    def n_examples(self) -> int:
        """Number of examples in all shards together."""
        return self.source.n_examples

    @property
    def n_labeled(self) -> int:
        """Number of examples with a gold label."""
        return self.source.n_labeled

    @property
    def extras(self) -> tuple[str, ...]:
        """Names of the further columns."""
        return self.source.extras

    @property
    def is_in_memory(self) -> bool:
        """Whether all rows are in memory already."""
        return self.source.is_in_memory


def canonical_order(names: list[str]) -> list[str]:
    """Names in an order that does not depend on where they came from: numbers by value."""
    if all(is_integer(name) for name in names):
        return sorted(names, key=int)
    return sorted(names, key=lambda name: name.encode())


def natural_order(names: list[str]) -> list[str]:
    """Names in the order that people expect: seed_2 comes before seed_10.

    Args:
        names: Names in any order.

    Returns:
        The same names in order.

    Examples:
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
    """Whether text is an integer as people write it, without leading zeros, that fits int64."""
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdigit() and len(digits) <= 18
    return plain and (digits[0] != "0" or text == "0")
