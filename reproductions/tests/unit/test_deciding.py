"""The number of runs that would decide an open claim."""

import math
from dataclasses import replace

import pytest

from seedproof.stats.effect import Effect, judged
from seedproof.stats.intervals import Estimate
from seedproof_reproductions.deciding import CEILING_RUNS, is_imprecise, runs_to_decide
from seedproof_reproductions.rules import Evidence


def ratio(low, high, value=None):
    """A ratio judged as `compare` does; its value is the geometric mean unless given."""
    middle = math.sqrt(low * high) if value is None else value
    return Effect("flip_rate", "ratio", middle, low, high, verdict=judged("flip_rate", low, high))


def difference(low, high):
    """A difference of accuracy judged as `compare` does."""
    verdict = judged("accuracy", low, high)
    return Effect("accuracy", "difference", (low + high) / 2, low, high, verdict=verdict)


@pytest.mark.parametrize(
    ("rule", "evidence", "n_runs"),
    [
        # Widths are halved by four times the runs.
        ("direction", Evidence(ratio(0.5**1.5, 2**0.5)), 40),
        ("loss", Evidence(difference(-0.02, 0.02)), 160),
        ("cut", Evidence(ratio(0.0625, 1.0, 0.25), published=60.0), 40),
        # A cut of 50 % at most, where 75 % are published, with the same error as ours.
        ("cut", Evidence(ratio(0.5, 1.0, 2**-0.5), published=75.0), None),
        ("cut", Evidence(ratio(0.5, 1.0, 2**-0.5), published=55.0), 12),
        ("cut", Evidence(ratio(0.5, 1.0, 2**-0.5), published=55.0, published_error=0.4), 28),
        ("cut", Evidence(ratio(0.5, 1.0, 2**-0.5), published=55.0, published_error=0.5), None),
        ("range", Evidence(estimate=Estimate(0.5, 0.3, 0.7), between=(0.4, 0.6)), 40),
        ("range", Evidence(estimate=Estimate(0.7, 0.5, 0.9), between=(0.4, 0.6)), 40),
        ("positive", Evidence(estimate=Estimate(-0.1, -0.3, 0.1)), 40),
        ("value", Evidence(estimate=Estimate(1.0, 0.25, 4.0), published=1.5), 40),
        # The published value is outside, and may be wrong by as much.
        ("value", Evidence(estimate=Estimate(1.2, 1.1, 1.3), published=1.0), None),
        ("direction", Evidence(ratio(0.5, 2.0)), math.inf),  # no number of runs is enough
        ("direction", Evidence(Effect("accuracy_sd", "ratio", 0.3, verdict="too few runs")), None),
        # Intervals of two arms that are as wide as their values are apart.
        ("better", Evidence(ratio(0.25, 1.0), others={"other": ratio(0.5, 2.0)}), 40),
        # A better arm refutes it as soon as both are apart, and the nearer one does not matter.
        (
            "better",
            Evidence(ratio(0.5, 2.0), others={"a": ratio(0.25, 1.0), "b": ratio(0.49, 1.99)}),
            40,
        ),
        ("share", Evidence(estimate=Estimate(0.8, 0.0, 1.6), published=90.0), 40),
        ("share", Evidence(estimate=Estimate(-0.1, -0.4, 0.2), published=90.0), None),
        ("correlation", Evidence(estimate=Estimate(0.5, 0.4, 0.6)), None),
        ("better", Evidence(ratio(0.5, 0.9)), None),
    ],
)
def test_number_of_runs_that_would_decide(rule, evidence, n_runs):
    """Of ten runs; without their number it is unknown."""
    assert runs_to_decide(rule, replace(evidence, n_runs=10)) == n_runs
    assert runs_to_decide(rule, evidence) is None


def test_noise_ceiling_needs_some_runs():
    """With fewer, a correlation cannot be judged; with as many it is open for another reason."""
    evidence = Evidence(estimate=Estimate(0.5, 0.4, 0.6), n_runs=5)

    assert runs_to_decide("correlation", evidence) == CEILING_RUNS
    assert runs_to_decide("correlation", replace(evidence, n_runs=CEILING_RUNS)) is None


@pytest.mark.parametrize(
    ("rule", "evidence", "expected"),
    [
        # A cut of 36 % differs from 60 % by 0.46 as a log.
        ("cut", Evidence(ratio(0.6, 0.7), published=60.0, published_error=0.5), True),
        ("cut", Evidence(ratio(0.6, 0.7), published=60.0, published_error=0.4), False),
        ("cut", Evidence(ratio(0.3, 0.9), published=60.0, published_error=0.5), False),  # inside
        ("cut", Evidence(ratio(0.6, 0.7), published=60.0), False),  # its error shrinks as ours does
        ("value", Evidence(estimate=Estimate(1.2, 1.1, 1.3), published=1.0), True),
        ("value", Evidence(estimate=Estimate(3.0, 2.5, 3.6), published=1.0), False),
        ("direction", Evidence(ratio(0.6, 0.7)), False),
    ],
)
def test_published_figure_may_be_too_uncertain(rule, evidence, expected):
    """If its own error is larger than its distance from ours."""
    assert is_imprecise(rule, evidence) is expected
