"""Settings for training by other libraries."""

import gc

import pytest

from seedproof.testing.trainings import one_thread
from seedproof.training.rng import untouched


@pytest.fixture(scope="module", autouse=True)
def _little_to_collect():
    """Exclude objects of earlier tests from the Trainer's frequent garbage collections."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _alone():
    """Restore global generators, which trainers seed and draw from."""
    with one_thread(), untouched():
        yield
