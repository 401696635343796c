"""Parts of intervals that come from drawing examples or clusters."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from seedproof.metrics.block_statistic import Residuals, Shape
from seedproof.metrics.statistic import MeanOverExamples
from seedproof.stats.bounded_mean import BoundedMean
from seedproof.stats.drawn import (
    SKEWNESS,
    Side,
    drawn_df,
    sides_of_drawn,
    slope_at,
    two_way_variance,
)


def mean_of(values, **further):
    """Return the mean of values whose shape matters, on a linear scale."""
    n = len(values)
    return MeanOverExamples(
        value=float(values.mean()),
        n_examples=n,
        without=None,
        example_variance=float(values.var(ddof=1)) / n,
        interaction_variance=0.0,
        **{"scale": "linear", "shape": Shape.of(values), "is_small": True} | further,
    )


@pytest.mark.parametrize(
    ("runs", "examples", "interaction", "expected"),
    [
        (1.0, 4.0, 0.0, 5.0),
        (1.0, 4.0, 0.5, 4.5),  # both count it: once off
        (1.0, 4.0, 5.0, 4.0),  # never less than over the examples alone
        (5.0, 4.0, 5.0, 5.0),  # nor is anything taken off the runs
        (0.0, 4.0, 1.0, 4.0),
    ],
)
def test_what_runs_and_examples_both_count_is_taken_off_once(runs, examples, interaction, expected):
    assert two_way_variance(runs, examples, interaction) == expected


@pytest.mark.parametrize(
    ("run_share", "expected"),
    [(1.0, 4.0), (0.5, 3.5), (0.0, 3.0)],  # 4 − (1 − share) · 1
)
def test_with_more_runs_the_interaction_shrinks(run_share, expected):
    assert two_way_variance(0.0, 4.0, 1.0, run_share) == expected


def test_the_smaller_number_of_units_decides():
    """Clusters, and small numbers of examples; others are so many that they are normal."""
    few, more = mean_of(np.arange(8.0)), mean_of(np.arange(12.0))
    many = mean_of(np.arange(12.0), is_small=False)
    parts = Residuals(12, np.zeros(3), np.zeros((2, 3)))
    clusters = mean_of(np.arange(12.0), is_small=False, clusters=parts)
    single = replace(few, n_examples=1)

    assert (drawn_df(few), drawn_df(few, more), drawn_df(more, many)) == (7, 7, 11)
    assert drawn_df(few, clusters) == 2
    assert np.isinf(drawn_df(many))
    assert drawn_df(single) == 1


@pytest.mark.parametrize("value", [0.1, 0.7])
def test_slopes_are_the_derivatives_of_the_scales(value):
    step = 1e-6
    functions = {"linear": lambda x: x, "log": np.log, "logit": lambda x: np.log(x / (1 - x))}

    for scale, function in functions.items():
        numeric = (function(value + step) - function(value - step)) / (2 * step)
        assert slope_at(value, scale) == pytest.approx(numeric, rel=1e-6)


def test_quantiles_are_those_of_student():
    assert Side(7).square(0.025) == pytest.approx(stats.t.ppf(0.975, 7) ** 2)


def test_means_without_a_shape_have_equal_sides():
    """Rates as well, whose ends are exact."""
    values = np.r_[np.ones(9), 0.0]

    assert sides_of_drawn(mean_of(values, shape=None), 0.025) == (Side(9), Side(9))
    rate = mean_of(values, scale="logit", largest=1.0, is_count=True)
    assert sides_of_drawn(rate, 0.025) == (Side(9), Side(9))


@pytest.mark.parametrize("sign", [1, -1])
def test_the_side_of_the_tail_is_longer(sign):
    """By the first term of Edgeworth's series; few degrees of freedom if tails are heavy."""
    values = sign * np.random.default_rng(1).exponential(size=30)
    kurtosis = stats.kurtosis(values, fisher=False)
    longer = (1 + SKEWNESS * abs(stats.skew(values, bias=False)) / np.sqrt(30)) ** 2

    below, above = sides_of_drawn(mean_of(values), 0.025)

    assert below.df == above.df == pytest.approx(min(29, 60 / (kurtosis - 1)))
    short, long = (below, above) if sign > 0 else (above, below)
    assert (short.factor, long.factor) == pytest.approx((1.0, longer))


def test_one_odd_example_has_the_end_of_a_bounded_mean():
    """Satterthwaite's degrees of freedom would be 1, and the interval useless."""
    values = np.r_[np.full(59, 0.9), 0.1]
    mean, tail = mean_of(values, largest=1.0), 0.025
    gaps = values - values.mean()
    bounded = BoundedMean(
        values.mean(), 60, (gaps**2).sum(), (gaps**3).sum(), least=0.0, largest=1.0
    )

    sides = sides_of_drawn(mean, tail)

    widths = [np.sqrt(side.factor * side.square(tail) * mean.example_variance) for side in sides]
    expected = values.mean() - bounded.end(0.0, tail), bounded.end(1.0, tail) - values.mean()
    assert widths == pytest.approx(expected)


@pytest.mark.parametrize("scale", ["log", "logit"])
def test_ends_of_a_bounded_mean_are_on_the_scale_of_the_interval(scale):
    """Both sides: the distance of the logarithms, or logits, of the ends."""
    values = np.r_[np.full(59, 0.3), 0.9]
    mean, tail = mean_of(values, scale=scale, largest=1.0), 0.025
    to = np.log if scale == "log" else lambda x: np.log(x / (1 - x))
    gaps = values - values.mean()
    bounded = BoundedMean(
        values.mean(), 60, (gaps**2).sum(), (gaps**3).sum(), least=0.0, largest=1.0
    )

    sides = sides_of_drawn(mean, tail)

    spread = np.sqrt(mean.example_variance) * slope_at(mean.value, scale)
    widths = [np.sqrt(side.factor * side.square(tail)) * spread for side in sides]
    ends = [bounded.end(extreme, tail) for extreme in (0.0, 1.0)]
    distances = [abs(to(end) - to(mean.value)) for end in ends]
    plain = np.sqrt(Side(mean.shape.df).square(tail)) * spread
    assert widths == pytest.approx([min(x, plain) for x in distances])
