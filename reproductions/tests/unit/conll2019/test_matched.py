import numpy as np
import pytest
from seedproof_reproductions.conll2019.matched import matched_answers, matched_sides

import seedproof as sp
from seedproof.comparison.arms.compare import Side
from seedproof.records.arrays import ArrayShards


def side_of(probs, labels, classes=("negative", "positive")):
    """An arm whose runs give these probabilities to the second class."""
    both = np.stack([1 - probs, probs], axis=2)
    return Side("none", ArrayShards(both, labels=labels, classes=classes), ("a", "b"))


def test_every_run_gives_the_second_class_to_the_mean_number_of_examples():
    """Four and two above one half: three each, those with the highest probabilities."""
    probs = np.array([[0.9, 0.8, 0.7, 0.6, 0.1], [0.2, 0.6, 0.3, 0.9, 0.4]])

    assert matched_answers(probs).tolist() == [[1, 1, 1, 0, 0], [0, 1, 0, 1, 1]]


def test_half_an_example_counts_as_one():
    """Two and one above one half have a mean of 1.5."""
    probs = np.array([[0.9, 0.8, 0.1], [0.2, 0.3, 0.9]])

    assert matched_answers(probs).sum(axis=1).tolist() == [2, 2]


def test_of_equal_probabilities_the_first_counts():
    """Two places, three examples at 0.6."""
    probs = np.array([[0.6, 0.6, 0.6, 0.1], [0.9, 0.1, 0.1, 0.1]])

    assert matched_answers(probs).tolist() == [[1, 1, 0, 0], [1, 1, 0, 0]]


def test_a_shifted_threshold_is_undone():
    """Two runs that rank alike disagree on three of five; matched, on none."""
    ranks = np.array([0.2, 0.4, 0.45, 0.6, 0.9])
    probs = np.array([ranks - 0.15, ranks + 0.15]).clip(0.01, 0.99)

    before = (probs > 0.5).astype(int)

    assert (before[0] != before[1]).sum() == 3
    assert np.array_equal(*matched_answers(probs))


@pytest.mark.parametrize("classes", [("negative", "positive"), ("World", "Business")])
def test_sides_keep_runs_labels_and_classes(classes):
    """The figures are those of `sp.measure` on the moved answers, whatever the classes' order."""
    rng = np.random.default_rng(4)
    probs, labels = rng.uniform(0.05, 0.95, (3, 40)), rng.integers(0, 2, 40)
    side = side_of(probs, labels, classes)
    # Shards have their classes in canonical order: the second of those.
    second = classes.index(side.source.classes[1])
    answers = matched_answers(np.stack([1 - probs, probs])[second].astype(np.float32))

    (moved,) = matched_sides([side])

    named = np.array([classes[1 - second], classes[second]])[answers]
    oracle = sp.measure(named, labels=np.array(classes)[labels])
    shard = moved.source.shard(0)
    assert (moved.name, moved.seeds, moved.source.runs) == ("none", ("a", "b"), ("0", "1", "2"))
    accuracy = (shard.predictions == shard.labels).mean()
    assert accuracy == pytest.approx(oracle["accuracy"].value)
    assert len({int(count) for count in (shard.predictions == 1).sum(axis=1)}) == 1


def test_three_classes_are_left_out():
    """They have no single threshold."""
    probs = np.full((2, 4, 3), 1 / 3)

    assert matched_sides([Side("none", ArrayShards(probs), None)]) == []


def test_answers_without_probabilities_are_left_out():
    """There is nothing to move."""
    answers = np.array([[0, 1, 1], [0, 0, 1]])

    assert matched_sides([Side("none", ArrayShards(answers), None)]) == []
