"""Optional dependencies."""

import pytest

from seedproof._optional import require
from seedproof.errors import MissingExtraError
from seedproof.testing.errors import WithFields


def test_what_is_installed_passes():
    """Nothing happens, and nothing is imported."""
    require("numpy", extra="torch", feature="this test")


def test_what_is_missing_is_answered_with_the_command_that_installs_it():
    """The message names the feature, the module and the extra."""
    with pytest.raises(
        MissingExtraError,
        check=WithFields(feature="the moon engine", module="moonlib", extra="moon"),
    ):
        require("moonlib", extra="moon", feature="the moon engine")
