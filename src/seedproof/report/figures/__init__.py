"""What the charts show, as plain data: aggregated before it is drawn, whatever the size."""

from collections.abc import Sequence

import numpy as np

from seedproof.measurement.result import Measurement
from seedproof.messages import Message
from seedproof.report.dynamics import section_title as dynamics_title
from seedproof.report.explanations.words import section_title
from seedproof.report.figures.accuracy import accuracy_by_run
from seedproof.report.figures.base import Figure
from seedproof.report.figures.calibration import ece_by_run, reliability
from seedproof.report.figures.confidence import confidence_map, sd_by_confidence
from seedproof.report.figures.dynamics import cartography
from seedproof.report.figures.explanations import top_words
from seedproof.report.figures.flips import flip_matrix
from seedproof.report.figures.votes import votes
from seedproof.report.numbers import WithUnit
from seedproof.report.words import spread_cause

__all__ = ["Figure", "build_figures", "section_titles"]


def build_figures(measurement: Measurement) -> tuple[Figure, ...]:
    """Every chart that the data allows, in the order of the page."""
    found: list[Figure] = []
    if "accuracy" in measurement.metrics:
        found.append(accuracy_by_run(measurement))
    found.append(flip_matrix(measurement))
    found.append(votes(measurement))
    if "probability_sd" in measurement.metrics:
        found.append(confidence_map(measurement))
        found.append(sd_by_confidence(measurement))
    if "ece" in measurement.metrics:
        found.extend(reliability(measurement))
        found.append(ece_by_run(measurement))
    found.extend(top_words(measurement))
    if measurement.dynamics is not None:
        found.extend(cartography(measurement.dynamics))
    return tuple(found)


def section_titles(measurement: Measurement, figures: Sequence[Figure]) -> dict[str, Message]:
    """A finding for each section, no stronger than what was computed."""
    titles: dict[str, Message] = {}
    if "accuracy" in measurement.metrics:
        titles["Accuracy"] = _accuracy_title(measurement)
    off_diagonal = measurement.detail["flip_matrix"][~np.eye(measurement.n_runs, dtype=bool)]
    low, high = (WithUnit(float(x), "percent") for x in (off_diagonal.min(), off_diagonal.max()))
    span = "{high}" if str(low) == str(high) else "{low:bare} to {high}"
    titles["Flips"] = Message(
        "pairs-disagree", f"Two runs disagree on {span} of the examples", low=low, high=high
    )
    if "probability_sd" in measurement.metrics:
        titles["Confidence"] = _confidence_title(figures)
    if "ece" in measurement.metrics:
        ece = measurement.detail["ece_by_run"]
        titles["Calibration"] = Message(
            "calibration-error-range",
            "A single run’s calibration error is {low:bare} to {high}",
            low=WithUnit(float(ece.min()), "percent"),
            high=WithUnit(float(ece.max()), "percent"),
        )
    if measurement.explanations:
        titles["Reasons"] = section_title(list(measurement.explanations.values()))
    if measurement.dynamics is not None:
        titles["Dynamics"] = dynamics_title()
    return titles


def _accuracy_title(measurement: Measurement) -> Message:
    if measurement.metrics["accuracy_sd"].low is None:
        return Message("accuracy-by-run", "What each run gets right")
    match spread_cause(measurement):
        case "drift":
            return Message(
                "accuracy-spread-from-drift",
                "Runs draw the line between classes in different places",
            )
        case "both":
            return Message(
                "accuracy-spread-from-drift-and-runs",
                "Some runs are better than others, and class shares drift",
            )
        case "runs":
            return Message("accuracy-spread-from-runs", "Some runs are better than others")
    return Message(
        "accuracy-spread-within-chance",
        "{n_runs} runs do not show more spread than chance would give",
        n_runs=measurement.n_runs,
    )


def _confidence_title(figures: Sequence[Figure]) -> Message:
    rows = next(figure for figure in figures if figure.name == "sd_by_confidence").rows
    middle = [row["low"] for row in rows if 0.2 < row["x"] < 0.8]
    ends = [row["high"] for row in rows if row["x"] < 0.1 or row["x"] > 0.9]
    if middle and ends and min(middle) > 2 * max(ends):
        return Message(
            "doubtful-examples-move", "Doubtful examples move most, sure ones hardly at all"
        )
    return Message("probability-spread", "How far a probability moves between runs")
