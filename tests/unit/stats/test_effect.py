"""Verdicts need five runs, and an interval that shows nothing is known as such."""

from dataclasses import replace

import pytest

from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.stats.effect import Effect, inverted, with_enough_runs

BOTH = "runs × examples"
SHOWN = Effect("flip_rate", "ratio", 0.5, 0.4, 0.7, BOTH, detectable=1.6, verdict="steadier")


@pytest.mark.parametrize("verdict", ["steadier", "no difference shown", "not tested"])
def test_fewer_than_five_runs_have_figures_and_no_verdict(verdict):
    """Value and interval stay; neither a difference nor its absence is stated."""
    effect = replace(SHOWN, verdict=verdict)

    assert with_enough_runs(effect, VERDICT_FROM) == effect
    few = with_enough_runs(effect, VERDICT_FROM - 1)
    assert few == replace(effect, verdict="too few runs", detectable=None)
    assert not few.is_shown


@pytest.mark.parametrize(
    ("metric", "ends", "is_too_wide"),
    [
        ("accuracy_sd", (1.5, 1e-8, 1.4e8), True),
        ("accuracy_sd", (1.5, 1e-8, None), True),
        ("accuracy_sd", (1.5, 0.02, 140.0), False),
        ("accuracy_sd", (400.0, 2.0, 1e6), False),  # it excludes no change
        ("flip_rate", (0.0, 0.0, 3.0), False),  # nothing flips: only the upper end is known
        ("flip_rate", (None, 0.5, None), False),  # nothing flips in the baseline
        ("flip_rate", (1.5, None, None), False),
        ("accuracy", (0.1, -1.0, 1.0), True),
        ("accuracy", (0.1, -0.9, 1.0), False),
        ("nll", (0.1, -2.0, 2.2), False),
    ],
)
def test_interval_is_too_wide_if_it_shows_nothing(metric, ends, is_too_wide):
    """A ratio that may be anything, or a difference of shares over its whole range."""
    scale = "difference" if metric in {"accuracy", "nll"} else "ratio"

    assert Effect(metric, scale, *ends, BOTH).is_too_wide == is_too_wide


@pytest.mark.parametrize(
    ("effect", "opposite"),
    [
        (SHOWN, (2.0, 1 / 0.7, 2.5, "less steady")),
        (replace(SHOWN, value=0.0, low=0.0, high=0.8), (None, 1.25, None, "less steady")),
        (replace(SHOWN, value=None, low=2.0, high=None), (0.0, 0.0, 0.5, "less steady")),
        (
            replace(SHOWN, low=None, high=None, verdict="not tested"),
            (2.0, None, None, "not tested"),
        ),
        (
            Effect("accuracy", "difference", 0.02, -0.01, 0.05, BOTH, verdict="equivalent"),
            (-0.02, -0.05, 0.01, "equivalent"),
        ),
    ],
)
def test_effect_can_be_read_from_the_other_side(effect, opposite):
    """Ratios are inverted, differences change their sign, and verdicts their direction."""
    value, low, high, verdict = opposite

    inverse = inverted(effect)

    assert (inverse.value, inverse.low, inverse.high) == pytest.approx((value, low, high))
    assert inverse.verdict == verdict
    assert (inverse.detectable, inverse.over) == (effect.detectable, effect.over)
