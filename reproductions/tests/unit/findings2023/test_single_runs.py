import numpy as np
import pyarrow as pa
import pytest

from seedproof.measurement.dynamics import Traces
from seedproof.metrics.dynamics import Cartography
from seedproof_reproductions.findings2023.single_runs import (
    Predictions,
    run_entropy,
    run_entropy_ratio,
)


def traced(entropies, *, n_steps=10, first_id=0):
    """Runs of an arm, some of which were traced."""
    entropies = np.asarray(entropies, dtype=float)
    n_traced, n = entropies.shape
    ids = pa.array(range(first_id, first_id + n))
    unknown = Cartography(*np.full((3, n), np.nan))
    traces = Traces(np.arange(n_traced), ids, entropies, unknown, (n_steps, n_steps), ())
    return Predictions(np.zeros((n_traced, n), dtype=np.int64), traces)


CONTROL = traced([[0.2, 0.4, 0.0, 0.6], [0.4, 0.4, 0.2, 0.6], [0.3, 0.4, 0.1, 0.6]])
ARM = traced([[0.1, 0.2, 0.0, 0.3], [0.2, 0.2, 0.1, 0.3], [0.15, 0.2, 0.05, 0.3]])


def test_mean_and_ratio_are_over_examples_and_traced_runs():
    """By hand: 1.2, 1.6 and 1.4 over four examples each, and half of it in the arm."""
    mean, ratio = run_entropy(CONTROL), run_entropy_ratio(CONTROL, ARM)

    assert mean.value == pytest.approx(4.2 / 12)
    assert mean.low < mean.value < mean.high
    assert ratio.value == pytest.approx(0.5)
    # Means of 0.3, 0.35 and 0.4: with one left out 0.375, 0.35, 0.325 of each arm; Welch: t(4) = 2.776.
    half_width = 2.7764 * np.sqrt(2 * 2 * np.log([0.375, 0.35, 0.325]).var())
    assert ratio.low == pytest.approx(0.5 * np.exp(-half_width), rel=1e-4)
    assert ratio.high == pytest.approx(0.5 * np.exp(half_width), rel=1e-4)
    # The first and the last example have 0.3 and 0.6 in the control.
    other = traced([[0.1, 0.9, 0.9, 0.2]] * 3)
    chosen = run_entropy_ratio(CONTROL, other, np.array([True, False, False, True]))
    assert chosen.value == pytest.approx(0.3 / 0.9)
    assert run_entropy_ratio(CONTROL, ARM, np.zeros(4, dtype=bool)) is None
    # Two traced runs have an interval over examples alone, and no verdict.
    few = traced([[0.1, 0.2, 0.0, 0.3], [0.2, 0.2, 0.1, 0.3]])
    assert run_entropy_ratio(CONTROL, few).verdict == "too few runs"
    assert run_entropy(few).over == "examples"


@pytest.mark.parametrize(
    "other",
    [
        Predictions(np.zeros((3, 4), dtype=np.int64), None),
        traced(np.ones((3, 4)), n_steps=20),
        traced(np.ones((3, 4)), first_id=7),
    ],
)
def test_incomparable_traces_have_no_ratio(other):
    """No run, twice as many steps, or other examples."""
    assert run_entropy_ratio(CONTROL, other) is None
