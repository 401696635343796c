"""Arrays in memory as shards."""

import numpy as np
import pytest

from seedproof.errors import (
    ClassesError,
    DtypeError,
    DuplicateExampleError,
    EmptyInputError,
    MissingValueError,
    ProbabilityError,
    ShapeError,
    TooFewRunsError,
    UnknownLabelError,
)
from seedproof.records.arrays import ArrayShards
from seedproof.records.schema import Kind
from seedproof.testing.errors import WithFields

PROBS = np.array([[[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]], [[0.6, 0.4], [0.7, 0.3], [0.1, 0.9]]])


def only(shards: ArrayShards):
    """The one shard of a small source."""
    assert shards.n_shards == 1
    return shards.shard(0)


def test_probabilities_become_one_array_a_run():
    """In float32, with positions for ids, runs and classes."""
    shards = ArrayShards(PROBS, labels=[0, 1, -1])
    shard = only(shards)

    assert shards.kind is Kind.PROBS
    assert (shards.runs, shards.classes) == (("0", "1"), ("0", "1"))
    assert (shards.n_examples, shards.n_labeled) == (3, 2)
    assert shard.ids.to_pylist() == [0, 1, 2]
    assert shard.labels.tolist() == [0, 1, -1]
    assert shard.predictions is None
    for found, given in zip(shard.probs, PROBS, strict=True):
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, given.astype(np.float32))


def test_predictions_become_indices_into_the_classes():
    """Text, integers and booleans alike; classes in canonical order."""
    for values, classes in (
        ([["b", "a"], ["c", "a"]], ("a", "b", "c")),
        ([[10, 9], [11, 9]], ("9", "10", "11")),
        (np.array([["b", "a"], ["c", "a"]], dtype=object), ("a", "b", "c")),
        (np.array([["b", "a"], ["c", "a"]], dtype=np.dtypes.StringDType()), ("a", "b", "c")),
    ):
        shards = ArrayShards(values)
        shard = only(shards)

        assert shards.kind is Kind.LABELS
        assert shards.classes == classes
        assert [run.tolist() for run in shard.predictions] == [[1, 0], [2, 0]]
        assert shard.labels is None
        assert shards.n_labeled == 0


def test_booleans_are_zero_and_one():
    """So they meet labels that are written as numbers."""
    shards = ArrayShards([[True, False], [True, True]], labels=[True, False])

    assert shards.classes == ("0", "1")
    assert only(shards).labels.tolist() == [1, 0]


def test_a_list_of_arrays_is_one_a_run():
    """As they come out of a loop over seeds."""
    np.testing.assert_array_equal(only(ArrayShards(list(PROBS))).probs[1], PROBS[1].astype("f4"))


def test_shards_have_the_rows_that_a_store_would_have(monkeypatch):
    """Cutting depends on the width of a row alone."""
    monkeypatch.setattr("seedproof.records.schema.GROUP_BYTES", 16)

    shards = ArrayShards(PROBS, labels=[0, 1, 1], ids=["c", "a", "b"])

    assert shards.n_shards == 2
    assert [shards.shard(i).ids.to_pylist() for i in range(2)] == [["a", "b"], ["c"]]
    assert [shards.shard(i).labels.tolist() for i in range(2)] == [[1, 1], [0]]


# --------------------------------------------------------------------------------- ids and names


