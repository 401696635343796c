"""Quality of ranked lists, given which items are right: one value per run and example."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seedproof.records.items import NO_ITEM
from seedproof.typing import BoolArray, FloatArray, IntArray


def are_right(items: IntArray, relevant: IntArray) -> BoolArray:
    """Return which items are right: (runs, examples, places); see `RankedGains`."""
    is_right = np.zeros(items.shape, dtype=np.bool_)
    for column in relevant.T:
        is_right |= items == column[:, np.newaxis]
    return np.asarray(is_right & (items != NO_ITEM))


def set_f1(items: IntArray, relevant: IntArray) -> FloatArray:
    """Return the F1 of each set, axes (runs, examples); 1 if it is empty and nothing is right."""
    n_given = np.count_nonzero(items != NO_ITEM, axis=2)
    n_relevant = np.count_nonzero(relevant != NO_ITEM, axis=1)
    return f1_of(are_right(items, relevant).sum(axis=2), n_given + n_relevant)


def f1_of(n_right: IntArray, n_both: IntArray) -> FloatArray:
    """Return F1 from the right items that are given, and all that are given or right."""
    return np.asarray(np.where(n_both > 0, 2 * n_right / np.maximum(n_both, 1), 1.0))


@dataclass(frozen=True, eq=False)
class RankedGains:
    """Grades of the items of each list, by rank.

    Args:
        items: Lists of all runs, axes (runs, examples, places); NO_ITEM after the end of a list.
        relevant: Right items of each example, axes (examples, relevant items); NO_ITEM after the
            last.
        grades: Grade of each right item, above 0, the same axes; all 1 if omitted.
    """

    items: IntArray
    relevant: IntArray
    grades: FloatArray | None = None

    @cached_property
    def gains(self) -> FloatArray:
        """The grade of the item at each place, 0 if it is not right: (runs, examples, places)."""
        gains = np.zeros(self.items.shape)
        for relevant, grade in zip(self.relevant.T, self._grades.T, strict=True):
            wanted = np.where(relevant == NO_ITEM, NO_ITEM - 1, relevant)[:, np.newaxis]
            np.copyto(gains, grade[:, np.newaxis], where=self.items == wanted)
        return gains

    @cached_property
    def _grades(self) -> FloatArray:
        given = np.ones(self.relevant.shape) if self.grades is None else self.grades
        return np.asarray(np.where(self.relevant == NO_ITEM, 0.0, given))

    def hit_rate(self, depth: int) -> FloatArray:
        """Return 1 if a right item is among the first ones, else 0."""
        return np.asarray((self.gains[..., :depth] > 0.0).any(axis=2), dtype=np.float64)

    def recall(self, depth: int) -> FloatArray:
        """Return the share of the right items that are among the first ones; 0 if none is right."""
        n_relevant = np.count_nonzero(self._grades > 0.0, axis=1)
        n_hits = np.count_nonzero(self.gains[..., :depth] > 0.0, axis=2)
        return np.asarray(n_hits / np.maximum(n_relevant, 1))

    def reciprocal_rank(self, depth: int) -> FloatArray:
        """Return 1 / rank of the first right item; 0 if none is among the first ones."""
        is_right = self.gains[..., :depth] > 0.0
        first = is_right.argmax(axis=2)
        return np.asarray(np.where(is_right.any(axis=2), 1.0 / (first + 1), 0.0))

    def ndcg(self, depth: int) -> FloatArray:
        """Return the discounted gain as a share of the largest possible; 0 if none is right.

        A grade at rank r, from 1 on, adds grade / log2(r + 1) (Järvelin and Kekäläinen 2002).
        """
        discounts = 1.0 / np.log2(np.arange(2, depth + 2))
        gains = self.gains[..., :depth]
        ideal = np.sort(self._grades, axis=1)[:, ::-1][:, :depth]
        best = ideal @ discounts[: ideal.shape[1]]
        gained = gains @ discounts[: gains.shape[2]]
        return np.asarray(np.divide(gained, best, out=np.zeros(gained.shape), where=best > 0.0))
