"""Explanations as distributions: hand-computed KL and JS."""

import math

import numpy as np
import pytest

from seedproof.metrics.explanations.top_tokens import jaccard_distance, token_ranks
from seedproof.metrics.explanations.weights import token_weights, weight_divergences


def test_weights_are_magnitudes_over_their_sum():
    """The sign says in which direction a token speaks, not how loud."""
    assert token_weights(np.array([1.0, 3.0, 0.0])).tolist() == [0.25, 0.75, 0.0]


def test_an_explanation_of_zeros_prefers_no_token():
    """All scores 0: the same share for every token, beside a run that has scores."""
    found = token_weights(np.array([[0.0, 0.0], [1.0, 0.0]]))

    assert found.tolist() == [[0.5, 0.5], [1.0, 0.0]]


@pytest.mark.parametrize("scale", [1e-44, 1e38])
def test_tiny_and_huge_scores_keep_their_shares(scale):
    """Their sum may be no number of float32 that has digits left."""
    scores = (np.array([1.0, 2.0, 1.0]) * np.float32(scale)).astype(np.float32)

    # The smallest float32 numbers have one digit.
    assert token_weights(scores) == pytest.approx([0.25, 0.5, 0.25], abs=0.04)


def test_kl_and_js_by_hand():
    """Two runs, two tokens: (½, ½) and (¼, ¾)."""
    kl, js = weight_divergences(np.array([[[2.0, 2.0]], [[1.0, 3.0]]]))

    there = 0.5 * math.log(0.5 / 0.25) + 0.5 * math.log(0.5 / 0.75)
    back = 0.25 * math.log(0.25 / 0.5) + 0.75 * math.log(0.75 / 0.5)

    def entropy(p):
        return -p * math.log(p) - (1 - p) * math.log(1 - p)

    # The smoothing by 1e-10 shows from the tenth digit on.
    assert kl.values[0] == pytest.approx((there + back) / 2, abs=1e-9)
    assert js.values[0] == pytest.approx(
        2 * (entropy(0.375) - (entropy(0.5) + entropy(0.25)) / 2), abs=1e-9
    )


def test_a_token_without_weight_does_not_make_kl_infinite():
    """Shares (1, 0) and (0, 1) are ln 1e10 apart, which is what the epsilon is for."""
    kl, js = weight_divergences(np.array([[[1.0, 0.0]], [[0.0, 1.0]]]))

    assert kl.values[0] == pytest.approx(10 * math.log(10), rel=1e-6)
    assert js.values[0] == pytest.approx(2 * math.log(2), rel=1e-6)


def test_weights_may_differ_where_the_top_tokens_do_not():
    """Like Figure 4.3 of the thesis: ten items, items 4 and 5 on top in both; H = 0.66, J = 0.

    The figure's numbers are not printed. Where two items trade the shares a and b, KL is
    (a - b)·ln(a/b) in either direction: .51·ln(.705/.195) = 0.655.
    """
    first = np.full(10, 0.0125)
    second = np.full(10, 0.0125)
    first[3:5] = 0.705, 0.195
    second[3:5] = 0.195, 0.705

    kl, _ = weight_divergences(np.stack([first, second])[:, None, :])
    apart = jaccard_distance(token_ranks(np.stack([first, second])[:, None, :]), percent=20)

    assert round(float(kl.values[0]), 2) == 0.66
    assert kl.values[0] == pytest.approx(0.51 * math.log(0.705 / 0.195), abs=1e-8)  # epsilon
    assert apart.values[0] == 0.0
