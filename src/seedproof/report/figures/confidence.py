"""How far a probability moves between runs, and where."""

from typing import Any

import numpy as np

from seedproof.measurement.result import Measurement
from seedproof.messages import Message
from seedproof.metrics.confidence import AGREEMENTS, LARGEST_SD
from seedproof.metrics.entropy import HIGH_ENTROPY
from seedproof.report.figures.base import BINS, Figure, drawn, quoted
from seedproof.report.words import followed
from seedproof.stats.intervals import NORMAL

# Up to so many examples the map draws points, beyond it counts in a grid.
MAX_POINTS = 2500


def confidence_map(measurement: Measurement) -> Figure:
    """Mean against spread of one probability an example: points if they are few, else counts."""
    drawn = measurement.n_examples <= MAX_POINTS
    rows = _points(measurement) if drawn else _cells(measurement)
    return Figure(
        name="confidence_map",
        section="Confidence",
        title="Confidence and variability, " + ("one point an example" if drawn else "by count"),
        takeaway=Message("decided-by-seed", "High up are the examples that the seed decides."),
        reading=_reading(measurement, by_count=not drawn),
        rows=rows,
        facts={
            "kind": "points" if drawn else "cells",
            "x": f"mean probability of {followed(measurement)}, over {measurement.n_runs} runs",
            "y": "standard deviation over runs",
        },
        legend=[
            ("dot", "quiet", "all runs agree"),
            ("dot", "accent", "some differ"),
            ("diamond", "alert-mark", f"label entropy above {HIGH_ENTROPY}"),
        ],
    )


def _reading(measurement: Measurement, *, by_count: bool) -> list[Message]:
    reading = [
        Message("wrong-to-right", "Left: mostly wrong; right: mostly right.")
        if measurement.n_labeled
        else Message("sure-to-split", "Right: every run is sure; further left and up: runs differ.")
    ]
    if by_count:
        reading.append(
            Message("counts-by-shade", "Darker cells hold more examples, on a logarithmic scale.")
        )
    return reading


def _points(measurement: Measurement) -> list[dict[str, Any]]:
    names = ["example", "probability_mean", "probability_sd", "flip_rate", "label_entropy"]
    table = measurement.example_table.read(names)
    return [
        {
            "example": drawn(str(row["example"])),
            "mean": round(row["probability_mean"], 4),
            "sd": round(row["probability_sd"], 4),
            "group": AGREEMENTS[int(row["flip_rate"] > 0) + (row["label_entropy"] > HIGH_ENTROPY)],
        }
        for row in table.to_pylist()
    ]


def _cells(measurement: Measurement) -> list[dict[str, Any]]:
    counts = measurement.detail["confidence_map"]
    total = counts.sum(axis=0)
    leading = counts.argmax(axis=0)
    n_rows, n_columns = total.shape
    top = max(float(total.max()), 2.0)
    return [
        {
            "x": column / n_columns,
            "x2": (column + 1) / n_columns,
            "y": row * LARGEST_SD / n_rows,
            "y2": (row + 1) * LARGEST_SD / n_rows,
            "count": int(total[row, column]),
            "strength": round(0.25 + 0.75 * float(np.log(total[row, column]) / np.log(top)), 3),
            "group": AGREEMENTS[int(leading[row, column])],
        }
        for row, column in np.argwhere(total > 0)
    ]


def sd_by_confidence(measurement: Measurement) -> Figure:
    """Spread of the probability in ten bins of its mean, with a band over examples."""
    count = measurement.detail["sd_curve_count"]
    mean, error = measurement.detail["sd_curve_mean"], measurement.detail["sd_curve_error"]
    width = 1 / len(count)
    rows = [
        {
            "x": round((i + 0.5) * width, 4),
            "sd": float(mean[i]),
            "low": max(float(mean[i] - NORMAL * error[i]), 0.0),
            "high": float(mean[i] + NORMAL * error[i]),
            "count": int(count[i]),
        }
        for i in range(len(count))
        if count[i] > 0
    ]
    peak = max(rows, key=lambda row: row["sd"])
    whose = str(followed(measurement))
    if measurement.n_classes == 2:
        whose = quoted(measurement.classes[1])
    return Figure(
        name="sd_by_confidence",
        section="Confidence",
        title="Spread by confidence",
        takeaway=Message(
            "largest-spread",
            "Near {probability:.2f} a probability moves by ± {sd:.2f} between runs.",
            probability=peak["x"],
            sd=peak["sd"],
        ),
        reading=[BINS],
        rows=rows,
        facts={
            "x": f"mean probability of {whose}, over runs (ten bins)",
            "y": "sd of the probability",
            "value": "sd",
            "format": ".3f",
            "ticks": "~g",
        },
        header=("mean probability", "sd", "95 % over examples", "examples"),
        numbers=[
            (
                f"{r['x'] - width / 2:.1f}–{r['x'] + width / 2:.1f}",
                f"{r['sd']:.3f}",
                f"{r['low']:.3f}–{r['high']:.3f}",
                f"{r['count']:,}",
            )
            for r in rows
        ],
        alone={
            "title": "Spread of a probability by confidence",
            "legend": [("line", "accent", "mean"), ("band", "accent-soft", "95 % over examples")],
        },
    )
