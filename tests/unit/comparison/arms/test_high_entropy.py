"""The effect of an arm on examples of high baseline entropy."""

import numpy as np
import pytest

from seedproof.comparison.arms.high_entropy import HighEntropySums
from seedproof.metrics.batch import Batch


def votes(rng, chances, n_runs):
    """Draw runs that choose the second of two classes with each example's probability."""
    predictions = (rng.random((n_runs, len(chances))) < chances).astype(int)
    return Batch(predictions, n_classes=2)


@pytest.mark.parametrize(("n_runs", "regression"), [(10, 0.15), (50, 0.03)])
def test_equal_arms_show_no_reduction_if_cross_fitted(n_runs, regression):
    """The published method shows 15 and 3 %: regression to the mean."""
    rng = np.random.default_rng(5)
    chances = rng.beta(0.4, 0.4, 20_000)
    sums = HighEntropySums(n_runs, n_runs)

    sums.update(votes(rng, chances, n_runs), votes(rng, chances, n_runs))

    result = sums.result()
    assert abs(result.reduction) < 0.05
    assert result.as_published == pytest.approx(regression, abs=0.05)
    assert result.n_chosen > 1_000


def test_an_arm_that_copies_the_baseline_shows_no_reduction():
    """Runs whose seeds chose the examples are not measured."""
    rng = np.random.default_rng(10)
    base = votes(rng, rng.beta(0.4, 0.4, 20_000), 10)
    sums = HighEntropySums(10, 10, partners=tuple(range(10)))

    sums.update(base, Batch(base.predictions.copy(), n_classes=2))

    assert sums.result().reduction == 0.0


def test_some_copies_of_the_baseline_show_no_reduction():
    """Runs whose seeds chose the examples are not measured, in any order of the runs."""
    rng = np.random.default_rng(11)
    base = votes(rng, rng.beta(0.4, 0.4, 20_000), 40)
    partners = (3, 38, 12, 25, 6, 31, 17, 20, 9, 34, 1, 28)
    sums, unaware = HighEntropySums(40, 12, partners=partners), HighEntropySums(40, 12)

    for each in (sums, unaware):
        each.update(base, Batch(base.predictions[list(partners)], n_classes=2))

    assert abs(sums.result().reduction) < 0.01
    # Half of the arm's runs chose the examples: entropy is high where they disagree.
    assert unaware.result().reduction < -0.02


def test_a_half_with_fewer_than_two_runs_to_measure_is_left_out():
    """Of four ways to choose, one is left: on the second and fourth run, measured on the others."""
    rng = np.random.default_rng(12)
    base = votes(rng, rng.beta(0.4, 0.4, 500), 4)
    sums = HighEntropySums(4, 2, partners=(0, 2))

    sums.update(base, Batch(base.predictions[[0, 2]], n_classes=2))

    assert sums.result().reduction == 0.0
    assert sums.result().n_chosen == (base.predictions[1] != base.predictions[3]).sum()


def test_an_arm_whose_runs_agree_reduces_all_entropy():
    """By both figures."""
    rng = np.random.default_rng(6)
    chances = rng.random(2_000)
    sums = HighEntropySums(10, 10)
    agreed = Batch(np.ones((10, 2_000), dtype=int), n_classes=2)

    sums.update(votes(rng, chances, 10), agreed)

    assert (sums.result().reduction, sums.result().as_published) == (1.0, 1.0)


def test_unequal_numbers_of_runs_are_compared_at_the_smaller():
    """Six runs against thirty of the same population."""
    rng = np.random.default_rng(7)
    chances = rng.beta(0.4, 0.4, 20_000)
    sums = HighEntropySums(30, 6)

    sums.update(votes(rng, chances, 30), votes(rng, chances, 6))

    assert abs(sums.result().reduction) < 0.05


def test_three_runs_cannot_be_cut_into_halves():
    """A half needs two runs to disagree."""
    rng = np.random.default_rng(8)
    sums = HighEntropySums(3, 3)
    sums.update(votes(rng, rng.random(50), 3), votes(rng, rng.random(50), 3))

    assert sums.result().reduction is None


def test_merging_is_adding():
    """Two parts make the whole."""
    rng = np.random.default_rng(9)
    whole, parts = HighEntropySums(6, 6), [HighEntropySums(6, 6), HighEntropySums(6, 6)]
    for part in parts:
        pair = votes(rng, rng.random(100), 6), votes(rng, rng.random(100), 6)
        part.update(*pair)
        whole.update(*pair)

    parts[0].merge(parts[1])

    # Sums of floats in another order.
    assert parts[0].result().reduction == pytest.approx(whole.result().reduction, rel=1e-12)
    assert parts[0].result().n_chosen == whole.result().n_chosen
