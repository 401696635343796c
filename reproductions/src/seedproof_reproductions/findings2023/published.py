"""Numbers that the paper prints, and layout of the pages, as data."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def read_toml(name: str) -> Mapping[str, Any]:
    """Return the content of a file of this package, such as `page.toml`."""
    path = files("seedproof_reproductions.findings2023") / name
    return tomllib.loads(path.read_text(encoding="utf-8"))


def published() -> Mapping[str, Any]:
    """Return the content of `published.toml`."""
    return read_toml("published.toml")


def published_row(dataset: str, method: str) -> Mapping[str, Any]:
    """Return a row of Table 3 in percent: accuracy, cut and share; empty if there is none."""
    row: Mapping[str, Any] = published()["table3"].get(dataset, {}).get(method, {})
    return row


def published_cut(table: str, dataset: str, method: str) -> float | None:
    """Return a cut in percent from `table3` to `table6`, without its sign; None if not printed."""
    row = published()[table].get(dataset, {}).get(method)
    cut: float | None = row.get("cut") if isinstance(row, dict) else row
    return cut
