"""Runs that cause most of a spread."""

import numpy as np
import pytest

from seedproof.stats.extremes import extreme_runs


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.8, 0.81, 0.79, 0.8, 0.5], (4,)),
        ([0.8, 0.5, 0.79, 0.5, 0.81], ()),  # two of five are too many to name
        ([0.8, 0.81, 0.79, 0.5], ()),  # too few runs
        ([0.8] * 12, ()),
        ([*np.linspace(0.79, 0.81, 18), 0.4, 0.45], (18, 19)),
        (np.linspace(0.7, 0.9, 20), ()),
    ],
)
def test_runs_are_named_if_the_spread_halves_without_them(values, expected):
    assert extreme_runs(np.array(values)) == expected


def test_normal_runs_are_rarely_named():
    """In less than 1 % of samples of ten, and 10 % of five."""
    rng = np.random.default_rng(3)

    assert np.mean([extreme_runs(rng.normal(size=10)) != () for _ in range(2000)]) < 0.01
    assert np.mean([extreme_runs(rng.normal(size=5)) != () for _ in range(2000)]) < 0.10
