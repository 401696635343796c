"""Checksums of many texts at once are those of zlib, one by one."""

from zlib import crc32

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from seedproof.measurement.checksums import MOST_BYTES, checksums


@given(st.lists(st.text(max_size=MOST_BYTES + 10)), st.integers(0, 3))
def test_checksums_are_those_of_single_texts(texts, start):
    """Also of empty texts, long ones, and those of a slice, whose offsets do not begin at 0."""
    column = pa.array(texts, pa.string())[start:]

    expected = [crc32(text.encode()) for text in texts[start:]]

    assert checksums(column).tolist() == expected


@given(st.lists(st.text(st.characters(codec="ascii"), min_size=1, max_size=12), min_size=1))
def test_checksums_of_short_texts_are_those_of_single_texts(texts):
    assert checksums(pa.array(texts)).tolist() == [crc32(text.encode()) for text in texts]
