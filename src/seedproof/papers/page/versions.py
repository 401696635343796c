"""What all stored results were made with."""

from collections.abc import Mapping, Sequence
from typing import Any


def shared_versions(results: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Versions that all settings share; one that differs is left out.

    Args:
        results: Stored results, at least one.

    Returns:
        By name, such as `python`.
    """
    first, *others = (one["versions"] for one in results)
    return {
        name: value
        for name, value in first.items()
        if all(other.get(name) == value for other in others)
    }
