import math

import numpy as np
import pytest
from scipy import stats

from seedproof.metrics.batch import Batch
from seedproof.metrics.confidence import (
    AGREEMENTS,
    MAP_COLUMNS,
    MAP_ROWS,
    Confidence,
    probability_sd,
)
from seedproof.records.probabilities import UNLABELED
from seedproof.stats.intervals import estimate
from support import oracles


def binary(positive):
    """Probabilities of two classes from those of the second one, axes (runs, examples)."""
    positive = np.asarray(positive, dtype=np.float64)
    return np.stack([1 - positive, positive], axis=2)


def confidence_of(probs, labels=None):
    """The family after one batch."""
    family = Confidence(len(probs), probs.shape[2])
    family.update(Batch.from_probs(probs, labels))
    return family


def value_of(probs, labels=None):
    """The mean standard deviation."""
    return estimate(confidence_of(probs, labels).result()["probability_sd"]).value


def test_probability_sd_by_hand():
    """0.6 and 0.8 lie 0.1 from their mean: √((0.01 + 0.01)/1) = 0.1414."""
    assert value_of(binary([[0.6], [0.8]])) == pytest.approx(math.sqrt(0.02), rel=1e-14)


def test_the_gold_class_is_followed_where_it_is_known():
    """Runs agree on class 0 at 0.5 but not on the gold class 2: 0.1, 0.3 → √0.02."""
    probs = np.array([[[0.5, 0.4, 0.1]], [[0.5, 0.2, 0.3]]])

    assert value_of(probs, np.array([2])) == pytest.approx(math.sqrt(0.02), rel=1e-14)


def test_the_consensus_is_followed_without_a_label():
    """Two of three runs say class 1, whose probabilities are 0.6, 0.9, 0.3: sd 0.3."""
    probs = np.array([[[0.3, 0.6, 0.1]], [[0.1, 0.9, 0.0]], [[0.4, 0.3, 0.3]]])

    assert value_of(probs) == pytest.approx(0.3, rel=1e-14)
    assert value_of(probs, np.array([UNLABELED])) == value_of(probs)
    assert value_of(probs, np.array([0])) != value_of(probs)


def test_columns_hold_mean_and_sd_of_each_example():
    """The map of the papers: μ and σ over runs of the gold class's probability."""
    probs = binary([[0.6, 0.1], [0.8, 0.1]])

    columns = Confidence(len(probs), probs.shape[2]).update(
        Batch.from_probs(probs, np.array([1, 1]))
    )

    np.testing.assert_allclose(columns["probability_mean"], [0.7, 0.1], rtol=1e-15)
    np.testing.assert_allclose(columns["probability_sd"], [math.sqrt(0.02), 0], rtol=1e-14)


