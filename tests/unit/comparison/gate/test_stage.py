"""The runs that a gate judges, by their number and by what was declared."""

import numpy as np
import pytest

from seedproof.comparison.gate.stage import LINEAR, LOG, stage_of, widened
from seedproof.stats.intervals import PLAIN, Estimate
from seedproof.stats.looks import AT_LOOK


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
