import pytest
from seedproof_reproductions.page.verdicts import (
    FAILS,
    HOLDS,
    OPEN,
    SIZE_OPEN,
    judge_cut,
    judge_direction,
    judge_loss,
    judge_range,
)

from seedproof.comparison.effect import Effect
from seedproof.measurement.intervals import Estimate


def ratio(low, high):
    """The effect of an interval, judged as `compare` does."""
    verdict = "steadier" if high < 1 else "less steady" if low > 1 else "no difference shown"
    return Effect("flip_rate", "ratio", (low * high) ** 0.5, low, high, verdict=verdict)


def cut(value, low, high):
    """A shown cut whose value is not in the middle."""
    return Effect("flip_rate", "ratio", value, low, high, verdict="steadier")


def difference(low, high):
    """The same of accuracy."""
    verdict = "better" if low > 0 else "worse" if high < 0 else "no difference shown"
    return Effect("accuracy", "difference", (low + high) / 2, low, high, verdict=verdict)


@pytest.mark.parametrize(
    ("effect", "verdict"),
    [
        (ratio(0.3, 0.8), HOLDS),
        (ratio(0.3, 1.2), OPEN),
        (ratio(0.94, 1.01), OPEN),
        (ratio(0.96, 1.01), OPEN),  # at most 4 % less, or nothing
        (ratio(0.97, 0.99), HOLDS),  # little, but shown
        (ratio(1.1, 1.5), FAILS),
        (difference(0.001, 0.02), HOLDS),
        (difference(-0.02, -0.001), FAILS),
        (difference(-0.001, 0.001), OPEN),
        (None, OPEN),
        (Effect("accuracy_sd", "ratio", 0.3, verdict="too few runs"), OPEN),
    ],
)
def test_a_direction_needs_the_whole_interval(effect, verdict):
    """What contains no change shows nothing, however narrow it is."""
    assert judge_direction(effect) == verdict


@pytest.mark.parametrize(
    ("effect", "verdict"),
    [
        (ratio(0.2, 0.79), HOLDS),  # a ratio of 0.40, and both ends are within a factor of 1.99
        (ratio(0.2, 0.81), SIZE_OPEN),  # the same with a factor of 2.01
        (ratio(0.1, 0.84), SIZE_OPEN),  # a cut of 16 to 90 %
        (cut(0.3, 0.14, 0.59), SIZE_OPEN),  # the lower end is too far
        (cut(0.3, 0.16, 0.61), SIZE_OPEN),  # the upper end is too far
        (cut(0.3, 0.16, 0.59), HOLDS),
        (cut(0.3, 0.0, 0.59), SIZE_OPEN),  # all of it may be cut
        (ratio(0.1, 1.3), OPEN),  # a cut of 90 %, or a rise of 30 %
        (ratio(0.45, 0.9), FAILS),  # at most 55 %
        (ratio(0.45, 1.1), FAILS),
        (ratio(0.1, 0.3), HOLDS),  # even more than 60 %
        (ratio(1.1, 1.3), FAILS),
        (None, OPEN),
        (Effect("accuracy_sd", "ratio", 0.3, verdict="too few runs"), OPEN),
    ],
)
def test_a_cut_of_60_percent(effect, verdict):
    """It fails where the interval ends short of it, and holds where it is known well enough."""
    assert judge_cut(effect, 60.0) == verdict


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.004, 0.01, HOLDS),
        (0.001, 0.01, HOLDS),
        (-0.02, 0.01, OPEN),
        (-0.02, -0.004, OPEN),
        (-0.02, -0.006, FAILS),
    ],
)
def test_almost_no_loss_is_half_a_point(low, high, verdict):
    """A loss of more must be excluded, not merely unproven."""
    assert judge_loss(difference(low, high)) == verdict


def test_a_loss_without_an_interval_is_open():
    """Two runs say nothing."""
    assert judge_loss(Effect("accuracy", "difference", 0.1)) == judge_loss(None) == OPEN


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(0.42, 0.58, HOLDS), (0.35, 0.45, OPEN), (0.3, 0.39, FAILS), (0.61, 0.7, FAILS)],
)
def test_a_range_of_40_to_60_percent(low, high, verdict):
    """All of the interval must lie in it."""
    ours = Estimate((low + high) / 2, low, high)
    assert judge_range(ours, 0.4, 0.6, is_over_runs=True) == verdict
    assert judge_range(ours, 0.4, 0.6, is_over_runs=False) == OPEN
    assert judge_range(Estimate(0.5), 0.4, 0.6, is_over_runs=True) == OPEN
