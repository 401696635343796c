"""Levels of candidates: what is spent, and what a keep earns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedproof.comparison.decide.level import HORIZON, next_level


def test_levels_fall_until_a_keep_and_rise_after_it():
    before = [next_level(n, [], 0.1) for n in range(10)]

    after = next_level(10, [10], 0.1)

    assert before == sorted(before, reverse=True)
    assert after > next_level(10, [], 0.1)


@given(st.lists(st.booleans(), min_size=1, max_size=300), st.floats(0.01, 0.5))
def test_levels_add_up_to_at_most_the_share_times_the_keeps(outcomes, false_keeps):
    """The bound that limits the expected number of false keeps at any time."""
    keeps, spent = [], 0.0
    for n_before, is_kept in enumerate(outcomes):
        spent += next_level(n_before, keeps, false_keeps)
        assert spent <= false_keeps * max(len(keeps), 1) * (1 + 1e-9)
        if is_kept:
            keeps.append(n_before + 1)


def test_keep_that_is_decided_late_counts_for_later_candidates_only():
    """Candidates that began before it have their level already."""
    assert next_level(30, [30], 0.1) == pytest.approx(
        next_level(30, [], 0.1) + 0.05 * next_level(0, [], 0.1) / 0.05
    )


def test_nothing_is_left_after_the_horizon():
    assert next_level(HORIZON - 1, [], 0.1) > 0.0
    assert next_level(HORIZON, [], 0.1) == 0.0


def test_share_of_false_keeps_holds_for_independent_p_values():
    """180 of 200 candidates are equal to the baseline; the bound has three standard errors."""
    rng, shares = np.random.default_rng(0), []
    for _ in range(200):
        is_better = rng.permutation(np.arange(200) < 20)
        p_values = np.where(is_better, rng.beta(0.1, 4.0, 200), rng.random(200))
        keeps, n_false = [], 0
        for n_before, p_value in enumerate(p_values):
            if p_value <= next_level(n_before, keeps, 0.2):
                keeps.append(n_before + 1)
                n_false += not is_better[n_before]
        shares.append(n_false / max(len(keeps), 1))

    assert np.mean(shares) <= 0.2 + 3 * np.std(shares) / np.sqrt(len(shares))
    assert np.mean(shares) > 0.0
