"""Answers on a candidate at its planned numbers of runs."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from seedproof.comparison.decide.judge import Decision, check_row, judge
from seedproof.comparison.decide.judge import Verdict as JudgeVerdict
from seedproof.comparison.decide.ledger import Settings
from seedproof.comparison.decide.schedule import Schedule
from seedproof.errors import OptionError
from seedproof.metrics.statistic import MeanOverExamples, ValueOnly
from seedproof.stats.families import MetricContrast
from seedproof.testing.errors import WithFields

SCHEDULE = Schedule.of_runs(20)
SPREAD = 0.01
# Reasons, as the JSON of a decision has them.
SHOWN_BETTER, NOT_SHOWN, TOO_SMALL = "shown better", "not shown", "gain too small"
RUN_MORE, LOST = "run more", "quality lost"


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
    assert SCHEDULE.at(n_runs) == expected


def test_other_numbers_of_runs_cannot_be_the_last():
    with pytest.raises(OptionError, check=WithFields(value=15)):
        Schedule.of_runs(15)


@pytest.mark.parametrize("n_runs", [10, 20])
def test_large_gain_is_kept(n_runs):
    verdict = judge(row(5 * SPREAD, n_runs), SCHEDULE, level=0.001, min_gain=0.0)

    assert (verdict.answer, verdict.reason) == ("keep", SHOWN_BETTER)


def test_two_runs_never_keep():
    assert judge(row(0.1, 2), SCHEDULE, level=0.01, min_gain=0.0).answer == RUN_MORE


@pytest.mark.parametrize("n_runs", [2, 5, 10])
def test_loss_is_discarded_early(n_runs):
    verdict = judge(row(-3 * SPREAD, n_runs), SCHEDULE, level=0.001, min_gain=0.0)

    assert (verdict.answer, verdict.reason) == ("discard", "futile")
    assert verdict.chance < 0.05


def test_gain_that_is_not_shown_at_the_last_look_is_discarded():
    verdict = judge(row(0.3 * SPREAD, 20), SCHEDULE, level=0.001, min_gain=0.0)

    assert (verdict.answer, verdict.reason) == ("discard", NOT_SHOWN)


def test_promising_candidate_gets_more_runs_with_a_forecast():
    verdicts = [
        judge(row(gain * SPREAD, 5), SCHEDULE, level=0.001, min_gain=0.0) for gain in (1.0, 1.5)
    ]

    assert {verdict.answer for verdict in verdicts} == {RUN_MORE}
    assert 0.05 < verdicts[0].chance < verdicts[1].chance < 1.0


def test_gain_below_the_least_of_interest_is_discarded():
    verdict = judge(row(1.5 * SPREAD, 5), SCHEDULE, level=0.001, min_gain=5 * SPREAD)

    assert (verdict.answer, verdict.reason) == ("discard", TOO_SMALL)


def test_lower_is_better_for_metrics_of_loss():
    answers = [
        judge(row(gain * SPREAD, 20, metric="nll"), SCHEDULE, level=0.001, min_gain=0.0).answer
        for gain in (-5, 5)
    ]

    assert answers == ["keep", "discard"]


def test_used_up_level_discards():
    assert judge(row(0.1, 5), SCHEDULE, level=0.0, min_gain=0.0).answer == "discard"


def test_metric_without_an_interval_is_refused():
    contrast = MetricContrast(
        "ambiguity", "new", ValueOnly(0.1), ValueOnly(0.2), is_paired=False, n_runs=(20, 20)
    )

    with pytest.raises(OptionError, check=WithFields(metric="ambiguity")):
        check_row(contrast)


# ------------------------------------------------------------------------------ trials of one model


def row_of_trials(gain, n_trials, *, noise=1e-4, between=1e-4, better="higher"):
    """Return trials whose mean differs by a gain; variances are of one trial, and between tasks."""
    means = [
        MeanOverExamples(
            value=0.5 + shift,
            n_examples=100,
            without=None,
            example_variance=between / 2 + noise / 2 / n_trials,
            interaction_variance=noise / 2 / n_trials,
            scale="linear",
            is_small=True,
        )
        for shift in (0.0, gain)
    ]
    counts = n_trials, n_trials
    return MetricContrast(
        "mean", "new", *means, is_paired=False, n_runs=counts, are_trials=True, better=better
    )


TRIALS = Schedule.of_trials(5, "mean", 100)


def test_any_number_of_trials_may_be_kept():
    verdicts = [judge(row_of_trials(0.1, n), TRIALS, level=0.01, min_gain=0.0) for n in (1, 2, 3)]

    assert {verdict.answer for verdict in verdicts} == {"keep"}


def test_direction_of_a_mean_is_that_of_the_numbers():
    rows = [row_of_trials(gain, 5, better="lower") for gain in (-0.1, 0.1)]

    answers = [judge(x, TRIALS, level=0.01, min_gain=0.0).answer for x in rows]

    assert answers == ["keep", "discard"]


def test_forecast_of_trials_knows_that_tasks_are_not_drawn_again():
    """The same gain and error: more trials shrink their noise, and not the part of the tasks."""
    noisy = judge(row_of_trials(0.02, 1, between=0.0), TRIALS, level=0.01, min_gain=0.0)
    varied = judge(row_of_trials(0.02, 1, noise=0.0), TRIALS, level=0.01, min_gain=0.0)

    assert (noisy.answer, varied.answer) == (RUN_MORE, "discard")
    assert noisy.chance > 0.3
    assert varied.reason == "futile"


def test_mean_without_a_direction_is_refused():
    with pytest.raises(OptionError, check=WithFields(metric="mean")):
        check_row(row_of_trials(0.1, 3, better="neither"))


@pytest.mark.parametrize(
    ("arguments", "looks", "n_identifying"),
    [
        ((None, "mean", 50), (1, 2, 3, 5), 1),
        ((4, "mean", 20), (3, 4), 3),  # so few numbers may be those of another candidate
        ((5, "pass^4", 100), (5,), 1),
        ((3, "flip_rate", 100), (2, 3), 1),
        ((20, "mean", 1_000), (1, 2, 3, 5, 10, 20), 1),
    ],
)
def test_looks_at_trials(arguments, looks, n_identifying):
    schedule = Schedule.of_trials(*arguments)

    assert (schedule.looks, schedule.n_identifying) == (looks, n_identifying)


@pytest.mark.parametrize(("max_trials", "metric"), [(0, "mean"), (81, "mean"), (3, "pass^4")])
def test_too_few_or_too_many_trials_are_refused(max_trials, metric):
    with pytest.raises(OptionError, check=WithFields(value=max_trials)):
        Schedule.of_trials(max_trials, metric, 100)


def test_levels_of_all_looks_add_up():
    levels = Schedule.of_trials(5, "mean", 100).levels(0.01)

    assert sum(level.tail for level in levels.values()) == pytest.approx(0.008)
    assert {level.example_tail for level in levels.values()} == {0.008}


def steadier(n_runs):
    """A contrast of a stability metric that is far better."""
    return row(-0.3, n_runs, metric="flip_rate")


@pytest.mark.parametrize("n_runs", [5, 10, 20])
def test_candidate_that_loses_quality_is_discarded_whatever_else_it_gains(n_runs):
    """A guard at the level of the same look."""
    alone = judge(steadier(n_runs), SCHEDULE, level=0.05, min_gain=0.0)
    guarded = judge(steadier(n_runs), SCHEDULE, level=0.05, min_gain=0.0, quality=row(-0.1, n_runs))

    assert (alone.answer, alone.reason) == ("keep", SHOWN_BETTER)
    assert (guarded.answer, guarded.reason) == ("discard", LOST)


@pytest.mark.parametrize("gain", [0.0, 0.1, -0.002])
def test_quality_that_is_not_shown_to_be_lost_keeps_no_candidate_from_being_kept(gain):
    verdict = judge(steadier(20), SCHEDULE, level=0.05, min_gain=0.0, quality=row(gain, 20))

    assert verdict.reason == SHOWN_BETTER


def test_quality_is_not_judged_before_the_first_look():
    """Two runs may discard a candidate as futile only."""
    verdict = judge(steadier(2), SCHEDULE, level=0.05, min_gain=0.0, quality=row(-0.1, 2))

    assert verdict.reason != LOST


@pytest.mark.parametrize(("gain", "is_lost"), [(steadier, True), (row, False)])
def test_guard_is_the_plain_interval_where_a_candidate_would_be_kept(gain, is_lost):
    """The printed interval excludes 0; the level of the look, which decides else, is far wider."""
    loss = row(-0.01, 10)
    candidate = gain(10) if gain is steadier else row(0.0, 10)
    assert loss.effect().verdict == "worse"
    assert loss.effect(SCHEDULE.levels(1e-4)[10]).verdict == "no difference shown"

    verdict = judge(candidate, SCHEDULE, level=1e-4, min_gain=0.0, quality=loss)

    assert (verdict.reason == LOST) == is_lost


@pytest.mark.parametrize(
    ("answer", "code"), [("keep", 0), ("discard", 1), ("run more", 3), ("repair", 3)]
)
def test_exit_code_is_that_of_the_answer(answer, code):
    settings = Settings("accuracy", 20, 0.1, 0.0)
    decision = Decision(JudgeVerdict(answer, "open"), settings, "", "", 5, 5, 20)

    assert decision.exit_code == code
    assert (decision.repeats, replace(decision, are_trials=True).repeats) == ("runs", "trials")


@pytest.mark.parametrize("n_runs", [5, 10])
def test_ratio_that_does_not_exist_yet_needs_more_runs(n_runs):
    """Nothing flips in the candidate, and too few examples bound how often."""
    base, arm = row(0.0, n_runs, metric="flip_rate").base, row(-0.8, n_runs).arm
    never = replace(arm, value=0.0, without=np.zeros(n_runs), n_examples=2, largest=1.0)
    contrast = MetricContrast("flip_rate", "new", base, never, is_paired=False, n_runs=(20, n_runs))

    verdict = judge(contrast, SCHEDULE, level=1e-9, min_gain=0.0)

    assert (verdict.answer, verdict.reason, verdict.chance) == (RUN_MORE, "open", None)


@pytest.mark.parametrize(
    ("metric", "gain", "least", "is_too_small"),
    [
        # The gain is at most 1.3 points.
        ("accuracy", 0.008, 0.03, True),
        ("accuracy", 0.008, 0.005, False),
        # The rate falls by at most 1.7 %, from 80 points on.
        ("flip_rate", -0.008, 0.05, True),
        ("flip_rate", -0.008, 0.005, False),
        ("explanation_overlap", 0.008, 0.03, True),  # a difference, and better if higher
    ],
)
def test_least_gain_is_on_the_scale_of_the_metric(metric, gain, least, is_too_small):
    verdict = judge(row(gain, 10, metric=metric), SCHEDULE, level=0.02, min_gain=least)

    assert (verdict.reason == TOO_SMALL) == is_too_small


@pytest.mark.parametrize("gain", [0.003, 0.002, 0.0015, 0.001])
def test_futile_candidates_have_a_chance_below_five_percent(gain):
    """Welch's test at the last look, with the spread of both arms pooled."""
    verdict = judge(row(gain, 10), SCHEDULE, level=0.05, min_gain=0.0)

    contrast = row(gain, 10)
    base, arm = contrast.base, contrast.arm
    squares = sum(
        np.var(x.without) * (len(x.without) - 1) ** 2 * len(x.without) for x in (base, arm)
    )
    per_run = squares / (19 + 9)
    tail = SCHEDULE.levels(0.05)[20].tail
    runs = stats.t.isf(tail, 19) ** 2 * per_run * 2 / 20
    drawn = stats.norm.isf(0.05) ** 2 * 2e-8
    chance = stats.norm.cdf((gain - np.sqrt(runs + drawn)) / np.sqrt(per_run * (1 / 10 - 1 / 20)))
    assert verdict.chance == pytest.approx(chance)
    assert (verdict.reason == "futile") == (chance < 0.05)


def test_schedule_of_single_numbers_does_not_screen():
    """Two numbers may be those of another candidate."""
    schedule = Schedule.of_runs(10, has_examples=False)

    assert (schedule.looks, schedule.screens, schedule.n_identifying) == ((5, 10), (), 5)
    assert schedule.at(4) == (None, 5)


@pytest.mark.parametrize(("step", "n_runs"), [(2, 5), (5, 5), (10, 10)])
def test_baseline_needs_as_many_runs_as_the_candidate_and_five(step, n_runs):
    assert SCHEDULE.baseline_runs(step) == n_runs
    assert TRIALS.baseline_runs(step) == step
