import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torchmetrics.functional.classification import multiclass_calibration_error

from seedproof.metrics.batch import Batch
from seedproof.metrics.calibration import (
    N_BINS,
    N_BLOCKS,
    Calibration,
    blocks_of,
    calibration_errors,
    confidence_bins,
)
from seedproof.records.probabilities import TopProbs
from seedproof.stats.intervals import estimate

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
    Two values a and b have the mean (a+b)/2 and the sd |a-b|/√2.
    """
    detail, values = calibration_of(SMALL, LABELS).detail(), values_of(SMALL, LABELS)

    np.testing.assert_allclose(detail["ece_by_run"], [1.3 / 3, 0.88 / 3], rtol=1e-14)
    np.testing.assert_allclose(detail["mce_by_run"], [0.46, 0.38], rtol=1e-14)
    assert values["ece_sd"] == pytest.approx((1.3 - 0.88) / 3 / math.sqrt(2))
    assert values["mce"] == pytest.approx(0.42)
    assert values["mce_sd"] == pytest.approx(0.08 / math.sqrt(2))


def test_confidence_of_one_belongs_to_the_last_bin():
    """1.0 correct and 0.95 wrong share a bin: accuracy 0.5, confidence 0.975, MCE 0.475.

    In a bin of its own the 1.0 would have no gap, and the other one 0.95.
    """
    probs = np.array([[[1.0, 0.0, 0.0], [0.02, 0.95, 0.03]]] * 2)

    assert confidence_bins(np.array([1.0, 0.95])).tolist() == [14, 14]
    assert values_of(probs, np.array([0, 0]))["mce"] == pytest.approx(0.475)


@pytest.mark.parametrize(
    ("confidence", "place"), [(0.0, 0), (0.5, 7), (0.6, 9), (0.6 - 1e-9, 8), (0.8, 12), (1.0, 14)]
)
def test_bins_have_equal_width_and_include_their_lower_edge(confidence, place):
    """Fifteen of them, as stated on the card."""
    assert N_BINS == 15
    assert confidence_bins(np.array([confidence])).tolist() == [place]


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize(("name", "norm"), [("ece_by_run", "l1"), ("mce_by_run", "max")])
def test_calibration_errors_equal_torchmetrics(n_classes, name, norm):
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


def test_plain_error_is_the_mean_over_runs_and_never_below_the_corrected_one():
    """As torchmetrics has it for each run; 60 random examples, so that chance matters."""
    probs, labels = random_study(2, (4, 60))

    values = values_of(probs, labels)

    expected = [
        multiclass_calibration_error(
            torch.from_numpy(run), torch.from_numpy(labels), probs.shape[2], n_bins=15, norm="l1"
        ).item()
        for run in probs
    ]
    assert values["ece"] == pytest.approx(np.mean(expected), rel=1e-5)  # theirs is float32
    assert values["ece_corrected"] < values["ece"]


def test_clear_gaps_are_kept_and_gaps_by_chance_are_not():
    """A hundred examples of confidence 0.9: 50 right is a gap of 0.4, 91 right is chance."""
    probs = np.tile([0.9, 0.1], (2, 100, 1))

    clear = values_of(probs, np.repeat([0, 1], [50, 50]))["ece_corrected"]
    by_chance = values_of(probs, np.repeat([0, 1], [91, 9]))["ece_corrected"]

    assert clear == pytest.approx(0.4, abs=1e-9)
    assert by_chance == 0.0


def test_debiased_error_by_hand():
    """One bin of 100 examples, confidence 0.9 and 84 right.

    The variance is the largest of 0.84·0.16, 0.9·0.1 and that of (84 + 2)/(100 + 4), which is
    0.1431: s = 0.037831, z = −0.06/s = −1.58599. 2Φ(|z|) − 1 = 0.88726, φ(z) = 0.11343, so that
    the error is s·(1.58599·0.88726 − 0.11343) = 0.04894.
    """
    probs = np.tile([0.9, 0.1], (2, 100, 1))

    values = values_of(probs, np.repeat([0, 1], [84, 16]))
    assert values["ece_corrected"] == pytest.approx(0.04894, abs=1e-5)
    assert values["ece"] == pytest.approx(0.06)


def simulated(rng, n_runs, n_examples, sharpness):
    """Confidences of runs that differ little, right as often as `sharpness` 1 says."""
    base = 1.5 * rng.standard_normal(n_examples)
    labels = (rng.random(n_examples) < 1 / (1 + np.exp(-base))).astype(np.int32)
    logits = sharpness * (base + 0.05 * rng.standard_normal((n_runs, n_examples)))
    probability = 1 / (1 + np.exp(-logits))
    return np.stack([1 - probability, probability], axis=2), labels


@pytest.mark.parametrize(("sharpness", "truth"), [(1.0, 0.0), (1.8, 0.0884)])
def test_interval_covers_the_error_of_the_population(sharpness, truth):
    """Of 100 studies at least 88 cover, 3.2 standard errors below 95 %; 300 examples, 5 runs.

    The truth is the plain error of four million examples.
    """
    rng, covered = np.random.default_rng(3), 0
    for _ in range(100):
        figure = estimate(
            calibration_of(*simulated(rng, 5, 300, sharpness)).result()["ece_corrected"]
        )
        covered += figure.low <= truth + 0.0005 and truth <= figure.high

    assert covered >= 88


def test_blocks_of_clusters_widen_the_interval():
    """Twenty copies of 30 examples are no more than these 30."""
    rng = np.random.default_rng(4)
    probs, labels = simulated(rng, 5, 30, 1.8)
    blocks = np.tile(np.arange(30), 20)
    family = Calibration(5, 2)
    family.update(Batch.from_probs(np.tile(probs, (1, 20, 1)), np.tile(labels, 20), blocks))
    statistic = family.result()["ece_corrected"]

    alone, clustered = estimate(statistic), estimate(replace(statistic, is_clustered=True))

    assert clustered.over == "runs × clusters"
    assert clustered.high - clustered.low > 0.1
    # Positions are random, so that copies of an example are in different blocks.
    by_position = Calibration(5, 2)
    by_position.update(Batch.from_probs(np.tile(probs, (1, 20, 1)), np.tile(labels, 20)))
    narrow = estimate(by_position.result()["ece_corrected"])
    assert narrow.high - narrow.low < 0.5 * (clustered.high - clustered.low)
    assert alone.over == "runs × examples"


def test_blocks_are_about_equally_large_and_do_not_follow_the_order():
    """64 blocks of 6,400 positions: about 100 each, and no block at equal steps."""
    blocks = blocks_of(np.arange(6400))

    counts = np.bincount(blocks, minlength=N_BLOCKS)
    assert counts.min() > 60
    assert counts.max() < 140
    assert len(set(np.diff(np.flatnonzero(blocks == 0)))) > 20


def test_two_runs_have_an_interval_over_examples():
    probs, labels = random_study(1, (2, 200))

    assert estimate(calibration_of(probs, labels).result()["ece_corrected"]).over == "examples"


@pytest.mark.parametrize("name", ["ece", "mce"])
def test_errors_that_chance_makes_larger_have_no_interval(name):
    """Absolute gaps are too large with few examples, which no interval over runs covers."""
    result = estimate(calibration_of(*random_study(1)).result()[name])

    assert (result.low, result.high, result.over) == (None, None, None)


def test_certain_and_correct_model_has_no_error():
    """All four figures are 0."""
    probs = np.repeat(np.eye(3)[None], 3, axis=0)

    assert set(values_of(probs, np.arange(3)).values()) == {0.0}


def test_empty_bins_have_no_gap():
    """Only bins with examples can hold the largest error."""
    counts, right = np.array([[0, 2]]), np.array([[0, 1]])

    expected, largest = calibration_errors(counts, right, np.array([[0.0, 1.8]]))

    assert expected[0] == pytest.approx(0.4)
    assert largest[0] == pytest.approx(0.4)


def test_reliability_of_two_classes_has_one_diagram_per_predicted_class():
    """Negative and positive predictions are separate; more classes share one diagram."""
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


@pytest.mark.parametrize(
    "batch",
    [Batch.from_probs(SMALL), Batch(SMALL.argmax(axis=2), n_classes=3, labels=LABELS)],
    ids=["without labels", "without probabilities"],
)
def test_missing_labels_or_probabilities_are_refused(batch):
    """Calibration compares probabilities with labels."""
    with pytest.raises(ValueError):
        Calibration(2, 3).update(batch)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_reliability_by_label_follows_its_definition(n_classes):
    """Examples of each gold class by confidence, and the sums of the probabilities of the class."""
    probs, labels = random_study(7, (3, 90), n_classes)

    detail = calibration_of(probs, labels).detail()

    counts, expected = np.zeros((2, 3, n_classes, N_BINS))
    for run, of_run in enumerate(probs):
        for row, label in zip(of_run, labels, strict=True):
            place = min(int(row.max() * N_BINS), N_BINS - 1)
            counts[run, label, place] += 1
            expected[run, :, place] += row
    np.testing.assert_array_equal(detail["reliability_by_label_count"], counts)
    np.testing.assert_allclose(detail["reliability_by_label_expected"], expected, atol=1e-12)


def test_reliability_by_answer_adds_up_to_that_of_all():
    """Three to six classes have both."""
    probs, labels = random_study(8, (3, 90), 5)

    detail = calibration_of(probs, labels).detail()

    for name in ("count", "right", "confidence"):
        by_answer = detail[f"reliability_by_answer_{name}"]
        assert by_answer.shape == (3, 5, N_BINS)
        whole = detail[f"reliability_{name}"][:, 0]
        np.testing.assert_allclose(by_answer.sum(axis=1), whole, atol=1e-12)


def test_many_classes_have_no_reliability_of_their_own():
    """It would make summaries and pages large."""
    probs, labels = random_study(9, (3, 90), 7)

    assert not [name for name in calibration_of(probs, labels).detail() if "_by_answer" in name]
    assert not [name for name in calibration_of(probs, labels).detail() if "_by_label" in name]


def test_top_classes_have_no_reliability_by_label():
    """The probability of a class that is not among them is unknown."""
    probs, labels = random_study(10, (3, 90), 4)
    classes = np.argsort(-probs, axis=2)[:, :, :2].astype(np.int32)
    top = TopProbs(classes, np.take_along_axis(probs, classes, axis=2))
    family = Calibration(3, 4)

    family.update(Batch.from_top(top, 4, labels))

    assert "reliability_by_answer_count" in family.detail()
    assert "reliability_by_label_count" not in family.detail()
