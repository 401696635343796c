"""A note on runs whose results rise or fall in their order, so that they are not exchangeable."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from seedproof.predictions.checks import Check
from seedproof.stats.trend_test import trend_p
from seedproof.typing import FloatArray, IntArray

# At most one of a hundred studies of exchangeable runs gets a note.
LEVEL = 0.01
# With fewer runs, no order has so small a probability.
TREND_FROM = 6
# Figures of a run whose trend is looked at: the first that it has.
MAIN_FIGURES = ("accuracy", "mean", "micro_f1", "ndcg@")
_NUMBER = re.compile(r"\d+")


def main_figure(detail: Mapping[str, FloatArray | IntArray]) -> tuple[str, FloatArray] | None:
    """Return the name and the values of the figure of runs that a study is about; None if none."""
    for start in MAIN_FIGURES:
        for key, values in detail.items():
            name = key.removesuffix("_by_run")
            if name != key and (name == start or (start.endswith("@") and name.startswith(start))):
                return name, np.asarray(values, dtype=np.float64)
    return None


def runs_trend(
    names: Sequence[str], figure: str, values: FloatArray, *, noun: str = "runs"
) -> Iterator[Check]:
    """Yield a note if a figure rises or falls with the numbers in the names of the runs.

    Runs whose names are not numbered have no order that means anything.
    """
    n_runs = len(values)
    if n_runs < TREND_FROM or len(names) != n_runs or not _are_numbered(names):
        return
    p = trend_p(values)
    if p > LEVEL:
        return
    third = n_runs // 3
    direction = "rises" if values[-third:].mean() > values[:third].mean() else "falls"
    yield Check(
        "runs-trend",
        "note",
        tuple(names),
        f"{figure} {direction} in the order of the {noun} (Kendall's test, p = {p:.2g}). Intervals "
        f"and verdicts assume that {noun} are exchangeable, so that their order says nothing.",
        "Check what changed while they were made: data, code, a service, hardware, or whether they "
        "are sorted by their results.",
    )


def _are_numbered(names: Sequence[str]) -> bool:
    """Return whether names differ in ascending numbers alone, such as 0, 1, 2 or run-8, run-9."""
    texts = {_NUMBER.sub("#", name) for name in names}
    numbers = [tuple(map(int, _NUMBER.findall(name))) for name in names]
    return len(texts) == 1 and all(a < b for a, b in pairwise(numbers))
