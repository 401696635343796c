"""Ids, labels and classes of a recorder, normalized as in records of predictions."""

import numpy as np
import pytest
import torch

from seedproof.errors import (
    ClassesError,
    DuplicateExampleError,
    EmptyInputError,
    OptionError,
    SeedproofError,
    ShapeError,
    UnknownLabelError,
)
from seedproof.records.arrays import ArrayShards
from seedproof.testing.errors import WithFields
from seedproof.training.dynamics import _Examples


def examples(n_classes=3, **given):
    """Return examples of three classes."""
    return _Examples(n_classes, **({"ids": None, "labels": None, "classes": None} | given))


NAN = float("nan")


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([0, 2, 1, -1], None),
        (np.array([0, 2, 1, -7], dtype=np.int8), None),
        ([0.0, 2.0, NAN, 1.0], None),
        ([0, None, 1, 2], None),
        (["2", "0", None, "1"], None),
        (["dog", "cat", None, "fox"], ["fox", "dog", "cat"]),
        ([1, 0, 2, -1], ["fox", "dog", "cat"]),
        ([30, 20, 10, -1], ["10", "30", "20"]),
        ([-1, 5, 0, -2], ["-1", "0", "5"]),
        ([True, False, True, True], None),
        (torch.tensor([2, 1, 0, -1]), None),
        (["dog", NAN, "cat", "fox"], ["fox", "dog", "cat"]),
        (("dog", NAN, None, "fox"), ["fox", "dog", "cat"]),
        (np.ma.masked_array([0, 2, 1, 1], [False, True, False, False]), None),
    ],
)
def test_labels_and_classes_are_normalized_as_in_predictions(labels, classes):
    """Indices or names, in the canonical order of names, or unknown."""
    probs = np.full((1, 4, 3), 1 / 3)
    of_predictions = ArrayShards(probs, labels=labels, classes=classes, alone=True)

    normalized = examples(labels=labels, classes=classes)

    in_order = [normalized.class_names[index] for index in normalized.class_order]
    assert tuple(in_order) == of_predictions.classes
    names = [None if i < 0 else normalized.class_names[i] for i in normalized.labels]
    expected = of_predictions.shard(0).labels
    assert names == [None if i < 0 else of_predictions.classes[i] for i in expected]


@pytest.mark.parametrize(
    ("labels", "classes"),
    [([0, 1, 3, 2], None), ([0, 1, 2, 2], ["10", "20", "30"]), (["emu"] * 4, list("abc"))],
)
def test_unknown_labels_are_refused_as_in_predictions(labels, classes):
    """An index that is too large, or an unknown name."""
    with pytest.raises(UnknownLabelError):
        ArrayShards(np.full((1, 4, 3), 1 / 3), labels=labels, classes=classes, alone=True)

    with pytest.raises(UnknownLabelError, check=WithFields(n_classes=3)):
        examples(labels=labels, classes=classes)


def test_positions_are_used_if_ids_are_omitted():
    """As many as there are labels; labels may be omitted if there are ids."""
    assert examples(labels=[0, 1]).ids.to_pylist() == [0, 1]
    assert examples(ids=range(3)).labels.tolist() == [-1, -1, -1]


@pytest.mark.parametrize(
    ("ids", "in_order"),
    [([10, 9, -1], [-1, 9, 10]), (["b", "é", "B"], ["B", "b", "é"]), (["10", "9"], [9, 10])],
)
def test_ids_have_the_order_of_records(ids, in_order):
    """Numbers by value, texts by their bytes, texts of digits as numbers."""
    normalized = examples(ids=ids)

    assert normalized.ids.take(normalized.order).to_pylist() == in_order


@pytest.mark.parametrize(
    ("given", "error", "fields"),
    [
        ({}, OptionError, {"needed": ("ids", "labels")}),
        ({"ids": []}, EmptyInputError, {}),
        ({"labels": []}, EmptyInputError, {}),
        ({"ids": ["a", "b", "a"]}, DuplicateExampleError, {"twice": "a"}),
        ({"ids": [1, 2], "labels": [0]}, ShapeError, {"shape": (1,), "n_examples": 2}),
        ({"ids": [[1, 2]]}, ShapeError, {"shape": (1, 2)}),
        ({"labels": [[0, 1]]}, ShapeError, {"shape": (1, 2)}),
        ({"ids": [1], "n_classes": 1}, ClassesError, {"n_classes": 1}),
        ({"ids": [1], "n_classes": 2.0}, ClassesError, {"n_classes": 2.0}),
        ({"ids": [1], "classes": ["a", "b"]}, ClassesError, {"n_names": 2, "n_needed": 3}),
        ({"ids": [1], "classes": ["a", "b", "b"]}, ClassesError, {"n_names": 2, "n_needed": 3}),
    ],
    ids=[
        "nothing", "no-ids", "no-labels", "twice", "fewer-labels", "axes-of-ids", "axes-of-labels",
        "one-class", "float-classes", "fewer-names", "equal-names",
    ],
)  # fmt: skip
def test_invalid_examples_are_refused(given, error, fields):
    """The error names the problem."""
    with pytest.raises(error, check=WithFields(**fields)) as caught:
        examples(**given)

    assert isinstance(caught.value, SeedproofError)
