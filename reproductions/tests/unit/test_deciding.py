"""The number of runs that would decide an open claim."""

import math
from dataclasses import replace

import numpy as np
import pytest

import seedproof as sp
from seedproof.stats.distributions import student_quantile
from seedproof.stats.effect import Effect, judged
from seedproof.stats.intervals import Estimate
from seedproof_reproductions.deciding import (
    CEILING_RUNS,
    Forecast,
    forecast_claim,
    from_texts,
    share_from_texts,
)
from seedproof_reproductions.rules import Evidence


def ratio(low, high, value=None, *, over="runs"):
    """A ratio judged as `compare` does; its value is the geometric mean unless given."""
    middle = math.sqrt(low * high) if value is None else value
    verdict = judged("flip_rate", low, high)
    return Effect("flip_rate", "ratio", middle, low, high, over, verdict=verdict)


def difference(low, high):
    """A difference of accuracy judged as `compare` does."""
    verdict = judged("accuracy", low, high)
    return Effect("accuracy", "difference", (low + high) / 2, low, high, "runs", verdict=verdict)


@pytest.mark.parametrize(
    ("rule", "evidence", "n_runs"),
    [
        # Widths are halved by four times the runs, and an end on the bound does not decide yet.
        ("direction", Evidence(ratio(0.5**1.5, 2**0.5)), 41),
        ("loss", Evidence(difference(-0.02, 0.02)), 160),
        # A loss is shown once the interval is below 0.
        ("accuracy", Evidence(difference(-0.015, 0.001)), 14),
        ("cut", Evidence(ratio(0.0625, 1.0, 0.25), published=60.0), 40),
        # A cut of 29 %, where 55 % are published, with the same error as ours of now. Of the gap of
        # 0.452 that error is 0.347, so ours must be below 0.290.
        ("cut", Evidence(ratio(0.5, 1.0, 2**-0.5), published=55.0), 15),
        ("cut", Evidence(ratio(0.5, 1.0, 2**-0.5), published=55.0, published_error=0.4), 28),
        # The published cut is inside, and differs by more than its own error.
        ("cut", Evidence(ratio(0.1, 10.0, 1.0), published=70.0, published_error=0.85), 73),
        # The published value is inside, and is refuted with more runs.
        ("value", Evidence(estimate=Estimate(1.0, 0.25, 4.0), published=3.0), 23),
        ("value", Evidence(estimate=Estimate(1.0, 0.25, 4.0), published=1.0), 40),
        # Intervals of two arms that are as wide as their values are apart.
        ("better", Evidence(ratio(0.25, 1.0), others={"other": ratio(0.5, 2.0)}), 41),
        # A better arm refutes it as soon as both are apart, and the nearer one does not matter.
        (
            "better",
            Evidence(ratio(0.5, 2.0), others={"a": ratio(0.25, 1.0), "b": ratio(0.49, 1.99)}),
            41,
        ),
    ],
)
def test_number_of_runs_that_would_decide(rule, evidence, n_runs):
    """Of ten runs; it is unknown if their number is."""
    assert forecast_claim(rule, replace(evidence, n_runs=10)).n_runs == n_runs
    assert forecast_claim(rule, evidence) == Forecast()


@pytest.mark.parametrize(
    ("rule", "evidence", "words"),
    [
        # A cut of 29 %, where 55 % are published, and may be wrong by as much.
        (
            "cut",
            Evidence(ratio(0.5, 1.0, 2**-0.5), published=55.0, published_error=0.5),
            "if our figure is the truth, no number of seeds decides: the published one is too uncertain",
        ),
        (
            "value",
            Evidence(estimate=Estimate(1.2, 1.1, 1.3), published=1.0),
            "if our figure is the truth, no number of seeds decides: the published one is too uncertain",
        ),
        # No number of runs shows a change of 0.
        ("direction", Evidence(ratio(0.5, 2.0)), ""),
        (
            "direction",
            Evidence(ratio(0.5, 2.001)),
            "more than 10,000 seeds would be needed to refute it",
        ),
        ("direction", Evidence(Effect("accuracy_sd", "ratio", 0.3, verdict="too few runs")), ""),
        ("value", Evidence(estimate=Estimate(1.2, 1, 2), published=1.0, is_over_runs=False), ""),
        ("correlation", Evidence(estimate=Estimate(0.5, 0.4, 0.6)), ""),
        ("better", Evidence(None, others={"other": ratio(0.5, 2.0)}), ""),
        # Runs narrow it, and texts by an unknown part.
        (
            "range",
            Evidence(estimate=Estimate(0.5, 0.3, 0.7), between=(0.4, 0.6)),
            "more than 32 seeds would be needed to show it",
        ),
    ],
)
def test_some_claims_stay_open(rule, evidence, words):
    """With any number of runs, or with too many; or the number is not known."""
    assert forecast_claim(rule, replace(evidence, n_runs=10)).words == words


