"""The numbers that the paper prints."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def published() -> Mapping[str, Any]:
    """Everything in `published.toml`."""
    text = (files("seedproof_reproductions.findings2023") / "published.toml").read_text(
        encoding="utf-8"
    )
    return tomllib.loads(text)


def published_row(dataset: str, method: str) -> Mapping[str, Any]:
    """A row of Table 3.

    Args:
        dataset: `clinc150` or `massive`.
        method: Such as `tgtss`, or `control`.

    Returns:
        `accuracy` (mean and sd), and but for the control the `cut` of LE_m and its `share` of the
        ensemble's, all in percent; empty for what the paper did not publish.
    """
    found: Mapping[str, Any] = published()["table3"].get(dataset, {}).get(method, {})
    return found


def published_cut(table: str, dataset: str, method: str) -> float | None:
    """A cut in percent.

    Args:
        table: `table3` (LE_m), `table4` (LE_s), `table5` (LE_m where it is high) or `table6`
            (LE_s there).
        dataset: `clinc150` or `massive`.
        method: Such as `tgtss`.

    Returns:
        The cut without its sign; None for what the paper did not publish.
    """
    if table == "table3":
        return published_row(dataset, method).get("cut")
    found: float | None = published()[table].get(dataset, {}).get(method)
    return found
