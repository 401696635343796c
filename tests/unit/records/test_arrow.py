"""Numpy and Arrow, through memory that both can read."""

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
def test_numbers_are_what_arrow_itself_makes_of_them(values, data):
    """With and without some that are missing, and every second one."""
    missing = data.draw(hnp.arrays(np.bool_, len(values)))

    for some, gaps in ((values, missing), (values[::2], missing[::2])):
        assert to_arrow(some).equals(pa.array(some))
        found, expected = to_arrow(some, missing=gaps), pa.array(some, mask=gaps)
        assert (found.null_count, found.is_valid()) == (expected.null_count, expected.is_valid())
        assert found.drop_null().equals(expected.drop_null())


@given(NUMBERS, st.integers(0, 5))
def test_numbers_come_back(values, start):
    """Of a whole column, a part of one, and one in pieces."""
    array = pa.array(values)

    for column, expected in (
        (array, values),
        (array[start:], values[start:]),
        (pa.chunked_array([array[:start], array[start:]]), values),
    ):
        found = to_numpy(column)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == values.dtype


def test_bytes_in_the_other_order_are_the_same_numbers():
    """As of a file from elsewhere."""
    assert to_arrow(np.array([1, 2], dtype=">i4")).equals(pa.array([1, 2], pa.int32()))


@pytest.mark.parametrize("values", [[[1, 2]], [2**31], [0.5]])
def test_what_does_not_fit_is_refused(values):
    """Rather than cut off."""
    with pytest.raises(ValueError):
        to_arrow(values, np.int32)


def test_an_empty_column_has_no_pieces():
    """As of a table without rows."""
    assert to_numpy(pa.chunked_array([], pa.int32())).tolist() == []


@pytest.mark.parametrize(
    ("column", "missing", "expected"),
    [
        (pa.array([1, None, 3], pa.int32()), -1, [1, -1, 3]),
        (pa.array([1, None, 3], pa.int64())[1:], 0, [0, 3]),
        (pa.array([0.5, None]), np.nan, [0.5, np.nan]),
        (pa.array([1, 2]), -1, [1, 2]),
    ],
)
def test_what_is_missing_gets_a_number(column, missing, expected):
    """In the column's own type."""
    found = to_numpy(column, missing=missing)

    np.testing.assert_array_equal(found, expected)
    assert found.dtype == column.type.to_pandas_dtype()


def test_what_is_missing_is_not_read_as_a_number():
    """Whatever bytes stand there."""
    with pytest.raises(ValueError):
        to_numpy(pa.array([1, None]))


@given(st.lists(st.text(max_size=5), max_size=20))
def test_texts_are_what_arrow_itself_makes_of_them(texts):
    """Also empty ones, none, and such of more bytes than letters."""
    assert texts_to_arrow(texts).equals(pa.array(texts, pa.string()))


def test_no_pandas_is_loaded():
    """Which is what this is for."""
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
