"""Charts of reliability among the examples of one gold class, next to what is expected there."""

from dataclasses import replace
from typing import Any

import numpy as np

from seedproof.measurement.result import Measurement
from seedproof.messages import Message, Sentences
from seedproof.metrics.calibration import N_BINS
from seedproof.report.figures.base import Figure, drawn
from seedproof.report.figures.confidence import MIN_BIN
from seedproof.report.numbers import NO_BREAK
from seedproof.stats.intervals import NORMAL
from seedproof.typing import FloatArray, IntArray

_SHARES = (
    f"Answers are right in {{right:.0f}}{NO_BREAK}% of these examples; labels drawn from the "
    f"runs’ own probabilities would give {{expected:.0f}}{NO_BREAK}%"
)
SENTENCES = {
    "right-as-expected": f"{_SHARES}. The difference is within chance.",
    "right-unlike-expected": f"{_SHARES}.",
    "compare-with-expected": "Compare with the dashed line, not with the confidence: among "
    "examples of one label even a calibrated model is right more often than it says if the label "
    "is frequent, and less often if it is rare.",
    "label-bins-left-out": "Bins with fewer than {at_least} examples of a run are left out.",
}
_say = Sentences(SENTENCES)


def reliability_by_label(measurement: Measurement) -> list[Figure]:
    """Return the share of right answers by confidence for each gold class; empty if unknown.

    The dashed line is the share if labels were drawn from the probabilities of each run. A class
    has a chart if a bin holds enough examples of two runs.
    """
    counts = measurement.detail.get("reliability_by_label_count")
    if counts is None:
        return []
    is_enough = (counts >= MIN_BIN).sum(axis=0) >= 2
    figures = [
        _figure(measurement, int(group), np.flatnonzero(is_enough[group]))
        for group in np.flatnonzero(is_enough.any(axis=1))
    ]
    how_to_read = [_say("compare-with-expected")]  # once is enough on a page
    return [
        replace(figure, reading=[*(() if place else how_to_read), *figure.reading])
        for place, figure in enumerate(figures)
    ]


def _figure(measurement: Measurement, group: int, bins: IntArray) -> Figure:
    detail = measurement.detail
    of_answers = "reliability" if measurement.n_classes == 2 else "reliability_by_answer"
    count, right, mass, confidence = (
        detail[name][:, group]
        for name in (
            "reliability_by_label_count",
            f"{of_answers}_right",
            "reliability_by_label_expected",
            f"{of_answers}_confidence",
        )
    )
    rows = [_row(i, count[:, i], right[:, i], mass[:, i], confidence[:, i]) for i in bins]
    label = f"the label is “{drawn(measurement.classes[group])}”"
    return Figure(
        name=f"reliability_by_label_{group}",
        section="Calibration",
        title=f"When {label}",
        takeaway=_finding(count, right, mass, confidence),
        reading=[_say("label-bins-left-out", at_least=MIN_BIN)],
        rows=rows,
        facts={
            "x": "confidence in the answer (15 bins)",
            "y": "share right",
            "start": N_BINS // measurement.n_classes / N_BINS,
        },
        legend=[
            ("line", "accent", "all runs together"),
            ("band", "accent-soft", "lowest to highest run"),
            ("dash", "ink", "labels drawn from the runs’ own probabilities"),
        ],
        header=("confidence", "share right", "expected", "lowest to highest run", "examples"),
        numbers=[
            (
                f"{row['x']:.2f}",
                f"{row['right']:.2f}",
                f"{row['expected']:.2f}",
                f"{row['low']:.2f}–{row['high']:.2f}",
                f"{row['count']:,}",
            )
            for row in rows
        ],
        alone={"title": f"Share right by confidence, where {label}"},
    )


def _row(
    place: int, count: IntArray, right: IntArray, mass: FloatArray, confidence: FloatArray
) -> dict[str, Any]:
    """Return one bin, given its sums for each run."""
    enough = count >= MIN_BIN
    shares = right[enough] / count[enough]
    return {
        "x": round((place + 0.5) / N_BINS, 4),
        "right": round(float(right[enough].sum() / count[enough].sum()), 4),
        "expected": round(float(confidence[enough].sum() / mass[enough].sum()), 4),
        "low": round(float(shares.min()), 4),
        "high": round(float(shares.max()), 4),
        "count": int(count.mean()),
    }


def _finding(count: IntArray, right: IntArray, mass: FloatArray, confidence: FloatArray) -> Message:
    """Return the share right in all bins, next to the expected one."""
    share, expected = float(right.sum() / count.sum()), float(confidence.sum() / mass.sum())
    n_examples = count.sum() / len(count)
    chance = NORMAL * np.sqrt(expected * max(1 - expected, 0.0) / n_examples)
    code = "right-as-expected" if abs(share - expected) <= chance else "right-unlike-expected"
    return _say(code, right=100 * share, expected=100 * expected)
