"""Permutation test over runs, against all assignments in a loop."""

from itertools import combinations

import numpy as np
import pytest

from seedproof.stats import permutation_test
from seedproof.stats.permutation_test import least_permutation_p_value, permutation_p_value


def disagreements(n_runs, seed, n_old=0, shift=0):
    """Return counts of examples on which runs differ, more of them between the versions."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.integers(10, 20, (n_runs, n_runs)), 1)
    upper[:n_old, n_old:] += shift
    return upper + upper.T


def beyond(matrix, old):
    """Mean disagreement between versions less the mean of both means within them."""
    new = [run for run in range(len(matrix)) if run not in old]
    across = np.mean([matrix[a, b] for a in old for b in new])
    within = [
        np.mean([matrix[a, b] for a, b in combinations(runs, 2)])
        for runs in (old, new)
        if len(runs) > 1
    ]
    return across - np.mean(within)


@pytest.mark.parametrize(("n_old", "n_new"), [(3, 3), (2, 5), (1, 4), (4, 5)])
@pytest.mark.parametrize("shift", [0, 2, 100])
def test_p_value_is_the_share_of_all_assignments(n_old, n_new, shift):
    """Equal values count as at least as large, whatever rounding does."""
    n_runs = n_old + n_new
    matrix = disagreements(n_runs, shift, n_old, shift)
    seen = beyond(matrix, range(n_old))
    ways = [beyond(matrix, old) for old in combinations(range(n_runs), n_old)]

    p_value = permutation_p_value(matrix, n_old, rng=np.random.default_rng(0))

    assert p_value == pytest.approx(np.mean([way >= seen - 1e-9 for way in ways]), abs=1e-12)
    if shift == 100:
        assert p_value == pytest.approx(least_permutation_p_value(n_old, n_new))


def test_equal_runs_show_nothing():
    assert permutation_p_value(1 - np.eye(6), 3, rng=np.random.default_rng(0)) == 1.0


def test_drawn_assignments_count_the_one_seen(monkeypatch):
    """So that the p-value is never 0: (1 + 0) / (1 + drawn) at least."""
    monkeypatch.setattr(permutation_test, "MOST_WAYS", 10)
    monkeypatch.setattr(permutation_test, "N_DRAWN", 19)
    matrix = disagreements(16, 1, 8, 1000)

    p_value = permutation_p_value(matrix, 8, rng=np.random.default_rng(0))

    assert p_value == pytest.approx(1 / 20)


def test_drawn_assignments_approach_all_of_them(monkeypatch):
    """0.5 points are a standard error of 9,999 draws."""
    matrix = disagreements(10, 2, 5, 1)
    exact = permutation_p_value(matrix, 5, rng=np.random.default_rng(0))
    monkeypatch.setattr(permutation_test, "MOST_WAYS", 10)

    drawn = permutation_p_value(matrix, 5, rng=np.random.default_rng(0))

    assert 0.05 < exact < 0.95
    assert drawn == pytest.approx(exact, abs=0.02)
