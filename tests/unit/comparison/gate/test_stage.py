"""The runs that a gate judges, by their number and by what was declared."""

import numpy as np
import pytest
from scipy import stats

from seedproof.comparison.gate.stage import (
    LINEAR,
    LOG,
    LOGIT,
    Stage,
    forecast,
    stage_of,
    stage_of_trials,
    widened,
)
from seedproof.stats.intervals import NORMAL, PLAIN, Estimate
from seedproof.stats.looks import AT_LOOK, AT_TRIAL_LOOK


@pytest.mark.parametrize(
    ("n_runs", "declared", "judged", "level", "next_look"),
    [
        (5, None, 5, AT_LOOK, 10),
        (12, None, 10, AT_LOOK, 20),
        (12, 0, 10, AT_LOOK, 20),  # begun with --until-decided
        (12, 3, 10, AT_LOOK, 20),  # too few to be judged
        (90, None, 80, AT_LOOK, None),
        (7, 7, 7, PLAIN, 10),
        (9, 7, 7, PLAIN, 10),
        (10, 7, 10, AT_LOOK, 20),
        (100, 100, 100, PLAIN, None),
    ],
)
def test_the_latest_look_is_judged(n_runs, declared, judged, level, next_look):
    """The declared number with the 95 % interval, all others with a wider one."""
    stage = stage_of(n_runs, declared)

    assert (stage.judged_runs, stage.level, stage.next_look) == (judged, level, next_look)
    assert (stage.n_runs, stage.hold) == (n_runs, None)


@pytest.mark.parametrize(
    ("n_runs", "declared", "lacks", "hold", "more"),
    [
        (4, None, False, "too few runs", 1),
        (4, 3, False, "too few runs", 1),
        (9, 10, False, "declared runs missing", 1),
        (3, 10, False, "declared runs missing", 7),
        (19, 10, True, "declared runs missing", None),
    ],
)
def test_nothing_is_judged_before_the_first_look(n_runs, declared, lacks, hold, more):
    """Nor while a declared run is missing, even if later runs are finished."""
    stage = stage_of(n_runs, declared, lacks_declared=lacks)

    assert (stage.hold, stage.more_runs, stage.judged_runs) == (hold, more, n_runs)


def test_missing_runs_may_be_allowed():
    """With the interval of a look, since the study may be judged again."""
    stage = stage_of(9, 10, allows_missing=True)

    assert (stage.judged_runs, stage.level, stage.hold) == (9, AT_LOOK, None)
    assert stage_of(12, 10, lacks_declared=True, allows_missing=True).judged_runs == 10
    assert stage_of(4, 10, allows_missing=True).hold == "too few runs"


@pytest.mark.parametrize("scale", [LOG, LINEAR])
def test_a_saved_interval_is_widened_on_its_scale(scale):
    """By the ratio of Student's quantiles; at 95 % it stays the same."""
    plain = Estimate(0.04, 0.03, 0.06, "runs")
    figure = widened(plain, scale, 10)

    wide = figure(AT_LOOK)

    factor = AT_LOOK.student(10) / PLAIN.student(10)
    assert figure(PLAIN) == plain
    for end, wider in ((plain.low, wide.low), (plain.high, wide.high)):
        place = scale.to(plain.value)
        assert scale.to(wider) - place == pytest.approx(factor * (scale.to(end) - place))


@pytest.mark.parametrize("plain", [Estimate(0.0, 0.0, 0.01, "examples"), Estimate(0.3)])
def test_an_interval_without_runs_is_not_widened(plain):
    """Looking again does not draw other examples."""
    assert widened(plain, LOG, 10)(AT_LOOK) == plain


def test_an_interval_down_to_zero_stays_there():
    """Its lower end has no logarithm."""
    wide = widened(Estimate(0.01, 0.0, 0.02, "runs"), LOG, 10)(AT_LOOK)

    assert wide.low == 0.0
    assert np.isfinite(wide.high)


@pytest.mark.parametrize(
    ("n_runs", "judged"), [(4, None), (5, 5)], ids=["too few", "enough for a verdict"]
)
def test_allowed_missing_runs_need_five_others(n_runs, judged):
    stage = stage_of(n_runs, 8, allows_missing=True)

    assert (stage.hold is None) == (judged is not None)
    assert stage.next_look == 8


