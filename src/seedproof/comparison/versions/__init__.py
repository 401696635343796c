"""A new version against the old one, next to what another seed changes."""
