"""Where work is done: one seam, used to train runs and to measure shards."""

from seedproof.engines.base import Engine, Failure, Outcome, in_order, n_cores
from seedproof.engines.processes import ProcessEngine
from seedproof.engines.serial import SerialEngine

__all__ = ["Engine", "Failure", "Outcome", "ProcessEngine", "SerialEngine", "in_order", "n_cores"]
