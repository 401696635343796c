"""Ends of means of values with a least and a largest one."""

import numpy as np
import pytest
from scipy import stats

from seedproof.stats.bounded_mean import BoundedMean


def bounded(values, least=0.0, largest=1.0):
    """The moments of independent values."""
    gaps = values - values.mean()
    squares, cubes = float((gaps**2).sum()), float((gaps**3).sum())
    return BoundedMean(float(values.mean()), len(values), squares, cubes, least, largest)


def mean_under_random_weights(values, extreme, tail):
    """Gaffke's bound: a quantile over weights that are uniform on the simplex."""
    weights = np.random.default_rng(0).exponential(size=(100_000, len(values) + 1))
    weights /= weights.sum(axis=1, keepdims=True)
    means = weights @ np.append(values, extreme)
    return np.quantile(means, tail if extreme < values.mean() else 1 - tail)


@pytest.mark.parametrize(("n", "n_passed"), [(20, 19), (20, 1), (300, 298), (60, 30)])
@pytest.mark.parametrize("tail", [0.0025, 0.025])
def test_values_of_0_and_1_have_the_bounds_of_clopper_and_pearson(n, n_passed, tail):
    """With one extreme value added, a beta variable has exactly these quantiles."""
    values = np.repeat([1.0, 0.0], [n_passed, n - n_passed])
    expected = (
        stats.beta.ppf(tail, n_passed, n - n_passed + 1),
        stats.beta.ppf(1 - tail, n_passed + 1, n - n_passed),
    )

    for extreme, bound in zip((0.0, 1.0), expected, strict=True):
        end = bounded(values).end(extreme, tail)
        # A gamma variable of the same skewness may reach a little further.
        assert abs(end - values.mean()) - abs(bound - values.mean()) > -1e-9
        assert end == pytest.approx(bound, abs=0.04 * abs(bound - values.mean()))


@pytest.mark.parametrize("odd", [0.0, 0.5, 0.7])
@pytest.mark.parametrize("usual", [1.0, 0.5])
def test_ends_are_close_to_quantiles_under_random_weights(odd, usual):
    """One odd value among thirty, at the end of the range or within it."""
    values = np.full(30, usual)
    values[0] = odd if odd != usual else 0.45

    for extreme in (0.0, 1.0):
        expected = mean_under_random_weights(values, extreme, 0.025)
        end = bounded(values).end(extreme, 0.025)
        assert abs(end - expected) < 0.1 * abs(expected - values.mean()) + 1e-3


def test_ends_follow_the_range():
    """Scores of 1 to 5 as the same scores of 0 to 1."""
    values = np.array([1.0] * 18 + [0.75, 0.5])

    wide = bounded(1 + 4 * values, least=1.0, largest=5.0)

    for extreme in (0.0, 1.0):
        expected = 1 + 4 * bounded(values).end(extreme, 0.025)
        assert wide.end(1 + 4 * extreme, 0.025) == pytest.approx(expected)
