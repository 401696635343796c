"""Items of all runs for a few examples: the input of every kernel of lists and sets."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from seedproof.records.items import NO_ITEM
from seedproof.typing import BoolArray, IntArray

WORD_BITS = 64


class Occurrences(NamedTuple):
    """All items of all runs, ordered by example, item, rank and run, one row per example."""

    items: IntArray  # axes (examples, occurrences)
    ranks: IntArray  # place of the item in its list, the same axes
    runs: IntArray  # the same axes
    starts: BoolArray  # True at the first occurrence of each item of an example
    is_item: BoolArray  # False where a list has ended


@dataclass(frozen=True, eq=False)
class ItemBatch:
    """Items of all runs for the same few examples, the first of each list the best.

    Quantities that several kernels need are computed once, on first use, and kept with the batch.
    """

    items: IntArray  # axes (runs, examples, places); distinct in a list, NO_ITEM after its end

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        return int(self.items.shape[0])

    @property
    def n_examples(self) -> int:
        """Number of examples in this batch."""
        return int(self.items.shape[1])

    @property
    def n_places(self) -> int:
        """Length of the longest list."""
        return int(self.items.shape[2])

    @cached_property
    def sizes(self) -> IntArray:
        """Number of items of each run and example: (runs, examples)."""
        return np.asarray(np.count_nonzero(self.items != NO_ITEM, axis=2))

    @cached_property
    def occurrences(self) -> Occurrences:
        """All items of each example together, those of the same item next to each other."""
        by_example = self.items.transpose(1, 0, 2).astype(np.int64)
        places = np.arange(self.n_places)
        runs = np.arange(self.n_runs)[:, np.newaxis]
        # One number for item, rank and run: sorting numbers is faster than sorting their order.
        keys = ((by_example + 1) * self.n_places + places) * self.n_runs + runs
        keys = np.sort(keys.reshape(self.n_examples, -1), axis=1)
        rest, run_of = np.divmod(keys, self.n_runs)
        items, ranks = np.divmod(rest, self.n_places)
        starts = np.ones(items.shape, dtype=np.bool_)
        np.not_equal(items[:, 1:], items[:, :-1], out=starts[:, 1:])
        return Occurrences(items - 1, ranks, run_of, starts, items > 0)

    @cached_property
    def members(self) -> npt.NDArray[np.uint64]:
        """The items of each run as bits, numbered within the example: (words, runs, examples)."""
        _, ranks, runs, starts, is_item = self.occurrences
        numbers = np.cumsum(starts, axis=1) - 1
        # The row of list ends comes first and has no bit.
        numbers -= ~is_item[:, :1]
        n_words = int(numbers.max(initial=0)) // WORD_BITS + 1
        by_place = np.full((self.n_examples, self.n_runs * self.n_places), -1)
        np.put_along_axis(
            by_place, runs * self.n_places + ranks, np.where(is_item, numbers, -1), axis=1
        )
        shape = self.n_examples, self.n_runs, self.n_places
        words = np.zeros((n_words, self.n_runs, self.n_examples), dtype=np.uint64)
        for numbered in by_place.reshape(shape).transpose(2, 1, 0):
            bits = np.uint64(1) << (numbered % WORD_BITS).astype(np.uint64)
            for word in range(n_words):
                words[word] |= np.where(numbered // WORD_BITS == word, bits, np.uint64(0))
        return words