@pytest.mark.parametrize(
    ("ids", "order", "found"),
    [
        ([30, 10, 20], [1, 2, 0], [10, 20, 30]),
        (["b", "c", "a"], [2, 0, 1], ["a", "b", "c"]),
        (["10", "9", "1"], [2, 1, 0], [1, 9, 10]),
        (["10", "9", "x"], [0, 1, 2], ["10", "9", "x"]),
        ([2.0, 1.0, 3.0], [1, 0, 2], [1, 2, 3]),
        ([2.5, 1.0, 3.0], [1, 0, 2], ["1", "2.5", "3"]),
        (["01", "1", "0"], [2, 0, 1], ["0", "01", "1"]),
        (np.array([2**64 - 1, 1, 2], dtype=np.uint64), [1, 0, 2], ["1", "18446744073709551615", "2"]),
        ([2**70, 1, 2], [1, 0, 2], ["1", str(2**70), "2"]),
        (np.array([3, 1, 2], dtype=np.uint8), [1, 2, 0], [1, 2, 3]),
    ],
    ids=["integers", "texts", "numbers-as-text", "mixed", "whole-floats", "floats", "zeros", "uint64", "huge", "uint8"],
)  # fmt: skip
def test_rows_are_brought_into_the_order_of_their_ids(ids, order, found):
    """Integers by value, all else by bytes; the same rule as for tables."""
    shard = only(ArrayShards(PROBS, labels=[0, 1, -1], ids=ids))

    assert shard.ids.to_pylist() == found
    np.testing.assert_array_equal(shard.probs[0], PROBS[0][order].astype(np.float32))
    np.testing.assert_array_equal(shard.labels, np.array([0, 1, -1])[order])


def test_runs_and_classes_may_be_named():
    """Names are text, whatever they were given as."""
    shards = ArrayShards(PROBS, runs=[3, 7], classes=["no", "yes"])

    assert (shards.runs, shards.classes) == (("3", "7"), ("no", "yes"))


# --------------------------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, -1],
        [0, 1, -100],
        np.array([0, 1, -1], dtype=np.int8),
        [0.0, 1.0, np.nan],
        [0, 1, None],
        ["0", "1", None],
        ["0", "1", np.nan],
        np.array(["0", "1", np.nan], dtype=object),
    ],
    ids=["minus-one", "negative", "int8", "nan", "none", "texts", "text-and-nan", "pandas-texts"],
)
def test_labels_as_people_have_them(labels):
    """Indices or names; negative, NaN or None where unknown."""
    assert only(ArrayShards(PROBS, labels=labels)).labels.tolist() == [0, 1, -1]
    shards = ArrayShards([[0, 1, 1], [0, 0, 1]], labels=labels)
    assert only(shards).labels.tolist() == [0, 1, -1]
    assert shards.classes == ("0", "1")


def test_pandas_own_missing_value_is_missing():
    """Recognized by its name, because pandas is never imported."""
    missing = type("NAType", (), {"__bool__": lambda _: 1 / 0})()
    labels = np.array([0, 1, missing], dtype=object)

    assert only(ArrayShards(PROBS, labels=labels)).labels.tolist() == [0, 1, -1]


def test_labels_are_indices_into_named_classes():
    """The way a data loader gives them."""
    by_index = ArrayShards(PROBS, labels=[0, 1, -1], classes=["no", "yes"])
    by_name = ArrayShards(PROBS, labels=["no", "yes", None], classes=["no", "yes"])

    assert only(by_index).labels.tolist() == only(by_name).labels.tolist() == [0, 1, -1]


def test_labels_are_names_where_names_are_numbers():
    """Class "1" is the class of that name, wherever it stands."""
    shards = ArrayShards(PROBS, labels=[1, 2, 2], classes=["2", "1"])
    assert shards.classes == ("1", "2")
    assert only(shards).labels.tolist() == [0, 1, 1]
    with pytest.raises(UnknownLabelError, check=WithFields(label="0", n_classes=2, shown="2, 1")):
        ArrayShards(PROBS, labels=[1, 2, 0], classes=["2", "1"])


def test_predictions_are_indices_into_named_classes():
    """Labels as well."""
    shards = ArrayShards([[0, 1], [1, 1]], labels=[0, 1], classes=["no", "yes"])

    assert shards.classes == ("no", "yes")
    assert [run.tolist() for run in only(shards).predictions] == [[0, 1], [1, 1]]
    assert only(shards).labels.tolist() == [0, 1]


def test_named_classes_come_in_canonical_order():
    """As a table of them would have them, also those that nobody predicts."""
    shards = ArrayShards([["b", "a"], ["a", "a"]], labels=["b", "a"], classes=["b", "a", "never"])

    assert shards.classes == ("a", "b", "never")
    assert only(shards).predictions.tolist() == [[1, 0], [0, 0]]
    assert only(shards).labels.tolist() == [1, 0]


