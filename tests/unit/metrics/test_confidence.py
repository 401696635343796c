import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from seedproof.metrics import FAMILIES, Batch
from seedproof.metrics.confidence import (
    AGREEMENTS,
    MAP_COLUMNS,
    MAP_ROWS,
    Confidence,
    Truncation,
    probability_sd,
)
from seedproof.records.probabilities import UNLABELED, TopProbs
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
    """0.6 and 0.8 deviate by 0.1 from their mean: √((0.01 + 0.01)/1) = 0.1414.

    Certain runs that contradict each other have the largest, √(1/2) = 0.71; more runs have less.
    """
    assert value_of(binary([[0.6], [0.8]])) == pytest.approx(math.sqrt(0.02), rel=1e-14)
    assert value_of(binary([[0.0], [1.0]])) == pytest.approx(math.sqrt(0.5), rel=1e-15)
    assert value_of(binary([[0.0], [1.0], [0.0], [1.0]])) < math.sqrt(0.5)


def test_gold_class_is_followed_or_else_the_consensus():
    """Two of three runs predict class 1, whose probabilities are 0.6, 0.9, 0.3: sd 0.3.

    The gold class 2 has 0.1, 0.0, 0.3: sd √(7/300).
    """
    probs = np.array([[[0.3, 0.6, 0.1]], [[0.1, 0.9, 0.0]], [[0.4, 0.3, 0.3]]])

    assert value_of(probs) == pytest.approx(0.3, rel=1e-14)
    assert value_of(probs, np.array([UNLABELED])) == value_of(probs)
    assert value_of(probs, np.array([2])) == pytest.approx(math.sqrt(7 / 300), rel=1e-14)


def test_columns_are_mean_and_sd_per_example():
    """μ and σ over runs of the gold class's probability."""
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


def test_leaving_out_the_only_deviating_run_leaves_no_spread():
    """Exactly 0, not the root of a rounding error; of two runs none can be left out."""
    followed = np.array([[0.1], [0.1], [0.1], [0.9]])

    without = probability_sd(followed).without

    assert without[3, 0] == 0.0
    np.testing.assert_allclose(without[:3, 0], np.std([0.1, 0.1, 0.9], ddof=1), rtol=1e-14)
    assert probability_sd(np.array([[0.2], [0.4]])).without is None


def test_leaving_out_an_outlier_keeps_the_digits_of_the_rest():
    """A subtraction of squares would lose the others' 1e-5 next to a run that is 0.8 away."""
    followed = np.array([[0.1], [0.10001], [0.10003], [0.9]])

    without = probability_sd(followed).without

    expected = np.std([0.1, 0.10001, 0.10003], ddof=1)
    assert without[3, 0] == pytest.approx(expected, rel=1e-10)


def test_curve_of_two_classes_follows_the_second_one():
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


def test_curve_of_more_classes_follows_the_gold_class():
    """The gold class has 0.25 on average: bin 2."""
    probs = np.array([[[0.6, 0.2, 0.2]], [[0.6, 0.3, 0.1]]])

    curve = confidence_of(probs, np.array([1])).detail()

    assert curve["sd_curve_count"].nonzero()[0].tolist() == [2]


def test_error_of_the_curve_is_that_of_a_mean():
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


def test_map_counts_examples_by_agreement_spread_and_mean():
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


@pytest.mark.parametrize(
    ("positive", "expected"),
    [([[0.8], [0.8], [0.8], [0.8], [0.3]], [0, 1, 0]), ([[0.0], [1.0]], [0, 0, 1])],
    ids=["4-against-1", "largest-spread"],
)
def test_map_distinguishes_some_differ_from_split(positive, expected):
    """4 v 1 has the entropy 0.500: not split. The largest spread is in the last row."""
    counts = confidence_of(binary(positive)).detail()["confidence_map"]

    assert counts.sum(axis=(1, 2)).tolist() == expected
    assert counts[2, MAP_ROWS - 1].sum() == expected[2]


def test_predictions_alone_are_refused():
    """There is no probability to follow."""
    with pytest.raises(ValueError):
        Confidence(2, 2).update(Batch(np.array([[0], [1]]), n_classes=2))


# ------------------------------------------------------------------------ truncated records


def truncated(probs: np.ndarray, n_top: int) -> TopProbs:
    """The most probable classes of each row."""
    classes = np.argsort(-probs, axis=2, kind="stable")[:, :, :n_top].astype(np.int32)
    return TopProbs(classes, np.take_along_axis(probs, classes, axis=2))


def study(seed: int, n_runs: int = 5, n_examples: int = 40, n_classes: int = 30):
    """Runs that give most of the probability to a few classes, and the gold labels."""
    rng = np.random.default_rng(seed)
    usual = rng.normal(0, 2, (n_examples, n_classes))
    raised = np.exp(usual + rng.normal(0, 1, (n_runs, n_examples, n_classes)))
    probs = (raised / raised.sum(axis=2, keepdims=True)).astype(np.float32)
    return probs, (usual + rng.gumbel(size=usual.shape)).argmax(axis=1)


def figures(batch: Batch, names: set[str]) -> dict[str, float]:
    """Values of some figures, from the families that they belong to."""
    values = {}
    for family in FAMILIES:
        if names & set(family.figures):
            total = family(batch.n_runs, batch.n_classes)
            total.update(batch)
            values |= {name: estimate(value).value for name, value in total.result().items()}
    return {name: values[name] for name in names}


