"""Show a comparison: arms against a baseline, in words, in a terminal and as a page."""
