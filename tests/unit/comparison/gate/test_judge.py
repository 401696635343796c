"""Verdicts on rules, the reasons of open ones, and the number of runs that would settle them."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student_t

from seedproof.comparison.gate.judge import FIGURES, Reason, judge
from seedproof.comparison.gate.rules import Rule
from seedproof.comparison.gate.stage import Stage, stage_of, stage_of_trials
from seedproof.errors import OptionError, SeedproofError
from seedproof.measurement.selection import WITHOUT_INTERVAL
from seedproof.metrics import FAMILIES
from seedproof.metrics.batch import Batch
from seedproof.metrics.numbers.batch import NumberBatch
from seedproof.metrics.numbers.passes import Passes
from seedproof.metrics.statistic import ValueOnly
from seedproof.predictions.checks import Check
from seedproof.records.answer_settings import AnswerSettings
from seedproof.report.gate import more_runs
from seedproof.stats.effect import Effect
from seedproof.stats.intervals import PLAIN, Estimate, estimate
from seedproof.stats.looks import AT_LOOK, LOOK_TAIL
from seedproof.testing.errors import WithFields
from support.gates import baseline_of, judge_figures

BOTH = "runs × examples"
# Reasons, as the JSON of a gate has them.
BETWEEN_LOOKS = "between looks"
DECLARED_MISSING = "declared runs missing"
LAST_LOOK = "last look"
NEXT_LOOK = "next look"
NO_INTERVAL = "no interval"
TOO_FEW_EXAMPLES = "too few examples"
TOO_FEW_JUDGES = "too few judges or examples"
TOO_FEW_TRIALS = "too few trials or examples"
UNLIKE_NUMBERS = "unlike numbers of runs"
UNTRUSTED = "untrusted input"


def test_reasons_are_those_of_the_gate():
    """All of them are listed here."""
    reasons = {NO_INTERVAL, TOO_FEW_EXAMPLES, UNLIKE_NUMBERS, UNTRUSTED, DECLARED_MISSING}

    assert reasons | {
        BETWEEN_LOOKS,
        LAST_LOOK,
        NEXT_LOOK,
        "interval",
        "value",
        "too few runs",
        TOO_FEW_JUDGES,
        TOO_FEW_TRIALS,
    } == set(get_args(Reason))


def check_of(rule, value, n_runs=10, **further):
    """Judge a single rule."""
    return judge_figures({rule.metric: value}, [rule], n_runs=n_runs, **further).rules[0]


# -------------------------------------------------------------------------- limits of the metric


@pytest.mark.parametrize(
    ("kind", "limit", "outcome"),
    [
        ("max", 0.061, "pass"),
        ("max", 0.06, "pass"),  # the whole interval is at or below
        ("max", 0.059, "investigate"),
        ("max", 0.03, "investigate"),  # its lower end is not above
        ("max", 0.029, "fail"),
        ("min", 0.029, "pass"),
        ("min", 0.03, "pass"),
        ("min", 0.031, "investigate"),
        ("min", 0.06, "investigate"),
        ("min", 0.061, "fail"),
    ],
)
def test_verdict_depends_on_the_whole_interval(kind, limit, outcome):
    """[3, 6] % against a limit: an end on the limit keeps it."""
    check = check_of(Rule(kind, "flip_rate", limit), Estimate(0.04, 0.03, 0.06, BOTH))

    assert check.outcome == outcome


@given(
    ends=st.tuples(*[st.floats(0.001, 0.999)] * 3).map(sorted),
    limit=st.floats(0.0, 1.0),
    kind=st.sampled_from(["max", "min"]),
)
def test_pass_and_fail_need_the_whole_interval(ends, limit, kind):
    """A pass keeps the limit at both ends, a fail breaks it at both."""
    low, value, high = ends

    outcome = check_of(Rule(kind, "flip_rate", limit), Estimate(value, low, high, BOTH)).outcome

    kept = [end <= limit if kind == "max" else end >= limit for end in (low, high)]
    expected = "pass" if all(kept) else "investigate" if any(kept) else "fail"
    assert outcome == expected


@pytest.mark.parametrize(
    ("outcomes", "whole", "code"),
    [
        (["pass", "pass"], "pass", 0),
        (["pass", "investigate"], "investigate", 3),
        (["investigate", "fail"], "fail", 1),
        (["pass", "fail"], "fail", 1),
    ],
)
def test_one_broken_rule_fails_the_gate_and_one_open_rule_leaves_it_open(outcomes, whole, code):
    """Fail goes before investigate, investigate before pass."""
    limits = {"pass": 0.5, "investigate": 0.05, "fail": 0.01}
    metrics = {name: Estimate(0.04, 0.03, 0.06, BOTH) for name in ("flip_rate", "net_flip_rate")}
    rules = [
        Rule("max", name, limits[outcome]) for name, outcome in zip(metrics, outcomes, strict=True)
    ]

    result = judge_figures(metrics, rules, n_runs=10)

    assert [verdict.outcome for verdict in result.rules] == outcomes
    assert (result.outcome, result.exit_code) == (whole, code)


# ------------------------------------------------------------------------------------- next looks


def figure_of(value, runs, examples, n_runs):
    """Return a figure on the log scale, from the standard errors of runs and of examples."""

    def at(level):
        width = np.hypot(level.student(n_runs) * runs, 1.96 * examples)
        return Estimate(value, value * np.exp(-width), value * np.exp(width), BOTH)

    return at


def judge_growing(figure, limit, n_runs, **further):
    """Judge the flip rate of a study that may grow."""
    rules = [Rule("max", "flip_rate", limit)]
    return judge({"flip_rate": figure}, rules, stage=stage_of(n_runs), **further).rules[0]


def test_a_growing_study_is_judged_by_a_wider_interval():
    """A limit just outside the 95 % interval is open, and decided if its runs were declared."""
    figure = figure_of(0.04, 0.1, 0.02, 10)
    limit = figure(PLAIN).high * 1.01
    rules = [Rule("max", "flip_rate", limit)]

    growing = judge_growing(figure, limit, 10)
    declared = judge({"flip_rate": figure}, rules, stage=stage_of(10, 10)).rules[0]

    assert (growing.outcome, growing.reason) == ("investigate", NEXT_LOOK)
    assert (declared.outcome, declared.reason) == ("pass", "interval")
    assert growing.estimate == declared.estimate == declared.deciding
    assert growing.deciding.high > growing.estimate.high


def test_forecast_is_that_of_simulated_further_runs():
    """Further runs move the value by their share of the variance, and narrow the interval."""
    rng = np.random.default_rng(0)
    n_runs, then, sd, limit = 10, 20, 0.3, np.log(0.05)
    value = limit - 0.2
    figure = figure_of(np.exp(value), sd / np.sqrt(n_runs), 0.0, n_runs)

    chance = judge_growing(figure, np.exp(limit), n_runs).chance

    truth = rng.normal(value, sd / np.sqrt(n_runs), (20_000, 1))
    further = rng.normal(truth, sd, (20_000, then - n_runs)).mean(axis=1)
    moved = (n_runs * value + (then - n_runs) * further) / then
    width = student_t.ppf(1 - LOOK_TAIL, then - 1) * sd / np.sqrt(then)
    simulated = ((limit - moved) > width).mean()
    assert chance == pytest.approx(simulated, abs=0.03)


def test_more_examples_are_asked_for_if_runs_would_not_do():
    """The interval from examples alone contains the limit."""
    check = judge_growing(figure_of(0.04, 0.05, 0.2, 10), 0.05, 10)

    assert (check.outcome, check.reason, check.chance) == ("investigate", TOO_FEW_EXAMPLES, None)


def test_the_last_look_leaves_a_rule_open_for_good():
    """There is no look after 80 runs."""
    check = judge_growing(figure_of(0.04, 0.2, 0.0, 80), 0.041, 80)

    assert (check.outcome, check.reason, check.stage.next_look) == ("investigate", LAST_LOOK, None)


def test_several_rules_widen_the_end_for_a_fail_alone():
    """Each rule may be broken by chance, but all of them must hold."""
    figure = figure_of(0.04, 0.1, 0.0, 10)
    passing, failing = (figure(level) for level in (PLAIN, PLAIN.divided(2)))
    metrics = dict.fromkeys(("flip_rate", "net_flip_rate"), figure)
    limits = (passing.high, (passing.low + failing.low) / 2)

    rules = [Rule("max", name, limit) for name, limit in zip(metrics, limits, strict=True)]
    first, second = judge(metrics, rules, stage=stage_of(10, 10)).rules

    assert (first.outcome, second.outcome) == ("pass", "investigate")
    assert (second.deciding.low, second.deciding.high) == (failing.low, passing.high)


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_chance_is_a_probability(share):
    """At any distance from the limit inside the interval."""
    figure = figure_of(0.04, 0.2, 0.01, 5)
    limit = 0.04 * (figure(AT_LOOK).high / 0.04) ** share

    check = judge_growing(figure, limit, 5)

    assert check.reason in {NEXT_LOOK, TOO_FEW_EXAMPLES}
    assert check.chance is None or 0.0 <= check.chance <= 1.0


def test_limit_of_zero_is_judged_on_the_plain_scale():
    """It has no logarithm."""
    check = check_of(Rule("max", "net_flip_rate", 0.0), Estimate(0.01, 0.0, 0.02, "runs"))

    assert (check.outcome, check.reason) == ("investigate", NEXT_LOOK)
    assert 0.0 <= check.chance <= 1.0


def test_interval_over_examples_asks_for_examples():
    """Runs do not narrow the bound of a rate without flips."""
    check = check_of(Rule("max", "flip_rate", 0.01), Estimate(0.0, 0.0, 0.03, "examples"))

    assert (check.reason, more_runs(check)) == (TOO_FEW_EXAMPLES, None)
    assert check.outcome == "investigate"


@pytest.mark.parametrize(
    ("over", "reason"),
    [
        ("judges × examples", TOO_FEW_JUDGES),
        ("judges × clusters", TOO_FEW_JUDGES),
        ("examples", TOO_FEW_TRIALS),
    ],
)
@pytest.mark.parametrize("kind", ["min", "no-worse"])
def test_interval_over_the_same_judges_asks_for_judges(over, reason, kind):
    """More of their trials do not narrow it, whether their number was declared or not."""
    figure = Estimate(6.0, 4.0, 8.0, over)
    effect = Effect("mean", "difference", 0.0, -2.0, 2.0, over)
    baseline = replace(baseline_of("mean", figure, effect, 3), better="higher")
    limit = 6.0 if kind == "min" else 0.1

    growing, declared = (
        judge({"mean": lambda _: figure}, [Rule(kind, "mean", limit)], stage=x, baseline=baseline)
        for x in (stage_of_trials(3), stage_of_trials(3, 3))
    )

    assert growing.rules[0].reason == reason
    assert declared.rules[0].reason == (TOO_FEW_JUDGES if "judges" in over else TOO_FEW_EXAMPLES)


# ------------------------------------------------------------------------------ without interval


@pytest.mark.parametrize(
    ("metric", "limit", "value", "n_runs", "expected"),
    [
        ("ambiguity", 0.3, Estimate(0.3), 10, ("pass", "value", None)),
        ("ambiguity", 0.29, Estimate(0.3), 10, ("fail", "value", None)),
        ("ambiguity", 0.3, Estimate(0.3), 2, ("pass", "value", None)),
        ("accuracy_sd", 0.5, Estimate(0.001), 4, ("investigate", "too few runs", 1)),
        ("accuracy_sd", 0.5, Estimate(0.0), 4, ("investigate", "too few runs", 1)),
        # Runs that do not differ: others may.
        ("accuracy_sd", 0.01, Estimate(0.0), 10, ("investigate", NO_INTERVAL, 10)),
        # A spread that is caused by one run.
        ("accuracy_sd", 0.01, Estimate(0.001), 6, ("investigate", NO_INTERVAL, 4)),
    ],
)
def test_metric_without_interval_is_judged_by_its_value_or_open(
    metric, limit, value, n_runs, expected
):
    """Figures that describe these runs are judged by their value, all others need runs."""
    check = check_of(Rule("max", metric, limit), value, n_runs)

    assert (check.outcome, check.reason, more_runs(check)) == expected


@pytest.mark.parametrize("limit", [0.5, 0.01], ids=["kept", "broken"])
@pytest.mark.parametrize("n_runs", [2, 3, 4, 5])
def test_verdicts_need_five_runs(n_runs, limit):
    """Even if the whole interval is on one side of the limit."""
    over = "examples" if n_runs == 2 else BOTH

    check = check_of(Rule("max", "flip_rate", limit), Estimate(0.04, 0.03, 0.06, over), n_runs)

    if n_runs < 5:
        expected = ("investigate", "too few runs", 5 - n_runs)
    else:
        expected = ("pass" if limit == 0.5 else "fail", "interval", None)
    assert (check.outcome, check.reason, more_runs(check)) == expected


def test_names_of_figures_are_those_of_the_metrics():
    """Figures get no interval, as in the metric families; rules on the plain ECE are refused."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1.0] * 3, (6, 50)).astype(np.float32)
    batch = Batch.from_probs(probs, rng.integers(0, 3, 50))
    statistics = {}
    for family in FAMILIES:
        accumulator = family(6, 3)
        accumulator.update(batch)
        statistics |= accumulator.result()
    passes = Passes(6, AnswerSettings())
    passes.update(NumberBatch((rng.random((6, 50)) < 0.5).astype(np.float64)))
    statistics |= passes.result()

    without = FIGURES | {*WITHOUT_INTERVAL}
    assert {name for name, x in statistics.items() if isinstance(x, ValueOnly)} == without
    assert {name for name, x in statistics.items() if estimate(x).low is None} == without


