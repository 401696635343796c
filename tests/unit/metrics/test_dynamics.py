"""Formulas over the steps of one run, against hand-computed figures and dense oracles."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy as scipy_entropy

from seedproof.metrics.dynamics import (
    Moments,
    correctness,
    mean_step_entropy,
    merged_moments,
    step_entropy,
)


def ragged(*counts):
    """Counts of several examples, one after the other, and where each begins."""
    flat = [count for one in counts for count in one]
    return np.array(flat, dtype=np.int32), np.cumsum([0, *map(len, counts)])


@pytest.mark.parametrize(
    ("counts", "expected"),
    [([90, 5, 5], 0.394), ([75, 25], 0.562), ([1, 1, 1, 1], math.log(4))],
    ids=["90-5-5", "75-25", "even"],
)
def test_step_entropy_has_the_published_figures(counts, expected):
    """90/5/5 gives 0.394 nats and 75/25 gives 0.562; four equal shares give ln 4."""
    (entropy,) = step_entropy(*ragged(counts))

    assert entropy == pytest.approx(expected, abs=5e-4)


def test_step_entropy_is_exactly_zero_for_one_class_and_unknown_without_steps():
    """However many steps; and an example between others that was never seen takes nothing."""
    entropy = step_entropy(*ragged([7], [], [1_000_003], [1, 1]))

    assert entropy[[0, 2]].tolist() == [0.0, 0.0]
    assert math.isnan(entropy[1])
    assert entropy[3] == pytest.approx(math.log(2))


@given(st.lists(st.lists(st.integers(1, 10**6), min_size=1, max_size=6), min_size=1, max_size=8))
def test_step_entropy_is_that_of_scipy(examples):
    """Each example by itself, whatever its neighbours have."""
    found = step_entropy(*ragged(*examples))

    assert found == pytest.approx([scipy_entropy(counts) for counts in examples], abs=1e-12)


def test_the_mean_is_over_the_examples_that_were_seen():
    """(0.562 + 0) / 2, where a third example was never looked at."""
    assert mean_step_entropy(*ragged([75, 25], [], [3])) == pytest.approx(0.5623 / 2, abs=1e-4)
    assert math.isnan(mean_step_entropy(*ragged([], [])))


def test_correctness_is_the_share_of_steps_with_the_gold_label():
    """3 of 4 steps, never, always; unknown without a label or without steps."""
    counts, offsets = ragged([1, 3], [2, 2], [5], [5], [])
    classes = np.array([0, 2, 0, 1, 4, 4])

    found = correctness(counts, classes, offsets, np.array([2, 3, 4, -1, 0]))

    assert found[:3].tolist() == [0.75, 0.0, 1.0]
    assert np.isnan(found[3:]).all()


NUMBERS = st.lists(st.floats(0, 1, width=32), max_size=12)


def moments_of(numbers):
    """Mean and squares of some numbers, by the standard library."""
    mean = statistics.fmean(numbers) if numbers else 0.0
    squares = len(numbers) * statistics.pvariance(numbers) if numbers else 0.0
    return Moments(np.array([len(numbers)]), np.array([mean]), np.array([squares]))


@given(first=NUMBERS, second=NUMBERS)
def test_merged_moments_are_those_of_all_numbers(first, second):
    """Mean and standard deviation, divided by n, as the standard library has them."""
    both = merged_moments(moments_of(first), moments_of(second))

    numbers = first + second
    assert both.n.tolist() == [len(numbers)]
    if numbers:
        assert both.mean[0] == pytest.approx(statistics.fmean(numbers), abs=1e-12)
        # The root of a rounding error near 1e-16 is 1e-8.
        assert both.sd[0] == pytest.approx(statistics.pstdev(numbers), abs=1e-7)
    else:
        assert math.isnan(both.sd[0])


@given(numbers=NUMBERS)
def test_an_empty_set_changes_no_bit(numbers):
    """On either side: a rank that saw nothing leaves no trace."""
    some, none = moments_of(numbers), moments_of([])

    for both in (merged_moments(some, none), merged_moments(none, some)):
        assert [array.tolist() for array in both] == [array.tolist() for array in some]


def test_many_steps_do_not_overflow_the_counts():
    """Two halves of 2^31 - 2 steps, in the 32 bits in which they are kept."""
    half = Moments(np.array([2**30 - 1], np.int32), np.array([0.0]), np.array([0.0]))
    other = half._replace(mean=np.array([1.0]))

    both = merged_moments(half, other)

    assert both.mean.tolist() == [0.5]
    assert both.sd == pytest.approx([0.5])
