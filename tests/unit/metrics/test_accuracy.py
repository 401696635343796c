import math

import numpy as np
import pytest
import torch
from torchmetrics.functional.classification import multiclass_accuracy

from seedproof.metrics.accuracy import Accuracy, accuracy, correctness_variance
from seedproof.metrics.batch import Batch
from seedproof.records.probabilities import UNLABELED
from seedproof.stats.intervals import estimate
from support import oracles

# Three runs, four examples: right on 3, 2 and 4 of them.
LABELS = np.array([0, 1, 2, 0])
SMALL = np.array([[0, 1, 2, 1], [0, 2, 1, 0], [0, 1, 2, 0]])


def accuracy_of(predictions, labels, n_classes=3):
    """Return the family after one batch."""
    family = Accuracy(len(predictions), n_classes)
    family.update(Batch(predictions, n_classes=n_classes, labels=labels))
    return family


def values_of(predictions, labels, n_classes=3):
    """The value of each figure."""
    result = accuracy_of(predictions, labels, n_classes).result()
    return {name: estimate(statistic).value for name, statistic in result.items()}


def random_study(seed, shape=(6, 80), n_classes=4):
    """Predictions that are right on most examples, and the labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, shape[1])
    wrong = rng.random(shape) < rng.uniform(0.1, 0.4, (shape[0], 1))
    return np.where(wrong, rng.integers(0, n_classes, shape), labels), labels


def test_accuracy_and_its_spread_by_hand():
    """Runs are correct on 3, 2 and 4 of 4 examples: 9/12, with the variance (0 + 1/16 + 1/16)/2.

    Shares of correct runs are 1, 2/3, 2/3, 2/3: each 2/3·1/3·3/2 = 1/3; √(3·(1/3)/16) = 1/4.
    """
    values = values_of(SMALL, LABELS)

    assert values["accuracy"] == 0.75
    assert values["accuracy_sd"] == pytest.approx(0.25, rel=1e-15)
    assert values["accuracy_sd_independent"] == pytest.approx(0.25, rel=1e-15)
    by_run = accuracy_of(SMALL, LABELS).detail()["accuracy_by_run"]
    assert by_run.tolist() == [0.75, 0.5, 1.0]


def test_excess_by_hand():
    """Two runs that are correct on all or on none of 4 examples: sd² = 1/2, independent² = 1/8."""
    predictions = np.array([[0, 1, 2, 0], [1, 2, 0, 1]])

    values = values_of(predictions, LABELS)

    assert values["accuracy_sd"] == pytest.approx(math.sqrt(1 / 2))
    assert values["accuracy_sd_independent"] == pytest.approx(math.sqrt(1 / 8))
    assert values["accuracy_sd_excess"] == pytest.approx(math.sqrt(3 / 8))


def test_excess_is_zero_where_runs_are_closer_than_chance():
    """Runs that are wrong on one example each, all different, have equal accuracies."""
    predictions = np.array([[1, 1, 2, 0], [0, 2, 2, 0], [0, 1, 0, 0]])

    values = values_of(predictions, LABELS)

    assert values["accuracy_sd"] == 0
    assert values["accuracy_sd_independent"] > 0
    assert values["accuracy_sd_excess"] == 0


@pytest.mark.parametrize(
    ("labels", "expected"),
    [(np.array([0, UNLABELED, 2, 0]), [1, np.nan, 2 / 3, 2 / 3]), (None, [np.nan] * 4)],
    ids=["some-labels", "no-labels"],
)
def test_column_is_the_share_of_correct_runs(labels, expected):
    """NaN where the label is unknown."""
    columns = Accuracy(len(SMALL), 3).update(Batch(SMALL, n_classes=3, labels=labels))

    np.testing.assert_allclose(columns["correct_share"], expected, rtol=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_accuracy_of_each_run_equals_torchmetrics(seed):
    """Micro-averaged, as people report it."""
    predictions, labels = random_study(seed)

    expected = [
        multiclass_accuracy(
            torch.from_numpy(run), torch.from_numpy(labels), num_classes=4, average="micro"
        ).item()
        for run in predictions
    ]

    by_run = accuracy_of(predictions, labels, 4).detail()["accuracy_by_run"]
    np.testing.assert_allclose(by_run, expected, rtol=1e-6)  # theirs is float32


@pytest.mark.parametrize("shape", [(2, 1), (2, 30), (3, 40), (9, 25)])
def test_figures_equal_the_loops(shape):
    """Accuracy and its spreads from counts are those of one run and one example at a time."""
    predictions, labels = random_study(5, shape)
    by_run = oracles.slow_accuracy_by_run(predictions, labels)
    independent = oracles.slow_accuracy_sd_independent(predictions, labels)

    values = values_of(predictions, labels, 4)

    # Rounding of about 40 additions; that of the excess is of its square.
    assert values["accuracy"] == pytest.approx(by_run.mean(), rel=1e-13)
    assert values["accuracy_sd"] == pytest.approx(oracles.slow_sd(by_run), abs=1e-14)
    assert values["accuracy_sd_independent"] == pytest.approx(independent, rel=1e-13)
    excess = max(0.0, oracles.slow_sd(by_run) ** 2 - independent**2)
    assert values["accuracy_sd_excess"] ** 2 == pytest.approx(excess, abs=1e-14)


@pytest.mark.parametrize("seed", range(4))
def test_independent_spread_counts_pairs_of_which_one_run_is_correct(seed):
    """√(c/2n), c the share of examples on which exactly one of two runs is correct."""
    predictions, labels = random_study(seed, n_classes=5)
    half_right = oracles.slow_half_right(predictions, labels)

    values = values_of(predictions, labels, 5)

    assert half_right < oracles.slow_flip_rate(predictions).mean()
    expected = math.sqrt(half_right / (2 * len(labels)))
    assert values["accuracy_sd_independent"] == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("n_runs", [2, 3, 5, 10])
def test_equal_accuracies_have_no_spread(n_runs):
    """Exactly 0 at any accuracy, although the mean of 0.05 three times is not 0.05."""
    labels = np.zeros(20, dtype=int)

    for n_wrong in range(21):
        predictions = np.repeat([np.arange(20) < n_wrong], n_runs, axis=0).astype(int)
        assert values_of(predictions, labels, 2)["accuracy_sd"] == 0.0, n_wrong


@pytest.mark.parametrize(("answer", "expected"), [(0, 0.0), (1, 1.0)])
def test_accuracy_reaches_its_bounds(answer, expected):
    """All wrong is 0, all right is 1, without rounding."""
    values = values_of(np.full((7, 30), answer), np.ones(30, dtype=int))

    assert values["accuracy"] == expected


def test_kernels_return_one_value_per_example():
    """Shares of correct runs and their variances, which are at most one half."""
    correct, pair = SMALL == LABELS, np.array([[True], [False]])

    np.testing.assert_allclose(accuracy(correct).values, [1, 2 / 3, 2 / 3, 2 / 3], rtol=1e-15)
    np.testing.assert_allclose(correctness_variance(correct).values, [0, 1 / 3, 1 / 3, 1 / 3])
    assert correctness_variance(pair).values.tolist() == [0.5]
    assert accuracy(pair).without is None  # of two runs none can be left out
    assert correctness_variance(pair).without is None


def test_labels_of_another_length_are_refused():
    """Three labels for four examples."""
    with pytest.raises((ValueError, IndexError)):
        accuracy_of(SMALL, LABELS[:3])
