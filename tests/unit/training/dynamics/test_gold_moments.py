"""Running mean and standard deviation of each example."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedproof.training.dynamics.gold_moments import GoldMoments

STREAM = st.lists(st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1)), max_size=8), max_size=8)


def followed(stream):
    """Moments of a stream of batches."""
    moments = GoldMoments(4)
    for batch in stream:
        rows = np.array([row for row, _ in batch], dtype=np.int64)
        moments.add(rows, np.array([value for _, value in batch], dtype=np.float64))
    return moments


@given(STREAM)
def test_moments_are_those_of_all_numbers(stream):
    """Also of an example that comes several times in a batch."""
    mean, sd = followed(stream).mean_and_sd()

    for example in range(4):
        numbers = [value for batch in stream for row, value in batch if row == example]
        if numbers:
            assert mean[example] == pytest.approx(statistics.fmean(numbers), abs=1e-12)
            assert sd[example] == pytest.approx(statistics.pstdev(numbers), abs=1e-7)
        else:
            assert math.isnan(mean[example])
            assert math.isnan(sd[example])


@given(STREAM)
def test_a_repeat_in_a_batch_is_another_step(stream):
    """To the bit as if its rows had come one by one."""
    whole = followed(stream)
    one_by_one = followed([[pair] for batch in stream for pair in batch])

    for name in ("n_steps", "mean", "squares"):
        assert getattr(whole, name).tolist() == getattr(one_by_one, name).tolist()


def test_what_is_not_known_once_is_not_known():
    """A NaN stays with its example, and with no other."""
    moments = GoldMoments(2)
    moments.add(np.array([0, 1]), np.array([np.nan, 0.25]))
    moments.add(np.array([0, 1]), np.array([0.5, 0.75]))

    mean, sd = moments.mean_and_sd()

    assert np.isnan([mean[0], sd[0]]).all()
    assert (mean[1], sd[1]) == (0.5, 0.25)
    assert moments.n_steps.tolist() == [2, 2]
