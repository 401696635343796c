"""Kendall's test of a trend over the order of runs."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from seedproof.stats.trend_test import MOST_EXACT, trend_p


@pytest.mark.parametrize("n_runs", [5, 6, 12, MOST_EXACT])
def test_p_value_is_the_exact_one_of_scipy(n_runs):
    values = np.random.default_rng(n_runs).standard_normal(n_runs) + 0.05 * np.arange(n_runs)

    expected = stats.kendalltau(np.arange(n_runs), values, method="exact").pvalue

    assert trend_p(values) == pytest.approx(expected)


def test_every_order_is_equally_likely():
    """All 720 orders of six values: the test at 1 % rejects the two monotone ones."""
    p_values = [trend_p(np.array(order)) for order in permutations(range(6))]

    assert sum(p <= 0.01 for p in p_values) == 2
    assert min(p_values) == pytest.approx(2 / 720)
    assert all(np.mean(np.array(p_values) <= p) <= p + 1e-12 for p in set(p_values))


def test_normal_approximation_joins_the_exact_test():
    values = np.random.default_rng(3).standard_normal(MOST_EXACT + 1)

    expected = stats.kendalltau(np.arange(len(values)), values, method="exact").pvalue

    assert trend_p(values) == pytest.approx(expected, abs=0.01)


def test_ties_are_no_evidence():
    assert trend_p(np.ones(10)) == pytest.approx(1.0)
    assert trend_p(np.array([0, 0, 0, 1, 1, 1.0])) > trend_p(np.arange(6.0))
