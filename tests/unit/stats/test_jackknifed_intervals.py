"""Intervals of quantities whose jackknife over runs and blocks is on a scale of their own."""

import numpy as np
import pytest
from scipy import stats

from seedproof.metrics.block_statistic import (
    Agreement,
    BlockJackknife,
    ClassShares,
    ExplainedVariance,
    Residuals,
    VarianceShare,
)
from seedproof.stats.drawn import SKEWNESS
from seedproof.stats.intervals import Estimate, estimate
from seedproof.stats.spread_interval import spread_interval

RNG = np.random.default_rng(0)
N_RUNS, N_BLOCKS = 6, 12
WITHOUT = 0.02 * RNG.standard_normal(N_RUNS)
PULLS = RNG.exponential(size=N_BLOCKS) - 1
BLOCKS = Residuals(60, PULLS, PULLS + 0.1 * RNG.standard_normal((N_RUNS, N_BLOCKS)))
PARTS = {"without": WITHOUT, "blocks": BLOCKS}


def half_widths(*, has_runs=True, tail=0.025):
    """Below and above: runs and blocks by Student, longer where pulls are skewed."""
    df = 2 * N_BLOCKS / (stats.kurtosis(PULLS, fisher=False) - 1)
    quantile = stats.t.isf(tail, min(N_BLOCKS - 1, df)) ** 2
    drawn = quantile * N_BLOCKS / (N_BLOCKS - 1) * (PULLS**2).sum() / 60**2
    variance = drawn
    if has_runs:
        counted = quantile * (N_RUNS - 1) * BLOCKS.without.var(axis=0).sum() / 60**2
        runs = stats.t.isf(tail, N_RUNS - 1) ** 2 * (N_RUNS - 1) * np.var(WITHOUT)
        variance = max(runs + max(drawn - counted, 0.0), drawn)
    longer = [max(stats.skew(sign * PULLS, bias=False), 0.0) for sign in (-1, 1)]
    return (1 + SKEWNESS * np.array(longer) / np.sqrt(N_BLOCKS)) * np.sqrt(variance)


def test_a_correlation_is_on_fishers_scale():
    below, above = half_widths()

    result = estimate(Agreement(value=0.8, **PARTS))

    center = np.arctanh(0.8)
    assert (result.low, result.high) == pytest.approx(np.tanh([center - below, center + above]))
    assert result.over == "runs × examples"


def test_explained_variance_is_on_the_scale_of_its_errors():
    """More errors explain less, so that its ends change places; it may be negative."""
    below, above = half_widths()

    result = estimate(ExplainedVariance(ratio=1.05, **PARTS))

    expected = 1 - 1.05 * np.exp(above), 1 - 1.05 * np.exp(-below)
    assert (result.value, result.low, result.high) == pytest.approx((-0.05, *expected))


@pytest.mark.parametrize("has_runs", [True, False])
@pytest.mark.parametrize("is_of_others", [True, False])
def test_a_share_of_a_variance_is_less_the_noise_in_it(has_runs, is_of_others):
    """A ratio of mean squares r has the odds r − noise; trials alone have no part of runs."""
    below, above = half_widths(has_runs=has_runs)
    share = VarianceShare(
        value=0.5,
        ratio=1.3,
        noise=0.3,
        means=None,
        run_part=0.0,
        is_of_others=is_of_others,
        without=WITHOUT if has_runs else None,
        blocks=BLOCKS,
    )

    result = estimate(share)

    odds = 1.3 * np.exp([-below, above]) - 0.3
    shares = 1 / (1 + odds)[::-1] if is_of_others else odds / (1 + odds)
    assert (result.low, result.high) == pytest.approx(shares)
    assert result.over == ("runs × examples" if has_runs else "examples")


@pytest.mark.parametrize("run_part", [0.7, -0.4])
def test_the_variance_of_the_means_of_runs_has_its_own_interval(run_part):
    """As factors of a part of the ratio; in a denominator the ends change places."""
    means = np.random.default_rng(1).standard_normal(8)
    share = VarianceShare(value=0.5, ratio=1.3, noise=0.3, means=means, run_part=run_part, **PARTS)

    result = estimate(share)

    factors = (np.array(spread_interval(means, 0.025)) / means.std(ddof=1)) ** 2
    moves = np.abs(np.log1p(abs(run_part) * (factors - 1)))
    ends = np.hypot(half_widths(), moves if run_part > 0 else moves[::-1])
    odds = 1.3 * np.exp([-ends[0], ends[1]]) - 0.3
    assert (result.low, result.high) == pytest.approx(
        np.maximum(odds, 0) / (1 + np.maximum(odds, 0))
    )


def test_too_few_means_have_no_interval():
    share = VarianceShare(
        value=0.5, ratio=1.3, noise=0.3, means=np.arange(4.0), run_part=0.5, **PARTS
    )

    assert estimate(share) == Estimate(0.5)


def test_a_share_that_chance_explains_at_both_ends_has_no_interval():
    """A bracket [0, 0] would say that it is shown to be 0."""
    share = VarianceShare(value=0.0, ratio=0.1, noise=0.9, means=None, run_part=0.0, **PARTS)

    assert estimate(share) == Estimate(0.0)


@pytest.mark.parametrize(("has_runs", "over"), [(True, "runs"), (False, None)])
def test_a_single_cluster_shows_nothing_about_others(has_runs, over):
    single = Residuals(60, np.zeros(1), np.zeros((N_RUNS, 1)))
    shares = ClassShares(
        np.tile([90.0, 8.0], (N_RUNS, 1)), np.tile([100.0, 10.0], (N_RUNS, 1)), np.array([1, 1])
    )
    by_run = 0.8 + (WITHOUT if has_runs else WITHOUT[:2])
    statistic = BlockJackknife(by_run, by_run[:, None], np.array([60]), shares, is_clustered=True)

    result = estimate(statistic)

    assert statistic.blocks.n_clusters == single.n_clusters == 1
    assert result.over == over
    assert (result.low is not None) == has_runs
