"""Orders of tokens: hand-computed tau and rank-biased overlap."""

import numpy as np
import pytest

from seedproof.metrics.explanations.rankings import kendall_tau, rank_biased_overlap
from seedproof.metrics.explanations.top_tokens import token_ranks
from support.explanation_oracles import slow_rbo, slow_tau


def example(*runs):
    """One example, axes (runs, 1, tokens)."""
    return np.array(runs, dtype=np.float64)[:, None, :]


def test_tau_by_hand():
    """Four tokens, one of six pairs in the other order: (5 - 1) / 6."""
    found = kendall_tau(example([4, 3, 2, 1], [3, 4, 2, 1]))

    assert found.values[0] == pytest.approx(4 / 6)


def test_a_reversed_order_has_minus_one():
    """All pairs of tokens are in the other order."""
    assert kendall_tau(example([1, 2, 3], [3, 2, 1])).values[0] == pytest.approx(-1.0)


def test_ties_shorten_the_vector():
    """One tie in three pairs: 2 / √(2·3)."""
    found = kendall_tau(example([1, 1, 2], [1, 2, 3]))

    assert found.values[0] == pytest.approx(2 / np.sqrt(6))


def test_runs_without_an_order_agree_with_each_other_only():
    """Flat and flat 1, flat and ordered 0; by leaving out each of three runs."""
    found = kendall_tau(example([1, 1, 1], [0, 0, 0], [1, 2, 3]))

    assert found.values[0] == pytest.approx(1 / 3)
    assert found.without[:, 0] == pytest.approx([0.0, 0.0, 1.0])


def test_one_token_has_one_order():
    """There is nothing to disagree about."""
    magnitudes = example([0.3], [0.7])

    assert kendall_tau(magnitudes).values[0] == 1.0
    assert rank_biased_overlap(token_ranks(magnitudes)).values[0] == pytest.approx(1.0)


def test_rbo_by_hand():
    """Orders (a, b) and (b, a): nothing shared at depth 1, all at depth 2.

    p² + (1-p)·(0 + p·2/2) = 0.81 + 0.1·0.9.
    """
    found = rank_biased_overlap(token_ranks(example([2, 1], [1, 2])))

    assert found.values[0] == pytest.approx(0.81 + 0.09)


def test_rbo_looks_at_the_top_first():
    """An exchange of the first two tokens costs more than one of the last two."""
    usual = [5, 4, 3, 2, 1]
    top = rank_biased_overlap(token_ranks(example(usual, [4, 5, 3, 2, 1]))).values[0]
    tail = rank_biased_overlap(token_ranks(example(usual, [5, 4, 3, 1, 2]))).values[0]

    assert top < tail < 1.0


@pytest.mark.parametrize("n_tokens", [349, 351, 800])
def test_ranks_that_weigh_nothing_may_be_left_out(n_tokens):
    """Beyond rank 350 all weights together are below the last digit."""
    rng = np.random.default_rng(n_tokens)
    scores = np.exp(rng.normal(size=(1, n_tokens)) + 0.3 * rng.normal(size=(4, n_tokens)))

    found = rank_biased_overlap(token_ranks(scores[:, None, :]))

    assert found.values[0] == pytest.approx(slow_rbo(scores), rel=1e-12)


def test_a_long_text_has_its_tau():
    """Thousands of pairs of tokens, many of them tied."""
    scores = np.random.default_rng(1).integers(0, 50, (3, 200)).astype(np.float64)

    found = kendall_tau(scores[:, None, :])

    assert found.values[0] == pytest.approx(slow_tau(scores), abs=1e-12)
