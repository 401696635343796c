import math

import numpy as np
import pytest
import torch
from torchmetrics.functional.classification import multiclass_calibration_error

from seedproof.metrics.batch import Batch
from seedproof.metrics.calibration import (
    N_BINS,
    Calibration,
    calibration_errors,
    confidence_bins,
)
from seedproof.records.schema import UNLABELED
from seedproof.stats.intervals import estimate
from support import oracles

# Two runs, three examples, all of class 0: sure and right, sure and wrong, hesitant and right.
LABELS = np.array([0, 0, 0])
SMALL = np.array(
    [
        [[0.95, 0.03, 0.02], [0.02, 0.97, 0.01], [0.62, 0.2, 0.18]],
        [[0.80, 0.10, 0.10], [0.70, 0.20, 0.10], [0.62, 0.2, 0.18]],
    ]
)


def calibration_of(probs, labels):
    """The family after one batch."""
    family = Calibration(len(probs), probs.shape[2])
    family.update(Batch.from_probs(probs, labels))
    return family


def values_of(probs, labels):
    """The value of each figure."""
    result = calibration_of(probs, labels).result()
    return {name: estimate(statistic).value for name, statistic in result.items()}


def random_study(seed, shape=(4, 200), n_classes=5):
    """Probabilities and the labels that are drawn from something like them."""
    rng = np.random.default_rng(seed)
    usual = rng.normal(0, 2, (shape[1], n_classes))
    raised = np.exp(usual + rng.normal(0, 0.7, (*shape, n_classes)))
    labels = (usual + rng.gumbel(size=usual.shape)).argmax(axis=1)
    return raised / raised.sum(axis=2, keepdims=True), labels


def test_calibration_errors_by_hand():
    """Run 0: the bin from 14/15 has confidence 0.96 and accuracy 1/2, that from 9/15 0.62 and 1.

    ECE 2/3·0.46 + 1/3·0.38 = 0.4333, MCE 0.46. Run 1 has gaps 0.2, 0.3, 0.38: 0.2933 and 0.38.
    """
    detail = calibration_of(SMALL, LABELS).detail()

    np.testing.assert_allclose(detail["ece_by_run"], [1.3 / 3, 0.88 / 3], rtol=1e-14)
    np.testing.assert_allclose(detail["mce_by_run"], [0.46, 0.38], rtol=1e-14)


def test_means_and_spreads_over_runs_by_hand():
    """Two values a and b have the mean (a+b)/2 and the sd |a-b|/√2."""
    values = values_of(SMALL, LABELS)

    assert values["ece"] == pytest.approx((1.3 + 0.88) / 6)
    assert values["ece_sd"] == pytest.approx((1.3 - 0.88) / 3 / math.sqrt(2))
    assert values["mce"] == pytest.approx(0.42)
    assert values["mce_sd"] == pytest.approx(0.08 / math.sqrt(2))


def test_a_confidence_of_one_belongs_to_the_last_bin():
    """1.0 right and 0.95 wrong share a bin: accuracy 0.5, confidence 0.975, MCE 0.475.

    In a bin of its own the 1.0 would have no gap, and the other one 0.95.
    """
    probs = np.array([[[1.0, 0.0, 0.0], [0.02, 0.95, 0.03]]] * 2)

    assert confidence_bins(np.array([1.0, 0.95])).tolist() == [14, 14]
    assert values_of(probs, np.array([0, 0]))["mce"] == pytest.approx(0.475)


