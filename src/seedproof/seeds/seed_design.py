"""Which runs share which seeds: what blame is read from, whatever the plan was."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TypeAlias

import numpy as np

from seedproof.messages import Message
from seedproof.typing import FloatArray, IntArray

Sources: TypeAlias = frozenset[str]
NOTHING: Sources = frozenset()


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of runs of the same block.

    Args:
        blocks: Which block each pair is of.
        ones: One run of each pair.
        others: The other run.
    """

    blocks: IntArray
    ones: IntArray
    others: IntArray


@dataclass(frozen=True)
class SeedDesign:
    """Runs by the seeds that they share.

    Args:
        seeds: Seed of each source, for each run.
    """

    seeds: Sequence[Mapping[str, int]]

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The sources that vary over the runs, in the order in which the runs name them."""
        named = dict.fromkeys(source for run in self.seeds for source in run)
        return tuple(source for source in named if len({run.get(source) for run in self.seeds}) > 1)

    def shared(self, one: int, other: int) -> Sources:
        """The sources that vary, and yet have the same seed in these two runs."""
        mine, theirs = self.seeds[one], self.seeds[other]
        return frozenset(name for name in self.sources if mine.get(name) == theirs.get(name))

    @cached_property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """Runs that share a seed, directly or through others; one that shares none is left out.

        Runs of different blocks share no seed that varies, so blocks are independent draws.
        """
        block_of = list(range(len(self.seeds)))
        for one, other in combinations(range(len(self.seeds)), 2):
            mine, theirs = block_of[one], block_of[other]
            if mine != theirs and self.shared(one, other):
                block_of = [mine if block == theirs else block for block in block_of]
        members: dict[int, list[int]] = {}
        for run_idx, block in enumerate(block_of):
            members.setdefault(block, []).append(run_idx)
        return tuple(tuple(runs) for runs in members.values() if len(runs) > 1)

    @cached_property
    def pairs(self) -> Mapping[Sources, Pairs]:
        """Pairs of runs within blocks, by what exactly they share.

        Two runs of different blocks share nothing either, but are not used: run A of a block is
        compared with B and with its other runs alike, so that a peculiar A cancels out.
        In simulations the interaction was surer for it where runs move all examples together, and
        less sure where they do not.
        """
        found: dict[Sources, list[tuple[int, int, int]]] = {}
        for block_idx, runs in enumerate(self.blocks):
            for one, other in combinations(runs, 2):
                found.setdefault(self.shared(one, other), []).append((block_idx, one, other))
        return {shared: Pairs(*np.array(triples).T) for shared, triples in found.items()}

    def distance(self, matrix: FloatArray, shared: Sources) -> FloatArray | None:
        """How far apart runs are that share exactly some sources.

        Means over pairs: of all blocks first, then with each block left out, NaN where that leaves
        no pair. None if no two runs are like that.
        """
        if shared not in self.pairs:
            return None
        pairs, n_blocks = self.pairs[shared], len(self.blocks)
        sums = np.bincount(
            pairs.blocks, weights=matrix[pairs.ones, pairs.others], minlength=n_blocks
        )
        counts = np.bincount(pairs.blocks, minlength=n_blocks)
        left = counts.sum() - counts
        without = np.where(left > 0, (sums.sum() - sums) / np.maximum(left, 1), np.nan)
        return np.concatenate([[sums.sum() / counts.sum()], without])


def note_on_shared_seeds(seeds: Sequence[Mapping[str, int]]) -> Message | None:
    """Return a caution for pooled runs; None if they are independent draws.

    A note, or None.
    """
    sharing = SeedDesign(seeds)
    if not sharing.blocks:
        return None
    return Message(
        "shared-seeds",
        "some runs share their seeds of {sources} with others, so they are no "
        "independent draws: figures over all runs mix pairs that share seeds with pairs that do "
        "not, and intervals are too narrow. `seedproof blame` tells the sources apart.",
        sources=tuple(sharing.sources),
    )
