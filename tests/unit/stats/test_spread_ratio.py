"""Interval of the ratio of two standard deviations: every ratio that a test does not reject."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

from seedproof.stats.intervals import PLAIN, Level
from seedproof.stats.spread_ratio import log_ratio_error, spread_ratio


def runs(n_runs, seed, shape="normal"):
    rng = np.random.default_rng(seed)
    draw = {"normal": rng.standard_normal, "skewed": rng.standard_exponential}[shape]
    return draw(n_runs)


def moments(values):
    """Sum of squares, and of fourth powers about the mean of the middle."""
    n = len(values)
    middle = stats.trim_mean(values, 1 / (2 * np.sqrt(n - 4)))
    return ((values - values.mean()) ** 2).sum(), ((values - middle) ** 4).sum()


def error_at(base, arm, ratio):
    """Standard error of the log ratio, with the kurtosis of both after division by a ratio."""
    (a, a4), (b, b4) = moments(base), moments(arm / ratio)
    kurtosis = (len(base) + len(arm)) * (a4 + b4) / (a + b) ** 2
    return np.sqrt(sum((kurtosis - (n - 3) / n) / (n - 1) for n in (len(base), len(arm)))) / 2


def distance_at(base, arm, ratio, tail):
    """Distance of a ratio from the observed one, in standard errors; Bonett's small-sample shift."""
    z, (n, m) = stats.norm.isf(tail), (len(base), len(arm))
    shift = np.log(np.sqrt((n / (n - z)) / (m / (m - z))))
    center = np.log(arm.std(ddof=1) / base.std(ddof=1)) - shift
    return (center - np.log(ratio)) / error_at(base, arm, ratio)


@pytest.mark.parametrize("sizes", [(5, 5), (6, 12), (30, 11)])
@pytest.mark.parametrize("shape", ["normal", "skewed"])
@pytest.mark.parametrize("tail", [0.025, 0.005])
def test_both_ends_are_just_rejected(sizes, shape, tail):
    base, arm = runs(sizes[0], 1, shape), 2 * runs(sizes[1], 2, shape)
    critical = stats.norm.isf(tail)

    low, high = spread_ratio(base, arm, level=Level(tail=tail))

    assert distance_at(base, arm, low, tail) == pytest.approx(critical, rel=1e-6)
    assert distance_at(base, arm, high, tail) == pytest.approx(-critical, rel=1e-6)


def test_ends_are_those_of_another_search():
    base, arm = runs(12, 3), runs(9, 4)

    def above(log_ratio, side):
        return side * distance_at(base, arm, np.exp(log_ratio), 0.025) - stats.norm.isf(0.025)

    ends = [brentq(above, -3 * side, 0.3 * side, args=(side,)) for side in (1, -1)]
    assert spread_ratio(base, arm) == pytest.approx(np.exp(ends))


@pytest.mark.parametrize("n_pairs", [10, 40])
def test_pairs_narrow_it_by_what_they_share(n_pairs):
    """√(1 − r²), with the adjusted correlation of the values, or of their squared deviations."""
    base = runs(n_pairs, 5)
    arm = base + 0.3 * runs(n_pairs, 6)
    squares = [np.square(x - np.median(x)) for x in (base, arm)]
    shared = min(np.corrcoef(base, arm)[0, 1] ** 2, max(np.corrcoef(*squares)[0, 1], 0.0))
    adjusted = 1 - (1 - shared) * (n_pairs - 1) / (n_pairs - 2)

    paired = log_ratio_error(base, arm, 0.2, is_paired=True)
    plain = log_ratio_error(base, arm, 0.2, is_paired=False)

    assert plain == pytest.approx(error_at(base, arm, np.exp(0.2)))
    assert paired == pytest.approx(plain * np.sqrt(1 - adjusted))


def test_nine_pairs_are_too_few_to_know_what_they_share():
    base = runs(9, 7)
    arm = base + 0.1 * runs(9, 8)

    assert spread_ratio(base, arm, is_paired=True) == spread_ratio(base, arm)


@pytest.mark.parametrize("equal", [0, 1])
def test_equal_runs_have_no_ratio(equal):
    arms = [runs(8, 9), runs(8, 10)]
    arms[equal] = np.full(8, 0.3)

    assert spread_ratio(*arms, level=PLAIN) is None
