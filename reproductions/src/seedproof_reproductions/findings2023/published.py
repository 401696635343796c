"""Numbers that the paper prints, and layout of the pages, as data."""

from collections.abc import Mapping
from typing import Any

from seedproof_reproductions.packaged import read_toml


def layout() -> Mapping[str, Any]:
    """Return the content of `page.toml`: headers and columns of tables, and rules of advice."""
    return read_toml(__package__, "page.toml")


def published() -> Mapping[str, Any]:
    """Return the content of `published.toml`."""
    return read_toml(__package__, "published.toml")


def published_row(dataset: str, method: str) -> Mapping[str, Any]:
    """Return a row of Table 3 in percent: accuracy, cut and share; empty if there is none."""
    row: Mapping[str, Any] = published()["table3"].get(dataset, {}).get(method, {})
    return row


def published_cut(table: str, dataset: str, method: str) -> float | None:
    """Return a cut in percent from `table3` to `table6`, without its sign; None if not printed."""
    row = published()[table].get(dataset, {}).get(method)
    cut: float | None = row.get("cut") if isinstance(row, dict) else row
    return cut
