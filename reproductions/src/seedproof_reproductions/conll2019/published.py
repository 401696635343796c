"""The numbers that the paper prints."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Accuracy:
    """Accuracy over ten seeds, in percent.

    Args:
        mean: Over the runs.
        sd: Over the runs.
    """

    mean: float
    sd: float


@cache
def published() -> Mapping[str, Any]:
    """Everything in `published.toml`."""
    text = (files("seedproof_reproductions.conll2019") / "published.toml").read_text(
        encoding="utf-8"
    )
    return tomllib.loads(text)


def published_accuracy(dataset: str, encoder: str, arm: str) -> Accuracy | None:
    """What Tables 2 and 3 say.

    Args:
        dataset: Name of the data set.
        encoder: `cnn` or `lstm`.
        arm: `none`, `aswa` or `naswa`.

    Returns:
        Mean and sd; None for what the paper did not publish.
    """
    found = published()["accuracy"].get(encoder, {}).get(dataset, {}).get(arm)
    return None if found is None else Accuracy(*found)


def sd_cut(encoder: str, arm: str) -> float:
    """By how much an arm cuts the sd of accuracy, in percent, as the mean over the data sets.

    Args:
        encoder: `cnn` or `lstm`.
        arm: `aswa` or `naswa`.

    Returns:
        The mean of 100·(1 − sd / sd of `none`).
    """
    rows = published()["accuracy"][encoder].values()
    cuts = [100 * (1 - row[arm][1] / row["none"][1]) for row in rows]
    return float(sum(cuts) / len(cuts))
