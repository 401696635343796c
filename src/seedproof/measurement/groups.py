"""Groups of examples: all of them, those of one class, and those with one value of a slice."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from seedproof.errors import ColumnError
from seedproof.messages import Message
from seedproof.records.arrow import to_numpy
from seedproof.records.probabilities import UNLABELED
from seedproof.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Each class or slice takes memory, and longer lists are not read.
MAX_GROUPS = 1000
NOWHERE = -1
NO_VALUE = "(none)"

Sums = TypeVar("Sums", IntArray, FloatArray)


class Groups:
    """The groups of examples, which are discovered with the examples.

    Group 0 has all examples; then come the classes, then the values of each sliced column.
    """

    def __init__(self, classes: Sequence[str], slices: Sequence[str]) -> None:
        self.slices = tuple(dict.fromkeys(slices))
        self.notes: tuple[Message, ...] = ()
        if len(classes) > MAX_GROUPS:
            note = Message(
                "too-many-classes",
                "There are {n_classes:,} classes; figures per class are given for up to "
                "{at_most:,}.",
                n_classes=len(classes),
                at_most=MAX_GROUPS,
            )
            self.notes = (note,)
            classes = ()
        self._n_fixed = 1 + len(classes)
        self._names: list[tuple[str, str]] = [("all", "all"), *(("class", c) for c in classes)]
        self._n_values: Counter[str] = Counter()
        self.seen: dict[tuple[str, str | None], int] = {}
        self.n_examples: IntArray = np.zeros(len(self._names), dtype=np.int64)
        self.n_labeled: IntArray = self.n_examples.copy()

    def __len__(self) -> int:
        return len(self._names)

    def codes(self, n_rows: int, labels: IntArray | None, extras: pa.Table | None) -> IntArray:
        """Count examples, and return their groups, axes (kinds of group, examples)."""
        whole = np.zeros((1, n_rows), dtype=np.int64)
        gold = np.full(n_rows, UNLABELED) if labels is None else labels
        codes = np.concatenate([whole, self.class_codes(gold), self.slice_codes(n_rows, extras)])
        self.add(codes, gold != UNLABELED)
        return codes

    def class_codes(self, classes: IntArray) -> IntArray:
        """Return the groups of examples of these classes, axes (1, examples); none if too many."""
        n_kinds = 1 if self._n_fixed > 1 else 0
        codes = np.where(classes == UNLABELED, NOWHERE, classes.astype(np.int64) + 1)
        return np.broadcast_to(codes, (n_kinds, len(classes)))

    def slice_codes(self, n_rows: int, extras: pa.Table | None) -> IntArray:
        """Return the groups of examples by their slices, axes (columns, examples)."""
        codes = [self._slice(column, extras) for column in self.slices]
        return np.stack(codes) if codes else np.zeros((0, n_rows), dtype=np.int64)

    def add(self, codes: IntArray, is_labeled: BoolArray) -> None:
        """Count examples, given their groups, axes (kinds of group, examples)."""
        self.n_examples = added(self.n_examples, self.count(codes))
        self.n_labeled = added(self.n_labeled, self.count(codes[:, is_labeled]))

    def merge(self, other: "Groups") -> IntArray:
        """Add other examples; return the indices that their groups have here."""
        further = [self._place(column, value) for column, value in other.seen]
        places = np.array([*range(self._n_fixed), *further], dtype=np.int64)
        self.n_examples = added(self.n_examples, other.n_examples, places)
        self.n_labeled = added(self.n_labeled, other.n_labeled, places)
        return places

    def _slice(self, column: str, extras: pa.Table | None) -> IntArray:
        carried = () if extras is None else extras.column_names
        if extras is None or column not in carried:
            raise ColumnError(
                "There is no column {column!r} to slice by. Available: {listed}.",
                column=column,
                listed=", ".join(map(repr, carried)) or "none",
                known=tuple(carried),
            )
        values = extras.column(column).combine_chunks()
        encoded = values.dictionary_encode(null_encoding="encode")
        names = encoded.dictionary.to_pylist()
        places = np.array([self._place(column, name) for name in names], dtype=np.int64)
        return np.asarray(places[to_numpy(encoded.indices)])

    def _place(self, column: str, value: object) -> int:
        name = None if value is None else str(value)
        key = (column, name)
        if key not in self.seen:
            if self._n_values[column] == MAX_GROUPS:
                raise ColumnError(
                    "The column {column!r} has more than {at_most:,} different values. "
                    "Slice by a coarser column.",
                    column=column,
                    at_most=MAX_GROUPS,
                )
            self._n_values[column] += 1
            self.seen[key] = len(self._names)
            self._names.append((f"slice {column}", NO_VALUE if name is None else name))
        return self.seen[key]

    def count(self, codes: IntArray) -> IntArray:
        """Count the examples of each group."""
        return np.bincount(codes[codes != NOWHERE], minlength=len(self._names))

    def members(self, codes: IntArray) -> "csr_array":
        """Return membership as ones and zeros, axes (groups, examples)."""
        from scipy.sparse import csr_array  # slow to load, and only versions need it

        kinds, examples = np.nonzero(codes != NOWHERE)
        groups = codes[kinds, examples]
        shape = (len(self._names), codes.shape[1])
        return csr_array((np.ones(len(groups)), (groups, examples)), shape=shape)

    def listed(self) -> Iterator[tuple[str, str, int]]:
        """Yield kind, name and index of every group: classes in their order, slices by name."""
        slices = sorted(range(self._n_fixed, len(self._names)), key=self._names.__getitem__)
        yield from ((*self._names[index], index) for index in (*range(self._n_fixed), *slices))


def added(known: Sums, further: Sums, places: IntArray | None = None) -> Sums:
    """Return sums per group, of which either may have more; rows are groups.

    Those of `further` have the indices `places` here; their own if omitted.
    """
    if places is None and len(known) == len(further):
        return known + further
    places = np.arange(len(further)) if places is None else places[: len(further)]
    n_groups = max(len(known), int(places.max(initial=-1)) + 1)
    whole = np.zeros((n_groups, *known.shape[1:]), dtype=known.dtype)
    whole[: len(known)] = known
    whole[places] += further
    return whole
