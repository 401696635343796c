"""Train under seeds: studies, runs, workers, and what a run records."""
