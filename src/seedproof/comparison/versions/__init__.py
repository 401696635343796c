"""A new version against the old one, next to the differences between runs."""
