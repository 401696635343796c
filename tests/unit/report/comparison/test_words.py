"""Every sentence about a comparison has a condition; the weaker one is said where it fails."""

from dataclasses import replace

import numpy as np
import pytest

from seedproof.report.comparison import amounts, words
from seedproof.report.comparison.report import ComparisonReport
from seedproof.report.comparison.words import brackets, costs, limits, warnings
from seedproof.stats.effect import Effect

NB = "\N{NO-BREAK SPACE}"


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


def _said(comparison, metric):
    """The finding on a metric."""
    return next(one for one in words.findings(comparison) if one.metric == metric)


def _coded(messages):
    """Messages by their codes."""
    return {message.code: message for message in messages}


@pytest.mark.parametrize(
    ("ratios", "code", "fields"),
    [
        ((0.5, 0.55), "fraction", {"percent": 50.0}),
        ((0.67, 0.72), "fraction", {"percent": 33.3}),
        ((0.5, 0.8), "percentage", {"low": 20.0, "high": 50.0}),
        ((0.05, 0.05), "percentage", {"low": 95.0, "high": 95.0}),
    ],
)
def test_a_fraction_is_said_only_where_every_estimate_is_near_it(usual, ratios, code, fields):
    """Within ten points of the fraction; otherwise the percentages themselves."""
    shown = [_flips(ratio, ratio / 2, 0.9, "steadier") for ratio in ratios]
    comparison = _with(usual, "flip_rate", *shown)

    message = words.headline(comparison)

    amount = message.fields["amount"]
    assert message.code == "flips-cut"
    assert (amount.code, amount.fields) == (code, pytest.approx(fields))  # 100 · (1 - ratio)


@pytest.mark.parametrize(
    ("verdict", "code"),
    [
        ("no difference shown", "no-accuracy-loss-shown"),
        ("better", "accuracy-rises"),
        ("worse", "accuracy-falls"),
        ("too few runs", None),
        ("not tested", None),
    ],
)
def test_the_headline_says_of_accuracy_what_its_verdict_allows(usual, verdict, code):
    """Without a verdict nothing is said of accuracy."""
    comparison = replace(usual.comparison, arms=usual.comparison.arms[:1])
    comparison = _with(ComparisonReport(comparison), "flip_rate", _flips(0.5, 0.4, 0.6, "steadier"))
    comparison = _with(ComparisonReport(comparison), "accuracy", _accuracy(verdict))

    clause = words.headline(comparison).fields["accuracy"]

    assert clause == "" if code is None else clause.code == code


@pytest.mark.parametrize(
    ("verdict", "code"),
    [
        ("no difference shown", "no-difference-shown"),
        ("too few runs", "too-few-runs"),
        ("not tested", "no-verdict"),
    ],
)
def test_without_a_shown_effect_the_headline_claims_none(usual, verdict, code):
    """Each weaker verdict has its own headline."""
    open_effects = [_flips(0.5, 0.2, 1.2, verdict)] * 3

    assert words.headline(_with(usual, "flip_rate", *open_effects)).code == code


def test_mixed_arms_are_told_apart(usual):
    """What is steadier and what is less steady both stand in the headline."""
    comparison = _with(
        usual,
        "flip_rate",
        _flips(0.5, 0.4, 0.6, "steadier"),
        _flips(1.5, 1.2, 1.9, "less steady"),
        _flips(0.9, 0.5, 1.6, "no difference shown"),
    )

    message = words.headline(comparison)

    assert message.code == "flips-cut-and-raised"
    assert message.fields["arms"].fields["arms"].names == ("aswa",)
    assert message.fields["amount"].fields == {"percent": 50.0}
    assert message.fields["shaken"].fields["arms"].names == ("again",)


def test_an_open_effect_comes_with_what_would_have_shown(usual):
    """A factor of 1.7 either way: a cut of 1 - 1/1.7 = 41 %."""
    open_effect = _flips(0.8, 0.5, 1.3, "no difference shown")
    comparison = _with(usual, "flip_rate", *[open_effect] * 3)

    (message,) = _said(comparison, "flip_rate").messages

    assert message.code == "no-difference-shown"
    assert message.fields["would_show"].effects == (open_effect,) * 3
    assert amounts.shows(open_effect) == f"−41{NB}%"
    assert str(message.fields["would_show"]).endswith(f"41{NB}%")
    assert str(message.fields["would_show"]) in str(message)


def test_every_open_verdict_of_a_real_comparison_says_what_would_show(usual):
    """Wherever "no difference shown" stands in a table, the detectable effect stands beside it."""
    cells = [cell for block in usual.view().blocks for _, cell in block.cells]
    open_cells = [cell for cell in cells if cell.verdict == "no difference shown"]

    assert open_cells
    assert all(cell.would_show and cell.shows for cell in open_cells)


def test_a_cut_is_told_with_its_interval_turned_round(usual):
    """A ratio of 0.5 in [0.32, 0.8] is a cut of 50 %, between 20 and 68."""
    comparison = _with(usual, "flip_rate", _flips(0.5, 0.32, 0.8, "steadier"))

    shown = _said(comparison, "flip_rate").messages[0]

    assert shown.fields["direction"] == "falls"
    (change,) = shown.fields["changes"].parts
    assert change.fields["arm"] == "aswa"
    assert str(change.fields["size"]) == f"50{NB}% [20, 68]"


