"""Means over pairs of runs, with and without a run."""

import numpy as np
import pytest

from seedproof.metrics.explanations.pairs import mean_over_pairs


def test_a_run_is_left_out_with_all_its_pairs():
    """Pairs (0, 1), (0, 2), (1, 2) have 0.1, 0.2 and 0.6."""
    found = mean_over_pairs(np.array([[0.1 + 0.2], [0.1 + 0.6], [0.2 + 0.6]]))

    assert found.values[0] == pytest.approx(0.3)
    assert found.without[:, 0] == pytest.approx([0.6, 0.2, 0.1])


def test_of_two_runs_none_can_be_left_out():
    """One run has no pair."""
    assert mean_over_pairs(np.array([[0.5], [0.5]])).without is None


def test_what_rounding_leaves_is_nothing():
    """A third, three times, is not exactly one; and what is left of it is not exactly 0."""
    third = 1 / 3
    found = mean_over_pairs(np.array([[third * 3 - 1 + 1e-16], [1e-16], [0.0]]))

    assert (found.values == 0.0).all()
    assert (found.without == 0.0).all()
