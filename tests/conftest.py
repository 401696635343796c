"""Settings for all tests."""

import pytest
from hypothesis import settings

# Contracts are tests that live in the library: explain their asserts, too.
pytest.register_assert_rewrite(
    "seedproof.testing.engines",
    "seedproof.testing.explainers",
    "seedproof.testing.stabilizers",
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Tests that need a Ray cluster share one worker, since starting it takes seconds.

    xdist's own groups are ignored by this pytest (pytest-xdist issue 1386).
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            is_ray = "::TestRay::" in nodeid or "test_study_ray.py" in nodeid
            return "ray" if is_ray else nodeid

    return Scheduling(config, log)


# Derandomized: the same examples on every machine, so that a failure is never a matter of luck.
# No deadline: a busy CI machine is not a bug.
settings.register_profile("seedproof", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("seedproof")
