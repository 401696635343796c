"""Ids, labels and names of classes as people write them."""

import numpy as np
import pyarrow as pa
import pytest

from seedproof.errors import ClassesError, DuplicateExampleError, UnknownLabelError
from seedproof.records.normalize import (
    as_ids,
    canonical_rows,
    class_names,
    column,
    label_indices,
)
from seedproof.testing.errors import WithFields

NAN = float("nan")


def test_missing_labels_stay_missing_among_texts():
    """Numpy alone would make the text "nan" of it, which is no class."""
    assert label_indices(column(["b", NAN, None, "a"]), ("a", "b")).tolist() == [1, -1, -1, 0]


def test_numbers_are_names_where_a_class_has_one():
    """Class "1" is the first one; index 1 would be the second."""
    assert label_indices(column([1, 0]), ("1", "0")).tolist() == [0, 1]
    assert label_indices(column([1, 0]), ("x", "y")).tolist() == [1, 0]


def test_an_unknown_label_lists_names_only():
    """No indices among them: these are no names."""
    with pytest.raises(
        UnknownLabelError, check=WithFields(label="emu", n_classes=2, shown="fox, dog")
    ):
        label_indices(column(["emu"]), ("fox", "dog"))


def test_canonical_rows_say_where_the_ids_in_order_are():
    """The least id stands third."""
    assert canonical_rows(as_ids([9, 10, -1], 3)).tolist() == [2, 0, 1]
    with pytest.raises(DuplicateExampleError, check=WithFields(twice="a")):
        canonical_rows(pa.array(["a", "b", "a"]))


def test_names_of_classes_are_their_indices_unless_given():
    """As many as there are classes."""
    assert class_names(None, 3) == ("0", "1", "2")
    assert class_names(np.array(["x", "y"]), 2) == ("x", "y")
    with pytest.raises(ClassesError, check=WithFields(noun="class", n_names=1, n_needed=2)):
        class_names(["x", "x"], 2)
