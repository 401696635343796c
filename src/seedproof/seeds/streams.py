"""Streams of randomness from the seeds of one run."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from seedproof.seeds.sources import SOURCES, check_source

# Each use of a source has a stream of its own, so that a draw from one never moves another.
NUMPY, TORCH, GLOBAL = range(3)


@dataclass(frozen=True)
class Streams:
    """What can be drawn under one assignment of seeds.

    Args:
        seeds: Seed of each source.
    """

    seeds: Mapping[str, int]

    def sequence(self, source: str, use: int) -> np.random.SeedSequence:
        """The root of one use of one source."""
        place = SOURCES.index(check_source(source))
        return np.random.SeedSequence(self.seeds[source], spawn_key=(place, use))

    def everything(self) -> np.random.SeedSequence:
        """A root that changes with every source: for code that does not tell them apart."""
        return np.random.SeedSequence([self.seeds[source] for source in SOURCES])

    @property
    def seed(self) -> int:
        """One number for all sources together, for programs that take a single seed."""
        return int(self.everything().generate_state(1)[0])
