"""What one run predicted over its steps, counted while it trains."""

from seedproof.training.dynamics.recorder import Dynamics

__all__ = ["Dynamics"]
