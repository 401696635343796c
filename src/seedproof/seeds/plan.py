"""Plans: the sources that vary, and the seeds of each run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from seedproof.errors import OptionError
from seedproof.seeds.sources import SOURCES, check_source
from seedproof.typing import is_count

# Limit of one plan; a number with too many digits must not keep a machine busy.
MAX_RUNS = 100_000
# A block has two seeds of each source: that of its run A and that of its run B.
LEVELS_PER_BLOCK = 2

PlanKind: TypeAlias = Literal["all", "one-at-a-time", "factorial", "blocks"]


@dataclass(frozen=True)
class Assignment:
    """The seeds of one run."""

    name: str  # such as "3", or "init=2"
    seeds: Mapping[str, int]  # by source


@dataclass(frozen=True)
class SeedPlan:
    """The sources that vary over the runs of an arm; all arms share the seeds.

    Make one with `SeedPlan.all`, `SeedPlan.one_at_a_time`, `SeedPlan.factorial` or
    `SeedPlan.blocks`.

    A source has levels 0, 1, 2, …; the seed of a level depends on the root, the source and the
    level alone. So a plan can grow, and its earlier runs keep their seeds.

    Args:
        kind: How levels are combined.
        levels: Number of levels per source; a source that is not named stays at its first.
        root: The number that all seeds are derived from.

    Examples:
        >>> import seedproof as sp
        >>> [run.name for run in sp.SeedPlan.all(3).assignments()]
        ['0', '1', '2']
    """

    kind: PlanKind
    levels: Mapping[str, int] = field(default_factory=dict)
    root: int = 0

    def __post_init__(self) -> None:
        if self.kind not in get_args(PlanKind):
            raise OptionError(
                "{kind!r} is not a kind of plan. Known: {known}.",
                kind=self.kind,
                known=get_args(PlanKind),
            )
        if not self.levels:
            raise OptionError(
                "No source varies. Name at least one of {known}.", known=tuple(SOURCES)
            )
        for source, n_levels in self.levels.items():
            check_source(source)
            if not is_count(n_levels, least=1):
                raise OptionError(
                    "{n_levels!r} seeds are not allowed. Pass 1 or more.", n_levels=n_levels
                )
        if not is_count(self.root, least=0):
            raise OptionError("A root of {root!r} is not allowed. Pass 0 or more.", root=self.root)
        if self.n_runs > MAX_RUNS:
            raise OptionError(
                "{n_runs:,} runs are not allowed. Plan at most {most:,}.",
                n_runs=self.n_runs,
                most=MAX_RUNS,
            )

    @classmethod
    def all(cls, n_runs: int, *, root: int = 0) -> "SeedPlan":
        """Vary every source in every run, for the effect of the seed as a whole.

        Args:
            n_runs: Number of runs.
            root: The number that all seeds are derived from.

        Returns:
            A plan of `n_runs` runs, named "0", "1", ….
        """
        return cls("all", dict.fromkeys(SOURCES, n_runs), root)

    @classmethod
    def one_at_a_time(
        cls, n_runs: int, sources: Sequence[str] = ("init", "order", "dropout"), *, root: int = 0
    ) -> "SeedPlan":
        """Vary one source at a time, for the effect of each source alone.

        Args:
            n_runs: Number of runs per source, with the run that all sources share.
            sources: The sources that vary, one after the other.
            root: The number that all seeds are derived from.

        Returns:
            A plan of 1 + sources × (n_runs − 1) runs.
        """
        return cls("one-at-a-time", dict.fromkeys(sources, n_runs), root)

    @classmethod
    def factorial(cls, levels: Mapping[str, int], *, root: int = 0) -> "SeedPlan":
        """Combine seeds of several sources in all ways.

        Args:
            levels: Number of seeds per source, such as `{"init": 3, "order": 3}`.
            root: The number that all seeds are derived from.

        Returns:
            A plan with one run per combination.
        """
        return cls("factorial", dict(levels), root)

    @classmethod
    def blocks(
        cls, n_blocks: int, sources: Sequence[str] = ("init", "order", "dropout"), *, root: int = 0
    ) -> "SeedPlan":
        """Make independent blocks of runs that show which source causes the flips.

        Runs A and B of a block differ in all these sources; each further run takes one source from
        A and the rest from B. Blocks share no seed of these sources, so that the variation between
        blocks gives intervals. Sources that are not named are the same in all runs.

        Args:
            n_blocks: Number of blocks; 10 are useful, and intervals need at least 5.
            sources: The sources to separate, two or more.
            root: The number that all seeds are derived from.

        Returns:
            A plan of n_blocks × (sources + 2) runs.

        Raises:
            OptionError: Fewer than one block, or fewer than two sources.
        """
        if not is_count(n_blocks, least=1):
            raise OptionError(
                "{n_blocks!r} blocks are not allowed. Pass 1 or more, such as 10.",
                n_blocks=n_blocks,
            )
        levels = dict.fromkeys(sources, LEVELS_PER_BLOCK * n_blocks)
        if len(levels) < 2:
            raise OptionError(
                "Blocks separate at least two sources, but {sources!s} are fewer. Name at least "
                "two of {known}.",
                sources=list(levels),
                known=tuple(SOURCES),
            )
        return cls("blocks", levels, root)

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        n_levels = self.levels.values()
        match self.kind:
            case "all":
                return max(n_levels)
            case "one-at-a-time":
                return 1 + sum(n_levels) - len(n_levels)
            case "blocks":
                return self._n_blocks * (len(n_levels) + LEVELS_PER_BLOCK)
            case "factorial":
                return prod(n_levels)

    @property
    def _n_blocks(self) -> int:
        return min(self.levels.values()) // LEVELS_PER_BLOCK

    def assignments(self) -> tuple[Assignment, ...]:
        """Return the seeds of each run, in order."""
        match self.kind:
            case "all":
                return tuple(
                    self._assign(dict.fromkeys(SOURCES, level), str(level))
                    for level in range(self.n_runs)
                )
            case "one-at-a-time":
                moves: list[dict[str, int]] = [{}]
                for source, n_levels in self.levels.items():
                    moves += [{source: level} for level in range(1, n_levels)]
                return tuple(self._assign(moved) for moved in moves)
            case "blocks":
                return tuple(run for idx in range(self._n_blocks) for run in self._block(idx))
            case "factorial":
                grid = product(*(range(n_levels) for n_levels in self.levels.values()))
                return tuple(
                    self._assign(dict(zip(self.levels, point, strict=True))) for point in grid
                )

    def _block(self, index: int) -> Iterator[Assignment]:
        a = dict.fromkeys(self.levels, LEVELS_PER_BLOCK * index)
        b = dict.fromkeys(self.levels, LEVELS_PER_BLOCK * index + 1)
        yield self._assign(a, f"block {index}: A")
        yield self._assign(b, f"block {index}: B")
        for source in self.levels:
            yield self._assign(b | {source: a[source]}, f"block {index}: {source} of A")

    def _assign(self, moved: Mapping[str, int], name: str | None = None) -> Assignment:
        if name is None:
            name = " ".join(f"{source}={level}" for source, level in moved.items()) or "base"
        levels = dict.fromkeys(SOURCES, 0) | dict(moved)
        return Assignment(name, {source: self.seed(source, levels[source]) for source in SOURCES})

    def seed(self, source: str, level: int) -> int:
        """Return the seed of one level of a source, with the 32 bits that every library takes."""
        return _seed(self.root, SOURCES.index(source), level)

    def as_json(self) -> dict[str, Any]:
        """Return plain data, for `study.json`."""
        return {"kind": self.kind, "levels": dict(self.levels), "root": self.root}

    def grown_to(self, other: "SeedPlan") -> "SeedPlan | None":
        """Return the plan with the runs of both; None if their shapes differ."""
        if (self.kind, self.root, set(self.levels)) != (other.kind, other.root, set(other.levels)):
            return None
        most = {source: max(n, other.levels[source]) for source, n in self.levels.items()}
        return SeedPlan(self.kind, most, self.root)


@lru_cache(maxsize=2**16)
def _seed(root: int, source_idx: int, level: int) -> int:
    return int(np.random.SeedSequence(root, spawn_key=(source_idx, level)).generate_state(1)[0])
