"""Show two versions of a model: in words, in a terminal and as a page."""

from seedproof.report.versions.report import VersionReport

__all__ = ["VersionReport"]
