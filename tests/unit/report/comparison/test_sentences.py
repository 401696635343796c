"""Every sentence about a comparison has a condition; where it fails, a weaker one is used."""

from dataclasses import replace

import numpy as np
import pytest

from seedproof.comparison.arms.compared_runs import ComparedRuns
from seedproof.report.comparison import amounts
from seedproof.report.comparison.headline import headline
from seedproof.report.comparison.reading import brackets, table_notes
from seedproof.report.comparison.report import ComparisonReport
from seedproof.report.comparison.sentences import (
    cautions,
    costs,
    findings,
    limits,
)
from seedproof.stats.effect import Effect

NB = "\N{NO-BREAK SPACE}"


def _with(report, metric, *effects):
    """The comparison with other effects on one metric, in the order of the arms."""
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


def _finding(comparison, metric):
    return next(finding for finding in findings(comparison) if finding.metric == metric)


def _by_code(messages):
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
def test_headline_has_a_fraction_only_if_every_estimate_is_near_it(usual, ratios, code, fields):
    """Within ten points of the fraction; otherwise it has the percentages."""
    shown = [_flips(ratio, ratio / 2, 0.9, "steadier") for ratio in ratios]

    message = headline(_with(usual, "flip_rate", *shown))

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
def test_headline_on_accuracy_depends_on_its_verdict(usual, verdict, code):
    """Without a verdict, the headline does not mention accuracy."""
    first = ComparisonReport(replace(usual.comparison, arms=usual.comparison.arms[:1]))
    comparison = _with(first, "flip_rate", _flips(0.5, 0.4, 0.6, "steadier"))
    comparison = _with(ComparisonReport(comparison), "accuracy", _accuracy(verdict))

    clause = headline(comparison).fields["accuracy"]

    assert clause == "" if code is None else clause.code == code


@pytest.mark.parametrize(
    ("verdict", "code"),
    [
        ("no difference shown", "no-difference-shown"),
        ("too few runs", "too-few-runs"),
        ("not tested", "no-verdict"),
    ],
)
def test_headline_without_a_shown_effect_claims_none(usual, verdict, code):
    """Each weaker verdict has its own headline."""
    open_effects = [_flips(0.5, 0.2, 1.2, verdict)] * 3

    assert headline(_with(usual, "flip_rate", *open_effects)).code == code


def test_headline_names_steadier_and_less_steady_arms(usual):
    """Both are in one sentence."""
    comparison = _with(
        usual,
        "flip_rate",
        _flips(0.5, 0.4, 0.6, "steadier"),
        _flips(1.5, 1.2, 1.9, "less steady"),
        _flips(0.9, 0.5, 1.6, "no difference shown"),
    )

    message = headline(comparison)

    assert message.code == "flips-cut-and-raised"
    assert message.fields["arms"].fields["arms"].names == ("aswa",)
    assert message.fields["amount"].fields == {"percent": 50.0}
    assert message.fields["less_steady"].fields["arms"].names == ("again",)


def test_open_effect_has_the_smallest_detectable_effect(usual):
    """A factor of 1.7 either way: a cut of 1 - 1/1.7 = 41 %."""
    open_effect = _flips(0.8, 0.5, 1.3, "no difference shown")
    comparison = _with(usual, "flip_rate", *[open_effect] * 3)

    (message,) = _finding(comparison, "flip_rate").messages

    assert message.code == "no-difference-shown"
    assert message.fields["changes"].effects == (open_effect,) * 3
    assert amounts.detectable(open_effect) == f"−41{NB}%"
    assert message.fields["detectable"] == f"41{NB}%"
    assert message.fields["detectable"] in str(message)


def test_every_open_cell_has_the_smallest_detectable_effect(usual):
    """In the view and in the short form."""
    cells = [cell for block in usual.view().blocks for _, cell in block.cells]
    open_cells = [cell for cell in cells if cell.verdict == "no difference shown"]

    assert dict(usual.view().key_blocks[0].cells)["again"] in open_cells
    # A spread of few runs would have to fall by 100 %, which is not written.
    assert all(bool(cell.would_show) == bool(cell.shows) for cell in open_cells)
    assert sum(bool(cell.shows) for cell in open_cells) > len(open_cells) / 2
    assert "no difference shown" in usual._repr_html_()
    assert dict(usual.view().key_blocks[0].cells)["again"].would_show in usual._repr_html_()


def test_cut_reverses_its_interval(usual):
    """A ratio of 0.5 in [0.32, 0.8] is a cut of 50 %, between 20 and 68."""
    comparison = _with(usual, "flip_rate", _flips(0.5, 0.32, 0.8, "steadier"))

    shown = _finding(comparison, "flip_rate").messages[0]

    assert shown.fields["direction"] == "falls"
    (change,) = shown.fields["changes"].parts
    assert change.fields["arm"] == "aswa"
    assert str(change.fields["size"]) == f"50{NB}% [20, 68]"


