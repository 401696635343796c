"""Orders of names that do not depend on their source."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedproof.records.shards import canonical_order, is_integer


@pytest.mark.parametrize(
    ("names", "ordered"),
    [
        (["10", "9", "-1", "0"], ["-1", "0", "9", "10"]),
        (["10", "9", "a", "Z", "é"], ["10", "9", "Z", "a", "é"]),
    ],
    ids=["numbers", "texts"],
)
def test_names_are_ordered_by_value_or_by_bytes(names, ordered):
    """A single name that is not a number makes all of them text."""
    assert canonical_order(names) == ordered


@given(st.lists(st.one_of(st.text(max_size=3), st.integers(-20, 20).map(str)), unique=True))
def test_order_does_not_depend_on_the_input_order(names):
    """Any permutation of the same names gives the same order."""
    assert canonical_order(names[::-1]) == canonical_order(names)


@pytest.mark.parametrize("text", ["0", "7", "-7", "999999999999999999", "-999999999999999999"])
def test_integers_as_people_write_them(text):
    """Digits, perhaps with a minus."""
    assert is_integer(text)


@pytest.mark.parametrize(
    "text", ["", "-", "-0", "01", "+1", "1.0", "1e3", " 1", "1_000", "٣", "9223372036854775808"]
)
def test_text_that_would_change_as_int64_is_not_an_integer(text):
    """It stays text."""
    assert not is_integer(text)
