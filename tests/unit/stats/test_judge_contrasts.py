"""Contrasts of arms whose answers the same judges grade, and those that cannot be made."""

import numpy as np
import pytest

from seedproof.metrics.block_statistic import BinnedGaps
from seedproof.metrics.statistic import (
    Judges,
    MeanOverExamples,
    MeanOverPairs,
    MeanOverRuns,
    RootOfMean,
    ValueOnly,
)
from seedproof.stats.contrast import Pair, contrast, left_out_values

RNG = np.random.default_rng(0)
N_JUDGES = 4
PLAIN, RATIO = Pair("accuracy", is_paired=False), Pair("flip_rate", is_paired=False)


def graded(value, *, names=("a", "b", "c", "d"), has_judges=True, counted=1e-4):
    without = value + 0.03 * RNG.standard_normal(N_JUDGES)
    judges = Judges(without, counted, names) if has_judges else None
    return MeanOverExamples(value, 100, None, 4e-4, 2e-4, scale="linear", judges=judges)


def variance(left_out):
    """Jackknife variance, as a loop."""
    mean = sum(left_out) / len(left_out)
    return (len(left_out) - 1) / len(left_out) * sum((x - mean) ** 2 for x in left_out)


@pytest.mark.parametrize("pair", [PLAIN, RATIO])
def test_the_same_judges_are_paired(pair):
    """Strictness cancels: the variance is that of differences."""
    base, arm = graded(0.5), graded(0.7)
    slopes = (1 / 0.5, 1 / 0.7) if pair.is_ratio else (1.0, 1.0)

    judges = contrast(base, arm, pair).judges

    apart = slopes[1] * arm.judges.without - slopes[0] * base.judges.without
    assert judges.variance == pytest.approx(variance(apart))
    assert (judges.df, judges.interaction_variance) == (N_JUDGES - 1, 0.0)


def test_other_judges_are_independent():
    """Welch's degrees of freedom; what examples count as well is that of both arms."""
    base, arm = graded(0.5), graded(0.7, names=("e", "f", "g", "h"))

    judges = contrast(base, arm, PLAIN).judges

    parts = [variance(x.judges.without) for x in (base, arm)]
    total = sum(parts)
    assert judges.variance == pytest.approx(total)
    assert judges.df == pytest.approx(1 / sum((x / total) ** 2 / 3 for x in parts))
    assert judges.interaction_variance == pytest.approx(2e-4)


@pytest.mark.parametrize("index", [0, 1])
def test_judges_of_one_arm_count_alone(index):
    arms = [graded(0.5, has_judges=index == 0), graded(0.7, has_judges=index == 1)]

    result = contrast(*arms, PLAIN)

    assert result.judges.variance == pytest.approx(variance(arms[index].judges.without))
    assert (result.judges.df, result.judges.interaction_variance) == (3, pytest.approx(1e-4))
    assert result.over == "judges × examples"


def test_arms_without_judges_have_no_such_variance():
    arms = [graded(value, has_judges=False) for value in (0.5, 0.7)]

    assert contrast(*arms, PLAIN).judges is None


def test_the_root_of_a_mean_has_a_quarter_of_the_variance():
    """On the log scale."""
    base, arm = graded(0.5), graded(0.7, names=("e", "f", "g", "h"))

    whole = contrast(base, arm, RATIO)
    root = contrast(RootOfMean(base, 2.0), RootOfMean(arm, 2.0), RATIO)

    assert root.center == pytest.approx(whole.center / 2)
    assert root.judges.variance == pytest.approx(whole.judges.variance / 4)
    assert root.judges.interaction_variance == pytest.approx(whole.judges.interaction_variance / 4)
    assert root.judges.df == whole.judges.df


@pytest.mark.parametrize(
    "statistic",
    [
        ValueOnly(0.1),
        MeanOverRuns(np.array([0.1, 0.2])),
        MeanOverPairs(np.zeros((2, 2)), floor=1e-3),
    ],
)
def test_too_few_runs_or_a_figure_have_no_contrast(statistic):
    assert contrast(statistic, statistic, PLAIN) is None


def test_two_runs_have_no_pairs_to_leave_out():
    pairs = MeanOverPairs(np.zeros((2, 2)), floor=1e-3)

    assert left_out_values(pairs, is_ratio=True) is None


def test_calibration_of_two_runs_is_compared_over_examples():
    """Without an interval over runs."""
    totals = RNG.standard_normal((2, 3, 8))
    gaps = [
        BinnedGaps(x, np.full(8, 10), np.full((2, 3), 1e-4), np.zeros((2, 3)))
        for x in (totals, totals + 1)
    ]

    result = contrast(*gaps, Pair("ece_corrected", is_paired=True))

    assert (result.run_variance, result.over, result.example_df) == (0.0, "examples", 7)
    apart = gaps[1].blocks.whole - gaps[0].blocks.whole
    assert result.example_variance == pytest.approx(8 / 7 * (apart**2).sum() / 80**2)
