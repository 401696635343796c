"""Interval of a standard deviation over runs, written once more with scipy."""

import numpy as np
import pytest
from scipy import stats

from seedproof.stats.spread_interval import largest_variance, spread_interval, spread_of


def bonett(values, tail, run_share):
    """Bonett (2006): exp[ln(c·s²) ± z·se], se = c·√((k − (n − 3)/n)/(n − 1)), c = n/(n − z)."""
    n, z = len(values), stats.norm.isf(tail)
    middle = stats.trim_mean(values, 1 / (2 * np.sqrt(n - 4)))
    squares = ((values - values.mean()) ** 2).sum()
    kurtosis = n * ((values - middle) ** 4).sum() / squares**2
    c = n / (n - z)
    error = c * np.sqrt((kurtosis - (n - 3) / n) / (n - 1) * run_share)
    signs = np.array([-1, 1])
    return np.sqrt(c * squares / (n - 1) * np.exp(signs * z * error))


def normal_factors(n_runs, tail):
    """Ends for normal values, over the standard deviation."""
    return np.sqrt((n_runs - 1) / stats.chi2.isf([tail, 1 - tail], n_runs - 1))


def runs(n_runs, seed):
    return np.random.default_rng(seed).standard_t(3, n_runs)


@pytest.mark.parametrize("n_runs", [10, 11, 40])
@pytest.mark.parametrize(("tail", "run_share"), [(0.025, 1.0), (0.005, 1.0), (0.025, 0.3)])
def test_from_ten_runs_on_it_is_that_of_bonett(n_runs, tail, run_share):
    for seed in range(5):
        values = runs(n_runs, seed)

        assert spread_interval(values, tail, run_share) == pytest.approx(
            bonett(values, tail, run_share)
        )


@pytest.mark.parametrize("n_runs", [5, 6, 9])
@pytest.mark.parametrize(("tail", "run_share"), [(0.025, 1.0), (0.005, 1.0), (0.025, 0.3)])
def test_below_ten_runs_each_end_is_at_most_1_6_times_as_far_as_for_normal_values(
    n_runs, tail, run_share
):
    """On the log scale. At the upper end the limit decides in some of these studies only."""
    is_limited = set()
    for seed in range(60):
        values = runs(n_runs, seed)
        limits = spread_of(values) * normal_factors(n_runs, tail) ** (1.6 * np.sqrt(run_share))
        low, high = bonett(values, tail, run_share)
        is_limited.add(bool(limits[1] < high))

        expected = max(low, limits[0]), min(high, limits[1])
        assert spread_interval(values, tail, run_share) == pytest.approx(expected)
    assert is_limited == {True, False}


@pytest.mark.parametrize(("n_runs", "is_there"), [(4, False), (5, True)])
def test_it_needs_five_runs(n_runs, is_there):
    assert (spread_interval(np.linspace(0, 1, n_runs), 0.025) is not None) == is_there


@pytest.mark.parametrize("n_runs", [5, 12])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e9])
def test_equal_runs_have_no_spread(n_runs, value):
    """Also if their mean is rounded: 0.1 five times is not 0.1 on average."""
    values = np.full(n_runs, value)

    assert spread_of(values) == 0.0
    assert spread_interval(values, 0.025) is None
    assert spread_interval(values + value * 1e-14 * np.arange(n_runs), 0.025) is None


@pytest.mark.parametrize(("n_runs", "is_there"), [(5, False), (9, False), (10, True)])
def test_a_spread_of_a_single_run_has_no_interval_below_ten_runs(n_runs, is_there):
    """All other runs are equal: nothing of the spread is left if it is left out."""
    values = np.full(n_runs, 0.8)
    values[3] = 0.7

    assert (spread_interval(values, 0.025) is not None) == is_there


def test_a_spread_of_two_runs_has_an_interval():
    """The guard above is about a single run."""
    assert spread_interval(np.array([0.8, 0.8, 0.8, 0.7, 0.9]), 0.025) is not None


@pytest.mark.parametrize("n_runs", [5, 9, 10, 30])
def test_the_largest_variance_is_the_upper_end(n_runs):
    """As a multiple of the variance."""
    values = runs(n_runs, 1)

    expected = (spread_interval(values, 0.01)[1] / values.std(ddof=1)) ** 2

    assert largest_variance(values, 0.01) == pytest.approx(expected)


@pytest.mark.parametrize("n_runs", [2, 3, 4])
@pytest.mark.parametrize("run_share", [1.0, 0.25])
def test_the_largest_variance_of_few_runs_is_that_of_normal_values(n_runs, run_share):
    """With twice the tail: the upper end misses for both sides."""
    normal = (n_runs - 1) / stats.chi2.ppf(0.05, n_runs - 1)

    result = largest_variance(runs(n_runs, 2), 0.025, run_share)

    assert result == pytest.approx(normal ** np.sqrt(run_share))


def test_the_largest_variance_of_equal_runs_is_that_of_normal_values():
    """They have no interval; five of them have the plain tail."""
    assert largest_variance(np.ones(5), 0.025) == pytest.approx(4 / stats.chi2.ppf(0.025, 4))


@pytest.mark.parametrize("n_runs", [6, 10, 20])
def test_it_covers_the_spread_of_normal_runs(n_runs):
    """1,000 studies; 0.7 points are a standard error. Few runs are covered more often."""
    drawn = np.random.default_rng(n_runs).standard_normal((1000, n_runs))

    ends = np.array([spread_interval(values, 0.025) for values in drawn])

    assert ((ends[:, 0] <= 1) & (ends[:, 1] >= 1)).mean() > 0.93
