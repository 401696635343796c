"""Levels of planned looks, against the chance that one of them excludes the truth."""

import numpy as np
import pytest

from seedproof.stats.distributions import normal_quantile
from seedproof.stats.looks import AT_LOOK, AT_TRIAL_LOOK, LOOKS, MOST_TRIAL_LOOKS


@pytest.mark.parametrize(
    ("level", "looks"), [(AT_TRIAL_LOOK, range(1, MOST_TRIAL_LOOKS + 1)), (AT_LOOK, LOOKS)]
)
def test_normal_noise_is_excluded_at_any_look_in_five_percent(level, looks):
    """The standard error of the share is 0.05 points."""
    last = max(looks)
    steps = np.random.default_rng(0).standard_normal((200_000, last), dtype=np.float32)
    numbers = np.array(list(looks))
    means = steps.cumsum(axis=1)[:, numbers - 1] / np.sqrt(numbers)

    is_excluded = (np.abs(means) > normal_quantile(1 - level.tail)).any(axis=1)

    assert is_excluded.mean() <= 0.0515