def trials_figures(n_failing):
    """Figures at any level of three trials of 60 tasks, of which some always fail."""
    passed = np.ones((3, 60))
    passed[:, :n_failing] = 0.0
    passes = Passes(3, AnswerSettings(are_trials=True))
    passes.update(NumberBatch(passed))
    statistics = passes.result()
    return {name: lambda level, x=x: estimate(x, level) for name, x in statistics.items()}


@pytest.mark.parametrize(("limit", "outcome"), [(0.33, "pass"), (0.2, None), (0.1, "fail")])
def test_a_share_of_trials_is_judged_by_its_interval(limit, outcome):
    """Twelve broken tasks of 60: 20 % [11, 32]."""
    stage = Stage(3, 3, PLAIN, are_trials=True)
    rule = Rule("max", "broken_share", limit)

    (verdict,) = judge(trials_figures(12), [rule], stage=stage).rules

    assert verdict.outcome == (outcome or "investigate")
    assert verdict.deciding is not None
    assert verdict.reason == ("interval" if outcome else TOO_FEW_EXAMPLES)


def test_a_share_of_trials_counts_as_a_rule_that_fails_by_chance():
    """With two rules, each end for a fail is at half of the tail."""
    stage = Stage(3, 3, PLAIN, are_trials=True)
    rules = [Rule("max", "broken_share", 0.2), Rule("max", "flaky_share", 0.5)]

    verdict, _ = judge(trials_figures(12), rules, stage=stage).rules

    expected = trials_figures(12)["broken_share"](PLAIN.divided(2))
    assert verdict.deciding.low == expected.low < verdict.estimate.low


