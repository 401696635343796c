"""Settings for tests of averages."""

import pytest

from seedproof.testing.trainings import one_thread


@pytest.fixture(autouse=True)
def _one_thread():
    with one_thread():
        yield
