"""Sources of randomness, the seeds of each run, and streams drawn from them."""

from seedproof.seeds.plan import MAX_RUNS, Assignment, SeedPlan
from seedproof.seeds.sources import SOURCES, check_source
from seedproof.seeds.streams import Streams

__all__ = ["MAX_RUNS", "SOURCES", "Assignment", "SeedPlan", "Streams", "check_source"]
