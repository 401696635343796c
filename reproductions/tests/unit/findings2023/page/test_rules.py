import math
from dataclasses import replace

import pytest
from seedproof_reproductions.findings2023.page.rules import (
    halves,
    is_below,
    is_no_worse,
    judge_accuracy,
    judge_below,
    judge_share,
    judge_strong,
    keeps,
    loses,
    recovered,
)
from seedproof_reproductions.page.verdicts import FAILS, HOLDS, OPEN, SHARE_OPEN

from seedproof.comparison.effect import Effect, judged
from seedproof.measurement.intervals import Estimate


def ratio(value, low, high):
    """What an arm does to the flip rate."""
    verdict = "not tested" if low is None else judged("flip_rate", low, high)
    return Effect("flip_rate", "ratio", value, low, high, verdict=verdict)


def difference(low, high):
    """What an arm does to accuracy."""
    verdict = judged("accuracy", low, high)
    return Effect("accuracy", "difference", (low + high) / 2, low, high, verdict=verdict)


def of_two_runs(effect):
    """The same interval over examples alone, as two runs have it."""
    return replace(effect, over="examples", verdict="too few runs")


@pytest.mark.parametrize(
    ("estimate", "verdict"),
    [
        (Estimate(0.8, 0.7, 0.9), HOLDS),
        (Estimate(0.75, 0.69, 0.8), OPEN),
        (Estimate(0.5, 0.4, 0.69), FAILS),
        (Estimate(0.9), OPEN),
        (None, OPEN),
    ],
)
def test_a_relationship_is_strong_from_seven_tenths_on(estimate, verdict):
    """With its whole interval; without one nothing is said."""
    assert judge_strong(estimate, Estimate(1.0)) == verdict


@pytest.mark.parametrize(
    ("reference", "verdict"), [(Estimate(0.81), FAILS), (Estimate(0.64), OPEN), (None, OPEN)]
)
def test_noise_of_few_runs_does_not_make_a_relationship_weak(reference, verdict):
    """0.6 is below 0.7 × 0.9, and above 0.7 × 0.8; without eight runs nobody knows."""
    assert judge_strong(Estimate(0.5, 0.4, 0.6), reference) == verdict


def test_a_share_of_a_cut_has_an_interval_of_both_arms():
    """15 of 20 % are three quarters; ends are those of intervals of 97.5 %, by hand."""
    wider = 2.2414 / 1.95996  # quantiles of the normal distribution at 98.75 and 97.5 %
    low, high = (1 - 0.85 * math.exp(sign * 0.05 * wider) for sign in (1, -1))
    most, least = (1 - 0.8 * math.exp(sign * 0.05 * wider) for sign in (-1, 1))

    found = recovered(
        ratio(0.85, 0.85 * math.exp(-0.05), 0.85 * math.exp(0.05)),
        ratio(0.8, 0.8 * math.exp(-0.05), 0.8 * math.exp(0.05)),
    )

    assert found.value == pytest.approx(0.75)
    assert found.low == pytest.approx(low / most, rel=1e-4)
    assert found.high == pytest.approx(high / least, rel=1e-4)


def test_a_rise_recovers_less_than_nothing():
    """Both ends are below 0, and the one that is further has the smaller whole."""
    found = recovered(ratio(1.2, 1.1, 1.3), ratio(0.8, 0.75, 0.85))

    assert found.value == pytest.approx(-1.0)
    assert found.low < found.value < found.high < 0


@pytest.mark.parametrize(
    "reference", [None, ratio(0.9, 0.8, 0.995), ratio(0.9, 0.8, 1.1), ratio(0.9, None, None)]
)
def test_there_is_no_share_of_a_cut_that_is_not_shown(reference):
    """Also where it is shown, but not by the wider interval."""
    assert recovered(ratio(0.8, 0.7, 0.9), reference) is None
    assert recovered(None, ratio(0.8, 0.7, 0.9)) is None


@pytest.mark.parametrize(
    ("share", "verdict"),
    [
        (Estimate(0.8, 0.6, 1.1), HOLDS),
        (Estimate(0.8, 0.3, 1.1), SHARE_OPEN),
        (Estimate(0.8, -0.1, 1.7), OPEN),
        (Estimate(0.5, 0.3, 0.85), FAILS),
        (Estimate(-0.5, -1.0, -0.1), FAILS),
        (None, OPEN),
    ],
)
def test_nine_tenths_of_the_ensemble(share, verdict):
    """The interval must reach them, begin above nothing, and be known to a factor of two."""
    assert judge_share(share, 90.0) == verdict


def test_one_arm_is_better_if_its_whole_interval_is_below():
    """Intervals that touch show nothing, and one that is missing shows nothing either."""
    assert is_below(ratio(0.5, 0.4, 0.6), ratio(0.8, 0.61, 0.9))
    assert not is_below(ratio(0.5, 0.4, 0.6), ratio(0.8, 0.6, 0.9))
    assert not is_below(None, ratio(0.8, 0.6, 0.9))
    assert not is_below(ratio(0.5, None, None), ratio(0.8, 0.6, 0.9))


@pytest.mark.parametrize(
    ("others", "verdict"),
    [
        ([(0.8, 0.7, 0.9), (0.9, 0.8, 1.0)], HOLDS),
        ([(0.8, 0.7, 0.9), (0.6, 0.5, 0.7)], OPEN),
        ([(0.8, 0.7, 0.9), (0.3, 0.2, 0.4)], FAILS),
        ([], OPEN),
    ],
)
def test_the_best_of_several_beats_each_of_them(others, verdict):
    """One that is shown to be better is enough against it."""
    assert judge_below(ratio(0.5, 0.45, 0.6), [ratio(*other) for other in others]) == verdict


@pytest.mark.parametrize(
    ("low", "high", "is_lost", "no_worse", "verdict"),
    [
        (-0.004, 0.002, False, True, HOLDS),
        (-0.006, 0.002, False, False, OPEN),
        (-0.004, -0.001, True, True, FAILS),
        (-0.006, 0.0, False, False, OPEN),
    ],
)
def test_accuracy_is_lost_below_zero_and_no_worse_above_half_a_point(
    low, high, is_lost, no_worse, verdict
):
    """Both may be true: a loss that is shown to be small."""
    found = difference(low, high)
    assert (loses(found), is_no_worse(found)) == (is_lost, no_worse)
    assert judge_accuracy(found) == verdict


@pytest.mark.parametrize(
    ("effect", "is_so"),
    [
        (ratio(0.5, 0.4, 0.599), True),
        (ratio(0.501, 0.4, 0.55), False),  # less than half is cut
        (ratio(0.5, 0.4, 0.6), False),  # 40 % is not excluded
        (ratio(0.4, None, None), False),
        (None, False),
    ],
)
def test_half_of_the_flips_with_an_interval_that_excludes_40_percent(effect, is_so):
    """The goal's own words."""
    assert halves(effect) == is_so


def test_two_runs_show_nothing_however_narrow_their_intervals_are():
    """Over utterances alone they say nothing of the next seed."""
    cut, other = of_two_runs(ratio(0.3, 0.2, 0.4)), ratio(0.8, 0.7, 0.9)
    gain, loss = (of_two_runs(difference(*ends)) for ends in ((0.001, 0.002), (-0.02, -0.01)))

    assert not halves(cut)
    assert not is_below(cut, other)
    assert recovered(cut, other) is recovered(other, cut) is None
    assert not any(map(loses, (gain, loss)))
    assert not any(map(keeps, (gain, loss)))
    assert not is_no_worse(gain)
    assert judge_accuracy(gain) == judge_accuracy(loss) == OPEN
