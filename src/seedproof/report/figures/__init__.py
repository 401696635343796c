"""Charts as plain data, aggregated before they are drawn, whatever the size of the input."""

from collections.abc import Sequence

import numpy as np

from seedproof.measurement.result import Measurement
from seedproof.messages import Message, Sentences
from seedproof.report.explanations.sentences import section_title
from seedproof.report.figures.answers import accuracy_by_run, flip_matrix, votes
from seedproof.report.figures.base import Figure
from seedproof.report.figures.confidence import (
    cartography,
    confidence_map,
    ece_by_run,
    reliability,
    sd_by_confidence,
)
from seedproof.report.figures.explanations import top_words
from seedproof.report.figures.reliability_by_label import reliability_by_label
from seedproof.report.numbers import WithUnit
from seedproof.report.sentences import SPREAD_CODES, spread_cause

__all__ = ["Figure", "build_figures", "section_titles"]

SENTENCES = {
    "pairs-disagree": "Two runs disagree on {low:bare} to {high} of the examples",
    "pairs-disagree-equally": "Two runs disagree on {high} of the examples",
    "accuracy-by-run": "Accuracy of each run",
    "accuracy-spread-within-chance": "{n_runs} runs do not show more spread than expected by "
    "chance",
    "accuracy-spread-from-drift": "Runs predict the classes in different proportions",
    "accuracy-spread-from-drift-and-runs": "Some runs are better than others, and class shares "
    "differ",
    "accuracy-spread-from-runs": "Some runs are better than others",
    "doubtful-examples-move": "Uncertain predictions vary most, confident ones hardly at all",
    "probability-spread": "Spread of the predicted probability between runs",
    "calibration-error-range": "Calibration error ranges from {low:bare} to {high} across runs",
    "entropy-over-steps": "How much a run changes its predictions over its steps",
}
_say = Sentences(SENTENCES)


def build_figures(measurement: Measurement) -> tuple[Figure, ...]:
    """Return every chart that the data allows, in the order of the page."""
    figures: list[Figure] = []
    if "accuracy" in measurement.metrics:
        figures.append(accuracy_by_run(measurement))
    figures += [flip_matrix(measurement), votes(measurement)]
    if "probability_sd" in measurement.metrics:
        figures += [confidence_map(measurement), sd_by_confidence(measurement)]
    if "ece" in measurement.metrics:
        figures += [
            *reliability(measurement),
            *reliability_by_label(measurement),
            ece_by_run(measurement),
        ]
    figures += top_words(measurement)
    if measurement.dynamics is not None:
        figures += cartography(measurement.dynamics)
    return tuple(figures)


def section_titles(measurement: Measurement, figures: Sequence[Figure]) -> dict[str, Message]:
    """Return a finding for each section, no stronger than what was computed."""
    titles: dict[str, Message] = {}
    if "accuracy" in measurement.metrics:
        has_spread = measurement.metrics["accuracy_sd"].low is not None
        code = SPREAD_CODES[spread_cause(measurement)] if has_spread else "accuracy-by-run"
        titles["Accuracy"] = _say(code, n_runs=measurement.n_runs)
    off_diagonal = measurement.detail["flip_matrix"][~np.eye(measurement.n_runs, dtype=bool)]
    low, high = (WithUnit(float(x), "percent") for x in (off_diagonal.min(), off_diagonal.max()))
    code = "pairs-disagree-equally" if str(low) == str(high) else "pairs-disagree"
    titles["Flips"] = _say(code, low=low, high=high)
    if "probability_sd" in measurement.metrics:
        titles["Confidence"] = _confidence_title(figures)
    if "ece" in measurement.metrics:
        ece = measurement.detail["ece_by_run"]
        low, high = (WithUnit(float(end), "percent") for end in (ece.min(), ece.max()))
        titles["Calibration"] = _say("calibration-error-range", low=low, high=high)
    if measurement.explanations:
        titles["Explanations"] = section_title(list(measurement.explanations.values()))
    if measurement.dynamics is not None:
        titles["Dynamics"] = _say("entropy-over-steps")
    return titles


def _confidence_title(figures: Sequence[Figure]) -> Message:
    rows = next(figure for figure in figures if figure.name == "sd_by_confidence").rows
    middle = [row["low"] for row in rows if 0.2 < row["x"] < 0.8]
    ends = [row["high"] for row in rows if row["x"] < 0.1 or row["x"] > 0.9]
    is_clear = bool(middle and ends) and min(middle) > 2 * max(ends)
    return _say("doubtful-examples-move" if is_clear else "probability-spread")
