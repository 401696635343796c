"""Memory limits, from text."""

import pytest

from seedproof.errors import OptionError
from seedproof.records.memory_limit import parse_memory
from seedproof.testing.errors import WithFields


@pytest.mark.parametrize(
    ("text", "size"), [("4GB", 4 * 10**9), ("500 MB", 5 * 10**8), (10**9, 10**9), ("1GiB", 10**9)]
)
def test_memory_is_read_with_its_unit(text, size):
    """Sizes as people write them."""
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["banana", "1", "-4GB", "nanGB", "infGB", ""])
def test_memory_that_makes_no_sense_is_refused(text):
    """Less than 100 MB cannot work, and words are no sizes."""
    with pytest.raises(OptionError, check=WithFields(memory=text)):
        parse_memory(text)
