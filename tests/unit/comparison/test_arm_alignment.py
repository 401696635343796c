"""The same examples of several arms."""

import numpy as np
import pyarrow as pa
import pytest

from seedproof.comparison.arm_alignment import ArmAlignment, rows_of
from seedproof.errors import LabelConflictError, MissingExampleError
from seedproof.records.arrays import ArrayShards
from seedproof.testing.errors import WithFields


def source_of(ids, *, rows_per_shard=4, labels=None, classes=("a", "b")):
    """Return two runs whose predictions show the position of each example."""
    n = len(ids)
    predictions = np.stack([np.arange(n) % 2, np.ones(n, dtype=int)])
    names = np.array(classes)[predictions]
    source = ArrayShards(names, ids=ids, labels=labels)
    source.rows_per_shard = rows_per_shard
    return source


@pytest.mark.parametrize(("first", "last"), [(0, 4), (2, 3), (3, 9), (0, 10), (8, 10)])
def test_rows_are_found_across_the_limits_of_shards(first, last):
    """Positions count over all shards."""
    source = source_of(list(range(10)))

    shard = rows_of(source, first, last)

    assert shard.ids.to_pylist() == list(range(first, last))
    assert shard.predictions[0].tolist() == [position % 2 for position in range(first, last)]


def test_arms_may_have_shards_of_different_sizes():
    """Each shard of the first meets the same examples of the second."""
    alignment = ArmAlignment(
        ("one", "two"), (source_of(range(10), rows_per_shard=3), source_of(range(10)))
    )

    for index in range(alignment.n_shards):
        first = alignment.shard(index)
        assert alignment.match(1, first).ids.equals(first.ids)


def test_other_numbers_of_examples_are_refused():
    """With both numbers."""
    with pytest.raises(
        MissingExampleError, check=WithFields(name="one", n_first=10, other_name="two", n_here=9)
    ):
        ArmAlignment(("one", "two"), (source_of(range(10)), source_of(range(9))))


def test_other_examples_are_refused_by_the_first_that_differs():
    """With both ids."""
    alignment = ArmAlignment(("one", "two"), (source_of([1, 2, 3]), source_of([1, 2, 4])))

    with pytest.raises(MissingExampleError, check=WithFields(example=3, other_example=4)):
        alignment.match(1, alignment.shard(0))


def test_ids_of_another_type_are_refused():
    """Numbers never equal text."""
    alignment = ArmAlignment(("one", "two"), (source_of([1, 2]), source_of(["1", "x"])))

    types = WithFields(id_type=pa.int64(), other_id_type=pa.string())
    with pytest.raises(MissingExampleError, check=types):
        alignment.match(1, alignment.shard(0))


def test_other_labels_are_refused_by_the_first_that_differs():
    """Names are compared, not indices, which depend on the classes of an arm."""
    labels = ["a", "b", "a"]
    alignment = ArmAlignment(
        ("one", "two"),
        (source_of([1, 2, 3], labels=labels), source_of([1, 2, 3], labels=["a", "b", "b"])),
    )

    fields = {"example": 3, "name": "one", "label": "a", "other_name": "two", "other_label": "b"}
    with pytest.raises(LabelConflictError, check=WithFields(**fields)):
        alignment.match(1, alignment.shard(0))


def test_the_same_labels_under_other_indices_are_fine():
    """One arm never predicts the class that comes first by name."""
    first = source_of([1, 2, 3], labels=["b", "b", "c"], classes=("b", "c"))
    second = ArrayShards(
        np.array([["a", "b", "c"], ["b", "b", "c"]]), ids=[1, 2, 3], labels=["b", "b", "c"]
    )
    alignment = ArmAlignment(("one", "two"), (first, second))

    assert alignment.match(1, alignment.shard(0)).ids.to_pylist() == [1, 2, 3]


@pytest.mark.parametrize(("first", "last"), [(0, 4), (3, 9)])
def test_top_classes_are_cut_and_joined(first, last):
    """With their probabilities."""
    classes = np.stack([np.arange(10), np.arange(10) + 1], axis=1)[None].repeat(2, axis=0)
    probs = np.full(classes.shape, 0.25)
    source = ArrayShards(probs, top_classes=classes, classes=range(20))
    source.rows_per_shard = 4

    shard = rows_of(source, first, last)

    assert shard.top.classes[1, :, 0].tolist() == list(range(first, last))
    assert shard.top.probs.shape == (2, last - first, 2)
