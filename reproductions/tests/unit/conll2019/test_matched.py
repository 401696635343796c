import numpy as np
import pytest

import seedproof as sp
from seedproof.comparison.arms.compare import Side
from seedproof.records.arrays import ArrayShards
from seedproof_reproductions.conll2019.matched import matched_predictions, matched_sides


@pytest.mark.parametrize(
    ("probs", "expected"),
    [
        # Four and two above one half: three each, those with the highest probabilities.
        (
            [[0.9, 0.8, 0.7, 0.6, 0.1], [0.2, 0.6, 0.3, 0.9, 0.4]],
            [[1, 1, 1, 0, 0], [0, 1, 0, 1, 1]],
        ),
        # Two and one above one half have a mean of 1.5, which is rounded up.
        ([[0.9, 0.8, 0.1], [0.2, 0.3, 0.9]], [[1, 1, 0], [0, 1, 1]]),
        # Two places for three examples at 0.6: the first two.
        ([[0.6, 0.6, 0.6, 0.1], [0.9, 0.1, 0.1, 0.1]], [[1, 1, 0, 0], [1, 1, 0, 0]]),
        # A threshold that was shifted by 0.3 is shifted back.
        ([[0.05, 0.25, 0.3, 0.45, 0.75], [0.35, 0.55, 0.6, 0.75, 0.99]], [[0, 0, 1, 1, 1]] * 2),
    ],
)
def test_every_run_predicts_the_second_class_for_the_mean_number_of_examples(probs, expected):
    """By hand."""
    assert matched_predictions(np.array(probs)).tolist() == expected


@pytest.mark.parametrize("classes", [("negative", "positive"), ("World", "Business")])
def test_sides_keep_runs_labels_and_classes(classes):
    """The figures are those of `sp.measure` on moved predictions, whatever the classes' order."""
    rng = np.random.default_rng(4)
    probs, labels = rng.uniform(0.05, 0.95, (3, 40)), rng.integers(0, 2, 40)
    both = np.stack([1 - probs, probs])
    source = ArrayShards(np.moveaxis(both, 0, 2), labels=labels, classes=classes)
    # Shards have their classes in canonical order: the second of those.
    second = classes.index(source.classes[1])
    predictions = matched_predictions(both[second].astype(np.float32))

    (moved,) = matched_sides([Side("none", source, ("a", "b"))])

    named = np.array([classes[1 - second], classes[second]])[predictions]
    oracle = sp.measure(named, labels=np.array(classes)[labels])
    shard = moved.source.shard(0)
    assert (moved.name, moved.seeds, moved.source.runs) == ("none", ("a", "b"), ("0", "1", "2"))
    accuracy = (shard.predictions == shard.labels).mean()
    assert accuracy == pytest.approx(oracle["accuracy"].value)
    assert len({int(count) for count in (shard.predictions == 1).sum(axis=1)}) == 1


@pytest.mark.parametrize("values", [np.full((2, 4, 3), 1 / 3), np.array([[0, 1, 1], [0, 0, 1]])])
def test_arms_without_a_single_threshold_are_left_out(values):
    """Three classes, or no probabilities."""
    assert matched_sides([Side("none", ArrayShards(values), None)]) == []
