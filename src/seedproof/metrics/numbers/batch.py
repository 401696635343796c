"""Numbers of all runs for a few examples: the input of every kernel of numbers."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from seedproof.metrics.batch import batch_rows
from seedproof.metrics.calibration import blocks_of
from seedproof.metrics.numbers.levels import Tree
from seedproof.metrics.numbers.unequal import mean_of_trials
from seedproof.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from seedproof.records.shards import Shard  # pyarrow is not needed for kernels


@dataclass(frozen=True, eq=False)
class NumberBatch:
    """Numbers of all runs for the same few examples.

    Quantities that several kernels need are computed once, on first use, and kept with the batch.
    """

    numbers: FloatArray  # float64, axes (repeats, examples)
    targets: FloatArray | None = None  # per example, NaN where unknown
    blocks: IntArray | None = None  # independent sets of examples: their number, per example
    tree: Tree | None = None  # levels of repetition; None if each run has one number per example
    first: int = 0  # position of the first example among all
    weights: FloatArray | None = None  # per example, above 0; None if all count equally

    @cached_property
    def by_level(self) -> tuple[FloatArray, ...]:
        """Numbers of the units of each level, the outermost first: (units, examples)."""
        return (self.numbers,) if self.tree is None else self.tree.numbers(self.numbers)

    @property
    def of_runs(self) -> FloatArray:
        """Numbers of the runs, the outermost level: (runs, examples)."""
        return self.by_level[0]

    def by_run(self, values: FloatArray) -> FloatArray:
        """Return values of repeats, averaged over those of each run: (runs, examples)."""
        return values if self.tree is None else self.tree.numbers(values)[0]

    @property
    def is_unequal(self) -> bool:
        """True if examples have different numbers of trials: NaN is none."""
        return self.tree is not None and self.tree.is_unequal

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        return int(self.of_runs.shape[0])

    @property
    def n_examples(self) -> int:
        """Number of examples in this batch."""
        return int(self.numbers.shape[1])

    @cached_property
    def means(self) -> FloatArray:
        """The mean over runs of each example: (examples)."""
        if self.is_unequal:
            return mean_of_trials(self.numbers).values
        return np.asarray(self.of_runs.mean(axis=0))

    @cached_property
    def is_passed(self) -> BoolArray | None:
        """Numbers as pass or fail, the same axes; None if any is neither 1 nor 0.

        The first trial of an example is always there.
        """
        if not np.isin(self.numbers[:1], (0.0, 1.0)).all():  # most numbers are recognized at once
            return None
        passed = self.numbers == 1.0
        are_outcomes = passed | (self.numbers == 0.0)
        if self.is_unequal:
            are_outcomes |= np.isnan(self.numbers)
        return passed if are_outcomes.all() else None

    @property
    def are_shares(self) -> bool:
        """True if all numbers are between 0 and 1."""
        if self.is_passed is not None:
            return True
        return bool(np.nanmin(self.numbers) >= 0.0 and np.nanmax(self.numbers) <= 1.0)

    @property
    def filled_blocks(self) -> IntArray:
        """The block of each example; by its position in the batch if none are given."""
        return blocks_of(np.arange(self.n_examples)) if self.blocks is None else self.blocks

    @cached_property
    def is_labeled(self) -> BoolArray:
        """True for each example whose target is known: (examples)."""
        if self.targets is None:
            return np.zeros(self.n_examples, dtype=np.bool_)
        return ~np.isnan(self.targets)

    @property
    def labeled(self) -> "NumberBatch":
        """The examples whose target is known; this batch itself if all are."""
        # A batch that kept itself would live until the garbage collector finds the cycle.
        return self if self._some_labeled is None else self._some_labeled

    @cached_property
    def _some_labeled(self) -> "NumberBatch | None":
        chosen = self.is_labeled
        if chosen.all():
            return None
        return NumberBatch(
            self.numbers[:, chosen],
            None if self.targets is None else self.targets[chosen],
            None if self.blocks is None else self.blocks[chosen],
            self.tree,
            weights=None if self.weights is None else self.weights[chosen],
        )


def number_batches(
    shard: "Shard",
    n_rows: int | None = None,
    blocks: IntArray | None = None,
    tree: Tree | None = None,
    *,
    first: int = 0,
    weights: FloatArray | None = None,
) -> Iterator[NumberBatch]:
    """Yield a shard in pieces whose size depends on its shape alone, never on the machine."""
    if shard.numbers is None:
        raise ValueError("this shard has no numbers")
    n_rows = n_rows or batch_rows(len(shard.numbers))
    for start in range(0, len(shard), n_rows):
        rows = slice(start, start + n_rows)
        yield NumberBatch(
            np.ascontiguousarray(shard.numbers[:, rows], dtype=np.float64),
            None if shard.targets is None else shard.targets[rows],
            None if blocks is None else blocks[rows],
            tree,
            first + start,
            None if weights is None else weights[rows],
        )
