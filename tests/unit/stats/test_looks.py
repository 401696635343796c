"""Levels of planned looks, against the chance that one of them excludes the truth."""

import numpy as np
import pytest

from seedproof.stats.distributions import normal_quantile
from seedproof.stats.looks import AT_TRIAL_LOOK, MOST_TRIAL_LOOKS


@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0, 3.0, 10.0, 100.0])
def test_truth_is_excluded_after_any_of_many_trials_in_about_five_percent(noise):
    """Means of examples drawn once, and of trials whose noise has this variance next to theirs.

    The standard error of the share is 0.1 points.
    """
    rng, numbers = np.random.default_rng(0), np.arange(1, MOST_TRIAL_LOOKS + 1)
    steps = rng.standard_normal((50_000, MOST_TRIAL_LOOKS))
    errors = rng.standard_normal((50_000, 1)) + np.sqrt(noise) * steps.cumsum(axis=1) / numbers

    drawn, wide = (
        normal_quantile(1 - tail) ** 2 for tail in (AT_TRIAL_LOOK.example_tail, AT_TRIAL_LOOK.tail)
    )
    # With fewer than three trials, all of the variance may be noise.
    widths = np.where(numbers < 3, wide, drawn) + wide * noise / numbers

    assert (np.square(errors) > widths).any(axis=1).mean() <= 0.055