# ----------------------------------------------------------------------------- against a baseline


def against(metric, effect, *, margin=None, arm=0.044, base=0.04, n_runs=(10, 10)):
    """Judge `no-worse`."""
    baseline = baseline_of(metric, Estimate(base), effect, n_runs[1])
    return check_of(Rule.no_worse(metric, margin), Estimate(arm), n_runs[0], baseline=baseline)


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (0.5, 0.9, "pass"),
        (0.9, 1.1, "pass"),
        (0.9, 1.11, "investigate"),
        (1.05, 1.2, "investigate"),  # worse for sure, but by more than the margin?
        (1.11, 1.3, "fail"),
    ],
)
def test_a_ratio_may_exceed_one_by_the_margin(low, high, outcome):
    """By default a tenth of the baseline."""
    check = against("flip_rate", Effect("flip_rate", "ratio", 1.08, low, high, BOTH))

    assert check.rule.limit == 0.1
    assert check.outcome == outcome


@pytest.mark.parametrize(
    ("metric", "low", "high", "outcome"),
    [
        ("accuracy", -0.005, 0.01, "pass"),
        ("accuracy", -0.006, 0.01, "investigate"),
        ("accuracy", -0.02, -0.006, "fail"),
        ("nll", -0.01, 0.005, "pass"),
        ("nll", -0.01, 0.006, "investigate"),
        ("nll", 0.006, 0.01, "fail"),
    ],
)
def test_a_difference_may_go_the_wrong_way_by_the_margin(metric, low, high, outcome):
    """Accuracy may fall by half a point, a loss may rise by as much."""
    effect = Effect(metric, "difference", (low + high) / 2, low, high, BOTH)

    check = against(metric, effect)

    assert check.rule.limit == 0.005
    assert check.outcome == outcome


