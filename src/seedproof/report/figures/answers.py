"""Charts of answers: accuracy of each run, disagreement of pairs of runs, votes on examples."""

from itertools import pairwise
from typing import Any

import numpy as np

from seedproof.measurement.result import Measurement
from seedproof.messages import Message, Sentences
from seedproof.metrics.confidence import AGREEMENTS
from seedproof.metrics.entropy import HIGH_ENTROPY
from seedproof.report.figures.base import MAX_NAMED_RUNS, Figure, drawn_runs
from seedproof.report.numbers import NO_BREAK, WithUnit
from seedproof.stats.intervals import NORMAL
from seedproof.typing import FloatArray, IntArray

MAX_BLOCKS = 40
MAX_STEPS = 6
# With more runs, splits of the votes are too many for one bar each.
MAX_SPLIT_RUNS = 20
SENTENCES = {
    "runs-outside-band": "{n_outside} of {n_runs} runs are outside the band; {expected:g} would be "
    "expected.",
    "accuracy-band": f"The best run has {{best:.1f}}{NO_BREAK}%, the worst {{worst:.1f}}{NO_BREAK}"
    "%. If examples flip independently, 95 of 100 runs are inside the band.",
    "cell-of-two-runs": "Each cell is the % of examples on which two runs differ; their mean is "
    "the flip rate.",
    "ordered-by-accuracy": "Runs are ordered by accuracy.",
    "ordered-by-agreement": "Runs are ordered by how much they agree with the others.",
    "pairs-alike": "All pairs of runs disagree about equally.",
    "runs-farthest-apart": "Runs {first} and {second} disagree most: on {share} of the examples.",
    "bar-by-split": "One bar for each way in which the runs split between the two classes.",
    "bar-by-entropy": "Label entropy of each example. The bar on the left counts examples on which "
    "all runs agree. An even split between two answers has 0.69. Counts are on a logarithmic "
    "scale.",
    "examples-agreed-on": "All runs agree on {agreed} of the examples; {high} have an entropy "
    "above {limit}.",
}
_say = Sentences(SENTENCES)


def accuracy_by_run(measurement: Measurement) -> Figure:
    """Return the accuracy of each run, with the band expected from independent flips."""
    accuracy = 100 * measurement.detail["accuracy_by_run"]
    mean, n_runs = float(accuracy.mean()), measurement.n_runs
    # Deviations are from the mean of the same runs, which shrinks them.
    shrunk = (1 - 1 / n_runs) ** 0.5
    reach = 100 * NORMAL * shrunk * measurement.metrics["accuracy_sd_independent"].value
    inside = np.abs(accuracy - mean) <= reach
    names = drawn_runs(measurement)
    rows = [
        {
            "run": names[i],
            "accuracy": round(float(accuracy[i]), 3),
            "where": "inside" if inside[i] else "outside",
        }
        for i in np.argsort(-accuracy, kind="stable")
    ]
    n_outside = int((~inside).sum())
    return Figure(
        name="accuracy_by_run",
        section="Accuracy",
        title="Accuracy of each run",
        takeaway=_say(
            "runs-outside-band", n_outside=n_outside, n_runs=n_runs, expected=0.05 * n_runs
        ),
        reading=[_say("accuracy-band", best=float(accuracy.max()), worst=float(accuracy.min()))],
        rows=rows,
        facts={
            "mean": mean,
            "low": mean - reach,
            "high": mean + reach,
            "axis": f"accuracy, % of {measurement.n_labeled:,} examples",
            "named": n_runs <= MAX_NAMED_RUNS,
        },
        legend=[
            ("band", "accent-soft", "95 % of runs, if flips were independent"),
            ("dot", "accent", "inside"),
            ("diamond", "alert-mark", "outside"),
        ],
        header=("run", "accuracy, %", "band"),
        numbers=[(row["run"], f"{row['accuracy']:.2f}", row["where"]) for row in rows],
    )


