"""Exact tests of single examples, and the false discovery rate over them."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, fisher_exact

from seedproof.comparison.versions.disagreement import Disagreement
from seedproof.stats.vote_tests import adjusted, all_splits, discover, examine_votes, tails


def _p_values(old, new):
    old, new = np.asarray(old), np.asarray(new)
    return examine_votes(old, new, Disagreement.count(old, new).agreement)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ([0, 0, 0, 0, 0], [1, 1, 1, 1, 1], 2 / 252),  # both complete splits
        ([0, 0, 0, 0, 1], [0, 1, 1, 1, 1], (2 + 2 * 25) / 252),  # 5·5 ways to be one off
        ([0, 0, 1], [1, 1, 1], 8 / 20),  # 4 ways to give both odd votes to one version, twice
        ([0, 1, 1], [1, 1, 1], 1.0),  # one odd vote is as likely in either version
        ([0], [1, 1, 1, 1], 1 / 5),  # one of five runs differs, and it is the old one
        ([2, 2, 2], [2, 2, 2], 1.0),
    ],
)
def test_p_value_equals_the_hand_computed_value(old, new, expected):
    """All assignments of the pooled votes are equally likely; those at most as likely add up."""
    result = _p_values(np.transpose([old]), np.transpose([new]))

    assert result.p_values[0] == pytest.approx(expected, rel=1e-15)


@given(n_old=st.integers(1, 9), n_new=st.integers(1, 9), data=st.data())
def test_two_classes_give_fishers_exact_test(n_old, n_new, data):
    """Scipy's two-sided test, which adds up equal probabilities with a tolerance."""
    a, b = data.draw(st.integers(0, n_old)), data.draw(st.integers(0, n_new))
    old = np.array([[0]] * a + [[1]] * (n_old - a))
    new = np.array([[0]] * b + [[1]] * (n_new - b))

    expected = fisher_exact([[a, n_old - a], [b, n_new - b]]).pvalue

    # scipy works in floating point.
    assert _p_values(old, new).p_values[0] == pytest.approx(expected, rel=1e-9)


@given(
    old=st.lists(st.integers(0, 4), min_size=1, max_size=5),
    new=st.lists(st.integers(0, 4), min_size=1, max_size=4),
)
def test_more_classes_give_the_share_of_all_assignments(old, new):
    """Classes beyond the two with most votes count as a single class."""
    pooled = old + new
    ranked = sorted(set(pooled), key=lambda vote: (-pooled.count(vote), vote))
    collapsed = [min(ranked.index(vote), 2) for vote in pooled]
    tables = [
        tuple(sorted(collapsed[i] for i in chosen))
        for chosen in combinations(range(len(pooled)), len(old))
    ]
    seen = tables.count(tuple(sorted(collapsed[: len(old)])))
    unlikely = sum(tables.count(table) <= seen for table in tables)

    result = _p_values(np.transpose([old]), np.transpose([new]))

    # Both are one integer over another, and the division rounds.
    assert result.p_values[0] == pytest.approx(unlikely / len(tables), rel=1e-15)


@given(n_old=st.integers(1, 8), n_new=st.integers(1, 8), data=st.data())
def test_most_likely_split_has_a_p_value_of_1(n_old, n_new, data):
    """Exactly: all assignments count."""
    first = data.draw(st.integers(0, n_old + n_new))
    second = data.draw(st.integers(0, n_old + n_new - first))

    result = tails(first, second, n_old=n_old, n_new=n_new)

    assert max(result.values()) == comb(n_old + n_new, n_old)


def test_examples_that_cannot_be_significant_are_not_tested():
    """Of ten runs, one odd vote has p = 1 in either version; five and five may be significant."""
    old = np.array([[0, 0, 0], [0, 0, 0], [0, 0, 1], [0, 0, 1], [0, 1, 1]])
    new = np.array([[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1], [0, 0, 1]])

    result = _p_values(old, new)

    assert result.is_tested.tolist() == [False, False, True]
    assert sum(result.counts.values()) == 1


@given(numerators=st.lists(st.integers(1, 252), min_size=1, max_size=60))
def test_discoveries_are_those_of_benjamini_and_hochberg(numerators):
    """Adjusted p-values and their number equal those of scipy."""
    counts = {n: numerators.count(n) for n in numerators}
    p_values = np.array(numerators) / 252

    result = discover(counts, n_old=5, n_new=5)
    expected = false_discovery_control(p_values)
    ours = adjusted(counts, n_old=5, n_new=5)

    # A tie with the rate is decided exactly here, and by rounding there.
    sure = np.abs(expected - 0.05) > 1e-12
    assert result.n_tested == len(numerators)
    if sure.all():
        assert result.n_found == (expected <= 0.05).sum()
    np.testing.assert_allclose([ours[n / 252] for n in numerators], expected, rtol=1e-12)


def test_numbers_needed_for_a_discovery():
    """5 and 5 runs give p = 2/252 at best: of 100 tested, 16 must differ; 8 runs: 2/12870 < .0005."""
    result = discover({252: 100}, n_old=5, n_new=5)

    assert (result.n_found, result.threshold) == (0, None)
    assert result.least_p == pytest.approx(2 / 252, rel=1e-15)
    assert result.n_needed == 16  # 100 · (2/252) / 0.05 = 15.9
    assert result.runs_needed == 8  # 2/C(14,7) = .00058 is above .0005, 2/C(16,8) = .00016 is not


def test_p_value_equal_to_the_rate_counts():
    """One example of one, with p = 1/20 exactly, is found: the comparison does not round."""
    assert all_splits(1, 19) == 20
    assert discover({1: 1}, n_old=1, n_new=19).n_found == 1
