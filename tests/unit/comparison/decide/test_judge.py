"""Answers on a candidate at its planned numbers of runs."""

import numpy as np
import pytest

from seedproof.comparison.decide.judge import judge, looks_to, refuse_without_interval, step_at
from seedproof.comparison.decide.ledger import Settings
from seedproof.errors import OptionError
from seedproof.metrics.statistic import MeanOverExamples, ValueOnly
from seedproof.stats.families import MetricContrast
from seedproof.testing.errors import WithFields

SETTINGS = Settings("accuracy", 20, 0.1, 0.0)
SPREAD = 0.01
# Reasons, as the JSON of a decision has them.
SHOWN_BETTER, NOT_SHOWN, TOO_SMALL = "shown better", "not shown", "gain too small"
RUN_MORE = "run more"


def runs_of(mean, n_runs):
    """Return scores with exactly this mean, and about the usual spread."""
    scores = np.random.default_rng(n_runs).normal(0.0, SPREAD, n_runs)
    return scores - scores.mean() + mean


def row(gain, n_runs, *, n_base=20, metric="accuracy"):
    statistics = [
        MeanOverExamples(
            value=float(scores.mean()),
            n_examples=1000,
            without=(scores.sum() - scores) / (len(scores) - 1) if len(scores) > 2 else None,
            example_variance=1e-8,
            interaction_variance=0.0,
        )
        for scores in (runs_of(0.8, n_base), runs_of(0.8 + gain, n_runs))
    ]
    counts = (n_base, n_runs)
    return MetricContrast(metric, "new", *statistics, is_paired=False, n_runs=counts)


@pytest.mark.parametrize(
    ("n_runs", "expected"), [(1, (None, 2)), (2, (2, 5)), (7, (5, 10)), (20, (20, None))]
)
def test_step_is_the_latest_planned_number_of_runs(n_runs, expected):
    assert step_at(n_runs, 20) == expected


def test_other_numbers_of_runs_cannot_be_the_last():
    with pytest.raises(OptionError, check=WithFields(value=15)):
        looks_to(15)


@pytest.mark.parametrize("n_runs", [10, 20])
def test_large_gain_is_kept(n_runs):
    verdict = judge(row(5 * SPREAD, n_runs), level=0.001, settings=SETTINGS)

    assert (verdict.answer, verdict.reason) == ("keep", SHOWN_BETTER)


def test_two_runs_never_keep():
    assert judge(row(0.1, 2), level=0.01, settings=SETTINGS).answer == RUN_MORE


@pytest.mark.parametrize("n_runs", [2, 5, 10])
def test_loss_is_discarded_early(n_runs):
    verdict = judge(row(-3 * SPREAD, n_runs), level=0.001, settings=SETTINGS)

    assert (verdict.answer, verdict.reason) == ("discard", "futile")
    assert verdict.chance < 0.05


def test_gain_that_is_not_shown_at_the_last_look_is_discarded():
    verdict = judge(row(0.3 * SPREAD, 20), level=0.001, settings=SETTINGS)

    assert (verdict.answer, verdict.reason) == ("discard", NOT_SHOWN)


def test_promising_candidate_gets_more_runs_with_a_forecast():
    verdicts = [judge(row(gain * SPREAD, 5), level=0.001, settings=SETTINGS) for gain in (1.0, 1.5)]

    assert {verdict.answer for verdict in verdicts} == {RUN_MORE}
    assert 0.05 < verdicts[0].chance < verdicts[1].chance < 1.0


def test_gain_below_the_least_of_interest_is_discarded():
    settings = Settings("accuracy", 20, 0.1, min_gain=5 * SPREAD)

    verdict = judge(row(1.5 * SPREAD, 5), level=0.001, settings=settings)

    assert (verdict.answer, verdict.reason) == ("discard", TOO_SMALL)


def test_lower_is_better_for_metrics_of_loss():
    settings = Settings("nll", 20, 0.1, 0.0)

    answers = [
        judge(row(gain * SPREAD, 20, metric="nll"), level=0.001, settings=settings).answer
        for gain in (-5, 5)
    ]

    assert answers == ["keep", "discard"]


def test_used_up_level_discards():
    assert judge(row(0.1, 5), level=0.0, settings=SETTINGS).answer == "discard"


def test_metric_without_an_interval_is_refused():
    contrast = MetricContrast(
        "ambiguity", "new", ValueOnly(0.1), ValueOnly(0.2), is_paired=False, n_runs=(20, 20)
    )

    with pytest.raises(OptionError, check=WithFields(metric="ambiguity")):
        refuse_without_interval(contrast.effect())