def test_given_margin_replaces_the_default():
    """An interval up to 1.3 exceeds a tenth, but not a half."""
    effect = Effect("flip_rate", "ratio", 1.08, 0.9, 1.3, BOTH)

    assert against("flip_rate", effect).outcome == "investigate"
    assert against("flip_rate", effect, margin=0.5).outcome == "pass"


def test_no_flips_in_target_and_baseline_are_open():
    """0 against 0 has no ratio: the exact bounds of both do not limit it."""
    check = against("flip_rate", Effect("flip_rate", "ratio", None), arm=0.0, base=0.0)

    assert (check.outcome, check.reason) == ("investigate", NO_INTERVAL)


def test_open_effect_over_examples_asks_for_examples():
    """Nothing flipped in the target, and more runs do not narrow its interval."""
    effect = Effect("flip_rate", "ratio", 0.0, 0.0, 3.0, "examples", verdict="too few runs")

    assert against("flip_rate", effect, arm=0.0).reason == TOO_FEW_EXAMPLES


def test_figures_are_compared_at_equal_numbers_of_runs_only():
    """Ambiguity grows with the runs."""
    effect = Effect("ambiguity", "ratio", 1.05)

    alike = against("ambiguity", effect, arm=0.42, base=0.4)
    unlike = against("ambiguity", effect, arm=0.42, base=0.4, n_runs=(10, 8))

    assert (alike.outcome, alike.reason) == ("pass", "value")
    assert (unlike.outcome, unlike.reason) == ("investigate", UNLIKE_NUMBERS)


