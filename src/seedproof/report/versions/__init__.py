"""Report of two versions of a model: text, page and charts."""

from seedproof.report.versions.report import VersionReport

__all__ = ["VersionReport"]
