"""Parsing of memory limits."""

import pytest

from seedproof.errors import OptionError
from seedproof.records.memory_limit import parse_memory
from seedproof.testing.errors import WithFields


@pytest.mark.parametrize(
    ("text", "size"), [("4GB", 4 * 10**9), ("500 MB", 5 * 10**8), (10**9, 10**9), ("1GiB", 10**9)]
)
def test_memory_limit_is_parsed_with_its_unit(text, size):
    """A number with a unit, or bytes as an integer; GiB counts as GB."""
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["banana", "1", "-4GB", "nanGB", "infGB", ""])
def test_invalid_memory_limit_is_refused(text):
    """The limit is a finite number of at least 100 MB."""
    with pytest.raises(OptionError, check=WithFields(memory=text)):
        parse_memory(text)
