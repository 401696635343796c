"""Kernels for unequal numbers of trials: against loops over pairs, and those of equal numbers."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

from seedproof.metrics.numbers import NUMBER_FAMILIES, unequal
from seedproof.metrics.numbers.batch import NumberBatch
from seedproof.metrics.numbers.levels import Tree
from seedproof.metrics.numbers.means import Means
from seedproof.metrics.numbers.passes import Passes
from seedproof.metrics.numbers.spread import Spread
from seedproof.records.answer_settings import AnswerSettings, Tolerance
from seedproof.stats.intervals import estimate

TRIALS = AnswerSettings(are_trials=True)
UNEQUAL = AnswerSettings(are_trials=True, are_unequal=True)
COUNTS = np.array([1, 2, 3, 4, 4, 2, 3])


@pytest.fixture(params=["scores", "outcomes"])
def numbers(request):
    rng = np.random.default_rng(8)
    drawn = rng.normal(1e6, 1, (4, 7))
    if request.param == "outcomes":
        drawn = (rng.random((4, 7)) < 0.6).astype(float)
    return np.where(np.arange(4)[:, np.newaxis] < COUNTS, drawn, np.nan)


def of_each(numbers, k=1):
    """The trials of each example with at least k."""
    return [x[~np.isnan(x)] for x in numbers.T if np.count_nonzero(~np.isnan(x)) >= k]


def over_pairs(numbers, distance):
    return [np.mean([distance(a, b) for a, b in combinations(x, 2)]) for x in of_each(numbers, 2)]


def test_means_and_variances_are_those_of_own_trials(numbers):
    assert unequal.mean_of_trials(numbers).values == pytest.approx(
        [x.mean() for x in of_each(numbers)]
    )
    # Squares of deviations from 10⁶ keep about ten digits.
    assert unequal.variance_of_trials(numbers).values == pytest.approx(
        [x.var(ddof=1) for x in of_each(numbers, 2)], rel=1e-8
    )


def test_pairs_are_those_of_own_trials(numbers):
    level, tolerance = np.nanmean(numbers), Tolerance(0.7)

    assert unequal.difference_of_trials(numbers).values == pytest.approx(
        over_pairs(numbers, lambda a, b: abs(a - b)), rel=1e-8
    )
    assert unequal.flips_of_trials(numbers >= level, numbers).values == pytest.approx(
        over_pairs(numbers, lambda a, b: (a >= level) != (b >= level))
    )
    assert unequal.beyond_of_trials(numbers, tolerance).values == pytest.approx(
        over_pairs(numbers, lambda a, b: abs(a - b) > 0.7)
    )


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_powers_are_of_examples_with_enough_trials(k):
    """Against all choices of k trials."""
    drawn = (np.random.default_rng(2).random((4, 7)) < 0.6).astype(float)
    numbers = np.where(np.arange(4)[:, np.newaxis] < COUNTS, drawn, np.nan)
    choices = [list(combinations(x, k)) for x in of_each(numbers, k)]

    every = unequal.all_of_trials(numbers == 1.0, numbers, k)
    some = unequal.any_of_trials(numbers == 1.0, numbers, k)

    assert every.values == pytest.approx([np.mean([all(c) for c in x]) for x in choices])
    assert some.values == pytest.approx([np.mean([any(c) for c in x]) for x in choices])
    assert every.places.tolist() == np.flatnonzero(k <= COUNTS).tolist()
    assert all(
        len(x) == comb(len(own), k) for x, own in zip(choices, of_each(numbers, k), strict=True)
    )


@pytest.mark.parametrize("family", [Means, Passes, Spread])
def test_equal_numbers_of_trials_give_the_same_figures(family):
    """Read as unequal, complete trials have the figures and intervals that they have anyway."""
    numbers = (np.random.default_rng(3).random((3, 60)) < 0.7).astype(float)
    results = []
    for settings in (TRIALS, UNEQUAL):
        of_settings = family(3, settings)
        of_settings.update(NumberBatch(numbers, tree=Tree.of(settings, 3)))
        results.append({name: estimate(x) for name, x in of_settings.result().items()})

    assert results[0].keys() == results[1].keys()
    for name, equal in results[0].items():
        other = results[1][name]
        assert (other.value, other.low, other.high) == pytest.approx(
            (equal.value, equal.low, equal.high)
        )


def test_figures_without_any_example_are_left_out():
    """If no example of a part has two trials, nothing shows how far trials differ."""
    numbers = np.array([[1.0, 0.0, 0.5], [np.nan] * 3])
    tree, batch = Tree.of(UNEQUAL, 2), NumberBatch(numbers, tree=Tree.of(UNEQUAL, 2))
    families = [family(2, UNEQUAL) for family in NUMBER_FAMILIES if family.applies(tree)]
    for family in families:
        family.update(batch)

    assert [name for family in families for name in family.result()] == ["mean"]
