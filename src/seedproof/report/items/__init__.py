"""Reports of runs that give ranked lists or sets."""
