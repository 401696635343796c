"""Is a confidence what it says, and does that depend on the run?"""

from typing import Any

import numpy as np

from seedproof.measurement.result import Measurement
from seedproof.messages import Message
from seedproof.report.figures.base import MAX_NAMED_RUNS, Figure, drawn, drawn_runs
from seedproof.stats.intervals import NORMAL

# Shares from fewer examples say more about chance than about the run.
MIN_BIN = 10


def reliability(measurement: Measurement) -> list[Figure]:
    """Share right against confidence, one line a run; predicted classes apart if they are two.

    None where no bin holds enough examples of two runs.
    """
    count = measurement.detail["reliability_count"]
    n_groups = count.shape[1]
    is_enough = (count >= MIN_BIN).sum(axis=0) >= 2
    return [
        _reliability(measurement, int(group), n_groups)
        for group in np.flatnonzero(is_enough.any(axis=1))
    ]


def _reliability(measurement: Measurement, group: int, n_groups: int) -> Figure:
    count = measurement.detail["reliability_count"][:, group]
    right = measurement.detail["reliability_right"][:, group]
    confidence = measurement.detail["reliability_confidence"][:, group]
    names = drawn_runs(measurement)
    rows: list[dict[str, Any]] = []
    for i in np.flatnonzero((count >= MIN_BIN).sum(axis=0) >= 2):
        enough = np.flatnonzero(count[:, i] >= MIN_BIN)
        shares = right[enough, i] / count[enough, i]
        x = float(confidence[enough, i].sum() / count[enough, i].sum())
        mean = float(right[enough, i].sum() / count[enough, i].sum())
        rows.append(
            {
                "kind": "all",
                "x": round(x, 4),
                "right": round(mean, 4),
                "low": round(float(shares.min()), 4),
                "high": round(float(shares.max()), 4),
                "count": int(count[:, i].mean()),
            }
        )
        if measurement.n_runs <= MAX_NAMED_RUNS:
            rows.extend(
                {
                    "kind": "one",
                    "run": names[r],
                    "x": round(x, 4),
                    "right": round(float(share), 4),
                }
                for r, share in zip(enough, shares, strict=True)
            )
    summary = [row for row in rows if row["kind"] == "all"]
    name = drawn(measurement.classes[group])
    return Figure(
        name=f"reliability_{group}" if n_groups > 1 else "reliability",
        section="Calibration",
        title=f"When the answer is “{name}”" if n_groups > 1 else "Share right by confidence",
        takeaway=_widest(summary),
        reading=[
            Message(
                "bins-left-out",
                "Bins with fewer than {at_least} examples of a run are left out.",
                at_least=MIN_BIN,
            )
        ],
        rows=rows,
        facts={
            "x": "confidence in the answer",
            "y": "share right",
            "start": 1 / measurement.n_classes,
        },
        legend=[
            ("line", "accent", "all runs together"),
            ("thin", "accent-2", "one run"),
            ("band", "accent-soft", "lowest to highest run"),
            ("dash", "ink-3", "perfectly calibrated"),
        ],
        header=("confidence", "share right", "lowest to highest run", "examples a run"),
        numbers=[
            (
                f"{r['x']:.2f}",
                f"{r['right']:.2f}",
                f"{r['low']:.2f}–{r['high']:.2f}",
                f"{r['count']:,}",
            )
            for r in summary
        ],
        alone={
            "title": "Share right by confidence"
            + (f", where the answer is “{name}”" if n_groups > 1 else "")
        },
    )


def _widest(rows: list[dict[str, Any]]) -> Message:
    """The bin whose runs are farthest apart, with what chance alone would give."""
    row = max(rows, key=lambda one: one["high"] - one["low"])
    chance = 2 * NORMAL * np.sqrt(row["right"] * (1 - row["right"]) / max(row["count"], 1))
    start = (
        "An answer given with {confidence:.2f} confidence is right in {low:.0f} to "
        "{high:.0f}\N{NO-BREAK SPACE}% of the cases"
    )
    by_chance = "{n_examples:,} examples spread 95 of 100 runs over {chance:.0f} points"
    fields = {
        "confidence": row["x"],
        "low": 100 * row["low"],
        "high": 100 * row["high"],
        "n_examples": row["count"],
        "chance": 100 * chance,
    }
    if row["high"] - row["low"] <= chance:
        return Message(
            "share-right-within-chance",
            f"{start}, no more than chance would give: {by_chance}.",
            **fields,
        )
    return Message(
        "share-right-by-run",
        f"{start}, depending on the run; by chance alone, {by_chance}.",
        **fields,
    )


def ece_by_run(measurement: Measurement) -> Figure:
    """Calibration error of each run on one line."""
    values = 100 * measurement.detail["ece_by_run"]
    rows: list[dict[str, Any]] = [
        {"run": name, "ece": round(float(value), 4)}
        for name, value in zip(drawn_runs(measurement), values, strict=True)
    ]
    low, high = int(values.argmin()), int(values.argmax())
    return Figure(
        name="ece_by_run",
        section="Calibration",
        title="Expected calibration error, one mark a run",
        takeaway=Message(
            "calibration-error-by-run",
            "From {lowest:.1f}\N{NO-BREAK SPACE}% (run {best}) to {highest:.1f}\N{NO-BREAK SPACE}% "
            "(run {worst}).",
            lowest=float(values[low]),
            best=measurement.runs[low],
            highest=float(values[high]),
            worst=measurement.runs[high],
        ),
        reading=[Message("mean-tick", "The tall tick is the mean.")],
        rows=rows,
        facts={"mean": float(values.mean()), "axis": "ECE of one run, %"},
        header=("run", "ECE, %"),
        numbers=[(row["run"], f"{row['ece']:.2f}") for row in rows],
        alone={"legend": [("dot", "accent", "one run"), ("line", "ink", "mean")]},
    )
