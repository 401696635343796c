"""Find out whether a training obeys its seeds."""
