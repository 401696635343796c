"""Charts of calibration, as plain data."""

import numpy as np

import seedproof as sp
from seedproof.report.figures import build_figures


def _names(n_examples):
    """Charts of calibration of runs that predict so many examples, the second class seldom."""
    rng = np.random.default_rng(0)
    second = np.where(np.arange(n_examples) < 4, 0.9, rng.uniform(0.05, 0.15, (3, n_examples)))
    probs = np.stack([1 - second, second], axis=2)
    labels = (np.arange(n_examples) < 4).astype(int)
    report = sp.measure(probs, labels=labels)
    found = build_figures(report.measurement)
    return [figure.name for figure in found if figure.section == "Calibration"]


def test_a_class_without_enough_examples_has_no_chart():
    """Four answers are fewer than the ten that a bin needs; the other class has its chart."""
    assert _names(200) == ["reliability_0", "ece_by_run"]


def test_too_few_examples_have_no_chart_of_calibration():
    """An empty one would say nothing; the error of each run stays."""
    assert _names(8) == ["ece_by_run"]
