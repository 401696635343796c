"""Names in code of what is compared, and what people read in their place."""

from collections.abc import Mapping
from typing import Any

from seedproof_reproductions.findings2023.arms import ARMS
from seedproof_reproductions.packaged import read_toml

# The arm that all others are compared with.
BASELINE = "none"


def layout() -> Mapping[str, Any]:
    """Return the content of `page.toml`: titles, budgets, tables and rules of advice."""
    return read_toml(__package__, "page.toml")


DATASETS, TRACKS, IN_COMMON = (
    dict[str, str](layout()["titles"][kind]) for kind in ("datasets", "tracks", "in_common")
)


def title_of(arm: str) -> str:
    """Return what people read in place of an arm's name; an unknown name as it is."""
    return ARMS[arm].title if arm in ARMS else arm
