"""Distances between explanations, computed by hand and by independent oracles."""

import math

import numpy as np
import pytest

from seedproof.metrics.explanations.distances import (
    jaccard_distance,
    kendall_tau,
    mean_over_pairs,
    n_top,
    rank_biased_overlap,
    token_ranks,
    token_weights,
    top_overlap,
    weight_divergences,
)
from support.explanation_oracles import slow_jaccard, slow_overlap, slow_rbo, slow_tau


def example(*runs):
    """One example, axes (runs, 1, tokens)."""
    return np.array(runs, dtype=np.float64)[:, None, :]


def ranks_of(*runs):
    """Ranks of one example, axes (runs, 1, tokens)."""
    return token_ranks(example(*runs))


# ------------------------------------------------------------------------------- pairs of runs


def test_run_is_left_out_with_all_its_pairs():
    """Pairs (0, 1), (0, 2), (1, 2) have 0.1, 0.2 and 0.6."""
    mean = mean_over_pairs(np.array([[0.1 + 0.2], [0.1 + 0.6], [0.2 + 0.6]]))

    assert mean.values[0] == pytest.approx(0.3)
    assert mean.without[:, 0] == pytest.approx([0.6, 0.2, 0.1])
    assert mean_over_pairs(np.array([[0.5], [0.5]])).without is None  # one run has no pair


def test_rounding_errors_become_exact_zeros():
    """A third, three times, is not exactly one; the difference is rounding."""
    third = 1 / 3
    mean = mean_over_pairs(np.array([[third * 3 - 1 + 1e-16], [1e-16], [0.0]]))

    assert (mean.values == 0.0).all()
    assert (mean.without == 0.0).all()


# ------------------------------------------------------------------------------- token weights


@pytest.mark.parametrize(
    ("scores", "expected"),
    [([1.0, 3.0, 0.0], [0.25, 0.75, 0.0]), ([[0, 0], [1, 0]], [[0.5, 0.5], [1.0, 0.0]])],
)
def test_token_weights_are_shares_of_the_magnitudes(scores, expected):
    """Scores that are all 0 give every token the same share."""
    assert token_weights(np.array(scores, dtype=np.float64)).tolist() == expected


@pytest.mark.parametrize("scale", [1e-44, 1e38])
def test_tiny_and_huge_scores_keep_their_shares(scale):
    """Their sum may underflow or overflow in float32."""
    scores = (np.array([1.0, 2.0, 1.0]) * np.float32(scale)).astype(np.float32)

    # The smallest float32 numbers have one digit.
    assert token_weights(scores) == pytest.approx([0.25, 0.5, 0.25], abs=0.04)


def test_kl_and_js_by_hand():
    """Two runs, two tokens: (½, ½) and (¼, ¾)."""
    kl, js = weight_divergences(example([2, 2], [1, 3]))

    there = 0.5 * math.log(0.5 / 0.25) + 0.5 * math.log(0.5 / 0.75)
    back = 0.25 * math.log(0.25 / 0.5) + 0.75 * math.log(0.75 / 0.5)

    def entropy(p):
        return -p * math.log(p) - (1 - p) * math.log(1 - p)

    # The smoothing by 1e-10 shows from the tenth digit on.
    assert kl.values[0] == pytest.approx((there + back) / 2, abs=1e-9)
    assert js.values[0] == pytest.approx(
        2 * (entropy(0.375) - (entropy(0.5) + entropy(0.25)) / 2), abs=1e-9
    )


def test_token_without_weight_does_not_make_kl_infinite():
    """KL of the shares (1, 0) and (0, 1) is ln 1e10, because of the epsilon."""
    kl, js = weight_divergences(example([1, 0], [0, 1]))

    assert kl.values[0] == pytest.approx(10 * math.log(10), rel=1e-6)
    assert js.values[0] == pytest.approx(2 * math.log(2), rel=1e-6)


def test_weights_may_differ_where_the_top_tokens_do_not():
    """Like Figure 4.3 of the thesis: ten items, items 4 and 5 on top in both; H = 0.66, J = 0.

    The figure's numbers are not printed. Where two items swap the shares a and b, KL is
    (a - b)·ln(a/b) in either direction: .51·ln(.705/.195) = 0.655.
    """
    magnitudes = np.full((2, 1, 10), 0.0125)
    magnitudes[0, 0, 3:5] = 0.705, 0.195
    magnitudes[1, 0, 3:5] = 0.195, 0.705

    kl, _ = weight_divergences(magnitudes)
    jaccard = jaccard_distance(token_ranks(magnitudes), percent=20)

    assert round(float(kl.values[0]), 2) == 0.66
    assert kl.values[0] == pytest.approx(0.51 * math.log(0.705 / 0.195), abs=1e-8)  # epsilon
    assert jaccard.values[0] == 0.0


# ---------------------------------------------------------------------------------- top tokens


def test_listing_4_1_of_the_thesis():
    """Its two distributions have a distance of 100 on the paper's scale of percent."""
    ranks = ranks_of([0.2, 0.1, 0.1, 0.6], [0.4, 0.1, 0.4, 0.1])

    assert 100 * jaccard_distance(ranks, percent=10).values[0] == 100.0


