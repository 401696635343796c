"""Every sentence about a comparison has a condition; the weaker one is said where it fails."""

from dataclasses import replace

import numpy as np
import pytest

from seedproof.comparison.effect import Effect
from seedproof.report.comparison import words
from seedproof.report.comparison.cautions import brackets, costs, limits, warnings
from seedproof.report.comparison.report import ComparisonReport

NB = "\N{NO-BREAK SPACE}"
FORBIDDEN = ("the same", "equal", "no effect", "unchanged", "identical", "gone")


def _with(report, metric, *effects):
    """The comparison with other effects on one metric, one for each arm in their order."""
    comparison = report.comparison
    arms = tuple(
        replace(arm, effects={**arm.effects, metric: effect})
        for arm, effect in zip(comparison.arms, effects, strict=False)
    )
    return replace(comparison, arms=arms)


def _flips(value, low, high, verdict, detectable=1.7):
    return Effect("flip_rate", "ratio", value, low, high, "runs × examples", detectable, verdict)


def _accuracy(verdict, value=0.0):
    return Effect("accuracy", "difference", value, -0.01, 0.01, "runs", 0.012, verdict)


def _said(comparison, topic):
    return next(one for one in words.findings(comparison) if one.topic == topic)


@pytest.mark.parametrize(
    ("ratios", "says"),
    [
        ((0.5, 0.55), "cut the flips by about half"),
        ((0.67, 0.72), "cut the flips by about a third"),
        ((0.5, 0.8), f"cut the flips by 20 to 50{NB}%"),
        ((0.05, 0.05), f"cut the flips by 95{NB}%"),
    ],
)
def test_a_fraction_is_said_only_where_every_estimate_is_near_it(usual, ratios, says):
    """Within ten points of the fraction; otherwise the percentages themselves."""
    shown = [_flips(ratio, ratio / 2, 0.9, "steadier") for ratio in ratios]
    comparison = _with(usual, "flip_rate", *shown)

    assert says in words.headline(comparison)


@pytest.mark.parametrize(
    ("verdict", "says"),
    [
        ("no difference shown", "; no loss of accuracy shown."),
        ("better", "; accuracy rises."),
        ("worse", "; accuracy falls."),
        ("too few runs", "half."),
        ("not tested", "half."),
    ],
)
def test_the_headline_says_of_accuracy_what_its_verdict_allows(usual, verdict, says):
    """Without a verdict nothing is said of accuracy."""
    comparison = replace(usual.comparison, arms=usual.comparison.arms[:1])
    comparison = _with(ComparisonReport(comparison), "flip_rate", _flips(0.5, 0.4, 0.6, "steadier"))
    comparison = _with(ComparisonReport(comparison), "accuracy", _accuracy(verdict))

    assert words.headline(comparison).endswith(says)


@pytest.mark.parametrize(
    ("verdict", "says"),
    [
        ("no difference shown", "No difference in the flips is shown."),
        ("too few runs", "Too few runs for a verdict on the flips."),
        ("not tested", "No verdict on the flips."),
    ],
)
def test_without_a_shown_effect_the_headline_claims_none(usual, verdict, says):
    """Each weaker verdict has its own headline."""
    open_effects = [_flips(0.5, 0.2, 1.2, verdict)] * 3

    assert words.headline(_with(usual, "flip_rate", *open_effects)) == says


def test_mixed_arms_are_told_apart(usual):
    """What is steadier and what is less steady both stand in the headline."""
    comparison = _with(
        usual,
        "flip_rate",
        _flips(0.5, 0.4, 0.6, "steadier"),
        _flips(1.5, 1.2, 1.9, "less steady"),
        _flips(0.9, 0.5, 1.6, "no difference shown"),
    )

    assert words.headline(comparison) == "aswa cuts the flips by about half; again raises them."


def test_an_open_effect_comes_with_what_would_have_shown(usual):
    """A factor of 1.7 either way: a cut of 1 - 1/1.7 = 41 %."""
    open_effect = _flips(0.8, 0.5, 1.3, "no difference shown")
    comparison = _with(usual, "flip_rate", *[open_effect] * 3)

    text = _said(comparison, "Answers").text

    assert f"these runs would show a cut of 41{NB}%" in text


def test_every_open_verdict_of_a_real_comparison_says_what_would_show(usual):
    """Wherever "no difference shown" stands in a table, the detectable effect stands beside it."""
    cells = [cell for block in usual.view().blocks for _, cell in block.cells]
    open_cells = [cell for cell in cells if cell.verdict == "no difference shown"]

    assert open_cells
    assert all(cell.would_show and cell.shows for cell in open_cells)


