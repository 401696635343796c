"""Skewness of runs, and the interval of their median."""

import numpy as np
import pytest
from scipy import stats

from seedproof.stats.intervals import Level
from seedproof.stats.skewness import (
    CLEAR,
    clear_skewness,
    median_over_runs,
    skewness,
    standard_error,
)

RNG = np.random.default_rng(0)


def with_skewness(goal, n_runs=5):
    """Return runs whose skewness is this number."""

    def of(power):
        return stats.skew(np.linspace(0.1, 1, n_runs) ** power, bias=False)

    low, high = 1.0, 200.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if of(middle) < goal else (low, middle)
    return np.linspace(0.1, 1, n_runs) ** high


@pytest.mark.parametrize("n_runs", [3, 5, 20])
@pytest.mark.parametrize("sign", [1, -1])
def test_skewness_is_that_of_scipy(n_runs, sign):
    values = sign * RNG.exponential(size=n_runs)

    assert skewness(values) == pytest.approx(stats.skew(values, bias=False))


@pytest.mark.parametrize("n_runs", [5, 10, 20])
def test_at_most_five_percent_of_normal_studies_are_clearly_skewed_to_a_side(n_runs):
    """20,000 studies: three standard errors are half a point."""
    drawn = np.random.default_rng(1).standard_normal((20_000, n_runs))
    shares = (stats.skew(drawn, axis=1, bias=False) > CLEAR * standard_error(n_runs)).mean()

    assert 0.035 < shares < 0.055


@pytest.mark.parametrize(("factor", "is_clear"), [(0.99, False), (1.01, True)])
@pytest.mark.parametrize("sign", [1, -1])
def test_both_sides_of_the_threshold(factor, is_clear, sign):
    values = sign * with_skewness(factor * CLEAR * standard_error(5))

    assert (clear_skewness(values) is not None) == is_clear


def test_equal_runs_have_no_skewness():
    assert clear_skewness(np.ones(6)) is None


def test_paired_arms_are_skewed_as_their_differences():
    base, difference = RNG.standard_normal(8), RNG.exponential(size=8) ** 3

    result = clear_skewness(base + difference, base, is_paired=True)

    assert result == pytest.approx(skewness(difference))


def test_unpaired_arms_that_are_skewed_alike_cancel():
    values = RNG.exponential(size=8) ** 3

    assert clear_skewness(values) is not None
    assert clear_skewness(values, values + 1) is None


def test_the_tail_of_the_baseline_counts_on_the_other_side():
    tail, none = RNG.exponential(size=10) ** 3, np.linspace(-1e-6, 1e-6, 10)

    assert clear_skewness(tail, none) == pytest.approx(skewness(tail), rel=1e-3)
    assert clear_skewness(none, tail) == pytest.approx(-skewness(tail), rel=1e-3)


@pytest.mark.parametrize("n_runs", [6, 9, 10, 25])
@pytest.mark.parametrize("tail", [0.025, 0.005])
def test_ends_of_the_median_are_those_of_the_binomial(n_runs, tail):
    """The largest k for which fewer than k of n coins are heads with at most this chance."""
    values = RNG.permutation(n_runs).astype(float)
    fewest = [k for k in range(1, n_runs) if stats.binom.cdf(k - 1, n_runs, 0.5) <= tail]

    result = median_over_runs(values, Level(tail, tail))

    assert result.value == np.median(values)
    if not fewest:
        assert (result.low, result.high, result.over) == (None, None, None)
    else:
        k = max(fewest)
        assert (result.low, result.high, result.over) == (k - 1, n_runs - k, "runs")


@pytest.mark.parametrize(("n_runs", "has_interval"), [(5, False), (6, True)])
def test_the_interval_of_a_median_needs_six_runs(n_runs, has_interval):
    assert (median_over_runs(RNG.standard_normal(n_runs)).low is not None) == has_interval
