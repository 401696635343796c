"""Check whether a training obeys its seeds."""
