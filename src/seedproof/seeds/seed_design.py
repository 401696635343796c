"""The seeds that runs share, from which sources are separated under any plan."""

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
    """Pairs of runs of the same block."""

    blocks: IntArray  # block of each pair
    first: IntArray  # runs
    second: IntArray


@dataclass(frozen=True)
class SeedDesign:
    """Runs by the seeds that they share."""

    seeds: Sequence[Mapping[str, int]]  # per run, by source

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """Sources that vary over the runs, in the order in which the runs name them."""
        named = dict.fromkeys(source for run in self.seeds for source in run)
        return tuple(source for source in named if len({run.get(source) for run in self.seeds}) > 1)

    def shared(self, first: int, second: int) -> Sources:
        """Return the varying sources that have the same seed in two runs."""
        seeds, others = self.seeds[first], self.seeds[second]
        return frozenset(name for name in self.sources if seeds.get(name) == others.get(name))

    @cached_property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """Runs that share a seed, directly or through others; runs that share none are left out.

        Runs of different blocks share no seed that varies, so blocks are independent draws.
        """
        block_of = list(range(len(self.seeds)))
        for first, second in combinations(range(len(self.seeds)), 2):
            kept, merged = block_of[first], block_of[second]
            if kept != merged and self.shared(first, second):
                block_of = [kept if block == merged else block for block in block_of]
        members: dict[int, list[int]] = {}
        for run_idx, block in enumerate(block_of):
            members.setdefault(block, []).append(run_idx)
        return tuple(tuple(runs) for runs in members.values() if len(runs) > 1)

    @cached_property
    def pairs(self) -> Mapping[Sources, Pairs]:
        """Pairs of runs within blocks, by the exact set of sources that they share.

        Two runs of different blocks share nothing either, but are not used: run A of a block is
        compared with B and with its other runs alike, so that an unusual A cancels out. In
        simulations the interaction was more precise where runs move all examples together, and less
        precise where they do not.
        """
        triples: dict[Sources, list[tuple[int, int, int]]] = {}
        for block_idx, runs in enumerate(self.blocks):
            for pair in combinations(runs, 2):
                triples.setdefault(self.shared(*pair), []).append((block_idx, *pair))
        return {shared: Pairs(*np.array(rows).T) for shared, rows in triples.items()}

    def distance(self, matrix: FloatArray, shared: Sources) -> FloatArray | None:
        """Return the mean distance of runs that share exactly these sources.

        Of all blocks first, then with each block left out, NaN if that leaves no pair. None if
        there is no such pair of runs.
        """
        if shared not in self.pairs:
            return None
        pairs, n_blocks = self.pairs[shared], len(self.blocks)
        distances = matrix[pairs.first, pairs.second]
        sums = np.bincount(pairs.blocks, weights=distances, minlength=n_blocks)
        counts = np.bincount(pairs.blocks, minlength=n_blocks)
        left = counts.sum() - counts
        without = np.where(left > 0, (sums.sum() - sums) / np.maximum(left, 1), np.nan)
        return np.concatenate([[sums.sum() / counts.sum()], without])


def note_on_shared_seeds(seeds: Sequence[Mapping[str, int]]) -> Message | None:
    """Return a warning if pooled runs are not independent draws."""
    design = SeedDesign(seeds)
    if not design.blocks:
        return None
    return Message(
        "shared-seeds",
        "some runs share their seeds of {sources} with others, so they are not independent draws: "
        "figures over all runs mix pairs that share seeds with pairs that do not, and intervals "
        "are too narrow. `seedproof blame` separates the sources.",
        sources=tuple(design.sources),
    )