@pytest.mark.parametrize("shape", [(2, 40), (3, 40), (10, 60)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_probability_sd_equals_that_of_scipy(shape, dtype):
    """R - 1 in the denominator, in 64 bits whatever the input."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1, 1, 1], size=shape).astype(dtype)
    labels = rng.integers(0, 3, shape[1])
    gold = np.take_along_axis(probs, labels[None, :, None], axis=2)[:, :, 0].astype(np.float64)

    expected = stats.tstd(gold, axis=0)

    np.testing.assert_allclose(probability_sd(gold).values, expected, rtol=1e-13)
    assert value_of(probs, labels) == pytest.approx(expected.mean(), rel=1e-13)


def test_the_largest_spread_is_that_of_two_certain_runs_that_contradict_each_other():
    """0 and 1: √(1/2) = 0.71, the bound; more runs stay below."""
    assert value_of(binary([[0.0], [1.0]])) == pytest.approx(math.sqrt(0.5), rel=1e-15)
    assert value_of(binary([[0.0], [1.0], [0.0], [1.0]])) < math.sqrt(0.5)


def test_a_spread_made_by_one_run_leaves_nothing_without_it():
    """Deleting the odd run leaves equal values: exactly 0, not the root of a rounding error."""
    followed = np.array([[0.1], [0.1], [0.1], [0.9]])

    without = probability_sd(followed).without

    assert without[3, 0] == 0.0
    np.testing.assert_allclose(without[:3, 0], np.std([0.1, 0.1, 0.9], ddof=1), rtol=1e-14)


def test_a_spread_mostly_made_by_one_run_keeps_its_digits():
    """Beside a run that is 0.8 away the others' 1e-5 would drown in a subtraction of squares."""
    followed = np.array([[0.1], [0.10001], [0.10003], [0.9]])

    without = probability_sd(followed).without

    expected = np.std([0.1, 0.10001, 0.10003], ddof=1)
    assert without[3, 0] == pytest.approx(expected, rel=1e-10)


def test_of_two_runs_none_can_be_left_out():
    """One value has no spread."""
    assert probability_sd(np.array([[0.2], [0.4]])).without is None


def test_the_curve_of_two_classes_runs_over_the_second_one():
    """Mean probabilities 0.05, 0.95 and 1.0 of the positive class: bins 0, 9 and 9.

    The gold labels do not move an example to another bin. Spreads are √2·0.01, √2·0.03 and 0.
    """
    probs = binary([[0.04, 0.92, 1.0], [0.06, 0.98, 1.0]])

    curve = confidence_of(probs, np.array([0, 0, 1])).detail()

    assert curve["sd_curve_count"].tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0, 2]
    mean = curve["sd_curve_mean"]
    assert mean[0] == pytest.approx(math.sqrt(2) * 0.01)
    assert mean[9] == pytest.approx(math.sqrt(2) * 0.015)
    assert np.isnan(mean[1:9]).all()


def test_the_curve_of_more_classes_runs_over_the_followed_one():
    """The gold class has 0.25 on average: bin 2."""
    probs = np.array([[[0.6, 0.2, 0.2]], [[0.6, 0.3, 0.1]]])

    curve = confidence_of(probs, np.array([1])).detail()

    assert curve["sd_curve_count"].nonzero()[0].tolist() == [2]


def test_the_error_of_the_curve_is_that_of_a_mean():
    """sd/√n of the spreads in a bin; 0 for a single example, not a number for none."""
    rng = np.random.default_rng(3)
    positive = 0.55 + 0.04 * rng.random((4, 20))

    curve = confidence_of(binary(positive)).detail()

    spreads = oracles.slow_probability_sd(positive)
    assert curve["sd_curve_count"][5] == 20
    # The variance is a difference of mean squares, which loses some digits.
    expected = spreads.std(ddof=1) / math.sqrt(20)
    assert curve["sd_curve_error"][5] == pytest.approx(expected, rel=1e-9)
    assert np.isnan(curve["sd_curve_error"][0])


def test_the_map_counts_examples_by_agreement_spread_and_mean():
    """Four runs of two classes, class 1 gold everywhere.

    Unanimous at 0.9 without spread; three against one; two against two; unanimous and certain.
    """
    positive = [
        [0.9, 0.7, 0.8, 1.0],
        [0.9, 0.7, 0.8, 1.0],
        [0.9, 0.7, 0.2, 1.0],
        [0.9, 0.3, 0.2, 1.0],
    ]

    counts = confidence_of(binary(positive), np.ones(4, dtype=int)).detail()["confidence_map"]

    assert counts.shape == (len(AGREEMENTS), MAP_ROWS, MAP_COLUMNS)
    # 3 v 1 has the entropy 0.562, which is above 0.56 already.
    assert counts.sum(axis=(1, 2)).tolist() == [2, 0, 2]
    # 0.9·60 rounds to 54 or lies a hair below; 1.0 belongs to the last column.
    assert counts[0, 0, 53:55].sum() == 1
    assert counts[0, 0, 59] == 1
    # Means 0.6 and 0.5; spreads 0.2 and √(4·0.09/3) = 0.346 of at most 0.707.
    assert counts[2, int(0.2 / math.sqrt(0.5) * 40), 35:37].sum() == 1
    assert counts[2, int(math.sqrt(0.12) / math.sqrt(0.5) * 40), 29:31].sum() == 1


def test_the_map_tells_some_that_differ_from_a_toss():
    """Four against one of five runs has the entropy 0.500: some differ, no toss."""
    positive = [[0.8], [0.8], [0.8], [0.8], [0.3]]

    counts = confidence_of(binary(positive)).detail()["confidence_map"]

    assert counts.sum(axis=(1, 2)).tolist() == [0, 1, 0]


def test_the_largest_spread_is_on_the_map():
    """Certain runs that contradict each other fall into the last row, not beyond."""
    counts = confidence_of(binary([[0.0], [1.0]])).detail()["confidence_map"]

    assert counts[2, MAP_ROWS - 1].sum() == 1


def test_predictions_alone_are_refused():
    """Without probabilities nothing can be followed."""
    with pytest.raises(ValueError):
        Confidence(2, 2).update(Batch(np.array([[0], [1]]), n_classes=2))