def test_many_arms_are_counted_instead_of_listed(usual):
    """Ten long names would fill several lines."""
    first = usual.comparison.arms[0]
    arms = tuple(replace(first, name=f"an arm with a long name {i}") for i in range(10))
    comparison = replace(usual.comparison, arms=arms)

    arms_in_headline = headline(comparison).fields["arms"]
    (shown,) = _finding(comparison, "flip_rate").messages

    assert arms_in_headline.code == "arms-counted"
    assert arms_in_headline.fields["n_of_them"] == arms_in_headline.fields["n_arms"] == 10
    assert len(shown.fields["arms"].names) == 10
    assert not [arm for arm in arms if arm.name in f"{headline(comparison)} {shown}"]
    cut = 100 * (1 - first.effects["flip_rate"].value)
    assert str(shown.fields["span"]) == f"{cut:.0f}{NB}%"


def test_spread_is_settled_only_if_the_baseline_exceeds_chance(usual, compare, drawn_probs):
    """If the baseline is within chance, there is nothing to settle."""
    calm, labels = drawn_probs(6, 10, noise=0.5)
    calmer = drawn_probs(7, 10, noise=0.1)[0]
    within_chance = compare({"none": calm, "arm": calmer}, labels=labels).comparison

    beyond = _by_code(_finding(usual.comparison, "accuracy_sd").messages)
    within = _by_code(_finding(within_chance, "accuracy_sd").messages)

    assert beyond["spread-settled"].fields["arms"].names == ("aswa",)
    assert "spread-beyond-chance" in beyond
    assert "spread-within-chance" in within
    assert not {"spread-settled", "spread-beyond-chance"} & within.keys()


def test_two_runs_have_no_verdict(compare, drawn_probs):
    """One pair of runs: estimates, intervals over examples, and a note."""
    base, labels = drawn_probs(8, 2, noise=0.9)
    arms = {"none": base, "arm": drawn_probs(9, 2, noise=0.2)[0]}
    comparison = compare(arms, labels=labels).comparison

    assert headline(comparison).code == "too-few-runs"
    assert [message.code for message in limits(comparison)] == ["two-runs"]


def test_worse_calibration_is_a_caution(compare, drawn_probs):
    """Although the topic is flips."""
    base, labels = drawn_probs(10, 10, noise=0.3)
    worse = drawn_probs(11, 10, noise=1.2, shift=-2.0)[0]

    messages = cautions(compare({"none": base, "arm": worse}, labels=labels).comparison)

    ece = next(message for message in messages if message.fields.get("metric") == "ece_corrected")
    assert (ece.code, ece.fields["verdict"]) == ("metric-worse", "worse")
    assert ece.fields["arms"].names == ("arm",)


def test_unequal_runs_and_higher_costs_are_cautions(usual):
    """Ten runs against five, and ten times the cost."""
    messages = cautions(usual.comparison)

    assert _by_code(messages)["uneven-arms"].fields["n_runs"] == {"none": 10, "ensemble": 5}
    cost = next(message for message in messages if message.fields.get("cost") == "seconds")
    assert cost.fields["arms"].names == ("ensemble",)
    assert cost.fields["low"] == cost.fields["high"] == 10.0
    assert cost.fields["baseline"] == "none"


def test_runs_without_logged_costs_have_no_sentence_on_costs(compare, drawn_probs):
    """Nothing was logged."""
    base, labels = drawn_probs(2, 5, noise=0.5)

    assert costs(compare({"none": base, "arm": base}, labels=labels).comparison) == ()


def test_brackets_have_the_confidence_of_each_interval(usual):
    """Two metrics of three arms at 95 % together: at most 1 - 0.05/6 = 99.17 % each."""
    message = brackets(usual.comparison)

    effects = usual.effects("aswa")
    assert message.fields == {
        "percent": pytest.approx(100 * effects["flip_rate"].confidence),
        "of_others": pytest.approx(100 * effects["nll"].confidence),
        "n_arms": 3,
    }
    most = 100 * (1 - 0.05 / 6)
    assert effects["accuracy"].confidence == effects["flip_rate"].confidence
    assert 97.5 < message.fields["percent"] <= most + 1e-9 < message.fields["of_others"]


@pytest.mark.parametrize("of_others", [0.975, 0.98])
def test_equal_confidences_are_written_once(usual, of_others):
    """With as many exploratory rows as primary ones, both have the same."""
    primary = replace(_flips(1.0, 0.9, 1.1, "no difference shown"), confidence=0.975)
    exploratory = replace(primary, exploratory=True, confidence=of_others)
    arm = replace(usual.comparison.arms[0], effects={"flip_rate": primary, "nll": exploratory})

    message = brackets(replace(usual.comparison, arms=(arm,), confidence=0.975))

    assert message.fields["of_others"] == pytest.approx(100 * of_others)
    for confidence in {0.975, of_others}:
        assert str(message).count(f"{100 * confidence:.4g}{NB}%") == 1