@pytest.mark.parametrize(
    ("n_trials", "declared", "level", "hold"),
    [
        (1, None, AT_TRIAL_LOOK, None),
        (3, 3, PLAIN, None),
        (4, 3, AT_TRIAL_LOOK, None),  # more than were declared: they were looked at
        (2, 3, AT_TRIAL_LOOK, "declared runs missing"),
    ],
)
def test_any_number_of_trials_is_judged(n_trials, declared, level, hold):
    """At the plain level if it is the declared one."""
    stage = stage_of_trials(n_trials, declared)

    assert (stage.judged_runs, stage.level, stage.hold) == (n_trials, level, hold)
    assert stage.next_look == (declared if hold else None)
    assert stage.are_trials
    assert stage_of_trials(2, 3, allows_missing=True).hold is None


def test_a_saved_interval_of_trials_is_widened_by_the_normal_quantile():
    """Also over examples, which contain the noise of trials."""
    plain = Estimate(0.4, 0.3, 0.5, "examples")

    wide = widened(plain, LOGIT, 3, are_trials=True)(AT_TRIAL_LOOK)

    factor = stats.norm.isf(AT_TRIAL_LOOK.tail) / NORMAL
    place, low = (LOGIT.to(x) for x in (0.4, 0.3))
    assert LOGIT.to(wide.low) == pytest.approx(place - factor * (place - low))


# A figure of ten runs, of which examples contribute a part of the variance that stays.
VALUE, RUN_ERROR, EXAMPLE_ERROR = 0.5, 0.02, 0.01


def figure_of(level, *, run_error=RUN_ERROR, example_error=EXAMPLE_ERROR, over="runs × examples"):
    width = np.hypot(level.student(10) * run_error, NORMAL * example_error)
    return Estimate(VALUE, VALUE - width, VALUE + width, over)


def chance_of(limit, following=20, **further):
    stage = Stage(10, 10, AT_LOOK, following)
    return forecast(lambda level: figure_of(level, **further), limit, scale=LINEAR, stage=stage)


@pytest.mark.parametrize("limit", [0.53, 0.55, 0.57, 0.45])
def test_a_forecast_is_the_chance_of_the_next_interval(limit):
    """With twice as many runs the value moves by half of the variance over runs."""
    then = np.hypot(
        stats.t.isf(AT_LOOK.tail, 19) * RUN_ERROR * np.sqrt(0.5), NORMAL * EXAMPLE_ERROR
    )

    expected = stats.norm.cdf((abs(limit - VALUE) - then) / (RUN_ERROR * np.sqrt(0.5)))

    assert chance_of(limit) == pytest.approx(expected)


def test_an_interval_over_runs_shrinks_as_a_whole():
    then = stats.t.isf(AT_LOOK.tail, 19) * RUN_ERROR * np.sqrt(0.5)

    chance = chance_of(0.55, example_error=0.0, over="runs")

    expected = stats.norm.cdf((0.05 - then) / (RUN_ERROR * np.sqrt(0.5)))
    assert chance == pytest.approx(expected)


@pytest.mark.parametrize(("limit", "is_open"), [(0.517, False), (0.521, True)])
def test_more_examples_are_asked_for_if_any_number_of_runs_would_rather_not_decide(limit, is_open):
    """The half width from examples alone is 0.0196, and the value may move to either side."""
    ends = [(sign * (limit - VALUE) - NORMAL * EXAMPLE_ERROR) / RUN_ERROR for sign in (1, -1)]
    assert (sum(stats.norm.cdf(ends)) >= 0.5) == is_open

    assert (chance_of(limit) is not None) == is_open


@pytest.mark.parametrize(("limit", "chance"), [(0.519, None), (0.53, 1.0)])
def test_runs_that_do_not_vary_leave_nothing_to_chance(limit, chance):
    assert chance_of(limit, run_error=0.0) == chance


def test_an_interval_over_examples_is_not_changed_by_runs():
    assert chance_of(0.55, over="examples") is None


def test_an_interval_without_an_end_has_no_chance():
    """Against a baseline of 0, the ratio has no value either."""
    stage = Stage(10, 10, AT_LOOK, 20)

    for value in (0.5, np.inf):
        figure = Estimate(value, 0.4, None, "runs")
        assert forecast(lambda _, x=figure: x, 0.6, scale=LOG, stage=stage) == 0.0