@pytest.mark.parametrize(
    ("confidence", "place"), [(0.0, 0), (0.5, 7), (0.6, 9), (0.6 - 1e-9, 8), (0.8, 12), (1.0, 14)]
)
def test_bins_have_equal_width_and_hold_their_lower_edge(confidence, place):
    """Fifteen of them, as stated on the card."""
    assert N_BINS == 15
    assert confidence_bins(np.array([confidence])).tolist() == [place]


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize(("name", "norm"), [("ece_by_run", "l1"), ("mce_by_run", "max")])
def test_calibration_errors_are_those_of_torchmetrics(n_classes, name, norm):
    """Random confidences lie on no edge, where conventions differ."""
    probs, labels = random_study(0, n_classes=n_classes)

    expected = [
        multiclass_calibration_error(
            torch.from_numpy(run), torch.from_numpy(labels), n_classes, n_bins=15, norm=norm
        ).item()
        for run in probs
    ]

    by_run = calibration_of(probs, labels).detail()[name]
    np.testing.assert_allclose(by_run, expected, rtol=1e-5)  # theirs is float32


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "n_classes"), [((2, 1), 2), ((3, 60), 2), ((5, 40), 6)])
def test_figures_equal_the_loops(dtype, shape, n_classes):
    """Bins, one example at a time."""
    probs, labels = random_study(3, shape, n_classes)
    probs = probs.astype(dtype)
    exact = probs.astype(np.float64)
    errors = [
        oracles.slow_calibration_errors(run.max(axis=1), run.argmax(axis=1) == labels)
        for run in exact
    ]

    values = values_of(probs, labels)

    by_run = {
        "ece": np.array([ece for ece, _ in errors]),
        "mce": np.array([mce for _, mce in errors]),
    }
    for name, expected in by_run.items():
        # Rounding of at most 60 additions.
        assert values[name] == pytest.approx(expected.mean(), rel=1e-12)
        assert values[f"{name}_sd"] == pytest.approx(oracles.slow_sd(expected), abs=1e-13)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_identical_runs_have_no_spread(n_classes):
    """Exactly 0 for both: nobody should read 1e-16 in a table."""
    probs, labels = random_study(4, (1, 50), n_classes)

    values = values_of(np.repeat(probs, 5, axis=0), labels)

    spreads = {name: value for name, value in values.items() if name.endswith("_sd")}
    assert spreads == {"ece_sd": 0.0, "mce_sd": 0.0}


def test_a_certain_and_right_model_is_perfect():
    """All four figures are 0."""
    probs = np.repeat(np.eye(3)[None], 3, axis=0)

    assert set(values_of(probs, np.arange(3)).values()) == {0.0}


def test_empty_bins_have_no_gap():
    """Only bins with examples can hold the largest error."""
    counts, right = np.array([[0, 2]]), np.array([[0, 1]])

    expected, largest = calibration_errors(counts, right, np.array([[0.0, 1.8]]))

    assert expected[0] == pytest.approx(0.4)
    assert largest[0] == pytest.approx(0.4)


def test_reliability_of_two_classes_is_kept_apart_by_predicted_class():
    """Negative and positive cases each have their diagram; more classes share one."""
    probs, labels = random_study(5, (3, 80), 2)

    detail = calibration_of(probs, labels).detail()

    assert detail["reliability_count"].shape == (3, 2, N_BINS)
    positive = (probs[:, :, 1] > 0.5).sum(axis=1)
    np.testing.assert_array_equal(detail["reliability_count"][:, 1].sum(axis=1), positive)
    right = ((probs[:, :, 1] > 0.5) & (labels == 1)).sum(axis=1)
    np.testing.assert_array_equal(detail["reliability_right"][:, 1].sum(axis=1), right)
    # The confidence in the predicted one of two classes starts at a half.
    assert not detail["reliability_count"][:, :, :7].any()


def test_reliability_of_more_classes_is_one_diagram():
    """Every example is in it once, with its confidence."""
    probs, labels = random_study(6, (3, 80))

    detail = calibration_of(probs, labels).detail()

    assert detail["reliability_count"].shape == (3, 1, N_BINS)
    assert (detail["reliability_count"].sum(axis=(1, 2)) == 80).all()
    confidence = detail["reliability_confidence"].sum(axis=(1, 2))
    np.testing.assert_allclose(confidence, probs.max(axis=2).sum(axis=1), rtol=1e-13)


def test_unlabeled_examples_do_not_count():
    """Nobody knows whether they are right."""
    probs, labels = random_study(7)
    labels[::3] = UNLABELED
    known = labels != UNLABELED

    values = values_of(probs, labels)

    # The same numbers in arrays of another layout: sums may round differently.
    assert values == pytest.approx(values_of(probs[:, known], labels[known]), rel=1e-12)


def test_a_batch_of_unlabeled_examples_adds_nothing():
    """A stretch without labels in a labeled study is passed over."""
    probs, labels = random_study(8)
    family = calibration_of(probs, labels)
    before = {name: estimate(value) for name, value in family.result().items()}

    family.update(Batch.from_probs(probs, np.full(len(labels), UNLABELED)))

    assert {name: estimate(value) for name, value in family.result().items()} == before


@pytest.mark.parametrize(
    "batch",
    [
        Batch.from_probs(SMALL),
        Batch(SMALL.argmax(axis=2), n_classes=3, labels=LABELS),
    ],
    ids=["without labels", "without probabilities"],
)
def test_it_refuses_what_it_cannot_judge(batch):
    """Calibration compares probabilities with labels."""
    with pytest.raises(ValueError):
        Calibration(2, 3).update(batch)