def test_order_of_classes_does_not_show_and_runs_keep_theirs():
    """The same classes, given backwards with their names, are the same shard."""
    forwards = ArrayShards(PROBS, labels=[0, 1, 0], classes=["a", "b"], runs=["r", "s"])
    backwards = ArrayShards(
        PROBS[::-1, :, ::-1], labels=[1, 0, 1], classes=["b", "a"], runs=["s", "r"]
    )

    assert backwards.runs == ("s", "r")
    assert backwards.classes == forwards.classes
    np.testing.assert_array_equal(only(backwards).probs, only(forwards).probs[::-1])
    np.testing.assert_array_equal(only(backwards).labels, only(forwards).labels)


def test_minus_one_is_a_class_where_it_is_predicted():
    """Classifiers with a margin predict -1 and 1; a label of -1 is known then."""
    shards = ArrayShards([[-1, 1], [1, 1]], labels=[-1, 1])

    assert shards.classes == ("-1", "1")
    assert only(shards).labels.tolist() == [0, 1]


# -------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("values", "error", "fields"),
    [
        ([[[0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]], ShapeError, {"n_runs": 2}),
        (np.array([[1, "a"], [None, 2]], dtype=object), DtypeError, {"dtype": np.dtype(object)}),
        (np.ones(4), ShapeError, {"shape": (4,), "dtype": np.dtype("float64")}),
        ([], ShapeError, {"shape": (0,)}),
        (np.float64(3), ShapeError, {"shape": ()}),
        (np.ones((2, 3)), ShapeError, {"shape": (2, 3)}),
        (np.ones((2, 2, 2, 2)) / 2, ShapeError, {"shape": (2, 2, 2, 2)}),
        (np.ones((2, 2, 2), dtype=int), DtypeError, {"dtype": np.dtype("int64")}),
        (PROBS.astype(complex), DtypeError, {"dtype": np.dtype("complex128")}),
        (np.array([[b"a"], [b"b"]]), ShapeError, {"shape": (2, 1), "dtype": np.dtype("S1")}),
        (np.zeros((2, 2), dtype="datetime64[D]"), ShapeError, {"dtype": np.dtype("datetime64[D]")}),
        (PROBS[:1], TooFewRunsError, {"n_runs": 1}),
        (PROBS[:0], TooFewRunsError, {"n_runs": 0}),
        (PROBS[:, :0], EmptyInputError, {"shape": (2, 0, 2)}),
        (PROBS[:, :, :1], ClassesError, {"n_classes": 1}),
        (PROBS[:, :, :0], ClassesError, {"n_classes": 0}),
    ],
    ids=[
        "ragged", "objects", "one-axis", "nothing", "a-number", "two-axes-of-floats", "four-axes",
        "integers", "complex", "bytes", "dates", "one-run", "no-run", "no-examples", "one-class",
        "no-class",
    ],
)  # fmt: skip
def test_arrays_of_the_wrong_shape_or_type_are_refused(values, error, fields):
    """With the shape or type that was given."""
    with pytest.raises(error, check=WithFields(**fields)):
        ArrayShards(values)


def test_number_of_no_axis_shows_its_shape():
    """An empty tuple is a shape, not a list of no names."""
    with pytest.raises(ShapeError, check=WithFields(shape=())) as refused:
        ArrayShards(0.5)

    assert str(()) in str(refused.value)