@pytest.mark.parametrize("value", [0.04, 0.0])
def test_too_few_runs_leave_a_comparison_open(value):
    """A comparison needs five runs of both, also if nothing flips in either."""
    effect = Effect("flip_rate", "ratio", 0.5, 0.4, 0.6, BOTH, verdict="too few runs")

    check = against("flip_rate", effect, arm=value, base=value, n_runs=(3, 3))

    assert (check.outcome, check.reason, more_runs(check)) == (
        "investigate",
        "too few runs",
        2,
    )


# -------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("metric", "needs"), [("accuracy", {"labels"}), ("ece_corrected", {"labels", "confidence"})]
)
def test_error_of_an_unmeasured_metric_says_what_it_needs(metric, needs):
    """And which metrics were measured."""
    fields = {"metric": metric, "needs": needs, "metrics": ("flip_rate",)}
    with pytest.raises(OptionError, check=WithFields(**fields)):
        judge_figures({"flip_rate": Estimate(0.1)}, [Rule("max", metric, 0.1)], n_runs=5)


def test_no_worse_needs_a_baseline():
    """The error names the option."""
    with pytest.raises(OptionError, check=WithFields(metric="flip_rate", option="--baseline")):
        judge_figures({"flip_rate": Estimate(0.1)}, [Rule.no_worse("flip_rate")], n_runs=5)


