"""Exact tests of the numbers of single examples, against scipy's rank sums of all assignments."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import fisher_exact, mannwhitneyu, rankdata

from seedproof.stats.rank_tests import all_ways, examine_numbers


def p_value_of(old, new):
    """Share of the assignments whose rank sum is at least as far from its expectation."""
    ranks = rankdata(np.concatenate([old, new]))
    expected = len(old) * (len(ranks) + 1) / 2
    apart = [
        abs(sum(ranks[list(way)]) - expected) for way in combinations(range(len(ranks)), len(old))
    ]
    return np.mean([x >= apart[0] - 1e-9 for x in apart])


@pytest.mark.parametrize(("n_old", "n_new"), [(5, 5), (3, 6), (1, 19)])
@pytest.mark.parametrize("has_ties", [False, True])
def test_p_value_is_that_of_all_assignments(n_old, n_new, has_ties):
    numbers = np.random.default_rng(n_old).standard_normal((n_old + n_new, 12))
    numbers[:n_old, :4] += 2
    if has_ties:
        numbers = np.round(numbers)

    result = examine_numbers(numbers[:n_old], numbers[n_old:])

    expected = [p_value_of(x[:n_old], x[n_old:]) for x in numbers.T]
    np.testing.assert_allclose(result.p_values, expected)
    if not has_ties:
        exact = [mannwhitneyu(x[:n_old], x[n_old:], method="exact").pvalue for x in numbers.T]
        np.testing.assert_allclose(result.p_values, exact)


def test_examples_that_cannot_be_significant_are_not_tested():
    """The least p-value of 3 and 3 runs is 0.1, that of 5 and 5 is 2/252; ties have larger ones."""
    few = np.arange(6.0)[:, np.newaxis]
    enough = np.column_stack([np.arange(10.0), np.ones(10)])

    assert not examine_numbers(few[:3], few[3:]).is_tested.any()
    result = examine_numbers(enough[:5], enough[5:])
    assert result.is_tested.tolist() == [True, False]
    assert dict(result.counts) == {2: 1}
    assert result.p_values.tolist() == pytest.approx([2 / 252, 1.0])


def test_many_runs_are_tested_by_the_median():
    """Fisher's exact test of the numbers above the median of both versions."""
    numbers = np.random.default_rng(3).standard_normal((16, 10))
    numbers[:8, :5] += 1.5

    result = examine_numbers(numbers[:8], numbers[8:])

    above = numbers > np.median(numbers, axis=0)
    for place, column in enumerate(above.T):
        a, b = column[:8].sum(), column[8:].sum()
        expected = fisher_exact([[a, 8 - a], [b, 8 - b]]).pvalue
        assert result.p_values[place] == pytest.approx(expected)


def test_the_first_way_is_the_one_seen():
    ways = all_ways(5, 2)

    assert ways[0].tolist() == [1, 1, 0, 0, 0]
    assert len({tuple(way) for way in ways.tolist()}) == len(ways) == 10
