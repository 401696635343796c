import math
from dataclasses import replace

import pytest

from seedproof.comparison.effect import Effect, judged
from seedproof.measurement.intervals import Estimate
from seedproof_reproductions.rules import (
    RULES,
    WORDS,
    Evidence,
    Verdict,
    excludes_loss,
    is_below,
    judge,
    loses,
    share_of_cut,
)

HOLDS, FAILS, OPEN = Verdict.HOLDS, Verdict.FAILS, Verdict.OPEN
SIZE_OPEN, SHARE_OPEN = Verdict.SIZE_OPEN, Verdict.SHARE_OPEN
NO_INTERVAL = Effect("accuracy_sd", "ratio", 0.3, verdict="too few runs")


def ratio(low, high, value=None):
    """A ratio judged as `compare` does; its value is the geometric mean unless given."""
    middle = math.sqrt(low * high) if value is None else value
    verdict = judged("flip_rate", low, high)
    return Effect("flip_rate", "ratio", middle, low, high, verdict=verdict)


def difference(low, high):
    """A difference of accuracy judged as `compare` does."""
    verdict = judged("accuracy", low, high)
    return Effect("accuracy", "difference", (low + high) / 2, low, high, verdict=verdict)


def of_two_runs(effect):
    """The same interval over examples alone, as two runs have it."""
    return replace(effect, over="examples", verdict="too few runs")


def test_every_rule_is_open_without_evidence():
    """Missing results never hold and never fail."""
    assert {judge(rule, Evidence()) for rule in RULES} == {OPEN}
    assert set(WORDS) == set(Verdict)


@pytest.mark.parametrize(
    ("effect", "verdict"),
    [
        (ratio(0.3, 0.8), HOLDS),
        (ratio(0.3, 1.2), OPEN),
        (ratio(0.97, 0.99), HOLDS),  # little, but shown
        (ratio(1.1, 1.5), FAILS),
        (difference(0.001, 0.02), HOLDS),
        (difference(-0.02, -0.001), FAILS),
        (difference(-0.001, 0.001), OPEN),
        (NO_INTERVAL, OPEN),
    ],
)
def test_direction_needs_the_whole_interval(effect, verdict):
    """An interval that contains no change shows nothing, however narrow it is."""
    assert judge("direction", Evidence(effect)) == verdict


@pytest.mark.parametrize(
    ("effect", "verdict"),
    [
        (ratio(0.2, 0.79), HOLDS),  # a ratio of 0.40, and both ends are within a factor of 1.99
        (ratio(0.2, 0.81), SIZE_OPEN),  # the same with a factor of 2.01
        (ratio(0.14, 0.59, 0.3), SIZE_OPEN),  # the lower end is too far
        (ratio(0.16, 0.61, 0.3), SIZE_OPEN),  # the upper end is too far
        (ratio(0.16, 0.59, 0.3), HOLDS),
        (ratio(0.0, 0.59, 0.3), SIZE_OPEN),  # all of it may be cut
        (ratio(0.1, 1.3), OPEN),  # a cut of 90 %, or a rise of 30 %
        (ratio(0.45, 0.9), FAILS),  # at most 55 %
        (ratio(0.45, 1.1), FAILS),
        (ratio(0.1, 0.3), HOLDS),  # even more than 60 %
        (ratio(1.1, 1.3), FAILS),
        (of_two_runs(ratio(0.45, 0.9)), OPEN),
        (NO_INTERVAL, OPEN),
    ],
)
def test_cut_of_60_percent(effect, verdict):
    """It fails if the interval ends short of it, and holds if it is known well enough."""
    assert judge("cut", Evidence(effect, published=60.0)) == verdict


@pytest.mark.parametrize(
    ("effect", "also", "verdict"),
    [
        (ratio(0.2, 0.79), ratio(0.5, 0.9), HOLDS),
        (ratio(0.2, 0.79), ratio(0.5, 1.1), OPEN),
        (ratio(0.2, 0.81), ratio(0.5, 1.1), OPEN),
        (ratio(0.45, 0.9), ratio(0.5, 1.1), FAILS),
    ],
)
def test_cut_must_show_by_another_choice_of_examples(effect, also, verdict):
    """Unless the first choice already excludes the published size."""
    assert judge("cut", Evidence(effect, published=60.0, also=also)) == verdict


@pytest.mark.parametrize(
    ("effect", "loss", "accuracy"),
    [
        (difference(-0.004, 0.01), HOLDS, HOLDS),
        (difference(0.001, 0.01), HOLDS, HOLDS),
        (difference(-0.02, 0.01), OPEN, OPEN),
        (difference(-0.02, -0.004), OPEN, FAILS),  # a loss is shown, and may be a small one
        (difference(-0.004, -0.001), HOLDS, FAILS),
        (difference(-0.02, -0.006), FAILS, FAILS),
        (of_two_runs(difference(-0.02, -0.006)), OPEN, OPEN),
        (of_two_runs(difference(-0.004, 0.01)), OPEN, OPEN),
        (Effect("accuracy", "difference", 0.1), OPEN, OPEN),
    ],
)
def test_two_rules_on_accuracy(effect, loss, accuracy):
    """Almost no loss is half a point; as accurate means that no loss is shown, too."""
    assert judge("loss", Evidence(effect)) == loss
    assert judge("accuracy", Evidence(effect)) == accuracy
    assert loses(effect) == (effect.verdict == "worse")
    assert excludes_loss(effect, 1.0) == (effect.verdict not in {"too few runs", "not tested"})