def flip_matrix(measurement: Measurement) -> Figure:
    """Return the share of examples on which two runs disagree; many runs are put into blocks."""
    matrix = 100 * measurement.detail["flip_matrix"]
    order, ordered_by = _run_order(measurement, matrix)
    matrix = matrix[np.ix_(order, order)]
    runs = drawn_runs(measurement)
    names = [runs[i] for i in order]
    if len(names) > MAX_NAMED_RUNS:
        matrix, names = _blocks(matrix)
    below = np.tril_indices(len(names), -1 if len(names) == measurement.n_runs else 0)
    limits = [] if _are_alike(measurement) else _steps(matrix[below])
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
        title="Disagreement between runs",
        takeaway=_most_apart(measurement),
        reading=[ordered_by, _say("cell-of-two-runs")],
        rows=rows,
        facts={"names": names, "printed": len(names) <= 20},
        legend=_step_legend(limits),
        header=("run", "run", "differ on, %"),
        numbers=[(row["row"], row["column"], f"{row['rate']:.2f}") for row in rows]
        if len(rows) <= 200
        else (),
    )


def _run_order(measurement: Measurement, matrix: FloatArray) -> tuple[IntArray, Message]:
    if "accuracy_by_run" in measurement.detail:
        order = np.argsort(-measurement.detail["accuracy_by_run"], kind="stable")
        return order, _say("ordered-by-accuracy")
    return np.argsort(matrix.sum(axis=1), kind="stable"), _say("ordered-by-agreement")


def _blocks(matrix: FloatArray) -> tuple[FloatArray, list[str]]:
    """Return means over blocks of neighboring runs, without runs against themselves."""
    groups = np.array_split(np.arange(len(matrix)), MAX_BLOCKS)
    means = np.zeros((len(groups), len(groups)))
    for i, a in enumerate(groups):
        for j, b in enumerate(groups):
            part = matrix[np.ix_(a, b)]
            n_pairs = part.size - (len(a) if i == j else 0)
            means[i, j] = part.sum() / max(n_pairs, 1)
    return means, [f"{group[0] + 1}–{group[-1] + 1}" for group in groups]


def _steps(values: FloatArray) -> list[float]:
    """Return round limits that cut the values into at most six steps."""
    low, high = float(values.min()), float(values.max())
    if high - low < 1e-9:
        return []
    # Steps finer than a twentieth of the mean would exaggerate small differences.
    raw = max((high - low) / MAX_STEPS, float(values.mean()) / 20)
    power = 10.0 ** np.floor(np.log10(raw))
    width = float(next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= raw))
    first = (np.floor(low / width) + 1) * width
    return [float(x) for x in np.arange(first, high, width)[: MAX_STEPS - 1]]


def _shade(step: int, limits: list[float]) -> int:
    """Return which of the six shades a step gets; a few steps are spread over all of them."""
    return round(step * (MAX_STEPS - 1) / max(len(limits), 1))


def _step_legend(limits: list[float]) -> list[tuple[str, str, str]]:
    if not limits:
        return []
    edges = [f"{limit:g}" for limit in limits]
    middle = [f"{low}–{high}" for low, high in pairwise(edges)]
    texts = [f"under {edges[0]}{NO_BREAK}%", *middle, f"{edges[-1]} and more"]
    return [("band", f"r{_shade(i, limits)}", text) for i, text in enumerate(texts)]


def _are_alike(measurement: Measurement) -> bool:
    """Return True if all pairs of runs disagree about equally; then they share one color."""
    largest = float(measurement.detail["flip_matrix"].max())
    return largest <= 1.5 * measurement.metrics["flip_rate"].value


def _most_apart(measurement: Measurement) -> Message | None:
    matrix = measurement.detail["flip_matrix"]
    largest = float(matrix.max())
    if measurement.n_runs == 2:
        return None
    if _are_alike(measurement):
        return _say("pairs-alike")
    a, b = np.unravel_index(int(matrix.argmax()), matrix.shape)
    return _say(
        "runs-farthest-apart",
        first=measurement.runs[a],
        second=measurement.runs[b],
        share=WithUnit(largest, "percent"),
    )