def test_equivalent_arms_are_neither_different_nor_open(usual):
    """The headline has the margin, and each arm is in the sentence of its verdict."""
    effect = replace(_flips(1.01, 0.97, 1.05, "equivalent"), margin=0.1)
    all_equal = _with(usual, "flip_rate", *[effect] * 3)
    one_equal = _with(
        usual, "flip_rate", effect, *[_flips(0.8, 0.5, 1.3, "no difference shown")] * 2
    )

    assert headline(all_equal).fields["margin"] == f"10{NB}%"
    assert [m.code for m in _finding(all_equal, "flip_rate").messages] == ["equivalent"]
    parts = headline(one_equal).fields["parts"].parts
    assert [(x.code, x.fields["arms"].names) for x in parts] == [
        ("arms-equivalent", ("aswa",)),
        ("arms-open", ("again", "ensemble")),
    ]
    finding = _finding(one_equal, "flip_rate")
    assert [m.code for m in finding.messages] == ["equivalent", "no-difference-shown"]
    assert finding.verdict.fields["counts"] == {"equivalent": 1}


@pytest.mark.parametrize(
    ("runs", "code"),
    [
        (ComparedRuns(10, 10), "runs-taken-as-fixed"),
        (ComparedRuns(10, 10, declared=10), "runs-declared"),
        (ComparedRuns(9, 9, declared=10), "runs-missing"),
        (ComparedRuns(10, 12, is_sequential=True, next_look=20), "runs-at-look"),
        (ComparedRuns(4, 4, is_sequential=True, next_look=5), "runs-before-first-look"),
        (None, None),
    ],
)
def test_runs_that_verdicts_rest_on_are_named(usual, runs, code):
    notes = [note.code for note in table_notes(replace(usual.comparison, runs=runs))]

    assert notes == ["two-primaries", *([] if code is None else [code])]
    alone = replace(usual.comparison, quality=None, runs=None)
    assert [note.code for note in table_notes(alone)] == ["exploratory"]


def test_primary_metric_comes_first(compare, drawn_probs):
    """In the headline, the sentences, the table, and the charts."""
    base, labels = drawn_probs(8, 6, noise=0.9)
    arms = {"none": base, "arm": drawn_probs(9, 6, noise=0.2)[0]}
    comparison = replace(compare(arms, labels=labels).comparison, primary="nll", quality=None)
    report = ComparisonReport(comparison)

    assert findings(comparison)[0].metric == "nll"
    assert headline(comparison).fields["metric"] == "nll"
    assert [block.is_primary for block in report.view().key_blocks][:2] == [True, False]
    assert report.view().key_blocks[0].metric == "nll"


def test_reference_arm_without_a_gain_is_noted(usual):
    """If the ensemble shows no gain, no arm has a share of it."""
    arms = tuple(replace(arm, share_of_gold=None) for arm in usual.comparison.arms)
    comparison = replace(usual.comparison, arms=arms)

    assert _by_code(limits(comparison))["gold-without-gain"].fields == {"gold": "ensemble"}


def test_each_arm_is_in_the_sentence_of_its_verdict(usual):
    """An interval that includes no change is neither a change nor proof of none."""
    codes = dict.fromkeys(("steadier", "less steady", "better", "worse"), "change-shown") | {
        "no difference shown": "no-difference-shown",
        "too few runs": "too-few-runs",
        "not tested": "no-verdict",
    }
    for finding in findings(usual.comparison):
        messages = [m for m in finding.messages if m.fields.get("metric") and finding.metric]
        by_arm = {arm: m.code for m in messages for arm in m.fields["arms"].names}
        effects = {arm.name: arm.effects.get(finding.metric) for arm in usual.arms}
        assert by_arm == {arm: codes[e.verdict] for arm, e in effects.items() if e is not None}


def test_runs_that_all_agree_have_no_verdict(compare):
    """No flips in either arm do not show that the arms are equal."""
    frozen = compare({"none": np.zeros((5, 50), int), "arm": np.zeros((5, 50), int)}).comparison
    unchecked = replace(frozen, checks=())
    (message,) = _finding(unchecked, "flip_rate").messages

    assert message.code == "no-verdict"
    assert message.fields["note"].code == "both-zero"
    assert headline(unchecked).code == "no-verdict-because"
    # A check of equal answers names what to do, once.
    assert headline(frozen).code == "untrusted-input"
    assert not [finding for finding in findings(frozen) if finding.metric]


def test_better_and_worse_arms_are_both_counted(usual):
    """In a fixed order: better first."""
    effects = _accuracy("worse"), _accuracy("better"), _accuracy("worse")

    verdict = _finding(_with(usual, "accuracy", *effects), "accuracy").verdict

    assert list(verdict.fields["counts"].items()) == [("better", 1), ("worse", 2)]
    assert verdict.fields["n_arms"] == 3
