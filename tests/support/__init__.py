"""Oracles, simulations and small stores that several tests and benchmarks share."""
