"""A root between two ends: scipy's, to the last bit."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from seedproof.stats.roots import bracketed_root


@given(
    shift=st.floats(-3, 3),
    steep=st.floats(0.01, 50),
    below=st.floats(0.01, 20),
    above=st.floats(0.01, 20),
)
def test_root_is_that_of_scipy(shift, steep, below, above):
    """Steps and tolerances are the same, so figures never change."""

    def rises(x):
        return math.tanh(steep * (x - shift)) + 0.1 * (x - shift) ** 3

    ends = shift - below, shift + above

    assert bracketed_root(rises, *ends) == brentq(rises, *ends)


@pytest.mark.parametrize("ends", [(0.0, 1.0), (-1.0, 0.0)], ids=["low", "high"])
def test_an_end_may_be_the_root(ends):
    """Nothing is left to search."""
    assert bracketed_root(lambda x: x, *ends) == 0.0


def test_ends_of_one_sign_are_refused():
    """There may be no root between them."""
    with pytest.raises(ValueError):
        bracketed_root(lambda x: x * x + 1, -1.0, 1.0)