def test_many_arms_are_counted_and_not_listed(usual):
    """Ten names would fill lines that say nothing."""
    one = usual.comparison.arms[0]
    arms = tuple(replace(one, name=f"an arm with a long name {i}") for i in range(10))
    comparison = replace(usual.comparison, arms=arms)

    arms_in_headline = words.headline(comparison).fields["arms"]
    (shown,) = _said(comparison, "flip_rate").messages

    assert arms_in_headline.code == "arms-counted"
    assert arms_in_headline.fields["n_of_them"] == arms_in_headline.fields["n_arms"] == 10
    assert len(shown.fields["arms"].names) == 10
    assert not [arm for arm in arms if arm.name in f"{words.headline(comparison)} {shown}"]
    cut = amounts.in_percent(one.effects["flip_rate"])
    assert str(shown.fields["span"]) == f"{cut:.0f}{NB}%"


def test_no_longer_seen_needs_a_spread_that_was_seen_before(usual, compare, drawn_probs):
    """Where the baseline is within chance, nothing is said to have gone away."""
    calm, labels = drawn_probs(6, 10, noise=0.5)
    calmer = drawn_probs(7, 10, noise=0.1)[0]
    within_chance = compare({"none": calm, "arm": calmer}, labels=labels)

    seen = _coded(_said(usual.comparison, "accuracy_sd").messages)
    assert seen["spread-settled"].fields["arms"].names == ("aswa", "ensemble")
    assert "spread-beyond-chance" in seen
    not_seen = _coded(_said(within_chance.comparison, "accuracy_sd").messages)
    assert "spread-within-chance" in not_seen
    assert not {"spread-settled", "spread-beyond-chance"} & not_seen.keys()


def test_two_runs_get_no_verdict(compare, drawn_probs):
    """One pair of runs: estimates, intervals over examples, and a note."""
    base, labels = drawn_probs(8, 2, noise=0.9)
    report = compare({"none": base, "arm": drawn_probs(9, 2, noise=0.2)[0]}, labels=labels)

    assert words.headline(report.comparison).code == "too-few-runs"
    assert [message.code for message in limits(report.comparison)] == ["two-runs"]


def test_what_gets_worse_is_watched(compare, drawn_probs):
    """Calibration that suffers is named although flips are the topic."""
    base, labels = drawn_probs(10, 10, noise=0.3)
    worse = drawn_probs(11, 10, noise=1.2, shift=-2.0)[0]

    found = warnings(compare({"none": base, "arm": worse}, labels=labels).comparison)

    ece = next(one for one in found if one.fields.get("metric") == "ece")
    assert (ece.code, ece.fields["verdict"]) == ("metric-worse", "worse")
    assert ece.fields["arms"].names == ("arm",)


def test_uneven_arms_and_costs_are_watched(usual):
    """Ten runs beside five, and ten times the cost."""
    found = warnings(usual.comparison)

    assert _coded(found)["uneven-arms"].fields["n_runs"] == {"none": 10, "ensemble": 5}
    cost = next(one for one in found if one.fields.get("cost") == "seconds")
    assert cost.fields["arms"].names == ("ensemble",)
    assert cost.fields["low"] == cost.fields["high"] == 10.0
    assert cost.fields["baseline"] == "none"


def test_no_cost_is_told_without_one(compare, drawn_probs):
    """Runs that logged nothing cost nothing that could be told."""
    base, labels = drawn_probs(2, 5, noise=0.5)

    assert costs(compare({"none": base, "arm": base}, labels=labels).comparison) == []


def test_brackets_say_what_each_interval_has(usual):
    """Three arms at 95 % together: 1 - 0.05/3 = 98.33 % each."""
    message = brackets(usual.comparison)

    assert message.fields == {"percent": pytest.approx(100 * (1 - 0.05 / 3)), "n_arms": 3}


def test_a_gold_standard_without_a_gain_is_said(usual):
    """If the ensemble shows no gain, nothing is a share of it."""
    arms = tuple(replace(arm, share_of_gold=None) for arm in usual.comparison.arms)
    comparison = replace(usual.comparison, arms=arms)

    assert _coded(limits(comparison))["gold-without-gain"].fields == {"gold": "ensemble"}


def test_each_arm_stands_in_the_sentence_of_its_verdict(usual):
    """An interval that includes no change is never called a change, nor none."""
    codes = {
        "steadier": "change-shown",
        "less steady": "change-shown",
        "better": "change-shown",
        "worse": "change-shown",
        "no difference shown": "no-difference-shown",
        "too few runs": "too-few-runs",
        "not tested": "no-verdict",
    }
    for finding in words.findings(usual.comparison):
        on_effects = [
            one for one in finding.messages if one.fields.get("metric") and finding.metric
        ]
        said = {arm: one.code for one in on_effects for arm in one.fields["arms"].names}
        effects = {arm.name: arm.effects.get(finding.metric) for arm in usual.arms}
        assert said == {arm: codes[one.verdict] for arm, one in effects.items() if one is not None}


def test_runs_that_all_agree_get_no_verdict(compare):
    """No flips in either arm are not evidence that nothing differs."""
    frozen = compare({"none": np.zeros((4, 50), int), "arm": np.zeros((4, 50), int)}).comparison
    (message,) = _said(frozen, "flip_rate").messages

    assert words.headline(frozen).code == message.code == "no-verdict"
    assert message.fields["note"].code == "both-zero"


def test_arms_that_go_both_ways_are_both_counted(usual):
    """In a fixed order: what is good first."""
    found = _with(usual, "accuracy", _accuracy("worse"), _accuracy("better"), _accuracy("worse"))

    verdict = _said(found, "accuracy").verdict

    assert list(verdict.fields["counts"].items()) == [("better", 1), ("worse", 2)]
    assert verdict.fields["n_arms"] == 3
