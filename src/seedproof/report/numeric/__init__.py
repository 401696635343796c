"""Reports of runs that give a number for each example."""
