"""What one run predicted over its steps, counted while it trains."""

from seedproof.runs.dynamics.recorder import Dynamics

__all__ = ["Dynamics"]
