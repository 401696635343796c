"""Settings for trainings by other libraries."""

import gc

import pytest


@pytest.fixture(scope="module", autouse=True)
def _little_to_look_through():
    """Hugging Face's Trainer collects garbage after each training, of all tests before these, too."""
    gc.collect()
    gc.freeze()
