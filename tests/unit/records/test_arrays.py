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


def test_probabilities_become_one_array():
    """In float32, with positions for ids, runs and classes."""
    shards = ArrayShards(PROBS, labels=[0, 1, -1])
    shard = only(shards)

    assert shards.kind is Kind.PROBS
    assert (shards.runs, shards.classes) == (("0", "1"), ("0", "1"))
    assert (shards.n_examples, shards.n_labeled) == (3, 2)
    assert shard.ids.to_pylist() == [0, 1, 2]
    assert shard.labels.tolist() == [0, 1, -1]
    assert shard.predictions is None
    assert shard.probs.dtype == np.float32
    np.testing.assert_array_equal(shard.probs, PROBS.astype(np.float32))


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


@pytest.mark.parametrize(
    ("values", "labels", "given", "classes", "predictions", "gold"),
    [
        ([[True, False], [True, True]], [True, False], None, ("0", "1"), [[1, 0], [1, 1]], [1, 0]),
        ([[0, 1], [1, 1]], [0, 1], ["no", "yes"], ("no", "yes"), [[0, 1], [1, 1]], [0, 1]),
        ([["b", "a"], ["a", "a"]], ["b", "a"], ["b", "a", "never"], ("a", "b", "never"), [[1, 0], [0, 0]], [1, 0]),
        ([[-1, 1], [1, 1]], [-1, 1], None, ("-1", "1"), [[0, 1], [1, 1]], [0, 1]),
    ],
    ids=["booleans", "indices", "named-classes-in-canonical-order", "minus-one-is-predicted"],
)  # fmt: skip
def test_predictions_and_labels_are_indices_of_the_same_classes(
    values, labels, given, *, classes, predictions, gold
):
    """By name, or by index into named classes; -1 is a class if a run predicts it."""
    shards = ArrayShards(values, labels=labels, classes=given)

    assert shards.classes == classes
    assert only(shards).predictions.tolist() == predictions
    assert only(shards).labels.tolist() == gold


def test_list_of_arrays_has_one_run_per_array():
    """As from a loop over seeds."""
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
    ("ids", "order", "ordered"),
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
def test_rows_are_sorted_by_id(ids, order, ordered):
    """Integers by value, all else by bytes, as in tables."""
    shard = only(ArrayShards(PROBS, labels=[0, 1, -1], ids=ids))

    assert shard.ids.to_pylist() == ordered
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
def test_labels_in_all_usual_forms(labels):
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


def test_labels_are_names_if_class_names_are_numbers():
    """Class "1" is the class of that name, at any index."""
    shards = ArrayShards(PROBS, labels=[1, 2, 2], classes=["2", "1"])
    assert shards.classes == ("1", "2")
    assert only(shards).labels.tolist() == [0, 1, 1]
    with pytest.raises(UnknownLabelError, check=WithFields(label="0", n_classes=2, shown="2, 1")):
        ArrayShards(PROBS, labels=[1, 2, 0], classes=["2", "1"])


def test_order_of_classes_has_no_effect_and_runs_keep_theirs():
    """The same classes in reverse order, with their names, give the same shard."""
    forwards = ArrayShards(PROBS, labels=[0, 1, 0], classes=["a", "b"], runs=["r", "s"])
    backwards = ArrayShards(
        PROBS[::-1, :, ::-1], labels=[1, 0, 1], classes=["b", "a"], runs=["s", "r"]
    )

    assert backwards.runs == ("s", "r")
    assert backwards.classes == forwards.classes
    np.testing.assert_array_equal(only(backwards).probs, only(forwards).probs[::-1])
    np.testing.assert_array_equal(only(backwards).labels, only(forwards).labels)


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


def test_number_without_axes_shows_its_shape():
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
def test_labels_ids_and_names_must_match_the_axes(options, error, fields):
    """Labels, ids and names are checked against the axes."""
    with pytest.raises(error, check=WithFields(**fields)):
        ArrayShards(PROBS, **options)


@pytest.mark.parametrize(
    ("values", "options", "error", "fields"),
    [
        ([["a", "c"], ["a", "b"]], {"classes": ["a", "b"]}, UnknownLabelError, {"label": "c", "n_classes": 2}),
        ([["a", "a"], ["a", "a"]], {"classes": ["a", "a"]}, ClassesError, {"noun": "class", "n_names": 1, "n_needed": 2}),
        ([["a", "b"], ["a", "b"]], {"labels": [1, 2]}, UnknownLabelError, {"label": "1", "prediction": "a"}),
    ],
    ids=["not-a-named-class", "equal-class-names", "no-label-is-predicted"],
)  # fmt: skip
def test_predictions_classes_and_labels_must_match(values, options, error, fields):
    """Most mismatches are matters of spelling."""
    with pytest.raises(error, check=WithFields(**fields)):
        ArrayShards(values, **options)


@pytest.mark.parametrize(
    ("dtype", "inside", "outside"),
    [(np.float64, 0.0009, 0.0011), (np.float32, 0.0009, 0.0011), (np.float16, 0.009, 0.012)],
)
def test_tolerance_of_sums_depends_on_the_precision(dtype, inside, outside):
    """A thousandth; a hundredth for half precision."""
    probs = PROBS.copy()
    probs[1, 2, 1] += inside
    ArrayShards(probs.astype(dtype)).shard(0)

    probs[1, 2, 1] += outside - inside
    shards = ArrayShards(probs.astype(dtype))
    with pytest.raises(ProbabilityError, check=WithFields(example=2, run="1")):
        shards.shard(0)


@pytest.mark.parametrize(
    ("value", "read"),
    [(np.nan, np.nan), (np.inf, np.inf), (1e300, np.inf), (-0.5, -0.5)],
    ids=["nan", "infinite", "large", "negative"],
)
def test_values_that_are_not_probabilities_name_their_example(value, read):
    """Without a warning from numpy."""
    probs = PROBS.copy()
    probs[0, 1, 0] = value
    shards = ArrayShards(probs, ids=["c", "b", "a"], runs=["s0", "s1"])

    with pytest.raises(ProbabilityError, check=WithFields(example="b", run="s0")) as refused:
        shards.shard(0)

    np.testing.assert_equal(float(refused.value.fields["probability"]), read)


def test_any_array_like_object_is_accepted():
    """Such as a tensor of torch."""

    class Tensor:
        def __array__(self, dtype=None, copy=None):
            return PROBS

    assert ArrayShards(Tensor()).n_examples == 3
