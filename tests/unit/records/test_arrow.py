"""Conversion between numpy and Arrow."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from seedproof.records.arrow import texts_to_arrow, to_arrow, to_numpy

KINDS = st.sampled_from(["?", "<i4", "<i8", "<f4", "<f8"])
NUMBERS = KINDS.flatmap(
    lambda kind: hnp.arrays(kind, st.integers(0, 20), elements={"allow_nan": False})
)


@given(NUMBERS, st.data())
def test_numbers_are_converted_as_by_arrow(values, data):
    """With and without missing ones, and every second one."""
    missing = data.draw(hnp.arrays(np.bool_, len(values)))

    for some, gaps in ((values, missing), (values[::2], missing[::2])):
        assert to_arrow(some).equals(pa.array(some))
        converted, expected = to_arrow(some, missing=gaps), pa.array(some, mask=gaps)
        assert (converted.null_count, converted.is_valid()) == (
            expected.null_count,
            expected.is_valid(),
        )
        assert converted.drop_null().equals(expected.drop_null())


@given(NUMBERS, st.integers(0, 5))
def test_numbers_come_back(values, start):
    """Of a whole column, a part of one, and one in pieces."""
    array = pa.array(values)

    for column, expected in (
        (array, values),
        (array[start:], values[start:]),
        (pa.chunked_array([array[:start], array[start:]]), values),
    ):
        converted = to_numpy(column)
        np.testing.assert_array_equal(converted, expected)
        assert converted.dtype == values.dtype


def test_bytes_in_the_other_order_are_the_same_numbers():
    """As of a file from elsewhere."""
    assert to_arrow(np.array([1, 2], dtype=">i4")).equals(pa.array([1, 2], pa.int32()))


@pytest.mark.parametrize("values", [[[1, 2]], [2**31], [0.5]])
def test_values_that_do_not_fit_are_refused(values):
    """Rather than truncated."""
    with pytest.raises(ValueError):
        to_arrow(values, np.int32)


@pytest.mark.parametrize(
    ("column", "missing", "expected"),
    [
        (pa.array([1, None, 3], pa.int32()), -1, [1, -1, 3]),
        (pa.array([1, None, 3], pa.int64())[1:], 0, [0, 3]),
        (pa.array([0.5, None]), np.nan, [0.5, np.nan]),
        (pa.array([1, 2]), -1, [1, 2]),
        (pa.chunked_array([], pa.int32()), -1, []),
    ],
)
def test_missing_values_are_replaced(column, missing, expected):
    """In the column's own type; a column may be empty."""
    converted = to_numpy(column, missing=missing)

    np.testing.assert_array_equal(converted, expected)
    assert converted.dtype == column.type.to_pandas_dtype()


def test_missing_values_need_a_replacement():
    """They are never read as numbers."""
    with pytest.raises(ValueError):
        to_numpy(pa.array([1, None]))


@given(st.lists(st.text(max_size=5), max_size=20))
def test_texts_are_converted_as_by_arrow(texts):
    """Also empty ones, none, and those with more bytes than characters."""
    assert texts_to_arrow(texts).equals(pa.array(texts, pa.string()))


def test_pandas_is_not_imported():
    """It would cost a quarter of a second."""
    program = (
        "import sys\n"
        "import numpy as np\n"
        "from seedproof.records.arrow import texts_to_arrow, to_arrow, to_numpy\n"
        "gaps = np.array([True, False])\n"
        "to_numpy(to_arrow([1, 2], np.int32, missing=gaps), missing=-1)\n"
        "to_numpy(to_arrow(gaps))\n"
        "texts_to_arrow(['a', 'b']).take(to_arrow([1]))\n"
        "sys.exit('pandas' in sys.modules)\n"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
