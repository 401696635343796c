"""Formulas over the steps of one run, against hand-computed figures and dense oracles."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy as scipy_entropy

from seedproof.metrics.dynamics import correctness, step_entropy


def ragged(*counts):
    """Counts of several examples, one after the other, and their offsets."""
    flat = np.array([count for of_example in counts for count in of_example], dtype=np.int32)
    return flat, np.cumsum([0, *map(len, counts)])


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
    """For any number of steps, also next to examples without steps."""
    entropy = step_entropy(*ragged([7], [], [1_000_003], [1, 1]))

    assert entropy[[0, 2]].tolist() == [0.0, 0.0]
    assert math.isnan(entropy[1])
    assert entropy[3] == pytest.approx(math.log(2))


@given(st.lists(st.lists(st.integers(1, 10**6), min_size=1, max_size=6), min_size=1, max_size=8))
def test_step_entropy_equals_scipy(examples):
    """Each example is independent of its neighbors."""
    entropies = step_entropy(*ragged(*examples))

    assert entropies == pytest.approx([scipy_entropy(counts) for counts in examples], abs=1e-12)


def test_correctness_is_the_share_of_steps_with_the_gold_label():
    """3 of 4 steps, never, always; unknown without a label or without steps."""
    counts, offsets = ragged([1, 3], [2, 2], [5], [5], [])
    classes = np.array([0, 2, 0, 1, 4, 4])

    shares = correctness(counts, classes, offsets, np.array([2, 3, 4, -1, 0]))

    assert shares[:3].tolist() == [0.75, 0.0, 1.0]
    assert np.isnan(shares[3:]).all()