@pytest.mark.parametrize(
    ("rule", "evidence", "refutes"),
    [
        ("direction", Evidence(ratio(0.5**1.5, 2**0.5)), False),
        ("direction", Evidence(ratio(2**-0.5, 2**1.5)), True),
        ("value", Evidence(estimate=Estimate(1.0, 0.25, 4.0), published=3.0), True),
        ("value", Evidence(estimate=Estimate(1.0, 0.25, 4.0), published=1.0), False),
        # Below the range, which our interval reaches.
        ("range", Evidence(estimate=Estimate(0.38, 0.35, 0.41), between=(0.4, 0.6)), True),
    ],
)
def test_forecast_says_which_way(rule, evidence, refutes):
    """The claim would hold then or not, if our figure is the truth."""
    forecast = forecast_claim(rule, replace(evidence, n_runs=10))

    assert forecast.refutes is refutes
    assert ("refute" in forecast.words, "show" in forecast.words) == (refutes, not refutes)


@pytest.mark.parametrize(
    ("share", "words", "few_words"),
    [
        (0.0, "about 33 seeds would show it", "33 seeds"),
        (0.125, "about 55 seeds would show it", "55 seeds"),
        (0.2499999, "more than 10,000 seeds would be needed to show it", "more than 10,000 seeds"),
        (0.25, "more texts are needed, whatever the number of seeds", "more texts"),
        (None, "more than 32 seeds would be needed to show it", "more than 32 seeds"),
    ],
)
def test_more_runs_do_not_narrow_what_is_from_texts(share, words, few_words):
    """Ten runs, whose interval reaches twice as far as it may; Student's quantile falls, too."""
    effect = ratio(0.5**1.5, 2**0.5, over="runs × examples")
    forecast = forecast_claim("direction", Evidence(effect, n_runs=10, from_texts=share))

    assert (forecast.words, forecast.short) == (words, few_words)
    if forecast.n_runs and share is not None:
        for n_runs, is_enough in ((forecast.above, False), (forecast.n_runs, True)):
            factor = student_quantile(n_runs - 1, 0.975) / student_quantile(9, 0.975)
            square = share + (1 - share) * 10 / n_runs * factor**2
            assert (square < 1 / 4) is is_enough


def test_share_from_texts_is_what_any_number_of_runs_leaves():
    """More of it if runs do not differ, and 0 for an sd over runs."""
    rng = np.random.default_rng(0)
    texts = rng.random((1, 400)) < 0.3
    same, noisy = np.repeat(texts, 8, axis=0), rng.random((8, 400)) < 0.3
    shares = {}
    for name, wrong in (("same", same), ("noisy", noisy)):
        arms = {"none": wrong.astype(int).tolist(), "other": noisy[::-1].astype(int).tolist()}
        compared = sp.compare(arms, labels=[0] * 400).arm("other")
        shares[name] = {
            metric: share_from_texts(compared.contrasts[metric])
            for metric in ("accuracy", "accuracy_sd")
        }

    assert shares["same"]["accuracy"] > shares["noisy"]["accuracy"] + 0.2
    assert shares["noisy"]["accuracy_sd"] == 0.0
    assert from_texts(lambda _: Estimate(0.5)) is None


def test_noise_ceiling_needs_some_runs():
    """With fewer, a correlation cannot be judged; with as many it is open for another reason."""
    evidence = Evidence(estimate=Estimate(0.5, 0.4, 0.6), n_runs=5)

    assert forecast_claim("correlation", evidence).above == CEILING_RUNS - 1
    assert forecast_claim("correlation", replace(evidence, n_runs=CEILING_RUNS)) == Forecast()
