"""Keep a candidate, discard it, or run more: decisions of a research loop."""
