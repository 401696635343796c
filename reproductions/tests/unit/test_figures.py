from dataclasses import replace

import pytest

from seedproof.stats.effect import Effect
from seedproof.stats.intervals import Estimate
from seedproof_reproductions import figures

CUT = Effect("flip_rate", "ratio", 0.5, 0.3, 0.8, verdict="steadier")
FEW = Effect("accuracy_sd", "ratio", 0.7, verdict="too few runs")


def test_changes_have_units_intervals_and_verdicts():
    """A ratio is a change in percent; a missing one is a dash."""
    assert figures.change(CUT) == "−50\xa0% [−70, −20]"
    assert figures.judged_change(CUT) == "−50\xa0% [−70, −20], steadier"
    assert figures.judged_change(FEW) == f"−30\xa0%, {FEW.verdict}"
    assert figures.judged_change(replace(FEW, verdict="not tested")) == "−30\xa0%"
    assert figures.change(None) == figures.judged_change(None) == figures.MISSING


@pytest.mark.parametrize(
    ("metric", "estimate", "text"),
    [
        ("flip_rate", Estimate(0.09, 0.06, 0.14), "9.0\xa0% [6.0, 14.0]"),
        ("probability_sd", Estimate(0.0139, 0.0135, 0.0143), "0.0139 [0.0135, 0.0143]"),
        ("probability_sd", Estimate(0.014, 0.012, 0.015), "0.014 [0.012, 0.015]"),
        ("accuracy_sd", Estimate(0.00223, 0.00215, 0.0023), "0.223\xa0pts [0.215, 0.230]"),
        ("ece", Estimate(0.06849, 0.06834, 0.06864), "6.85\xa0% [6.83, 6.86]"),
        ("flip_rate", Estimate(0.1, 0.1, 0.1), "10.0\xa0% [10.0, 10.0]"),
        ("accuracy_sd", Estimate(0.0122), "1.22\xa0pts"),
        ("flip_rate", None, "–"),
    ],
)
def test_ends_of_an_interval_differ(metric, estimate, text):
    """Close ends get one more digit."""
    assert figures.figure(metric, estimate) == text


@pytest.mark.parametrize(
    ("effect", "text"),
    [
        (Effect("accuracy", "difference", 0.0044, -3.9e-5, 0.0088), "[−0.00, +0.88]"),
        (Effect("nll", "difference", 0.011, 0.0002, 0.021), "[+0.000, +0.021]"),
        (Effect("flip_rate", "ratio", 0.95, 0.9, 0.9997), "[−10, −0.0]"),
        (Effect("flip_rate", "ratio", 0.95, 0.9, 1.0), "[−10, 0.0]"),
    ],
)
def test_end_near_no_change_keeps_its_sign(effect, text):
    """The verdict depends on it; exactly no change has no sign."""
    assert figures.change(effect).endswith(text)


@pytest.mark.parametrize(
    ("low", "high", "is_undetermined"),
    [(0.01, 42.38, True), (0.19, 5.1, True), (0.21, 5.1, False), (0.19, 4.9, False)],
)
def test_interval_from_a_fifth_to_five_times_is_undetermined(low, high, is_undetermined):
    """No number says anything then."""
    effect = Effect("accuracy_sd", "ratio", 0.8, low, high, verdict="no difference shown")

    assert (figures.change(effect) == figures.UNDETERMINED) == is_undetermined
    assert (figures.judged_change(effect) == figures.UNDETERMINED) == is_undetermined


def test_other_figures_are_formatted():
    """Published reductions, shares, correlations, costs, medians and lists."""
    assert [figures.cut(31.4), figures.cut(-2.0)] == ["−31.4\xa0%", "+2\xa0%"]
    assert figures.cut(61.39, digits=0) == "−61\xa0%"
    assert figures.share(Estimate(0.83, -0.004, 1.2)) == "83\xa0% [0, 120]"
    assert figures.share(Estimate(-0.2)) == "−20\xa0%"
    assert figures.correlation(Estimate(-0.5, -0.6, 0.1)) == "−0.50 [−0.60, 0.10]"
    assert [figures.multiple(x) for x in (1.064, 12.3)] == ["1.06×", "12×"]
    assert figures.median_and_range([20.0, 14.0, 15.0, 16.0]) == "15.5 (14 to 20)"
    assert figures.median_and_range([2.0, 2.0]) == "2"
    assert figures.listed(["a", "b", "c"]) == "a, b and c"
    for missing in (figures.share(None), figures.multiple(None), figures.median_and_range([])):
        assert missing == figures.MISSING
