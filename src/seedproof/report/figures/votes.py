"""How the runs vote on an example."""

from typing import Any

import numpy as np

from seedproof.measurement.result import Measurement
from seedproof.messages import Message
from seedproof.metrics.confidence import AGREEMENTS
from seedproof.metrics.entropy import HIGH_ENTROPY
from seedproof.report.figures.base import Figure
from seedproof.report.numbers import WithUnit


def votes(measurement: Measurement) -> Figure:
    """How the runs vote on an example: by split for two classes, by entropy for more."""
    if measurement.n_classes == 2 and measurement.n_runs <= 20:
        return _splits(measurement)
    return _entropies(measurement)


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
        takeaway=_agreeing(measurement),
        reading=[
            Message(
                "bar-by-split",
                "One bar for each way in which the runs split between the two classes.",
            )
        ],
        rows=rows,
        facts={"kind": "splits", "axis": "% of examples"},
        legend=_agreement_legend(),
        header=("runs", "examples", "% of examples"),
        numbers=[(r["split"], f"{r['count']:,}", f"{r['percent']:.2f}") for r in rows],
    )


def _entropies(measurement: Measurement) -> Figure:
    edges = measurement.detail["entropy_edges"]
    unanimous = int(measurement.detail["majority_counts"][-1])
    counts = measurement.detail["entropy_histogram"].copy()
    counts[0] -= unanimous
    # Those on which all runs agree have a bar of their own, left of the axis.
    bars = [(-float(edges[1]), 0.0, unanimous, 0)]
    for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True):
        group = 2 if low >= HIGH_ENTROPY else 1
        bars.append((float(low), float(high), int(count), group))
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
        takeaway=_agreeing(measurement),
        reading=[
            Message(
                "bar-by-entropy",
                "Label entropy of each example; the bar on the left: all runs agree. 0.69 if half "
                "of them say one thing and half another. The scale of the counts is logarithmic.",
            )
        ],
        rows=[row for row in rows if row["count"]],
        facts={
            "kind": "entropy",
            "axis": "label entropy",
            "start": -float(edges[1]),
            "top": float(edges[-1]),
        },
        legend=_agreement_legend(),
        header=("entropy", "examples", "% of examples"),
        numbers=[
            (_between(r["low"], r["high"]), f"{r['count']:,}", f"{r['percent']:.2f}") for r in rows
        ],
    )


def _between(low: float, high: float) -> str:
    return "0, all agree" if low < 0 else f"{low:.2f}–{high:.2f}"


def _agreeing(measurement: Measurement) -> Message:
    return Message(
        "examples-agreed-on",
        "{agreed} of the examples get one answer from all runs; {high} have an entropy above "
        "{limit}.",
        agreed=WithUnit(1 - measurement.metrics["ambiguity"].value, "percent"),
        high=WithUnit(measurement.metrics["high_entropy_share"].value, "percent"),
        limit=HIGH_ENTROPY,
    )


def _agreement_legend() -> list[tuple[str, str, str]]:
    colors = ("quiet", "accent", "alert-mark")
    texts = ("all runs agree", "some differ", f"label entropy above {HIGH_ENTROPY}")
    return [("band", color, text) for color, text in zip(colors, texts, strict=True)]
