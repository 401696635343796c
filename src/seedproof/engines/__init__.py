"""Where work is done: one seam, used to train runs and to measure shards."""

from seedproof.engines.base import Engine, Outcome
from seedproof.engines.serial import SerialEngine

__all__ = ["Engine", "Outcome", "SerialEngine"]
