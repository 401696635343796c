"""Engines: where runs are trained and shards are measured."""

from seedproof.engines.base import Engine, Failure, Outcome, in_order, n_cores
from seedproof.engines.processes import ProcessEngine
from seedproof.engines.serial import SerialEngine

__all__ = ["Engine", "Failure", "Outcome", "ProcessEngine", "SerialEngine", "in_order", "n_cores"]
