"""Orders that do not depend on where names came from."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedproof.records.shards import Shard, canonical_order, is_integer


def test_a_shard_is_as_long_as_its_ids():
    """Every run has a row for each id."""
    shard = Shard(0, pa.array([1, 2]), None, probs=None, predictions=[np.zeros(2, dtype=np.int32)])

    assert len(shard) == 2


def test_numbers_are_ordered_by_value():
    """Run 10 comes after run 9."""
    assert canonical_order(["10", "9", "-1", "0"]) == ["-1", "0", "9", "10"]


def test_other_names_are_ordered_by_their_bytes():
    """One name that is no number makes all of them text."""
    assert canonical_order(["10", "9", "a", "Z", "é"]) == ["10", "9", "Z", "a", "é"]


@given(st.lists(st.one_of(st.text(max_size=3), st.integers(-20, 20).map(str)), unique=True))
def test_order_does_not_depend_on_what_came_first(names):
    """Any arrangement of the same names ends in one order."""
    assert canonical_order(names[::-1]) == canonical_order(names)


@pytest.mark.parametrize("text", ["0", "7", "-7", "999999999999999999", "-999999999999999999"])
def test_integers_as_people_write_them(text):
    """Digits, perhaps with a minus."""
    assert is_integer(text)


@pytest.mark.parametrize(
    "text", ["", "-", "-0", "01", "+1", "1.0", "1e3", " 1", "1_000", "٣", "9223372036854775808"]
)
def test_what_only_looks_like_an_integer(text):
    """What would not come back the same from an int64 stays text."""
    assert not is_integer(text)