@pytest.mark.parametrize(
    ("estimate", "verdict"),
    [
        (Estimate(1.2, 0.8, 2.2), HOLDS),  # known to a factor of 1.83
        (Estimate(1.2, 0.5, 6.0), OPEN),
        (Estimate(1.2, 1.1, 1.3), OPEN),  # an sd of ten seeds may be off by as much
        (Estimate(0.5, 0.3, 0.9), OPEN),
        (Estimate(0.3, 0.25, 0.36), FAILS),
        (Estimate(3.0, 2.5, 3.6), FAILS),
        (Estimate(0.3, 0.0, 0.36), OPEN),
        (Estimate(1.0), OPEN),
    ],
)
def test_published_sd_of_1(estimate, verdict):
    """Both have a sampling error; an interval over texts alone judges nothing."""
    evidence = Evidence(estimate=estimate, published=1.0)
    assert judge("value", evidence) == verdict
    assert judge("value", replace(evidence, is_over_runs=False)) == OPEN


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(0.42, 0.58, HOLDS), (0.35, 0.45, OPEN), (0.3, 0.39, FAILS), (0.61, 0.7, FAILS)],
)
def test_range_of_40_to_60_percent(low, high, verdict):
    """All of the interval must lie in it; without one over runs nothing is shown."""
    evidence = Evidence(estimate=Estimate(0.5, low, high), between=(0.4, 0.6))
    assert judge("range", evidence) == verdict
    assert judge("range", replace(evidence, is_over_runs=False)) == OPEN
    assert judge("range", replace(evidence, estimate=Estimate(0.5))) == OPEN


@pytest.mark.parametrize(
    ("estimate", "ceiling", "verdict"),
    [
        (Estimate(0.8, 0.7, 0.9), 1.0, HOLDS),
        (Estimate(0.75, 0.69, 0.8), 1.0, OPEN),
        (Estimate(0.5, 0.4, 0.69), 1.0, FAILS),
        (Estimate(0.5, 0.4, 0.6), 0.81, FAILS),  # 0.6 is below 0.7 × 0.9
        (Estimate(0.5, 0.4, 0.6), 0.64, OPEN),  # and above 0.7 × 0.8
        (Estimate(0.9), 1.0, OPEN),
    ],
)
def test_correlation_is_strong_from_seven_tenths_on(estimate, ceiling, verdict):
    """Noise of few runs does not make it weak; without a ceiling nothing is shown."""
    evidence = Evidence(estimate=estimate, ceiling=Estimate(ceiling))
    assert judge("correlation", evidence) == verdict
    assert judge("correlation", replace(evidence, ceiling=None)) == OPEN


@pytest.mark.parametrize(
    ("share", "verdict"),
    [
        (Estimate(0.8, 0.6, 1.1), HOLDS),
        (Estimate(0.8, 0.3, 1.1), SHARE_OPEN),
        (Estimate(0.8, -0.1, 1.7), OPEN),
        (Estimate(0.5, 0.3, 0.85), FAILS),
        (Estimate(-0.5, -1.0, -0.1), FAILS),
    ],
)
def test_share_of_90_percent(share, verdict):
    """The interval must reach it, begin above 0, and be known to a factor of two."""
    assert judge("share", Evidence(estimate=share, published=90.0)) == verdict


def test_share_of_a_cut_has_an_interval_of_both_arms():
    """15 of 20 % are three quarters; ends are those of intervals of 97.5 %, by hand."""
    wider = 2.2414 / 1.95996  # quantiles of the normal distribution at 98.75 and 97.5 %
    low, high = (1 - 0.85 * math.exp(sign * 0.05 * wider) for sign in (1, -1))
    most, least = (1 - 0.8 * math.exp(sign * 0.05 * wider) for sign in (-1, 1))
    arms = [ratio(x * math.exp(-0.05), x * math.exp(0.05), x) for x in (0.85, 0.8)]

    share = share_of_cut(*arms)

    assert share.value == pytest.approx(0.75)
    assert share.low == pytest.approx(low / most, rel=1e-4)
    assert share.high == pytest.approx(high / least, rel=1e-4)


def test_a_rise_has_a_negative_share():
    """Both ends are below 0."""
    share = share_of_cut(ratio(1.1, 1.3, 1.2), ratio(0.75, 0.85, 0.8))

    assert share.value == pytest.approx(-1.0)
    assert share.low < share.value < share.high < 0


@pytest.mark.parametrize(
    "reference",
    [None, ratio(0.8, 0.995, 0.9), ratio(0.8, 1.1), of_two_runs(ratio(0.5, 0.6)), NO_INTERVAL],
)
def test_there_is_no_share_of_a_cut_that_is_not_shown(reference):
    """Nor of one that the wider interval does not show."""
    assert share_of_cut(ratio(0.7, 0.9), reference) is None
    assert share_of_cut(None, ratio(0.7, 0.9)) is None


@pytest.mark.parametrize(
    ("others", "verdict"),
    [
        ([ratio(0.61, 0.9), ratio(0.7, 1.2)], HOLDS),
        ([ratio(0.6, 0.9)], OPEN),  # intervals that touch
        ([ratio(0.61, 0.9), of_two_runs(ratio(0.61, 0.9))], OPEN),
        ([ratio(0.61, 0.9), ratio(0.2, 0.3)], FAILS),
        ([], OPEN),
    ],
)
def test_better_than_all_others(others, verdict):
    """By whole intervals; one other arm that is better is enough to fail."""
    effect = ratio(0.4, 0.6)
    evidence = Evidence(effect, others=dict(enumerate(others)))

    assert judge("better", evidence) == verdict
    assert not is_below(effect, None)


@pytest.mark.parametrize(("cost", "verdict"), [(2.0, HOLDS), (2.01, FAILS), (None, OPEN)])
def test_half_of_the_cost_is_a_fraction(cost, verdict):
    """More than half is not."""
    assert judge("cost", Evidence(cost=cost, other_cost=4.0)) == verdict
