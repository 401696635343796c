"""Effects as text: intervals that show nothing, and effects that no study could detect."""

import pytest

from seedproof.report.comparison import amounts
from seedproof.report.numbers import TOO_WIDE
from seedproof.stats.effect import Effect

OPEN = "no difference shown"


def effect(metric, scale, *, low, high, detectable=None, value=1.5):
    """Return an effect whose interval includes no change."""
    return Effect(metric, scale, value, low, high, "runs", detectable, OPEN)


def test_interval_of_many_digits_is_not_written():
    """The change is, with the reason in place of the interval."""
    absurd = effect("accuracy_sd", "ratio", low=1e-8, high=1.4e8)

    assert amounts.ends(absurd) == TOO_WIDE
    assert amounts.change_with_ends(absurd) == f"{amounts.change(absurd)} {TOO_WIDE}"


@pytest.mark.parametrize(
    ("metric", "scale", "detectable", "is_written"),
    [
        ("flip_rate", "ratio", 1.7, True),
        ("flip_rate", "ratio", 1.0, False),  # arms that predict the same: a cut of 0 %
        ("flip_rate", "ratio", 1e6, False),  # a cut of 100 %
        ("flip_rate", "ratio", None, False),
        ("accuracy", "difference", 0.004, True),
        ("accuracy", "difference", 0.0, False),
        ("nll", "difference", 1e-9, False),
    ],
)
def test_smallest_detectable_effect_is_written_if_it_means_something(
    metric, scale, detectable, is_written
):
    """Neither nothing nor everything."""
    result = effect(metric, scale, low=-1.0, high=3.0, detectable=detectable)

    assert (amounts.detectable(result) != "") == is_written
    assert (amounts.smallest_detectable([result]) != ("", "")) == is_written
