"""Covariance of two arms over examples."""

import numpy as np
import pytest

from seedproof.metrics.statistic import ExampleValues
from seedproof.stats.covariance import Cross, add_crosses, crosses


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


def weighted(values, weights):
    return ExampleValues(values, None, weights=weights)


@pytest.mark.parametrize("scale", [1.0, 7.0])
def test_the_covariance_of_weighted_means_is_of_their_residuals(scale):
    """As if of so many examples of equal weight; the scale of weights does not matter."""
    rng = np.random.default_rng(2)
    x, y = rng.random((2, 30))
    weights = scale * rng.random(30)
    parts = [slice(0, 12), slice(12, 30)]
    pieces = [
        crosses(
            {"m": weighted(x[part], weights[part])},
            {"m": weighted(y[part], weights[part])},
            is_paired=False,
        )
        for part in parts
    ]
    total = {}
    for piece in pieces:
        add_crosses(total, piece)

    means = [np.average(z, weights=weights) for z in (x, y)]
    result = total["m"].example_covariance(*means)

    n = weights.sum() ** 2 / (weights**2).sum()
    products = (weights**2 * (x - means[0]) * (y - means[1])).sum() / weights.sum() ** 2
    assert result == pytest.approx(products * n / (n - 1))
    assert total["m"].n_examples == 30


def test_equal_weights_change_nothing():
    x, y = np.random.default_rng(3).random((2, 20))
    plain, equal = Cross(is_paired=False), Cross(is_paired=False)

    plain.update(ExampleValues(x, None), ExampleValues(y, None))
    equal.update(weighted(x, np.full(20, 3.0)), weighted(y, np.full(20, 3.0)))

    means = x.mean(), y.mean()
    assert equal.example_covariance(*means) == pytest.approx(plain.example_covariance(*means))


def test_one_example_has_no_covariance():
    cross = Cross(is_paired=False)
    cross.update(ExampleValues(np.ones(1), None), ExampleValues(np.ones(1), None))

    assert cross.example_covariance(1.0, 1.0) == 0.0


def test_means_over_unlike_subsets_are_not_compared():
    """Some examples have no such quantity in one arm."""
    some = ExampleValues(np.ones(3), None, is_subset=True)
    others, same = ExampleValues(np.ones(4), None), ExampleValues(np.ones(3), None, is_subset=True)

    assert crosses({"m": some}, {"m": others}, is_paired=False) == {}
    assert crosses({"m": some}, {"m": same}, is_paired=False).keys() == {"m"}
    assert crosses({"m": some}, {"other": same}, is_paired=False) == {}
