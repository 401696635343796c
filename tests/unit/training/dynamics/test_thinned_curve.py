"""A curve of bounded size, whose points depend on the number of updates alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedproof.training.dynamics.thinned_curve import MAX_POINTS, ThinnedCurve


def drawn(n_updates):
    """The curve of the square, after some updates."""
    curve = ThinnedCurve()
    for step in range(1, n_updates + 1):
        curve.add(step, step**2)
    return curve


@pytest.mark.parametrize(
    ("n_updates", "stride"), [(0, 1), (256, 1), (257, 2), (513, 2), (514, 4), (10_000, 64)]
)
def test_points_are_evenly_spaced(n_updates, stride):
    """Every multiple of the stride has one, with its own value."""
    curve = drawn(n_updates)

    assert curve.stride == stride
    assert curve.steps == list(range(stride, n_updates + 1, stride))
    assert curve.values == [step**2 for step in curve.steps]


@given(st.integers(0, 5000))
def test_there_are_never_more_points_than_allowed_and_never_few(n_updates):
    """At least half of them are used once there are so many updates."""
    n_points = len(drawn(n_updates).steps)

    assert n_points <= MAX_POINTS
    assert n_points >= min(n_updates, MAX_POINTS // 2)
