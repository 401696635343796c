"""Sets of top tokens: the thesis' listing, ties, sizes, many tokens."""

import numpy as np
import pytest

from seedproof.metrics.explanations.top_tokens import (
    jaccard_distance,
    n_top,
    token_ranks,
    top_overlap,
)
from support.explanation_oracles import slow_jaccard, slow_overlap


def ranks_of(*runs):
    """Ranks of one example, axes (runs, 1, tokens)."""
    return token_ranks(np.array(runs, dtype=np.float64)[:, None, :])


def test_listing_4_1_of_the_thesis():
    """Its two distributions give a distance of 100 on the paper's scale of percent."""
    ranks = ranks_of([0.2, 0.1, 0.1, 0.6], [0.4, 0.1, 0.4, 0.1])

    assert 100 * jaccard_distance(ranks, percent=10).values[0] == 100.0


def test_jaccard_and_overlap_by_hand():
    """Top 2 of 10 tokens: {0, 1}, {0, 2}, {0, 1}; one pair alike, two that share one of three."""
    ranks = ranks_of(
        [9, 8, 1, 1, 1, 1, 1, 1, 1, 1],
        [9, 1, 8, 1, 1, 1, 1, 1, 1, 1],
        [8, 9, 1, 1, 1, 1, 1, 1, 1, 1],
    )

    apart, shared = jaccard_distance(ranks, percent=20), top_overlap(ranks, percent=20)

    assert apart.values[0] == pytest.approx((2 / 3 + 0 + 2 / 3) / 3)
    assert apart.without[:, 0] == pytest.approx([2 / 3, 0.0, 2 / 3])
    assert shared.values[0] == pytest.approx((1 / 2 + 1 + 1 / 2) / 3)
    assert shared.without[:, 0] == pytest.approx([1 / 2, 1.0, 1 / 2])


def test_among_equals_the_earlier_token_comes_first():
    """A rule, not the sort's accident."""
    assert token_ranks(np.array([0.5, 0.9, 0.5, 0.9, 0.0])).tolist() == [2, 0, 3, 1, 4]


@pytest.mark.parametrize(
    ("n_tokens", "percent", "expected"),
    [(1, 10, 1), (4, 10, 1), (10, 10, 1), (11, 10, 2), (70, 10, 7), (15, 20, 3), (16, 20, 4)],
)
def test_the_top_few_are_rounded_up_in_whole_numbers(n_tokens, percent, expected):
    """0.1·70 is 7.000000000000001 in floating point, whose ceiling is 8."""
    assert n_top(n_tokens, percent) == expected


@pytest.mark.parametrize("n_tokens", [63, 64, 65, 128, 300])
def test_long_texts_take_several_words(n_tokens):
    """The bits of more than 64 tokens go over words of a machine."""
    rng = np.random.default_rng(n_tokens)
    scores = rng.normal(size=(1, n_tokens)) + 0.5 * rng.normal(size=(5, n_tokens))
    ranks = token_ranks(np.abs(scores)[:, None, :])

    assert jaccard_distance(ranks, percent=20).values[0] == pytest.approx(slow_jaccard(scores, 20))
    assert top_overlap(ranks, percent=20).values[0] == pytest.approx(slow_overlap(scores, 20))


def test_sets_without_a_common_token_are_all_apart():
    """Three runs, each sure of another token."""
    ranks = ranks_of([1, 0, 0], [0, 1, 0], [0, 0, 1])

    assert jaccard_distance(ranks, percent=10).values[0] == 1.0
    assert top_overlap(ranks, percent=10).values[0] == 0.0
