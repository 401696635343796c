"""Checks of predictions before they become a record."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedproof.errors import (
    DuplicateExampleError,
    InputError,
    MissingValueError,
    ProbabilityError,
    UnknownLabelError,
)
from seedproof.messages import Message
from seedproof.records.checks import (
    HALF_SUM_TOLERANCE,
    check_ascending,
    check_classes,
    check_probs,
)
from seedproof.testing.errors import WithFields


def where(row: int) -> Message:
    """Return the name of a row, for messages."""
    return Message("row", "{row}", row=row)


@given(st.integers(0, 2**32), st.integers(1, 20), st.integers(2, 300))
def test_distributions_are_accepted(seed, n_rows, n_classes):
    """Whatever a softmax gives, in single precision."""
    probs = np.random.default_rng(seed).dirichlet(np.full(n_classes, 0.3), n_rows)

    check_probs(probs.astype(np.float32), where)


@pytest.mark.parametrize("shape", [(0, 3), (2, 10_000)], ids=["no-rows", "many-classes"])
def test_extreme_shapes_are_accepted(shape):
    """No rows at all; 10,000 float32 probabilities, which sum to one in double precision."""
    check_probs(np.full(shape, 1e-4, dtype=np.float32), where)


@pytest.mark.parametrize(
    ("bad", "field", "value"),
    [
        ([np.nan, 1.0], "probability", np.nan),
        ([np.inf, 0.0], "probability", np.inf),
        ([-np.inf, np.inf], "probability", -np.inf),
        ([-0.25, 1.25], "probability", -0.25),
        ([0.5, 0.6], "sum", 1.1),
        ([2.0, 3.0], "sum", 5.0),
        ([0.0, 0.0], "sum", 0.0),
    ],
    ids=["nan", "infinite", "both-infinities", "negative", "sum", "logits", "zeros"],
)
def test_invalid_distribution_names_its_row_and_value(bad, field, value):
    """The error names the first bad row."""
    probs = np.array([[0.5, 0.5], bad, [9.0, 9.0]], dtype=np.float32)

    with pytest.raises(ProbabilityError, check=WithFields(row=1)) as refused:
        check_probs(probs, where)

    assert refused.value.fields[field] == pytest.approx(value, nan_ok=True)
    assert str(where(1)) in str(refused.value)


@pytest.mark.parametrize("tolerance", [1e-3, HALF_SUM_TOLERANCE])
@pytest.mark.parametrize("sign", [1, -1])
def test_sum_may_differ_from_one_by_the_tolerance(tolerance, sign):
    """One tenth inside is accepted, one tenth outside is not, above and below one."""
    inside = np.array([[0.5, 0.5 + sign * 0.9 * tolerance]])
    outside = np.array([[0.5, 0.5 + sign * 1.1 * tolerance]])

    check_probs(inside, where, tolerance=tolerance)
    with pytest.raises(ProbabilityError, check=WithFields(row=0, tolerance=tolerance)):
        check_probs(outside, where, tolerance=tolerance)


def test_class_indices_within_the_classes_are_accepted():
    """From 0 on; from -1 on where a label may be unknown."""
    check_classes(np.array([0, 2]), 3, where)
    check_classes(np.array([-1, 2]), 3, where, least=-1)
    check_classes(np.array([[0, 1], [2, 0]]), 3, where)


@pytest.mark.parametrize(
    ("indices", "class_idx"),
    [([0, 3], 3), ([0, -1], -1), ([[0, 1], [1, 7]], 7)],
    ids=["too-large", "negative", "among-the-top"],
)
def test_class_indices_out_of_range_are_refused(indices, class_idx):
    """The error has the row, the index and the range."""
    expected = WithFields(row=1, class_idx=class_idx, n_classes=3, least=0, highest=2)
    with pytest.raises(UnknownLabelError, check=expected):
        check_classes(np.array(indices), 3, where)


@pytest.mark.parametrize("ids", [[1, 2, 5], ["a", "b"], ["B", "a", "é"], [], [7]])
def test_ascending_ids_are_accepted(ids):
    """By value, or by UTF-8 bytes."""
    check_ascending(pa.array(ids, None if ids else pa.int64()), None, where)


def test_ids_ascend_over_batches():
    """The last id of the previous batch counts."""
    check_ascending(pa.array([3, 4]), pa.scalar(2), where)
    with pytest.raises(DuplicateExampleError, check=WithFields(row=0)):
        check_ascending(pa.array([3, 4]), pa.scalar(3), where)


@pytest.mark.parametrize(
    ("ids", "row", "error"),
    [
        ([1, 1], 1, DuplicateExampleError),
        ([1, 2, 2], 2, DuplicateExampleError),
        (["a", "b", "b"], 2, DuplicateExampleError),
        ([2, 1], 1, InputError),
        (["a", "c", "b"], 2, InputError),
        (["é", "z"], 1, InputError),
        ([1, None, 3], 1, MissingValueError),
    ],
)
def test_repeated_unsorted_and_missing_ids_are_refused(ids, row, error):
    """The error names the second of two ids, and the missing one."""
    with pytest.raises(error, check=WithFields(row=row)) as refused:
        check_ascending(pa.array(ids), None, where)

    assert type(refused.value) is error
