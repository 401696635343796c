"""Moments of weighted values against slow loops."""

import numpy as np
import pytest

from seedproof.metrics.block_statistic import Shape
from seedproof.metrics.weighted_moments import WeightedMoments


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return values near or far from 0, and uneven weights."""
    rng = np.random.default_rng(seed)
    n = rng.integers(2, 40)
    values = rng.exponential(size=n) + rng.choice([0.0, 1e6])
    return values, np.exp(rng.normal(0, rng.choice([0.1, 1.0, 2.0]), n))


@pytest.mark.parametrize("seed", range(100))
def test_moments_equal_a_loop_over_residuals(seed):
    values, weights = drawn(seed)
    size = sum(weights)
    mean = sum(w * x for w, x in zip(weights, values, strict=True)) / size
    residuals = [w * (x - mean) for w, x in zip(weights, values, strict=True)]
    n_effective = size**2 / sum(w**2 for w in weights)

    moments = WeightedMoments.of(values, weights)

    assert moments.size == pytest.approx(size)
    assert moments.n_effective == pytest.approx(n_effective)
    expected = sum(r**2 for r in residuals) / size**2 * n_effective / (n_effective - 1)
    # At 1e6, values have ten digits after the point.
    assert moments.variance == pytest.approx(expected, rel=1e-6)
    assert moments.shape.cubes == pytest.approx(sum(r**3 for r in residuals), rel=1e-4, abs=1e-6)
    assert moments.shape.fourths == pytest.approx(sum(r**4 for r in residuals), rel=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_parts_add_up_in_any_division(seed):
    values, weights = drawn(seed)
    whole = WeightedMoments.of(values, weights)
    cut = len(values) // 3

    parts = None
    for rows in (slice(0), slice(cut), slice(cut, None)):
        parts = WeightedMoments.of(values[rows], weights[rows]).added_to(parts)

    assert parts.n_effective == pytest.approx(whole.n_effective)
    assert parts.variance == pytest.approx(whole.variance, rel=1e-6)
    assert parts.shape.n == len(values)


def test_equal_weights_give_the_plain_shape():
    values, _ = drawn(0)
    plain = Shape.of(values)

    moments = WeightedMoments.of(values, np.full(len(values), 0.25))

    assert moments.n_effective == pytest.approx(len(values))
    assert moments.shape.df == pytest.approx(plain.df)
    assert moments.shape.skewness == pytest.approx(plain.skewness)
    assert moments.variance == pytest.approx(values.var(ddof=1) / len(values))


def test_a_single_example_shows_no_variance():
    moments = WeightedMoments.of(np.array([3.0]), np.array([0.1]))

    assert (moments.n_effective, moments.variance) == (1.0, 0.0)
