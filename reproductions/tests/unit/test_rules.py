import math
from dataclasses import replace

import pytest

from seedproof.stats.effect import Effect, judged
from seedproof.stats.intervals import Estimate
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
    """An interval that includes no change decides nothing, however narrow it is."""
    assert judge("direction", Evidence(effect)) == verdict


@pytest.mark.parametrize(
    ("effect", "verdict"),
    [
        (ratio(0.2, 0.68), HOLDS),  # a cut of 63 %, and at least 32 %
        (ratio(0.2, 0.7), SIZE_OPEN),  # a cut of 63 %, and perhaps 30 %
        (ratio(0.14, 0.59, 0.3), SIZE_OPEN),  # the lower end is too far
        (ratio(0.16, 0.61, 0.3), SIZE_OPEN),  # the upper end is too far
        (ratio(0.16, 0.59, 0.3), HOLDS),
        (ratio(0.0, 0.59, 0.3), SIZE_OPEN),  # all of it may be cut
        (ratio(0.1, 1.3), OPEN),  # a cut of 90 %, or a rise of 30 %
        (ratio(0.45, 0.9), SIZE_OPEN),  # at most 55 %, and the published 60 % may be off by as much
        (ratio(0.45, 1.1), OPEN),
        (ratio(0.6, 0.9), FAILS),  # at most 40 %
        (ratio(0.1, 0.3), HOLDS),  # even more than 60 %
        (ratio(1.1, 1.3), FAILS),
        (of_two_runs(ratio(0.45, 0.9)), OPEN),
        (NO_INTERVAL, OPEN),
    ],
)
def test_reduction_of_60_percent(effect, verdict):
    """The other selection of examples must show it, too, unless the first excludes its size."""
    evidence = Evidence(effect, published=60.0)

    assert judge("cut", evidence) == verdict
    assert judge("cut", replace(evidence, also=ratio(0.5, 0.9))) == verdict
    unshown = FAILS if verdict == FAILS else OPEN
    assert judge("cut", replace(evidence, also=ratio(0.5, 1.1))) == unshown


@pytest.mark.parametrize(("error", "verdict"), [(0.0, FAILS), (0.3, FAILS), (0.4, SIZE_OPEN)])
def test_published_cut_has_an_error_of_its_own(error, verdict):
    """A cut of 36 % differs from 60 % by 0.46 as a log; our own interval allows 0.35."""
    evidence = Evidence(ratio(0.45, 0.9), published=60.0, published_error=error)

    assert judge("cut", evidence) == verdict


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
    """Almost no loss means half a point; as accurate also means that no loss is shown."""
    assert judge("loss", Evidence(effect)) == loss
    assert judge("accuracy", Evidence(effect)) == accuracy
    assert loses(effect) == (effect.verdict == "worse")
    assert excludes_loss(effect, 1.0) == (effect.verdict not in {"too few runs", "not tested"})


