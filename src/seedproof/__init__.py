"""Find out what your model owes to its random seed, and take it away.

Names are loaded when they are first used: importing seedproof loads none of its dependencies.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seedproof.errors import SeedproofError
    from seedproof.measurement.intervals import Estimate
    from seedproof.records.columns import Columns
    from seedproof.report.api import measure
    from seedproof.report.report import Report

__all__ = ["Columns", "Estimate", "Report", "SeedproofError", "__version__", "measure"]

_HOMES = {
    "Columns": "seedproof.records.columns",
    "Estimate": "seedproof.measurement.intervals",
    "Report": "seedproof.report.report",
    "SeedproofError": "seedproof.errors",
    "measure": "seedproof.report.api",
}


def __getattr__(name: str) -> object:
    """Load a public name from where it lives."""
    if name == "__version__":
        from importlib.metadata import version

        return version("seedproof")
    if name not in _HOMES:
        raise AttributeError(f"module 'seedproof' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The public names."""
    return list(__all__)
