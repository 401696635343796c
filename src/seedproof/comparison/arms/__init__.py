"""Arms against a baseline."""