def test_a_cut_is_told_with_its_interval_turned_round(usual):
    """A ratio of 0.5 in [0.32, 0.8] is a cut of 50 %, between 20 and 68."""
    comparison = _with(usual, "flip_rate", _flips(0.5, 0.32, 0.8, "steadier"))

    assert f"with aswa, a cut of 50{NB}% [20, 68]" in _said(comparison, "Answers").text


def test_many_arms_are_counted_and_not_listed(usual):
    """Ten names would fill lines that say nothing."""
    one = usual.comparison.arms[0]
    arms = tuple(replace(one, name=f"an arm with a long name {i}") for i in range(10))
    comparison = replace(usual.comparison, arms=arms)

    assert words.headline(comparison).startswith("All 10 arms cut the flips")
    assert "with 10 arms, by" in _said(comparison, "Answers").text


def test_no_longer_seen_needs_a_spread_that_was_seen_before(usual, compare, drawn_probs):
    """Where the baseline is within chance, nothing is said to have gone away."""
    calm, labels = drawn_probs(6, 10, noise=0.5)
    calmer = drawn_probs(7, 10, noise=0.1)[0]
    within_chance = compare({"none": calm, "arm": calmer}, labels=labels)

    assert "any longer with aswa" in _said(usual.comparison, "Good and bad runs").text
    text = _said(within_chance.comparison, "Good and bad runs").text
    assert "any longer" not in text
    assert "not shown to exceed what independent flips give" in text


def test_two_runs_get_no_verdict(compare, drawn_probs):
    """One pair of runs: estimates, intervals over examples, and a note."""
    base, labels = drawn_probs(8, 2, noise=0.9)
    report = compare({"none": base, "arm": drawn_probs(9, 2, noise=0.2)[0]}, labels=labels)

    assert words.headline(report.comparison) == "Too few runs for a verdict on the flips."
    assert "intervals are over examples only" in " ".join(limits(report.comparison))


def test_what_gets_worse_is_watched(compare, drawn_probs):
    """Calibration that suffers is named although flips are the topic."""
    base, labels = drawn_probs(10, 10, noise=0.3)
    worse = drawn_probs(11, 10, noise=1.2, shift=-2.0)[0]

    found = warnings(compare({"none": base, "arm": worse}, labels=labels).comparison)

    assert any(text.startswith("Calibration error (ECE): worse with arm") for text in found)


def test_uneven_arms_and_costs_are_watched(usual):
    """Ten runs beside five, and ten times the cost."""
    found = " ".join(warnings(usual.comparison))

    assert "none 10, ensemble 5" in found
    assert "ensemble costs 10.0 times as much as none (training seconds)." in found


def test_no_cost_is_told_without_one(compare, drawn_probs):
    """Runs that logged nothing cost nothing that could be told."""
    base, labels = drawn_probs(2, 5, noise=0.5)

    assert costs(compare({"none": base, "arm": base}, labels=labels).comparison) == []


def test_brackets_say_what_each_interval_has(usual):
    """Three arms at 95 % together: 1 - 0.05/3 = 98.33 % each."""
    assert f"98.33{NB}% intervals, so that those of all 3 arms" in brackets(usual.comparison)


def test_a_gold_standard_without_a_gain_is_said(usual):
    """If the ensemble shows no gain, nothing is a share of it."""
    arms = tuple(replace(arm, share_of_gold=None) for arm in usual.comparison.arms)
    comparison = replace(usual.comparison, arms=arms)

    assert any("does not show a gain of its own" in text for text in limits(comparison))


def test_no_text_claims_that_nothing_differs(usual, compare):
    """An interval that includes no change is not evidence of none; nor are runs that agree."""
    frozen = compare({"none": np.zeros((4, 50), int), "arm": np.zeros((4, 50), int)})
    for report in (usual, frozen):
        text = f"{report} {report._repr_html_()} {words.title(report.comparison)}".lower()
        assert not [phrase for phrase in FORBIDDEN if phrase in text]


def test_arms_that_go_both_ways_are_both_counted(usual):
    """In a fixed order: what is good first."""
    found = _with(usual, "accuracy", _accuracy("worse"), _accuracy("better"), _accuracy("worse"))

    assert _said(found, "Accuracy").verdict == "Better with 1, worse with 2 of 3 arms."
