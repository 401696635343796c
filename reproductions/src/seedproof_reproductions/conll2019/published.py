"""The numbers that the paper prints."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple


class Accuracy(NamedTuple):
    """Accuracy over ten seeds, in percent."""

    mean: float
    sd: float


@cache
def published() -> Mapping[str, Any]:
    """Everything in `published.toml`."""
    return tomllib.loads((files(__package__) / "published.toml").read_text(encoding="utf-8"))


def published_accuracy(dataset: str, encoder: str, arm: str) -> Accuracy | None:
    """Mean and sd in Tables 2 and 3; None for what the paper did not publish."""
    cell = published()["accuracy"].get(encoder, {}).get(dataset, {}).get(arm)
    return None if cell is None else Accuracy(*cell)
