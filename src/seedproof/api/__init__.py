"""The use cases: `sp.measure`, `sp.compare`, `sp.compare_versions`, `sp.gate`."""
