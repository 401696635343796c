"""Accuracy of each run, beside what independent flips would give."""

import numpy as np

from seedproof.measurement.intervals import NORMAL
from seedproof.measurement.result import Measurement
from seedproof.report.figures.base import MAX_NAMED_RUNS, Figure, drawn_runs
from seedproof.report.numbers import NO_BREAK


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
    n_outside = int((~inside).sum())
    best, worst = float(accuracy.max()), float(accuracy.min())
    return Figure(
        name="accuracy_by_run",
        section="Accuracy",
        title="Accuracy of each run",
        takeaway=(
            f"{n_outside} of {measurement.n_runs} runs fall outside the band; "
            f"{0.05 * measurement.n_runs:g} would be expected."
        ),
        reading=(
            f"The best run has {best:.1f}{NO_BREAK}%, the worst {worst:.1f}{NO_BREAK}%. The band "
            "holds 95 of 100 runs if examples flip independently of each other."
        ),
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
