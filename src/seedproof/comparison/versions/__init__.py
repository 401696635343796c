"""A new version against the old one, beside what another seed changes."""
