"""Settings for training by other libraries."""

import gc

import pytest


@pytest.fixture(scope="module", autouse=True)
def _little_to_look_through():
    """Exclude objects of earlier tests from the Trainer's frequent garbage collections."""
    gc.collect()
    gc.freeze()
