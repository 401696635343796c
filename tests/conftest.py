"""Settings for all tests."""

import pytest
from hypothesis import settings

# Contracts are tests that live in the library: explain their asserts, too.
pytest.register_assert_rewrite("seedproof.testing.engines")

# Derandomized: the same examples on every machine, so that a failure is never a matter of luck.
# No deadline: a busy CI machine is not a bug.
settings.register_profile("seedproof", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("seedproof")
