"""Intervals of spreads on one example, if runs differ as a whole."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from seedproof.measurement.numbers import NumberAccumulators
from seedproof.metrics.statistic import MeanOverExamples, RootOfMean
from seedproof.records.answer_settings import AnswerSettings, Tolerance
from seedproof.records.shards import NumberShards
from seedproof.stats.intervals import estimate

TOLERANCE = AnswerSettings(Tolerance(0.5))
FIGURES = ("example_sd", "mean_difference", "beyond_tolerance")


def measured(numbers, settings=TOLERANCE):
    """Return the statistics of numbers with the axes (runs, examples)."""
    ids = pa.array(np.arange(numbers.shape[1]))
    runs = [str(run) for run in range(len(numbers))]
    source = NumberShards(runs, ids, numbers, settings=settings)
    accumulators = NumberAccumulators(source, FIGURES)
    accumulators.update(source.shard(0), ())
    return accumulators.result()


def mean_of(statistic):
    """Return the mean over examples behind a figure."""
    return statistic.mean if isinstance(statistic, RootOfMean) else statistic


def drawn(rng, n_runs, n_examples=2_000, run_sd=0.2):
    """Draw numbers of runs that differ as a whole."""
    noise = 0.5 * rng.standard_normal((n_runs, n_examples))
    return rng.standard_normal(n_examples) + run_sd * rng.standard_normal((n_runs, 1)) + noise


@pytest.mark.parametrize("n_runs", [3, 5, 10])
def test_intervals_cover_the_spread_of_runs_that_differ_as_a_whole(n_runs):
    """Three standard errors below 95 % of 200 studies; a plain jackknife covers 83 to 90 %."""
    rng = np.random.default_rng(n_runs)
    truth = np.sqrt(0.2**2 + 0.5**2)

    intervals = [estimate(measured(drawn(rng, n_runs))["example_sd"]) for _ in range(200)]

    assert sum(x.low <= truth <= x.high for x in intervals) >= 0.95 * 200 - 9


def test_share_is_that_of_the_means_of_runs():
    """The variance of the means of runs, by hand, and a power of 1 for the variance itself."""
    numbers = drawn(np.random.default_rng(0), 6)

    part = mean_of(measured(numbers)["example_sd"]).whole_runs

    of_means = numbers.mean(axis=1).var(ddof=1)
    assert part.share == pytest.approx(of_means / numbers.var(axis=0, ddof=1).mean())
    assert part.power == pytest.approx(1.0)


def test_a_mean_difference_follows_the_root_of_the_variance():
    """Normal numbers differ in proportion to their standard deviation."""
    part = measured(drawn(np.random.default_rng(1), 10, 20_000))["mean_difference"].whole_runs

    assert part.power == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("name", FIGURES)
def test_only_the_upper_end_moves(name):
    """Runs that happen to be alike hide a spread; the lower end rests on other parts."""
    rng = np.random.default_rng(2)
    alike = drawn(rng, 5, run_sd=0.02)
    statistic = mean_of(measured(alike)[name])
    plain = replace(statistic, whole_runs=None)

    assert estimate(statistic).low == estimate(plain).low
    assert estimate(statistic).high >= estimate(plain).high


@pytest.mark.parametrize("numbers", [np.zeros((5, 9)), np.tile(np.arange(9.0), (5, 1))])
def test_runs_that_are_equal_have_no_such_part(numbers):
    """Nothing differs, so that nothing can be followed."""
    assert mean_of(measured(numbers)["example_sd"]).whole_runs is None


def test_trials_have_no_such_part():
    """No trial of one model is better than another."""
    numbers = drawn(np.random.default_rng(3), 5, run_sd=0.0)

    statistics = measured(numbers, replace(TOLERANCE, are_trials=True))

    means = [mean_of(x) for x in statistics.values()]
    assert all(x.whole_runs is None for x in means if isinstance(x, MeanOverExamples))
