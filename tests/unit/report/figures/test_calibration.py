"""Charts of calibration, as plain data."""

import numpy as np
import pytest

import seedproof as sp
from seedproof.report.figures import build_figures


@pytest.mark.parametrize(
    ("n_examples", "names"),
    [
        (200, ["reliability_0", "reliability_by_label_0", "ece_by_run"]),
        (8, ["ece_by_run"]),
    ],
)
def test_class_needs_ten_examples_for_a_reliability_chart(n_examples, names):
    """The second class is predicted four times; the error of each run is always drawn."""
    rng = np.random.default_rng(0)
    is_second = np.arange(n_examples) < 4
    second = np.where(is_second, 0.9, rng.uniform(0.05, 0.15, (3, n_examples)))
    probs = np.stack([1 - second, second], axis=2)

    figures = build_figures(sp.measure(probs, labels=is_second.astype(int)).measurement)

    assert [figure.name for figure in figures if figure.section == "Calibration"] == names


def drawn_study(n_examples, shares, *, n_runs=4, sharpness=1.0):
    """Probabilities of runs that differ a little, and labels drawn from their mean logits."""
    rng = np.random.default_rng(1)
    n_classes = len(shares)
    logits = rng.normal(0, 1.5, (n_examples, n_classes)) + np.log(shares)
    true = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (true.cumsum(axis=1) > rng.random((n_examples, 1))).argmax(axis=1)
    raised = np.exp(sharpness * (logits + rng.normal(0, 0.05, (n_runs, n_examples, n_classes))))
    return raised / raised.sum(axis=2, keepdims=True), labels


@pytest.mark.parametrize(("n_classes", "n_by_class"), [(2, 2), (4, 4), (8, 0)])
def test_few_classes_have_charts_by_answer_and_by_label(n_classes, n_by_class, check_spec):
    """With two classes those by answer take the place of the one of all answers."""
    probs, labels = drawn_study(4000, np.full(n_classes, 1 / n_classes))

    figures = build_figures(sp.measure(probs, labels=labels).measurement)

    names = [figure.name for figure in figures]
    assert sum(name.startswith("reliability_by_label_") for name in names) == n_by_class
    assert sum(name.removeprefix("reliability_").isdigit() for name in names) == n_by_class
    assert ("reliability" in names) == (n_classes > 2)
    for figure in figures:
        check_spec(figure)


def test_calibrated_model_is_right_as_expected_for_each_label():
    """Although it seems over-confident on the rare label and under-confident on the frequent one."""
    probs, labels = drawn_study(20_000, np.array([0.85, 0.15]))

    measurement = sp.measure(probs, labels=labels).measurement

    figures = {figure.name: figure for figure in build_figures(measurement)}
    for index, side in enumerate((1, -1)):
        figure = figures[f"reliability_by_label_{index}"]
        assert figure.takeaway.code == "right-as-expected"
        rows = [row for row in figure.rows if row["count"] > 200]
        for row in rows:
            assert row["right"] == pytest.approx(row["expected"], abs=0.06)
        middle = [row for row in rows if 0.6 < row["x"] < 0.9]
        assert middle
        assert all(side * (row["expected"] - row["x"]) > 0 for row in middle)


def test_overconfident_model_is_not_right_as_expected():
    """Its probabilities are too extreme."""
    probs, labels = drawn_study(20_000, np.array([0.7, 0.3]), sharpness=2.0)

    figures = build_figures(sp.measure(probs, labels=labels).measurement)

    codes = {x.takeaway.code for x in figures if x.name.startswith("reliability_by_label")}
    assert codes == {"right-unlike-expected"}