@pytest.mark.parametrize(
    ("options", "error", "fields"),
    [
        ({"labels": [0]}, ShapeError, {"shape": (1,), "n_examples": 3}),
        ({"labels": [[0], [1], [0]]}, ShapeError, {"shape": (3, 1)}),
        ({"labels": [0, 1, 2]}, UnknownLabelError, {"label": "2", "n_classes": 2, "shown": "0, 1"}),
        ({"labels": [0, 1, 0.5]}, UnknownLabelError, {"label": "0.5"}),
        ({"labels": np.array([0, 1, 2**63], dtype=np.uint64)}, UnknownLabelError, {"label": "9223372036854775808"}),
        ({"labels": ["no", "yes", "no"]}, UnknownLabelError, {"label": "no"}),
        ({"ids": [1, 2]}, ShapeError, {"shape": (2,), "n_examples": 3}),
        ({"ids": [1, 2, 1]}, DuplicateExampleError, {"twice": 1}),
        ({"ids": ["a", "b", "a"]}, DuplicateExampleError, {"twice": "a"}),
        ({"ids": [1.0, np.nan, 2.0]}, MissingValueError, {"position": 1}),
        ({"ids": np.array(["a", "b", None], dtype=object)}, MissingValueError, {"position": 2}),
        ({"classes": ["a"]}, ClassesError, {"noun": "class", "n_names": 1, "n_needed": 2}),
        ({"classes": ["a", "a"]}, ClassesError, {"noun": "class", "n_names": 1}),
        ({"runs": ["a", "b", "c"]}, ShapeError, {"noun": "run", "n_names": 3, "n_needed": 2}),
        ({"runs": ["a", "a"]}, ShapeError, {"noun": "run", "n_names": 1}),
    ],
    ids=[
        "labels-short", "labels-2d", "label-large", "label-half", "label-huge", "label-named",
        "ids-short", "ids-twice", "text-ids-twice", "id-nan", "id-none", "classes-few",
        "classes-twice", "runs-many", "runs-twice",
    ],
)  # fmt: skip
def test_what_goes_with_the_arrays_must_fit(options, error, fields):
    """Labels, ids and names are checked against the axes."""
    with pytest.raises(error, check=WithFields(**fields)):
        ArrayShards(PROBS, **options)


def test_predictions_outside_named_classes_are_refused():
    """The name that is missing is shown."""
    with pytest.raises(UnknownLabelError, check=WithFields(label="c", n_classes=2)):
        ArrayShards([["a", "c"], ["a", "b"]], classes=["a", "b"])


def test_class_names_of_predictions_are_different():
    """Two classes of one name would be one."""
    with pytest.raises(ClassesError, check=WithFields(noun="class", n_names=1, n_needed=2)):
        ArrayShards([["a", "a"], ["a", "a"]], classes=["a", "a"])


def test_labels_that_nobody_predicts_are_refused():
    """Mostly a matter of spelling; both spellings are shown."""
    with pytest.raises(UnknownLabelError, check=WithFields(label="1", prediction="a")):
        ArrayShards([["a", "b"], ["a", "b"]], labels=[1, 2])


@pytest.mark.parametrize(
    ("dtype", "stray", "fine"),
    [
        (np.float64, 0.0009, True),
        (np.float64, 0.0011, False),
        (np.float32, 0.0009, True),
        (np.float32, 0.0011, False),
        (np.float16, 0.009, True),
        (np.float16, 0.012, False),
    ],
)
def test_how_far_sums_may_stray_depends_on_the_precision(dtype, stray, fine):
    """A thousandth; a hundredth for half precision."""
    probs = PROBS.copy()
    probs[1, 2, 1] += stray
    shards = ArrayShards(probs.astype(dtype))

    if fine:
        shards.shard(0)
    else:
        with pytest.raises(ProbabilityError, check=WithFields(example=2, run="1")):
            shards.shard(0)


@pytest.mark.parametrize(
    ("value", "read"),
    [(np.nan, np.nan), (np.inf, np.inf), (1e300, np.inf), (-0.5, -0.5)],
    ids=["nan", "infinite", "large", "negative"],
)
def test_values_that_are_no_probabilities_name_their_example(value, read):
    """Without a warning of numpy's beside it."""
    probs = PROBS.copy()
    probs[0, 1, 0] = value
    shards = ArrayShards(probs, ids=["c", "b", "a"], runs=["s0", "s1"])

    with pytest.raises(ProbabilityError, check=WithFields(example="b", run="s0")) as refused:
        shards.shard(0)

    np.testing.assert_equal(float(refused.value.fields["probability"]), read)


def test_anything_with_an_array_inside_is_taken():
    """Torch tensors and others hand themselves over."""

    class Tensor:
        def __array__(self, dtype=None, copy=None):
            return PROBS

    assert ArrayShards(Tensor()).n_examples == 3
