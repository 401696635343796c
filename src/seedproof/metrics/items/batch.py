"""Items of all runs for a few examples: the input of every kernel of lists and sets."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from seedproof.metrics.calibration import blocks_of
from seedproof.records.items import NO_ITEM, Relevance
from seedproof.typing import BoolArray, IntArray

if TYPE_CHECKING:
    from seedproof.records.shards import Shard  # pyarrow is not needed for kernels

WORD_BITS = 64
# Items of a batch over all runs: kernels make several arrays of this size.
BATCH_ITEMS = 2**18


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
    relevance: Relevance | None = None
    depth: int | None = None  # number of first items that `top` has; all if omitted
    blocks: IntArray | None = None  # independent sets of examples: their number, per example

    @property
    def weights(self) -> None:
        """All examples count equally."""

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

    @property
    def top(self) -> IntArray:
        """The first items of each list: (runs, examples, places)."""
        return self.items[:, :, : self.depth]

    @cached_property
    def sizes(self) -> IntArray:
        """Number of first items of each run and example: (runs, examples)."""
        return np.asarray(np.count_nonzero(self.top != NO_ITEM, axis=2))

    @cached_property
    def whole_sizes(self) -> IntArray:
        """Number of all items of each run and example: (runs, examples)."""
        return np.asarray(np.count_nonzero(self.items != NO_ITEM, axis=2))

    @property
    def filled_blocks(self) -> IntArray:
        """The block of each example; by its position in the batch if none are given."""
        return blocks_of(np.arange(self.n_examples)) if self.blocks is None else self.blocks

    @cached_property
    def is_labeled(self) -> BoolArray:
        """True for each example whose right items are known: (examples)."""
        if self.relevance is None:
            return np.zeros(self.n_examples, dtype=np.bool_)
        return self.relevance.is_known

    @property
    def labeled(self) -> "ItemBatch":
        """The examples whose right items are known; this batch itself if all are."""
        # A batch that kept itself would live until the garbage collector finds the cycle.
        return self if self._some_labeled is None else self._some_labeled

    @cached_property
    def _some_labeled(self) -> "ItemBatch | None":
        return None if self.is_labeled.all() else self.rows(np.flatnonzero(self.is_labeled))

    def rows(self, chosen: slice | IntArray) -> "ItemBatch":
        """Return some of the examples."""
        return ItemBatch(
            self.items[:, chosen],
            None if self.relevance is None else self.relevance.rows(chosen),
            self.depth,
            None if self.blocks is None else self.blocks[chosen],
        )

    @cached_property
    def occurrences(self) -> Occurrences:
        """All items of each example together, those of the same item next to each other."""
        # One number for item, rank and run: sorting numbers is faster than sorting their order, and
        # short numbers are sorted faster than long ones.
        run_bits, rank_bits = self.n_runs.bit_length(), self.n_places.bit_length()
        item_bits = int(self.items.max(initial=0) + 1).bit_length()
        is_short = item_bits + rank_bits + run_bits < 32
        dtype = np.int32 if is_short else np.int64
        keys: IntArray = (self.items.transpose(1, 0, 2) + 1).astype(dtype)
        keys <<= rank_bits
        keys |= np.arange(self.n_places, dtype=keys.dtype)
        keys <<= run_bits
        keys |= np.arange(self.n_runs, dtype=keys.dtype)[:, np.newaxis]
        keys = np.sort(keys.reshape(self.n_examples, -1), axis=1)
        run_of = keys & ((1 << run_bits) - 1)
        keys >>= run_bits
        ranks = keys & ((1 << rank_bits) - 1)
        items = keys >> rank_bits
        starts = np.ones(items.shape, dtype=np.bool_)
        np.not_equal(items[:, 1:], items[:, :-1], out=starts[:, 1:])
        return Occurrences(items - 1, ranks, run_of, starts, items > 0)

    @cached_property
    def numbered(self) -> IntArray:
        """First items, numbered within the example: (examples, runs, places), -1 if none."""
        return self._numbered(self.top.shape[2])

    @property
    def all_numbered(self) -> IntArray:
        """All items, numbered within the example: (examples, runs, places), -1 if none."""
        is_top = self.depth is None or self.depth >= self.n_places
        return self.numbered if is_top else self._numbered(self.n_places)

    def _numbered(self, depth: int) -> IntArray:
        _, ranks, runs, starts, is_item = self.occurrences
        is_first = is_item & (ranks < depth)
        # The best rank of an item comes first, so that an item of any top begins with one.
        numbers = np.cumsum(starts & is_first, axis=1) - 1
        by_place = np.full(starts.shape, -1)
        places = runs * np.int64(self.n_places) + ranks
        np.put_along_axis(by_place, places, np.where(is_first, numbers, -1), axis=1)
        return by_place.reshape(self.n_examples, self.n_runs, self.n_places)[:, :, :depth]

    @cached_property
    def members(self) -> npt.NDArray[np.uint64]:
        """The first items of each run as bits, by their numbers: (words, runs, examples)."""
        n_words = int(self.numbered.max(initial=0)) // WORD_BITS + 1
        words = np.empty((n_words, self.n_runs, self.n_examples), dtype=np.uint64)
        for word in range(n_words):
            bits = np.zeros(n_words * WORD_BITS + 1, dtype=np.uint64)  # the last is of no item
            first = word * WORD_BITS
            bits[first : first + WORD_BITS] = np.uint64(1) << np.arange(WORD_BITS, dtype=np.uint64)
            words[word] = np.bitwise_or.reduce(bits[self.numbered], axis=2).T
        return words


def item_batches(
    shard: "Shard",
    n_rows: int | None = None,
    blocks: IntArray | None = None,
    depth: int | None = None,
) -> Iterator[ItemBatch]:
    """Yield a shard in pieces whose size depends on its shape alone, never on the machine."""
    if shard.items is None:
        raise ValueError("this shard has no items")
    n_runs, _, n_places = shard.items.shape
    n_rows = n_rows or max(1, BATCH_ITEMS // max(n_runs * n_places, 1))
    whole = ItemBatch(shard.items, shard.relevance, depth, blocks)
    for start in range(0, len(shard), n_rows):
        yield whole.rows(slice(start, start + n_rows))