@pytest.mark.parametrize(("low", "outcome"), [(1.2, "fail"), (1.05, "investigate")])
def test_target_can_fail_against_a_baseline_without_flips(low, outcome):
    """The ratio to 0 has no upper end, and its lower end decides."""
    rule = Rule.no_worse("flip_rate", 0.1)
    effect = Effect("flip_rate", "ratio", None, low, None, "examples")
    never = Estimate(0.0, 0.0, 0.01, "examples")
    baseline = baseline_of("flip_rate", never, effect, 10)

    check = check_of(rule, Estimate(0.05, 0.04, 0.06, BOTH), baseline=baseline)

    assert check.outcome == outcome


# ------------------------------------------------------------------------------ checks of the input

COPIES = Check("duplicate-runs", "error", ("0", "1"), "", "")
STUCK = Check("constant-run", "error", ("2",), "", "", arm="baseline")
FEW = Check("few-runs", "warning", (), "", "")


@pytest.mark.parametrize(
    ("checks", "allowed", "blocking"),
    [
        ((COPIES,), (), (COPIES,)),
        ((COPIES, STUCK, FEW), ("duplicate-runs",), (STUCK,)),
        ((COPIES,), ("duplicate-runs",), ()),
        ((FEW, replace(COPIES, severity="note")), (), ()),
        ((), ("duplicate-runs",), ()),
    ],
)
@pytest.mark.parametrize(("limit", "usual"), [(0.9, "pass"), (0.01, "fail")])
def test_error_in_the_input_leaves_every_rule_open(checks, allowed, blocking, limit, usual):
    """Nothing passes and nothing fails, unless the check is allowed."""
    metrics = {"flip_rate": Estimate(0.05, 0.04, 0.06, BOTH)}
    rules = [Rule("max", "flip_rate", limit)]

    result = judge_figures(metrics, rules, n_runs=10, checks=checks, allowed=allowed)

    assert (result.checks, result.allowed, result.blocking) == (checks, allowed, blocking)
    assert result.outcome == result.rules[0].outcome == ("investigate" if blocking else usual)
    assert result.exit_code == (3 if blocking else {"pass": 0, "fail": 1}[usual])
    assert (result.rules[0].reason == UNTRUSTED) == bool(blocking)


def test_limit_of_a_verdict_is_that_of_the_value_or_of_the_effect():
    effect = Effect("accuracy", "difference", 0.0, -0.004, 0.004, BOTH)

    assert against("accuracy", effect).limit == -0.005
    assert check_of(Rule("max", "flip_rate", 0.1), Estimate(0.04, 0.03, 0.06, BOTH)).limit == 0.1


@pytest.mark.parametrize(
    ("n_runs", "checks", "can_grow"),
    [
        (3, (), True),  # too few runs
        (5, (FEW,), True),
        (5, (COPIES,), False),  # more runs do not remove the error
    ],
)
def test_an_open_gate_may_be_decided_by_further_runs(n_runs, checks, can_grow):
    metrics = {"flip_rate": Estimate(0.05, None, None)}
    rules = [Rule("max", "flip_rate", 0.06)]

    result = judge_figures(metrics, rules, n_runs=n_runs, checks=checks)

    assert result.outcome == "investigate"
    assert (result.can_grow, result.n_runs) == (can_grow, n_runs)


def test_a_decided_gate_does_not_grow():
    metrics = {"flip_rate": Estimate(0.05, 0.04, 0.055, BOTH)}

    assert not judge_figures(metrics, [Rule("max", "flip_rate", 0.06)], n_runs=10).can_grow


@pytest.mark.parametrize("metric", ["flip_rat", "pass^4"])
def test_a_metric_that_is_unknown_or_was_not_measured_is_refused(metric):
    rule = Rule("max", "flip_rate", 0.1)
    object.__setattr__(rule, "metric", metric)

    with pytest.raises(SeedproofError):
        judge_figures({"flip_rate": Estimate(0.1)}, [rule], n_runs=5)