def test_jaccard_and_overlap_by_hand():
    """Top 2 of 10 tokens: {0, 1}, {0, 2}, {0, 1}; one equal pair, two that share one of three."""
    ranks = ranks_of(
        [9, 8, 1, 1, 1, 1, 1, 1, 1, 1],
        [9, 1, 8, 1, 1, 1, 1, 1, 1, 1],
        [8, 9, 1, 1, 1, 1, 1, 1, 1, 1],
    )

    jaccard, overlap = jaccard_distance(ranks, percent=20), top_overlap(ranks, percent=20)

    assert jaccard.values[0] == pytest.approx((2 / 3 + 0 + 2 / 3) / 3)
    assert jaccard.without[:, 0] == pytest.approx([2 / 3, 0.0, 2 / 3])
    assert overlap.values[0] == pytest.approx((1 / 2 + 1 + 1 / 2) / 3)
    assert overlap.without[:, 0] == pytest.approx([1 / 2, 1.0, 1 / 2])


def test_disjoint_top_tokens_have_distance_one():
    """Three runs, each with another top token."""
    ranks = ranks_of([1, 0, 0], [0, 1, 0], [0, 0, 1])

    assert jaccard_distance(ranks, percent=10).values[0] == 1.0
    assert top_overlap(ranks, percent=10).values[0] == 0.0


def test_earlier_token_ranks_first_among_equals():
    """The order is defined, not left to the sort."""
    assert token_ranks(np.array([0.5, 0.9, 0.5, 0.9, 0.0])).tolist() == [2, 0, 3, 1, 4]


@pytest.mark.parametrize(
    ("n_tokens", "percent", "expected"),
    [(1, 10, 1), (4, 10, 1), (10, 10, 1), (11, 10, 2), (70, 10, 7), (15, 20, 3), (16, 20, 4)],
)
def test_number_of_top_tokens_is_rounded_up_in_integers(n_tokens, percent, expected):
    """0.1·70 is 7.000000000000001 in floating point, whose ceiling is 8."""
    assert n_top(n_tokens, percent) == expected


@pytest.mark.parametrize("n_tokens", [63, 64, 65, 128, 300])
def test_long_texts_take_several_machine_words(n_tokens):
    """Each machine word has the bits of 64 tokens."""
    rng = np.random.default_rng(n_tokens)
    scores = rng.normal(size=(1, n_tokens)) + 0.5 * rng.normal(size=(5, n_tokens))
    ranks = token_ranks(np.abs(scores)[:, None, :])

    assert jaccard_distance(ranks, percent=20).values[0] == pytest.approx(slow_jaccard(scores, 20))
    assert top_overlap(ranks, percent=20).values[0] == pytest.approx(slow_overlap(scores, 20))


# ------------------------------------------------------------------------------------ rankings


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        (([4, 3, 2, 1], [3, 4, 2, 1]), (5 - 1) / 6),  # one of six pairs of tokens is swapped
        (([1, 2, 3], [3, 2, 1]), -1.0),
        (([1, 1, 2], [1, 2, 3]), 2 / math.sqrt(2 * 3)),  # one tie in three pairs
        (([0.3], [0.7]), 1.0),
    ],
    ids=["one-swap", "reversed", "tie", "one-token"],
)
def test_tau_by_hand(runs, expected):
    """Tau-b, with its correction for ties."""
    assert kendall_tau(example(*runs)).values[0] == pytest.approx(expected)


def test_tau_of_runs_without_an_order():
    """Flat and flat 1, flat and ordered 0; by leaving out each of three runs."""
    tau = kendall_tau(example([1, 1, 1], [0, 0, 0], [1, 2, 3]))

    assert tau.values[0] == pytest.approx(1 / 3)
    assert tau.without[:, 0] == pytest.approx([0.0, 0.0, 1.0])


def test_tau_of_a_long_text_equals_the_loop():
    """Thousands of pairs of tokens, many of them tied."""
    scores = np.random.default_rng(1).integers(0, 50, (3, 200)).astype(np.float64)

    assert kendall_tau(scores[:, None, :]).values[0] == pytest.approx(slow_tau(scores), abs=1e-12)


@pytest.mark.parametrize(
    ("runs", "expected"), [(([2, 1], [1, 2]), 0.81 + 0.09), (([0.3], [0.7]), 1.0)]
)
def test_rbo_by_hand(runs, expected):
    """Orders (a, b) and (b, a): nothing shared at depth 1, all at depth 2.

    p² + (1-p)·(0 + p·2/2) = 0.81 + 0.1·0.9.
    """
    assert rank_biased_overlap(ranks_of(*runs)).values[0] == pytest.approx(expected)


def test_rbo_weights_the_top_most():
    """A swap of the first two tokens costs more than one of the last two."""
    usual = [5, 4, 3, 2, 1]
    top = rank_biased_overlap(ranks_of(usual, [4, 5, 3, 2, 1])).values[0]
    tail = rank_biased_overlap(ranks_of(usual, [5, 4, 3, 1, 2])).values[0]

    assert top < tail < 1.0


@pytest.mark.parametrize("n_tokens", [349, 351, 800])
def test_rbo_ignores_ranks_without_weight(n_tokens):
    """Beyond rank 350 all weights together are below the last digit."""
    rng = np.random.default_rng(n_tokens)
    scores = np.exp(rng.normal(size=(1, n_tokens)) + 0.3 * rng.normal(size=(4, n_tokens)))

    overlap = rank_biased_overlap(token_ranks(scores[:, None, :]))

    assert overlap.values[0] == pytest.approx(slow_rbo(scores), rel=1e-12)
