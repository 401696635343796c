"""Charts of calibration, as plain data."""

import numpy as np
import pytest

import seedproof as sp
from seedproof.report.figures import build_figures


@pytest.mark.parametrize(
    ("n_examples", "names"), [(200, ["reliability_0", "ece_by_run"]), (8, ["ece_by_run"])]
)
def test_class_needs_ten_examples_for_a_reliability_chart(n_examples, names):
    """The second class is predicted four times; the error of each run is always drawn."""
    rng = np.random.default_rng(0)
    is_second = np.arange(n_examples) < 4
    second = np.where(is_second, 0.9, rng.uniform(0.05, 0.15, (3, n_examples)))
    probs = np.stack([1 - second, second], axis=2)

    figures = build_figures(sp.measure(probs, labels=is_second.astype(int)).measurement)

    assert [figure.name for figure in figures if figure.section == "Calibration"] == names
