"""Verdicts need five runs, and an interval that shows nothing is known as such."""

from dataclasses import replace

import pytest

from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.stats.effect import Effect, with_enough_runs

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
