import dataclasses
import weakref

import numpy as np
import pytest

from seedproof.metrics.batch import Batch
from seedproof.records.probabilities import UNLABELED


def batch_of(columns, n_classes=3, labels=None):
    """A batch from the predictions of all runs, one string of digits per example."""
    predictions = np.array([[int(digit) for digit in column] for column in columns]).T
    return Batch(predictions, n_classes=n_classes, labels=labels)


def test_agreement_and_disagreements_by_hand():
    """A run agrees with itself, so 0, 0, 1 give 2, 2, 1.

    Runs 0 and 1 differ on the last of 001, 222, 012; run 2 differs from both on two.
    """
    batch = batch_of(["001", "222", "012"])

    assert batch.agreement.T.tolist() == [[2, 2, 1], [3, 3, 3], [1, 1, 1]]
    assert batch.disagreements.tolist() == [[0, 1, 2], [1, 0, 2], [2, 2, 0]]


def test_agreement_and_disagreements_count_the_same_pairs():
    """Both count ordered pairs of runs that differ, once by example and once by pair."""
    batch = Batch(np.random.default_rng(0).integers(0, 4, (7, 50)), n_classes=4)

    assert (batch.n_runs - batch.agreement).sum() == batch.disagreements.sum()


@pytest.mark.parametrize(
    ("answers", "consensus"),
    [("0111", 1), ("2202", 2), ("0011", 0), ("1100", 0), ("2121", 1), ("210", 0), ("5", 5)],
)
def test_consensus_is_the_most_frequent_class_and_the_smallest_among_equals(answers, consensus):
    """The order of the runs does not matter."""
    assert batch_of([answers], n_classes=6).consensus.tolist() == [consensus]


def test_predictions_from_probabilities_are_the_first_of_the_largest():
    """Among equally probable classes the smallest index is predicted."""
    probs = np.array([[[0.4, 0.4, 0.2], [0.1, 0.2, 0.7]], [[0.2, 0.4, 0.4], [1.0, 0.0, 0.0]]])

    batch = Batch.from_probs(probs)

    assert batch.predictions.tolist() == [[0, 2], [1, 0]]
    assert (batch.n_runs, batch.n_examples, batch.n_classes) == (2, 2, 3)


def test_labeled_keeps_the_examples_whose_label_is_known():
    """Predictions, labels and probabilities are all cut to the same examples."""
    probs = np.random.default_rng(0).dirichlet([1, 1], size=(3, 4))
    labels = np.array([1, UNLABELED, 0, UNLABELED])

    labeled = Batch.from_probs(probs, labels).labeled

    assert labeled.labels.tolist() == [1, 0]
    np.testing.assert_array_equal(labeled.probs, probs[:, [0, 2]])
    np.testing.assert_array_equal(labeled.predictions, probs.argmax(axis=2)[:, [0, 2]])


def test_labeled_is_the_batch_itself_or_empty():
    """Nothing is copied if all labels are known, and no example is left if none is."""
    batch, unlabeled = batch_of(["01", "11"], labels=np.array([0, 1])), batch_of(["01", "11", "10"])

    assert batch.labeled is batch
    assert (unlabeled.labeled.n_runs, unlabeled.labeled.n_examples) == (2, 0)


def test_correct_compares_each_run_with_the_label():
    """Predictions 0, 1, 1 for an example of class 1 are wrong, correct, correct."""
    batch = batch_of(["011", "222"], labels=np.array([1, 0]))

    assert batch.correct.T.tolist() == [[False, True, True], [False, False, False]]


def test_reference_is_the_label_or_else_the_consensus():
    """The consensus replaces unknown labels only."""
    labels = np.array([2, UNLABELED])

    assert batch_of(["011", "011"], labels=labels).reference.tolist() == [2, 1]
    assert batch_of(["011", "011"]).reference.tolist() == [1, 1]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_probs_of_a_class_are_float64(dtype):
    """Sums over runs use 64 bits, whatever the type of the records."""
    probs = np.array([[[0.25, 0.75]], [[0.5, 0.5]]], dtype=dtype)

    followed = Batch.from_probs(probs, np.array([1])).reference_probs

    assert followed.dtype == np.float64
    assert followed.tolist() == [[0.75], [0.5]]


def test_probs_of_needs_probabilities():
    """Predictions alone have none."""
    with pytest.raises(ValueError):
        batch_of(["01"]).probs_of(np.array([0]))


def test_batch_is_frozen():
    """Cached quantities stay valid."""
    batch = batch_of(["01"])

    with pytest.raises(dataclasses.FrozenInstanceError):
        batch.n_classes = 7


def test_batch_is_freed_without_the_garbage_collector():
    """Its caches are large; waiting for the garbage collector took gigabytes."""
    batch = Batch(np.array([[0, 1], [1, 1]]), n_classes=2, labels=np.array([0, 1]))
    assert batch.labeled is batch
    gone = weakref.ref(batch)

    del batch

    assert gone() is None
