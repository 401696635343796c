"""Items in place of classes: ranked lists and sets, and the items that are right."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seedproof.typing import BoolArray, FloatArray, IntArray

# In place of an item, where a list or a set is shorter than the longest.
NO_ITEM = -1
# Items of a ranked list that are kept, unless the user chooses another number.
MOST_KEPT = 1_000


@dataclass(frozen=True, eq=False)
class Relevance:
    """The right items of some examples."""

    items: IntArray  # axes (examples, places), distinct, NO_ITEM after the end of each row
    is_known: BoolArray  # False for examples whose right items are not known: (examples)
    grades: FloatArray | None = None  # above 0 for an item, else 0; None if all are 1

    def __len__(self) -> int:
        return len(self.items)

    @staticmethod
    def unknown(n_examples: int) -> "Relevance":
        """Return examples whose right items are not known."""
        items = np.full((n_examples, 1), NO_ITEM, dtype=np.int32)
        return Relevance(items, np.zeros(n_examples, dtype=np.bool_))

    def rows(self, chosen: slice | IntArray | BoolArray) -> "Relevance":
        """Return the right items of some of the examples."""
        grades = None if self.grades is None else self.grades[chosen]
        return Relevance(self.items[chosen], self.is_known[chosen], grades)

    @staticmethod
    def joined(pieces: Sequence["Relevance"]) -> "Relevance":
        """Concatenate the examples of several."""
        width = max(piece.items.shape[1] for piece in pieces)
        has_grades = any(piece.grades is not None for piece in pieces)
        return Relevance(
            np.concatenate([_widened(piece.items, width, NO_ITEM) for piece in pieces]),
            np.concatenate([piece.is_known for piece in pieces]),
            np.concatenate([_widened(piece.all_grades, width, 0.0) for piece in pieces])
            if has_grades
            else None,
        )

    def differs_from(self, other: "Relevance") -> BoolArray:
        """Return which of the same examples have other right items, or are known in one only."""
        width = max(self.items.shape[1], other.items.shape[1])
        mine, others = self.in_order(width), other.in_order(width)
        differs = np.zeros(len(self), dtype=np.bool_)
        for left, right in zip(mine, others, strict=True):
            differs |= (left != right).any(axis=1)
        return np.asarray(differs | (self.is_known != other.is_known))

    def in_order(self, width: int) -> tuple[IntArray, FloatArray]:
        """Return items in ascending order and their grades, with this many places."""
        order = np.argsort(self.items.astype(np.int32).view(np.uint32), axis=1)
        items = np.take_along_axis(self.items, order, axis=1)
        grades = np.take_along_axis(self.all_grades, order, axis=1)
        return _widened(items, width, NO_ITEM), _widened(grades, width, 0.0)

    @property
    def all_grades(self) -> FloatArray:
        """Grades with the axes of the items: 1 for each item if there are no others."""
        if self.grades is not None:
            return self.grades
        return np.asarray(self.items != NO_ITEM, dtype=np.float64)


def _widened(rows: np.ndarray, width: int, fill: float) -> np.ndarray:
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=fill)


def sorted_items(items: IntArray) -> IntArray:
    """Return the items of each row in ascending order, NO_ITEM last."""
    # As unsigned numbers, NO_ITEM is above all others.
    ordered = np.sort(items.astype(np.int32).view(np.uint32), axis=-1)
    return np.asarray(ordered.view(np.int32))
