"""Which runs disagree with which."""

from itertools import pairwise

import numpy as np

from seedproof.measurement.result import Measurement
from seedproof.messages import Message
from seedproof.report.figures.base import MAX_NAMED_RUNS, Figure, drawn_runs
from seedproof.report.numbers import NO_BREAK, WithUnit
from seedproof.typing import FloatArray, IntArray

MAX_BLOCKS = 40
MAX_STEPS = 6


def flip_matrix(measurement: Measurement) -> Figure:
    """On how many examples every two runs disagree; many runs are put together in blocks."""
    matrix = 100 * measurement.detail["flip_matrix"]
    order, ordered_by = _run_order(measurement, matrix)
    matrix = matrix[np.ix_(order, order)]
    runs = drawn_runs(measurement)
    names = [runs[i] for i in order]
    if len(names) > MAX_NAMED_RUNS:
        matrix, names = _blocks(matrix, names)
    below = np.tril_indices(len(names), -1 if len(names) == measurement.n_runs else 0)
    values = matrix[below]
    limits = _steps(values)
    rows = [
        {
            "row": names[i],
            "column": names[j],
            "rate": round(float(matrix[i, j]), 3),
            "step": _shade(int(np.searchsorted(limits, matrix[i, j], side="right")), limits),
        }
        for i, j in zip(*below, strict=True)
    ]
    return Figure(
        name="flip_matrix",
        section="Flips",
        title="Which runs disagree with which",
        takeaway=_most_apart(measurement),
        reading=[
            ordered_by,
            Message(
                "cell-of-two-runs",
                "Each cell is the % of examples on which two runs differ; their mean is the flip "
                "rate.",
            ),
        ],
        rows=rows,
        facts={
            "names": names,
            "steps": len(limits) + 1,
            "printed": len(names) <= 20,
            "named": len(names) <= MAX_NAMED_RUNS,
        },
        legend=_step_legend(limits),
        header=("run", "run", "differ on, %"),
        numbers=[(row["row"], row["column"], f"{row['rate']:.2f}") for row in rows]
        if len(rows) <= 200
        else (),
    )


def _run_order(measurement: Measurement, matrix: FloatArray) -> tuple[IntArray, Message]:
    if "accuracy_by_run" in measurement.detail:
        order = np.argsort(-measurement.detail["accuracy_by_run"], kind="stable")
        return order, Message("ordered-by-accuracy", "Runs are ordered by accuracy.")
    return np.argsort(matrix.sum(axis=1), kind="stable"), Message(
        "ordered-by-agreement", "Runs are ordered by how much they agree with the others."
    )


def _blocks(matrix: FloatArray, names: list[str]) -> tuple[FloatArray, list[str]]:
    """Means over blocks of neighboring runs; the diagonal leaves out a run against itself."""
    groups = np.array_split(np.arange(len(names)), MAX_BLOCKS)
    labels = [f"{group[0] + 1}–{group[-1] + 1}" for group in groups]
    means = np.zeros((len(groups), len(groups)))
    for i, a in enumerate(groups):
        for j, b in enumerate(groups):
            part = matrix[np.ix_(a, b)]
            pairs = part.size - (len(a) if i == j else 0)
            means[i, j] = part.sum() / max(pairs, 1)
    return means, labels


def _steps(values: FloatArray) -> list[float]:
    """Round limits that cut the values into at most six steps."""
    low, high = float(values.min()), float(values.max())
    if high - low < 1e-9:
        return []
    # Steps finer than a twentieth of the mean would make much of nothing.
    raw = max((high - low) / MAX_STEPS, float(values.mean()) / 20)
    power = 10.0 ** np.floor(np.log10(raw))
    width = float(next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= raw))
    first = (np.floor(low / width) + 1) * width
    return [float(x) for x in np.arange(first, high, width)[: MAX_STEPS - 1]]


def _shade(step: int, limits: list[float]) -> int:
    """Which of the six shades a step gets: few steps are spread over all of them."""
    return round(step * (MAX_STEPS - 1) / max(len(limits), 1))


def _step_legend(limits: list[float]) -> list[tuple[str, str, str]]:
    if not limits:
        return []
    edges = [f"{limit:g}" for limit in limits]
    middle = [f"{low}–{high}" for low, high in pairwise(edges)]
    texts = [f"under {edges[0]}{NO_BREAK}%", *middle, f"{edges[-1]} and more"]
    return [("band", f"r{_shade(i, limits)}", text) for i, text in enumerate(texts)]


def _most_apart(measurement: Measurement) -> Message | None:
    matrix = measurement.detail["flip_matrix"]
    largest, mean = float(matrix.max()), measurement.metrics["flip_rate"].value
    if measurement.n_runs == 2:
        return None
    if largest <= 1.5 * mean:
        return Message("pairs-alike", "All pairs of runs disagree about equally.")
    a, b = np.unravel_index(int(matrix.argmax()), matrix.shape)
    return Message(
        "runs-farthest-apart",
        "Runs {first} and {second} disagree most: on {share} of the examples.",
        first=measurement.runs[a],
        second=measurement.runs[b],
        share=WithUnit(largest, "percent"),
    )