@pytest.mark.parametrize(
    ("rule", "evidence", "estimate", "verdict"),
    [
        ("value", {"published": 1.0}, (1.2, 0.8, 2.2), HOLDS),  # known to a factor of 1.83
        ("value", {"published": 1.0}, (1.2, 0.5, 6.0), OPEN),
        ("value", {"published": 1.0}, (1.2, 1.1, 1.3), OPEN),  # ten seeds may be off by as much
        ("value", {"published": 1.0}, (0.5, 0.3, 0.9), OPEN),
        ("value", {"published": 1.0}, (0.3, 0.25, 0.36), FAILS),
        ("value", {"published": 1.0}, (3.0, 2.5, 3.6), FAILS),
        ("value", {"published": 1.0}, (0.3, 0.0, 0.36), OPEN),
        ("range", {"between": (0.4, 0.6)}, (0.5, 0.42, 0.58), HOLDS),
        ("range", {"between": (0.4, 0.6)}, (0.4, 0.35, 0.45), OPEN),
        ("range", {"between": (0.4, 0.6)}, (0.35, 0.3, 0.39), FAILS),
        ("range", {"between": (0.4, 0.6)}, (0.65, 0.61, 0.7), FAILS),
        ("correlation", {"ceiling": Estimate(1.0)}, (0.8, 0.7, 0.9), HOLDS),
        ("correlation", {"ceiling": Estimate(1.0)}, (0.75, 0.69, 0.8), OPEN),
        ("correlation", {"ceiling": Estimate(1.0)}, (0.5, 0.4, 0.69), FAILS),
        ("correlation", {"ceiling": Estimate(0.81)}, (0.5, 0.4, 0.6), FAILS),  # below 0.7 × 0.9
        ("correlation", {"ceiling": Estimate(0.64)}, (0.5, 0.4, 0.6), OPEN),  # above 0.7 × 0.8
        ("share", {"published": 90.0}, (0.8, 0.6, 1.1), HOLDS),
        ("share", {"published": 90.0}, (0.8, 0.3, 1.1), SHARE_OPEN),
        ("share", {"published": 90.0}, (0.8, -0.1, 1.7), OPEN),
        ("share", {"published": 90.0}, (0.5, 0.3, 0.85), SHARE_OPEN),
        ("share", {"published": 90.0}, (0.5, 0.3, 0.7), FAILS),
        ("share", {"published": 90.0}, (-0.5, -1.0, -0.1), FAILS),
    ],
)
def test_rules_on_estimates(rule, evidence, estimate, verdict):
    """An interval over texts only, or a missing interval or published figure, decides nothing."""
    given = Evidence(estimate=Estimate(*estimate), **evidence)

    assert judge(rule, given) == verdict
    assert judge(rule, replace(given, is_over_runs=False)) == OPEN
    assert judge(rule, replace(given, estimate=Estimate(estimate[0]))) == OPEN
    assert judge(rule, Evidence(estimate=Estimate(*estimate))) == OPEN


@pytest.mark.parametrize(
    ("ends", "verdict"), [((0.01, 0.3), HOLDS), ((-0.01, 0.3), OPEN), ((-0.3, -0.01), FAILS)]
)
def test_difference_is_judged_by_its_side_of_0(ends, verdict):
    """An interval over examples alone says nothing."""
    evidence = Evidence(estimate=Estimate(sum(ends) / 2, *ends))

    assert judge("positive", evidence) == verdict
    assert judge("positive", replace(evidence, is_over_runs=False)) == OPEN


def test_share_of_a_reduction_has_an_interval_from_both_arms():
    """15 of 20 % is three quarters; the ends come from 97.5 % intervals, by hand."""
    wider = 2.2414 / 1.95996  # quantiles of the normal distribution at 98.75 and 97.5 %
    low, high = (1 - 0.85 * math.exp(sign * 0.05 * wider) for sign in (1, -1))
    most, least = (1 - 0.8 * math.exp(sign * 0.05 * wider) for sign in (-1, 1))
    arms = [ratio(x * math.exp(-0.05), x * math.exp(0.05), x) for x in (0.85, 0.8)]

    share = share_of_cut(*arms)

    assert share.value == pytest.approx(0.75)
    assert share.low == pytest.approx(low / most, rel=1e-4)
    assert share.high == pytest.approx(high / least, rel=1e-4)


def test_increase_has_a_negative_share():
    """Both ends are below 0."""
    share = share_of_cut(ratio(1.1, 1.3, 1.2), ratio(0.75, 0.85, 0.8))

    assert share.value == pytest.approx(-1.0)
    assert share.low < share.value < share.high < 0


@pytest.mark.parametrize(
    "reference",
    [None, ratio(0.8, 0.995, 0.9), ratio(0.8, 1.1), of_two_runs(ratio(0.5, 0.6)), NO_INTERVAL],
)
def test_reduction_that_is_not_shown_has_no_share(reference):
    """The wider interval must show it, too."""
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
def test_better_arm_must_beat_all_others(others, verdict):
    """By whole intervals; it fails if one other arm is better."""
    effect = ratio(0.4, 0.6)
    evidence = Evidence(effect, others=dict(enumerate(others)))

    assert judge("better", evidence) == verdict
    assert not is_below(effect, None)


@pytest.mark.parametrize(("cost", "verdict"), [(2.0, HOLDS), (2.01, FAILS), (None, OPEN)])
def test_half_of_the_cost_is_a_fraction(cost, verdict):
    """More than half is not."""
    assert judge("cost", Evidence(cost=cost, other_cost=4.0)) == verdict