def test_hidden_probability_by_hand():
    """0.7 + 0.2 of one run and 0.5 + 0.3 of the other are seen: 0.1 and 0.2 are not."""
    top = TopProbs(np.array([[[4, 1]], [[2, 4]]]), np.array([[[0.7, 0.2]], [[0.5, 0.3]]]))
    batch = Batch.from_top(top, n_classes=9)

    np.testing.assert_allclose(batch.hidden, [[0.1], [0.2]])
    assert figures(batch, {"hidden_probability"}) == pytest.approx({"hidden_probability": 0.15})
    assert batch.predictions.tolist() == [[4], [2]]
    np.testing.assert_allclose(batch.confidence, [[0.7], [0.5]])


def test_hidden_class_is_bounded_by_the_least_of_the_top_and_by_the_rest():
    """Least 0.2 with 0.1 hidden: at most 0.1. Least 0.1 with 0.5 hidden: at most 0.1."""
    top = TopProbs(np.array([[[4, 1]], [[2, 4]]]), np.array([[[0.7, 0.2]], [[0.4, 0.1]]]))
    batch = Batch.from_top(top, n_classes=9, labels=np.array([1]))

    np.testing.assert_allclose(batch.most_hidden, [[0.1], [0.1]])
    np.testing.assert_allclose(batch.reference_probs, [[0.2], [0.05]])
    assert batch.reference_error == pytest.approx([0.05])  # of the second run alone


def test_error_of_a_spread_by_hand():
    """Two of three runs hide the class, by up to 0.1 and 0.02: sqrt((0.05² + 0.01²) / 2)."""
    classes = np.array([[[0, 1]], [[2, 0]], [[0, 1]]])
    probs = np.array([[[0.8, 0.1]], [[0.4, 0.3]], [[0.96, 0.02]]])
    batch = Batch.from_top(TopProbs(classes, probs), n_classes=9, labels=np.array([2]))

    assert batch.reference_error == pytest.approx([math.sqrt((0.05**2 + 0.01**2) / 2)])


@given(seed=st.integers(0, 10**6), n_top=st.integers(1, 12), n_runs=st.integers(2, 7))
def test_spread_of_all_classes_is_within_the_stated_error(seed, n_top, n_runs):
    """For every example, with labels that are often hidden."""
    probs, labels = study(seed, n_runs)
    labels = (labels + np.arange(len(labels))) % probs.shape[2]  # often improbable ones
    whole = Batch.from_probs(probs, labels)
    batch = Batch.from_top(truncated(probs, n_top), probs.shape[2], labels)

    error = Truncation(n_runs, probs.shape[2]).update(batch)["probability_sd_error"]

    exact = oracles.slow_probability_sd(whole.reference_probs)
    shown = probability_sd(batch.reference_probs).values
    # float32 sums: what is hidden may be off by the rounding of up to 12 terms.
    assert (np.abs(exact - shown) <= error + 1e-6).all()


def test_error_of_a_spread_is_a_tight_bound():
    """The hidden class has nothing in some runs and all it can have in others."""
    least = 0.2
    rows = [[0.4, least, 0.2, 0.2, 0.0], [0.8, least, 0.0, 0.0, 0.0]]
    probs = np.array(rows)[:, None]
    labels = np.array([2])
    batch = Batch.from_top(truncated(probs, 2), 5, labels)

    error = batch.reference_error

    exact = Batch.from_probs(probs, labels).reference_probs.std(axis=0, ddof=1)
    shown = batch.reference_probs.std(axis=0, ddof=1)
    assert np.abs(exact - shown) == pytest.approx(least / 2 / math.sqrt(2))
    assert error == pytest.approx(least / 2)  # the second run hides nothing


@pytest.mark.parametrize("n_top", [1, 3, 30])
def test_metrics_of_the_predicted_class_are_exact(n_top):
    """Flips, entropy, accuracy and calibration errors, however little is kept."""
    probs, labels = study(3)
    names = {"flip_rate", "net_flip_rate", "label_entropy", "accuracy", "accuracy_sd"}
    names |= {"ece", "ece_corrected", "mce"}
    batch = Batch.from_top(truncated(probs, n_top), probs.shape[2], labels)

    assert figures(batch, names) == figures(Batch.from_probs(probs, labels), names)


def test_nothing_is_hidden_if_all_classes_are_kept():
    """The spread is that of all classes, and the error is 0."""
    probs, labels = study(4)
    batch = Batch.from_top(truncated(probs, probs.shape[2]), probs.shape[2], labels)

    kept = figures(batch, {"hidden_probability", "probability_sd_error", "probability_sd"})

    assert kept["hidden_probability"] == pytest.approx(0, abs=1e-6)
    assert kept["probability_sd_error"] == 0
    whole = figures(Batch.from_probs(probs, labels), {"probability_sd"})
    assert kept["probability_sd"] == pytest.approx(whole["probability_sd"], rel=1e-12)


def test_merged_parts_are_the_whole():
    """Two halves of truncated records."""
    probs, labels = study(5)
    top = truncated(probs, 3)
    whole, first, second = parts = [Truncation(5, 30) for _ in range(3)]
    for part, rows in zip(parts, (slice(0, 40), slice(0, 15), slice(15, 40)), strict=True):
        part.update(Batch.from_top(top.rows(rows), 30, labels[rows]))

    first.merge(second)

    for name, value in first.result().items():
        assert estimate(value).value == pytest.approx(estimate(whole.result()[name]).value)
