"""What a few of many classes say, and what they hide."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedproof.metrics import FAMILIES, Batch
from seedproof.metrics.confidence import probability_sd
from seedproof.metrics.truncation import Truncation, hidden_probability
from seedproof.records.probabilities import TopProbs
from seedproof.stats.intervals import estimate
from support import oracles


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
    found = {}
    for family in FAMILIES:
        if names & set(family.figures):
            one = family(batch.n_runs, batch.n_classes)
            one.update(batch)
            found |= {name: estimate(value).value for name, value in one.result().items()}
    return {name: found[name] for name in names}


def test_hidden_probability_by_hand():
    """0.7 + 0.2 of one run and 0.5 + 0.3 of the other are seen: 0.1 and 0.2 are not."""
    top = TopProbs(np.array([[[4, 1]], [[2, 4]]]), np.array([[[0.7, 0.2]], [[0.5, 0.3]]]))
    batch = Batch.from_top(top, n_classes=9)

    np.testing.assert_allclose(batch.hidden, [[0.1], [0.2]])
    assert hidden_probability(batch.hidden).values == pytest.approx([0.15])
    assert batch.predictions.tolist() == [[4], [2]]
    np.testing.assert_allclose(batch.confidence, [[0.7], [0.5]])


def test_a_hidden_class_has_no_more_than_the_least_of_the_top_and_no_more_than_the_rest():
    """Least 0.2 with 0.1 hidden: at most 0.1. Least 0.1 with 0.5 hidden: at most 0.1."""
    top = TopProbs(np.array([[[4, 1]], [[2, 4]]]), np.array([[[0.7, 0.2]], [[0.4, 0.1]]]))
    batch = Batch.from_top(top, n_classes=9, labels=np.array([1]))

    np.testing.assert_allclose(batch.most_hidden, [[0.1], [0.1]])
    assert batch.reference_is_hidden.tolist() == [[False], [True]]
    np.testing.assert_allclose(batch.reference_probs, [[0.2], [0.05]])


def test_the_error_of_a_spread_by_hand():
    """Two of three runs hide the class, by up to 0.1 and 0.02: sqrt((0.05² + 0.01²) / 2)."""
    classes = np.array([[[0, 1]], [[2, 0]], [[0, 1]]])
    probs = np.array([[[0.8, 0.1]], [[0.4, 0.3]], [[0.96, 0.02]]])
    batch = Batch.from_top(TopProbs(classes, probs), n_classes=9, labels=np.array([2]))

    assert batch.reference_error == pytest.approx([math.sqrt((0.05**2 + 0.01**2) / 2)])


@given(seed=st.integers(0, 10**6), n_top=st.integers(1, 12), n_runs=st.integers(2, 7))
def test_the_spread_of_all_classes_is_within_the_stated_error(seed, n_top, n_runs):
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


def test_the_bound_is_no_empty_one():
    """Where the hidden class has nothing in some runs and all it can have in others."""
    least = 0.2
    rows = [[0.4, least, 0.2, 0.2, 0.0], [0.8, least, 0.0, 0.0, 0.0]]
    probs = np.array(rows)[:, None]
    labels = np.array([2])
    batch = Batch.from_top(truncated(probs, 2), 5, labels)

    error = batch.reference_error

    exact = Batch.from_probs(probs, labels).reference_probs.std(axis=0, ddof=1)
    shown = batch.reference_probs.std(axis=0, ddof=1)
    assert np.abs(exact - shown) == pytest.approx(least / 2 / math.sqrt(2))
    assert error == pytest.approx(least / 2)  # of the second run nothing is hidden, 0


@pytest.mark.parametrize("n_top", [1, 3, 30])
def test_what_needs_the_prediction_alone_is_exact(n_top):
    """Flips, entropy, accuracy and calibration errors, however little is kept."""
    probs, labels = study(3)
    names = {"flip_rate", "net_flip_rate", "label_entropy", "accuracy", "accuracy_sd", "ece", "mce"}
    batch = Batch.from_top(truncated(probs, n_top), probs.shape[2], labels)

    assert figures(batch, names) == figures(Batch.from_probs(probs, labels), names)


def test_nothing_is_hidden_by_all_classes():
    """Kept whole, the spread is that of all classes, and the error is none."""
    probs, labels = study(4)
    batch = Batch.from_top(truncated(probs, probs.shape[2]), probs.shape[2], labels)

    found = figures(batch, {"hidden_probability", "probability_sd_error", "probability_sd"})

    assert found["hidden_probability"] == pytest.approx(0, abs=1e-6)
    assert found["probability_sd_error"] == 0
    whole = figures(Batch.from_probs(probs, labels), {"probability_sd"})
    assert found["probability_sd"] == pytest.approx(whole["probability_sd"], rel=1e-12)


def test_parts_add_up():
    """Two halves, merged, are the whole."""
    probs, labels = study(5)
    top = truncated(probs, 3)
    parts = []
    for rows in (slice(0, 40), slice(0, 15), slice(15, 40)):
        parts.append(Truncation(5, 30))
        parts[-1].update(Batch.from_top(top.rows(rows), 30, labels[rows]))
    whole, first, second = parts

    first.merge(second)

    for name, value in first.result().items():
        assert estimate(value).value == pytest.approx(estimate(whole.result()[name]).value)
