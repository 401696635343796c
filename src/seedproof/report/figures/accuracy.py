"""Accuracy of each run, beside what independent flips would give."""

import numpy as np

from seedproof.measurement.result import Measurement
from seedproof.messages import Message
from seedproof.report.figures.base import MAX_NAMED_RUNS, Figure, drawn_runs
from seedproof.stats.intervals import NORMAL


def accuracy_by_run(measurement: Measurement) -> Figure:
    """Accuracy of each run, beside the band that independent flips would fill."""
    accuracy = 100 * measurement.detail["accuracy_by_run"]
    mean = float(accuracy.mean())
    # Deviations are from the runs' own mean, which shrinks them.
    shrunk = (1 - 1 / measurement.n_runs) ** 0.5
    reach = 100 * NORMAL * shrunk * measurement.metrics["accuracy_sd_independent"].value
    inside = np.abs(accuracy - mean) <= reach
    order = np.argsort(-accuracy, kind="stable")
    names = drawn_runs(measurement)
    rows = [
        {
            "run": names[i],
            "accuracy": round(float(accuracy[i]), 3),
            "where": "inside" if inside[i] else "outside",
            "rank": rank,
        }
        for rank, i in enumerate(order)
    ]
    return Figure(
        name="accuracy_by_run",
        section="Accuracy",
        title="Accuracy of each run",
        takeaway=Message(
            "runs-outside-band",
            "{n_outside} of {n_runs} runs fall outside the band; {expected:g} would be expected.",
            n_outside=int((~inside).sum()),
            n_runs=measurement.n_runs,
            expected=0.05 * measurement.n_runs,
        ),
        reading=[
            Message(
                "accuracy-band",
                "The best run has {best:.1f}\N{NO-BREAK SPACE}%, the worst "
                "{worst:.1f}\N{NO-BREAK SPACE}%. The band holds 95 of 100 runs if examples flip "
                "independently of each other.",
                best=float(accuracy.max()),
                worst=float(accuracy.min()),
            )
        ],
        rows=rows,
        facts={
            "mean": mean,
            "low": mean - reach,
            "high": mean + reach,
            "axis": f"accuracy, % of {measurement.n_labeled:,} examples",
            "named": measurement.n_runs <= MAX_NAMED_RUNS,
        },
        legend=[
            ("band", "accent-soft", "95 % of runs, if flips were independent"),
            ("dot", "accent", "inside"),
            ("diamond", "alert-mark", "outside"),
        ],
        header=("run", "accuracy, %", "band"),
        numbers=[(row["run"], f"{row['accuracy']:.2f}", row["where"]) for row in rows],
    )