def votes(measurement: Measurement) -> Figure:
    """Return the votes of the runs on examples: by split for two classes, else by entropy."""
    if measurement.n_classes == 2 and measurement.n_runs <= MAX_SPLIT_RUNS:
        return _splits(measurement)
    return entropies(measurement)


def _splits(measurement: Measurement) -> Figure:
    n_runs = measurement.n_runs
    counts = measurement.detail["majority_counts"]
    rows: list[dict[str, Any]] = []
    for majority in range(n_runs, (n_runs + 1) // 2 - 1, -1):
        share = majority / n_runs
        entropy = -sum(p * np.log(p) for p in (share, 1 - share) if p > 0)
        group = 0 if majority == n_runs else 1 + int(entropy > HIGH_ENTROPY)
        percent = 100 * float(counts[majority]) / measurement.n_examples
        rows.append(
            {
                "split": f"{majority} : {n_runs - majority}",
                "percent": percent,
                "count": int(counts[majority]),
                "group": AGREEMENTS[group],
                "text": f"{percent:.1f} % ({int(counts[majority]):,})",
            }
        )
    return Figure(
        name="votes",
        section="Flips",
        title="How the runs vote on an example",
        takeaway=_agreement(measurement),
        reading=[_say("bar-by-split")],
        rows=rows,
        facts={"axis": "% of examples"},
        legend=AGREEMENT_LEGEND,
        header=("runs", "examples", "% of examples"),
        numbers=[(r["split"], f"{r['count']:,}", f"{r['percent']:.2f}") for r in rows],
        kind="splits",
    )


def entropies(measurement: Measurement) -> Figure:
    """Return the number of examples by their label entropy."""
    edges = measurement.detail["entropy_edges"]
    unanimous = int(measurement.detail["majority_counts"][-1])
    counts = measurement.detail["entropy_histogram"].copy()
    counts[0] -= unanimous
    # Examples on which all runs agree have a bar of their own, left of the axis.
    bars = [(-float(edges[1]), 0.0, unanimous, 0)]
    for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True):
        bars.append((float(low), float(high), int(count), 2 if low >= HIGH_ENTROPY else 1))
    rows: list[dict[str, Any]] = [
        {
            "low": low,
            "high": high,
            "count": count,
            "percent": 100 * count / measurement.n_examples,
            "group": AGREEMENTS[group],
        }
        for low, high, count, group in bars
    ]
    return Figure(
        name="votes",
        section="Flips",
        title="How far the runs are from agreeing on an example",
        takeaway=_agreement(measurement),
        reading=[_say("bar-by-entropy")],
        rows=[row for row in rows if row["count"]],
        facts={"axis": "label entropy", "start": -float(edges[1]), "top": float(edges[-1])},
        legend=AGREEMENT_LEGEND,
        header=("entropy", "examples", "% of examples"),
        numbers=[
            (
                "0, all agree" if row["low"] < 0 else f"{row['low']:.2f}–{row['high']:.2f}",
                f"{row['count']:,}",
                f"{row['percent']:.2f}",
            )
            for row in rows
        ],
        kind="entropies",
    )


AGREEMENT_LEGEND = (
    ("band", "quiet", "all runs agree"),
    ("band", "accent", "some differ"),
    ("band", "alert-mark", f"label entropy above {HIGH_ENTROPY}"),
)


def _agreement(measurement: Measurement) -> Message:
    return _say(
        "examples-agreed-on",
        agreed=WithUnit(1 - measurement.metrics["ambiguity"].value, "percent"),
        high=WithUnit(measurement.metrics["high_entropy_share"].value, "percent"),
        limit=HIGH_ENTROPY,
    )
