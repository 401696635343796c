"""Results of runs with single numbers: figures, and comparisons of arms."""
