"""Planned looks: which one is judged, and the chance that one of them excludes the truth."""

import numpy as np
import pytest

from seedproof.stats.distributions import normal_quantile
from seedproof.stats.intervals import PLAIN
from seedproof.stats.looks import (
    AT_LOOK,
    AT_TRIAL_LOOK,
    LOOKS,
    MOST_TRIAL_LOOKS,
    first_look,
    look_at,
    planned_looks,
)


@pytest.mark.parametrize("place", range(len(LOOKS)))
@pytest.mark.parametrize("beyond", [-1, 0, 1])
def test_a_look_is_reached_with_its_number_of_runs(place, beyond):
    """One run fewer is judged at the look before; the first has none before it."""
    look = look_at(LOOKS[place] + beyond)

    reached = place if beyond >= 0 else place - 1
    if reached < 0:
        assert look is None
        return
    following = LOOKS[reached + 1] if reached + 1 < len(LOOKS) else None
    assert (look.n_runs, look.following) == (LOOKS[reached], following)
    assert (look.level, look.declared, look.is_declared) == (AT_LOOK, None, False)


@pytest.mark.parametrize(
    ("n_runs", "declared", "judged", "is_plain", "following"),
    [
        (6, 7, None, None, None),  # runs are missing
        (7, 7, 7, True, 10),
        (9, 7, 7, True, 10),  # further runs wait for the next look
        (10, 7, 10, False, 20),  # which has its share of the error alone
        (5, 5, 5, True, 10),  # 5 is enough for a verdict
        (10, 5, 10, False, 20),
        (10, 10, 10, True, 20),  # a look with this number of runs is replaced
        (20, 10, 20, False, 40),
        (4, 4, None, None, None),  # too few for a verdict: nothing was declared
        (5, 4, 5, False, 10),
        (80, 80, 80, True, None),
    ],
)
def test_a_declared_number_of_runs_has_the_plain_interval(
    n_runs, declared, judged, is_plain, following
):
    look = look_at(n_runs, declared)

    if judged is None:
        assert look is None
        return
    assert (look.n_runs, look.following) == (judged, following)
    assert look.level == (PLAIN if is_plain else AT_LOOK)
    assert look.is_declared == is_plain


@pytest.mark.parametrize(
    ("declared", "planned"),
    [
        (None, (5, 10, 20, 40, 80)),
        (4, (5, 10, 20, 40, 80)),
        (5, (5, 10, 20, 40, 80)),
        (12, (12, 20, 40, 80)),
        (100, (100,)),
    ],
)
def test_looks_up_to_the_declared_one_are_given_up(declared, planned):
    assert planned_looks(declared) == planned
    assert first_look(declared) == planned[0]


def test_each_look_has_its_share_of_the_error():
    """2.5 % on each side, divided by the five looks; examples are drawn once."""
    assert AT_LOOK.tail == pytest.approx(PLAIN.tail / len(LOOKS))
    assert AT_LOOK.example_tail == PLAIN.tail
    assert AT_LOOK.is_of_pairs


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
