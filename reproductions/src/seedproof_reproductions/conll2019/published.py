"""The numbers that the paper prints."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from seedproof_reproductions.packaged import read_toml


class Accuracy(NamedTuple):
    """Accuracy over ten seeds, in percent."""

    mean: float
    sd: float

    def __str__(self) -> str:
        return f"{self.mean:.1f} ±{self.sd:.2f}"


def published() -> Mapping[str, Any]:
    """Everything in `published.toml`."""
    return read_toml(__package__, "published.toml")


def published_accuracy(dataset: str, encoder: str, arm: str) -> Accuracy | None:
    """Mean and sd in Tables 2 and 3; None for what the paper did not publish."""
    cell = published()["accuracy"].get(encoder, {}).get(dataset, {}).get(arm)
    return None if cell is None else Accuracy(*cell)
