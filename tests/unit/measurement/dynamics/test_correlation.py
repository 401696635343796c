import numpy as np
import pytest

from seedproof.measurement.dynamics.correlation import (
    fisher_interval,
    fisher_slope,
    fisher_z,
    moved_by_each,
    standardized,
)


def test_standardized_values_have_mean_0_and_variance_1():
    """By hand; a constant row is 0, not undefined."""
    found = standardized(np.array([[1.0, 3.0], [2.0, 2.0]]))

    np.testing.assert_array_equal(found, [[-1.0, 1.0], [0.0, 0.0]])


def test_a_value_may_stand_for_several_examples():
    """As if it were written as often."""
    few = standardized(np.array([0.7, 0.2, 0.0]), np.array([1.0, 1.0, 5.0]))

    whole = standardized(np.array([0.7, 0.2, *[0.0] * 5]))

    np.testing.assert_allclose(few, whole[:3], rtol=1e-12)


def test_what_an_example_moves_is_the_derivative_of_the_correlation():
    """Of a correlation over weighted examples, by a difference."""
    x, y = np.random.default_rng(0).normal(size=(2, 12))
    y += x

    def weighted(weights):
        u, v = standardized(x, weights), standardized(y, weights)
        return np.average(u * v, weights=weights)

    value = weighted(np.ones(12))
    found = moved_by_each(standardized(x), standardized(y), value)

    for place in range(12):
        more, less = np.ones(12), np.ones(12)
        more[place] += 1e-5
        less[place] -= 1e-5
        slope = (weighted(more) - weighted(less)) / 2e-5
        assert found[place] / 12 == pytest.approx(slope, abs=1e-8)
    assert value == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert found.mean() == pytest.approx(0.0, abs=1e-12)


def test_fishers_z_is_finite_at_its_ends():
    """And its slope is that of the inverse hyperbolic tangent."""
    np.testing.assert_allclose(fisher_z(np.array([0.0, 0.5])), [0.0, np.log(3) / 2])
    assert np.isfinite(fisher_z(np.array([-1.0, 1.0]))).all()
    assert fisher_slope(0.5) == pytest.approx(4 / 3)
    assert np.isfinite(fisher_slope(1.0))


def test_the_interval_adds_what_runs_and_examples_change():
    """Student's t of ten runs and the normal quantile, on the scale of Fisher's z."""
    low, high = fisher_interval(0.6, runs=0.01, n_runs=10, examples=0.02)

    width = np.sqrt(2.26216**2 * 0.01 + 1.95996**2 * 0.02)
    assert (low, high) == pytest.approx(np.tanh(np.arctanh(0.6) + width * np.array([-1, 1])), 1e-5)


def test_a_perfect_correlation_is_in_its_interval():
    """The scale is cut before its end."""
    assert fisher_interval(1.0, runs=0.0, n_runs=5, examples=0.0)[1] == 1.0
