"""Settings for all tests."""

from hypothesis import settings

# Derandomized: the same examples on every machine, so that a failure is never a matter of luck.
# No deadline: a busy CI machine is not a bug.
settings.register_profile("seedproof", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("seedproof")
