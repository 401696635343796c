"""Levels of repetition: the units of each level, and their numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from seedproof.records.number_settings import NumberSettings
from seedproof.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Tree:
    """Units of each level of repetition: runs, their trials, the judges of each trial.

    The innermost units are the repeats themselves. A number of a unit is the mean of those of its
    members, so that a run counts once however many trials it has.
    """

    order: IntArray  # the repeats, so that members of a unit are neighbors
    starts: tuple[IntArray, ...]  # per level but the innermost: the first member of each unit
    n_members: tuple[IntArray, ...]  # the same: number of members of each unit

    @classmethod
    def of(cls, settings: NumberSettings, n_repeats: int) -> "Tree":
        """Return the units of the levels; without levels, each repeat is a run."""
        levels = settings.levels
        if levels is None:
            return cls(np.arange(n_repeats), (), ())
        codes = np.array(levels.codes)
        order = np.lexsort(codes[::-1])
        codes = codes[:, order]
        # For each level, the places at which one of its units begins.
        begins = [
            np.flatnonzero([True, *(codes[: depth + 1, 1:] != codes[: depth + 1, :-1]).any(axis=0)])
            for depth in range(len(codes))
        ]
        starts = tuple(np.searchsorted(inner, outer) for outer, inner in pairwise(begins))
        sizes = [len(inner) for inner in begins[1:]]
        n_members = tuple(
            np.diff([*first, size]) for first, size in zip(starts, sizes, strict=True)
        )
        return cls(order, starts, n_members)

    @cached_property
    def n_units(self) -> tuple[int, ...]:
        """Number of units of each level, the outermost first."""
        return (*map(len, self.starts), len(self.order))

    @property
    def n_runs(self) -> int:
        """Number of units of the outermost level."""
        return self.n_units[0]

    def numbers(self, numbers: FloatArray) -> tuple[FloatArray, ...]:
        """Return the numbers of the units of each level, from the axes (repeats, examples)."""
        by_level = [numbers if not self.starts else numbers[self.order]]
        for starts, n_members in zip(self.starts[::-1], self.n_members[::-1], strict=True):
            sums = np.add.reduceat(by_level[0], starts, axis=0)
            by_level.insert(0, sums / n_members[:, np.newaxis])
        return tuple(by_level)

    def runs_of(self, level: int) -> IntArray:
        """Return the outermost unit of each unit of a level."""
        runs = np.arange(self.n_runs)
        for n_members in self.n_members[:level]:
            runs = np.repeat(runs, n_members)
        return runs


def level_names(settings: NumberSettings) -> Sequence[str]:
    """Return the names of the levels, the outermost first."""
    return ("run",) if settings.levels is None else settings.levels.names
