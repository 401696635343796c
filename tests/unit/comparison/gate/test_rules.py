"""Rules: allowed limits and metrics."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from seedproof.comparison.gate.rules import (
    Rule,
    allowed_checks,
    check_means,
    check_names,
    limit_of,
    thresholds_of,
)
from seedproof.errors import OptionError, UnknownNameError
from seedproof.metrics import METRIC_NAMES
from seedproof.predictions.checks import CHECK_NAMES
from seedproof.testing.errors import WithFields


@pytest.mark.parametrize(
    ("metric", "margin", "limit"),
    [
        ("flip_rate", None, 1.1),
        ("flip_rate", 0.5, 1.5),
        ("accuracy", None, -0.005),
        ("accuracy", 0.02, -0.02),
        ("nll", None, 0.005),
        ("accuracy_sd", 0.0, 1.0),
    ],
)
def test_margin_becomes_a_limit_of_the_change(metric, margin, limit):
    """A ratio above 1, or a difference in the direction that is worse."""
    assert limit_of(Rule.no_worse(metric, margin)) == limit


@pytest.mark.parametrize("limit", [-0.1, math.nan, math.inf], ids=["negative", "nan", "infinite"])
def test_limits_that_are_negative_or_not_finite_are_refused(limit):
    """The error quotes the option."""
    option = f"--max flip_rate={limit:g}"

    with pytest.raises(OptionError, check=WithFields(kind="max", metric="flip_rate")) as refused:
        Rule("max", "flip_rate", limit)

    assert option in str(refused.value)


def test_limit_of_a_share_above_1_is_refused():
    """5 was given for 5 %."""
    fields = {"kind": "max", "metric": "flip_rate", "limit": 5.0}
    with pytest.raises(OptionError, check=WithFields(**fields)):
        Rule("max", "flip_rate", 5.0)
    Rule("max", "nll", 5.0)


def test_an_unknown_metric_lists_the_known_ones():
    """All of them, before anything is measured."""
    with pytest.raises(UnknownNameError, check=WithFields(metric="wobble", nearest=None)) as caught:
        check_names([Rule("max", "wobble", 0.1)])

    assert all(name in str(caught.value) for name in METRIC_NAMES)


@pytest.mark.parametrize("limit", ["0.05", True, None, [0.05]])
@pytest.mark.parametrize(("kind", "keyword"), [("max", "max"), ("no-worse", "no_worse")])
def test_limit_that_is_not_a_number_is_refused_with_an_example(kind, keyword, limit):
    """As an option, and in Python."""
    with pytest.raises(OptionError, check=WithFields(metric="flip_rate")) as caught:
        Rule(kind, "flip_rate", limit)

    assert f"--{kind} flip_rate=0.05" in str(caught.value)
    assert f"{keyword}={{'flip_rate': 0.05}}" in str(caught.value)


def test_numpy_numbers_are_limits():
    """Floats and integers."""
    assert Rule("max", "flip_rate", np.float32(0.5)).limit == 0.5
    assert Rule("max", "nll", np.int64(2)).limit == 2


@pytest.mark.parametrize(
    ("slip", "meant", "metric"), [("max", "min", "accuracy"), ("min", "max", "flip_rate")]
)
def test_limit_in_the_good_direction_is_refused_unless_it_closes_a_range(slip, meant, metric):
    """A maximum accuracy alone would refuse good runs."""
    rules = [Rule(slip, metric, 0.9)]

    fields = {"slip": slip, "meant": meant, "metric": metric, "limit": 0.9}
    with pytest.raises(OptionError, check=WithFields(**fields)):
        check_names(rules)
    with pytest.raises(OptionError, check=WithFields(**fields)):
        check_names([*rules, Rule.no_worse(metric), Rule(meant, "accuracy_sd_independent", 0.1)])

    check_names([*rules, Rule(meant, metric, 0.1)])
    check_names([Rule(kind, "accuracy_sd_independent", 0.1) for kind in ("max", "min")])


def test_what_has_no_better_direction_cannot_be_worse():
    """The spread that chance gives is a reference."""
    with pytest.raises(OptionError, check=WithFields(metric="accuracy_sd_independent")):
        check_names([Rule.no_worse("accuracy_sd_independent")])


def test_allowed_checks_are_kept_once():
    assert allowed_checks(["few-runs", "duplicate-runs", "few-runs"]) == (
        "few-runs",
        "duplicate-runs",
    )


def test_error_for_an_unknown_check_lists_the_nearest_name_first():
    """All known names follow, each once."""
    with pytest.raises(UnknownNameError) as raised:
        allowed_checks(["few-runs", "identical-arm"])

    known = raised.value.fields["known"]
    assert raised.value.fields["check"] == "identical-arm"
    assert known[0] == "identical-arms"
    assert sorted(known) == sorted(CHECK_NAMES)


def test_allowed_checks_are_not_a_single_text():
    """Its letters are not names."""
    with pytest.raises(OptionError, check=WithFields(keyword="allow")):
        allowed_checks("few-runs")


def test_a_gate_needs_a_rule():
    with pytest.raises(OptionError):
        check_names([])


def test_scale_and_direction_are_those_of_the_metric():
    assert (Rule("max", "flip_rate", 0.1).scale, Rule("max", "flip_rate", 0.1).better) == (
        "ratio",
        "lower",
    )
    assert (Rule("min", "accuracy", 0.1).scale, Rule("min", "accuracy", 0.1).better) == (
        "difference",
        "higher",
    )


@pytest.mark.parametrize("limit", [0.0, 1.0])
def test_limits_of_shares_may_be_0_and_1(limit):
    assert Rule("max", "flip_rate", limit).limit == limit


@pytest.mark.parametrize(("mean", "limit"), [("higher", -0.02), ("lower", 0.02), ("neither", 0.02)])
def test_limit_of_a_mean_has_the_direction_of_its_numbers(mean, limit):
    assert limit_of(Rule.no_worse("mean", 0.02), mean) == limit


def test_thresholds_are_read_from_the_names_of_metrics():
    rules = [Rule("max", name, 0.1) for name in ("flip_rate@0.5", "flip_rate", "flip_rate@-2")]

    assert thresholds_of(rules) == [0.5, -2.0]


def test_threshold_that_is_not_a_number_is_refused():
    with pytest.raises(OptionError, check=WithFields(thresholds=("high",))):
        thresholds_of([Rule("max", "flip_rate@high", 0.1)])


def compared_means(better="higher", margin=None):
    """A comparison of means of numbers."""
    arm = SimpleNamespace(effects={"mean": SimpleNamespace(margin=margin)})
    return SimpleNamespace(better=better, arms=(arm,))


@pytest.mark.parametrize(
    ("no_worse", "compared"),
    [
        ({"mean": 0.1}, compared_means(better="neither")),  # with targets no direction is better
        ({"mean": None}, compared_means()),  # no margin is small for numbers of any size
        (["mean"], compared_means()),
    ],
)
def test_means_without_a_direction_or_a_margin_are_refused(no_worse, compared):
    with pytest.raises(OptionError, check=WithFields(metric="mean")):
        check_means([Rule.no_worse("mean")], no_worse, compared)


@pytest.mark.parametrize(
    ("rules", "no_worse", "compared"),
    [
        ([Rule.no_worse("mean", 0.1)], {"mean": 0.1}, compared_means()),
        ([Rule.no_worse("mean")], ["mean"], compared_means(margin=0.005)),  # shares
        ([Rule.no_worse("mae")], ["mae"], compared_means(better="neither")),
        ([Rule("min", "mean", 0.1)], None, compared_means(better="neither")),
    ],
)
def test_other_rules_on_means_are_accepted(rules, no_worse, compared):
    check_means(rules, no_worse, compared)
