"""Rules: which limits are allowed, and which metrics can be asked."""

import numpy as np
import pytest

from seedproof.comparison.gate.rules import Rule, check_names, limit_of
from seedproof.errors import OptionError, UnknownNameError
from seedproof.metrics import METRIC_NAMES


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


@pytest.mark.parametrize("limit", [-0.1, float("nan"), float("inf")])
def test_a_limit_is_a_number_that_is_not_negative(limit):
    """Whatever else stands there is quoted."""
    with pytest.raises(OptionError, match=r"--max flip_rate=.* is no limit"):
        Rule("max", "flip_rate", limit)


def test_a_share_above_one_is_a_slip():
    """Somebody meant 5 %."""
    with pytest.raises(OptionError, match=r"Write 0\.05 for 5 %"):
        Rule("max", "flip_rate", 5.0)
    Rule("max", "nll", 5.0)


def test_an_unknown_metric_lists_the_known_ones():
    """All of them, before anything is measured."""
    with pytest.raises(UnknownNameError, match="'flips'") as caught:
        check_names([Rule("max", "flips", 0.1)])

    assert all(name in str(caught.value) for name in METRIC_NAMES)


@pytest.mark.parametrize("limit", ["0.05", True, None, [0.05]])
@pytest.mark.parametrize(("kind", "keyword"), [("max", "max"), ("no-worse", "no_worse")])
def test_a_limit_that_is_no_number_is_told_how_to_write_one(kind, keyword, limit):
    """As an option, and in Python."""
    with pytest.raises(OptionError, match="is no number") as caught:
        Rule(kind, "flip_rate", limit)

    assert f"--{kind} flip_rate=0.05" in str(caught.value)
    assert f"{keyword}={{'flip_rate': 0.05}}" in str(caught.value)


def test_numbers_of_numpy_are_limits():
    """As somebody computes them."""
    assert Rule("max", "flip_rate", np.float32(0.5)).limit == 0.5
    assert Rule("max", "nll", np.int64(2)).limit == 2


@pytest.mark.parametrize(
    ("slip", "meant", "metric"), [("max", "min", "accuracy"), ("min", "max", "flip_rate")]
)
def test_a_limit_of_the_good_side_is_a_slip_unless_it_closes_a_range(slip, meant, metric):
    """The most accuracy alone would refuse good runs; between two limits it may be meant."""
    rules = [Rule(slip, metric, 0.9)]

    with pytest.raises(OptionError, match=f"Write --{meant} {metric}=0.9"):
        check_names(rules)
    with pytest.raises(OptionError, match=f"Write --{meant} {metric}=0.9"):
        check_names([*rules, Rule.no_worse(metric), Rule(meant, "accuracy_sd_independent", 0.1)])

    check_names([*rules, Rule(meant, metric, 0.1)])
    check_names([Rule(kind, "accuracy_sd_independent", 0.1) for kind in ("max", "min")])


def test_no_rule_is_an_error_with_an_example():
    """A gate without a rule would pass everything."""
    with pytest.raises(OptionError, match="--max flip_rate"):
        check_names([])


def test_what_has_no_better_direction_cannot_be_worse():
    """The spread that chance gives is a reference."""
    with pytest.raises(OptionError, match="no better direction"):
        check_names([Rule.no_worse("accuracy_sd_independent")])
