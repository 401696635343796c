"""Covariance of two arms over examples."""

import numpy as np
import pytest

from seedproof.metrics.statistic import ExampleValues
from seedproof.stats.covariance import Cross, crosses


def test_products_are_of_examples_that_both_arms_list():
    """An example that one arm does not list has 0 there."""
    base = ExampleValues(np.array([1.0, 2.0, 3.0]), None, places=np.array([0, 2, 5]), n_zeros=3)
    arm = ExampleValues(np.array([10.0, 20.0]), None, places=np.array([2, 4]), n_zeros=4)
    cross = Cross(is_paired=False)

    cross.update(base, arm)

    assert cross.n_examples == 6
    assert cross.products == 2.0 * 10.0


@pytest.mark.parametrize("is_first_whole", [True, False])
def test_listed_examples_are_matched_by_their_places(is_first_whole):
    """One arm may list all examples, the other some."""
    whole = ExampleValues(np.array([1.0, 2.0, 3.0, 4.0]), None)
    some = ExampleValues(np.array([10.0, 20.0]), None, places=np.array([1, 3]), n_zeros=2)
    pair = (whole, some) if is_first_whole else (some, whole)
    cross = Cross(is_paired=False)

    cross.update(*pair)

    assert cross.products == 2.0 * 10.0 + 4.0 * 20.0
    assert cross.n_examples == 4


def test_the_covariance_is_that_of_the_two_means():
    """Sample covariance over examples, divided by their number."""
    rng = np.random.default_rng(0)
    x, y = rng.random((2, 50))
    cross = crosses(
        {"m": ExampleValues(x, None)},
        {"m": ExampleValues(y, None)},
        is_paired=False,
    )["m"]

    result = cross.example_covariance(x.mean(), y.mean())

    # cov/(n) with the population covariance over n − 1, as for the variances.
    assert result == pytest.approx(np.cov(x, y, ddof=0)[0, 1] / 49, rel=1e-9)


def test_the_interaction_is_the_jackknife_covariance_over_runs():
    """Of each example's values with one run left out, summed over examples."""
    rng = np.random.default_rng(1)
    x, y = rng.random((2, 6, 20))
    cross = Cross(is_paired=True)

    cross.update(ExampleValues(x[0], x), ExampleValues(y[0], y))

    expected = sum(
        5 * np.mean((x[:, i] - x[:, i].mean()) * (y[:, i] - y[:, i].mean())) for i in range(20)
    )
    assert cross.interaction == pytest.approx(expected, rel=1e-9)


def test_runs_that_share_no_seed_share_no_interaction():
    """Left-out runs of unpaired arms have nothing to do with each other."""
    values = ExampleValues(np.ones(3), np.arange(12.0).reshape(4, 3))
    cross = Cross(is_paired=False)

    cross.update(values, values)

    assert cross.interaction == 0.0


def test_merging_is_adding():
    """Two parts make the whole."""
    rng = np.random.default_rng(2)
    whole, parts = Cross(is_paired=True), [Cross(is_paired=True) for _ in range(2)]
    for part in parts:
        x, y = rng.random((2, 5, 8))
        part.update(ExampleValues(x[0], x), ExampleValues(y[0], y))
        whole.update(ExampleValues(x[0], x), ExampleValues(y[0], y))

    parts[0].merge(parts[1])

    assert (parts[0].n_examples, parts[0].products) == (whole.n_examples, whole.products)
    assert parts[0].interaction == whole.interaction
