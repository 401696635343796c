"""Streams of randomness from the seeds of one run."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from seedproof.seeds.sources import SOURCES, check_source

# Each use of a source has its own stream, so that draws from one never change another.
NUMPY, TORCH, GLOBAL = range(3)


@dataclass(frozen=True)
class Streams:
    """Random streams under one assignment of seeds to sources."""

    seeds: Mapping[str, int]

    def sequence(self, source: str, use: int) -> np.random.SeedSequence:
        """Return the root of one use of a source."""
        place = SOURCES.index(check_source(source))
        return np.random.SeedSequence(self.seeds[source], spawn_key=(place, use))

    def everything(self) -> np.random.SeedSequence:
        """Return a root that depends on all sources, for code that does not distinguish them."""
        return np.random.SeedSequence([self.seeds[source] for source in SOURCES])

    @property
    def seed(self) -> int:
        """Seed for all sources together, for programs that take a single seed."""
        return int(self.everything().generate_state(1)[0])
