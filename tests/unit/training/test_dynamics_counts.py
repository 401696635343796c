"""Bounds and rounding of sparse counts and running moments."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from seedproof.training import dynamics_counts as module
from seedproof.training.dynamics_counts import GoldMoments, PairCounts

STREAM = st.lists(st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1)), max_size=8), max_size=8)


def followed(stream):
    """Return the moments of a stream of batches."""
    moments = GoldMoments(4)
    for batch in stream:
        rows = np.array([row for row, _ in batch], dtype=np.int64)
        moments.add(rows, np.array([value for _, value in batch], dtype=np.float64))
    return moments


@given(STREAM)
def test_repeat_in_a_batch_is_another_step(stream):
    """To the bit as if the rows came one at a time."""
    whole = followed(stream)
    one_by_one = followed([[pair] for batch in stream for pair in batch])

    for name in ("n_steps", "mean", "squares"):
        assert getattr(whole, name).tolist() == getattr(one_by_one, name).tolist()


def test_nan_stays_with_its_example():
    """It makes its moments NaN for good, and no others."""
    moments = GoldMoments(2)
    moments.add(np.array([0, 1]), np.array([np.nan, 0.25]))
    moments.add(np.array([0, 1]), np.array([0.5, 0.75]))

    mean, sd = moments.mean_and_sd()

    assert np.isnan([mean[0], sd[0]]).all()
    assert (mean[1], sd[1]) == (0.5, 0.25)
    assert moments.n_steps.tolist() == [2, 2]


def test_many_steps_do_not_overflow():
    """Two halves of 2^31 - 2 steps, in 32 bits."""
    halves = [GoldMoments(1), GoldMoments(1)]
    for half, mean in zip(halves, (0.0, 1.0), strict=True):
        half.n_steps[:], half.mean[:] = 2**30 - 1, mean

    halves[0].merge(halves[1])

    assert halves[0].mean_and_sd() == (0.5, 0.5)


def test_buffer_of_counts_is_bounded():
    """Half a megabyte, and 12 bytes per pair."""
    counts = PairCounts(10)
    rows, classes = np.arange(1000), np.zeros(1000, dtype=np.int64)

    largest = 0
    for _ in range(500):
        counts.add(rows, classes)
        largest = max(largest, counts.nbytes)

    assert largest <= 8 * module.MAX_WAITING + 12 * 1000
    counts.pairs()
    assert counts.nbytes == 12 * 1000


def test_class_indices_of_any_width_give_the_same_pairs():
    """Pairs have 64 bits, also if classes are bytes: 70,000 · 70,000 needs 33."""
    counts = PairCounts(70_000)
    for kind in (np.uint8, np.int32, np.uint64):
        counts.add(np.array([69_999], dtype=np.int32), np.array([200], dtype=kind))

    keys, n_met = counts.pairs()

    assert (keys.tolist(), n_met.tolist()) == ([69_999 * 70_000 + 200], [3])
