"""Cautions next to verdicts on means of runs with a long tail."""

from dataclasses import replace

import numpy as np
import pytest

from seedproof.comparison.gate.caution import WRONG, assumed_tails, has_median, with_cautions
from seedproof.comparison.gate.judge import GateResult, RuleVerdict
from seedproof.comparison.gate.rules import Rule
from seedproof.comparison.gate.stage import Stage
from seedproof.stats.effect import Effect
from seedproof.stats.intervals import PLAIN, Estimate
from seedproof.stats.looks import AT_LOOK

STAGE = Stage(10, 10, AT_LOOK)
VALUE = Estimate(0.9, 0.85, 0.95, "runs")
EFFECT = Effect("accuracy", "difference", 0.0, -0.1, 0.1, "runs")


def caution_of(rule, outcome, skewness, *, reason="interval", stage=STAGE, **further):
    """Return the caution of a single verdict."""
    effect = EFFECT if rule.kind == "no-worse" else None
    verdict = RuleVerdict(rule, outcome, VALUE, reason, stage, effect=effect)
    result = with_cautions(GateResult((verdict,)), lambda _: skewness, **further)
    return result.rules[0].caution


@pytest.mark.parametrize(
    ("rule", "outcome", "wrong"),
    [
        # A mean that lacks its rare low runs looks too high: it passes wrongly.
        (Rule("min", "accuracy", 0.8), "pass", -1),
        (Rule("min", "accuracy", 0.8), "fail", 1),
        (Rule("max", "nll", 0.8), "pass", 1),
        (Rule("max", "nll", 0.8), "fail", -1),
        (Rule.no_worse("accuracy"), "pass", -1),
        (Rule.no_worse("accuracy"), "fail", 1),
        (Rule.no_worse("nll"), "pass", 1),
        (Rule.no_worse("nll"), "fail", -1),
    ],
)
def test_a_tail_on_the_wrong_side_makes_a_verdict_doubtful(rule, outcome, wrong):
    caution = caution_of(rule, outcome, 2.0 * wrong)

    assert caution.code == "skewed-runs"
    assert caution.fields["skewness"] == 2.0 * wrong
    assert caution.fields["verdict"] == outcome
    assert caution_of(rule, outcome, -2.0 * wrong) is None


def test_runs_without_clear_skewness_need_no_caution():
    rule = Rule("min", "accuracy", 0.8)

    assert caution_of(rule, "pass", None) is None
    assert caution_of(rule, "pass", 0.0) is None


@pytest.mark.parametrize("reason", ["value", "next look", "too few runs"])
def test_what_no_interval_decided_needs_no_caution(reason):
    assert caution_of(Rule("min", "accuracy", 0.8), "pass", -2.0, reason=reason) is None


@pytest.mark.parametrize(
    ("n_runs", "level", "row", "column"),
    [
        (3, PLAIN, 5, 0),
        (5, PLAIN, 5, 0),
        (9, AT_LOOK, 5, 1),
        (10, AT_LOOK, 10, 1),
        (39, PLAIN, 20, 0),
        (200, AT_LOOK, 80, 1),
    ],
)
def test_wrong_verdicts_are_those_of_the_largest_simulated_number_of_runs(
    n_runs, level, row, column
):
    """Against what the level promises, in percent."""
    stage = Stage(n_runs, n_runs, level)

    fields = caution_of(Rule("min", "accuracy", 0.8), "pass", -2.0, stage=stage).fields

    assert (fields["n_runs"], fields["share"]) == (n_runs, WRONG[row][column])
    assert fields["nominal"] == pytest.approx(100 * level.tail)
    assert assumed_tails(stage).fields["share"] == WRONG[row][column]


@pytest.mark.parametrize(
    ("n_runs", "level", "is_enough"),
    [(5, PLAIN, False), (6, PLAIN, True), (7, AT_LOOK, False), (8, AT_LOOK, True)],
)
def test_the_median_is_offered_where_the_sign_test_has_an_interval(n_runs, level, is_enough):
    """All n runs are on one side of the median with the chance 2⁻ⁿ each: 1/64 for 6, 1/256 for 8."""
    stage = Stage(n_runs, n_runs, level)
    rule = Rule("min", "accuracy", 0.8)

    texts = {
        offers: str(caution_of(rule, "pass", -2.0, stage=stage, offers_median=offers))
        for offers in (True, False)
    }

    assert has_median(stage) == is_enough
    assert ("accuracy_median" in texts[True]) == is_enough
    assert "accuracy_median" not in texts[False]
    many = assumed_tails(Stage(40, 40, level)).fields["median"]
    assert (assumed_tails(stage).fields["median"] == many) == is_enough


def test_an_effect_has_no_median():
    caution = caution_of(Rule.no_worse("accuracy"), "pass", -2.0, offers_median=True)

    assert "accuracy_median" not in str(caution)


def test_a_tail_exactly_at_the_level_is_enough():
    stage = replace(STAGE, judged_runs=6, level=replace(PLAIN, tail=0.5**6))

    assert has_median(stage)
    assert not has_median(replace(stage, level=replace(PLAIN, tail=np.nextafter(0.5**6, 0))))
