"""Settings for the tests of the library and of the reproductions."""

import os

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what takes minutes, unless all of it is asked for."""
    if os.environ.get("SEEDPROOF_FULL") == "1":
        return
    left_out = pytest.mark.skip(reason="slow; SEEDPROOF_FULL=1 runs it")
    for item in items:
        if item.get_closest_marker("full"):
            item.add_marker(left_out)
