"""Several rows hold simultaneously; the price depends on how they are correlated."""

from dataclasses import replace

import numpy as np
import pytest

from seedproof.metrics.statistic import (
    MeanOverExamples,
    MeanOverPairs,
    MeanOverRuns,
    RootOfMean,
    ValueOnly,
)
from seedproof.stats.families import MOST_ROWS, MetricContrast, common_level, shared_level
from seedproof.stats.intervals import PLAIN
from seedproof.stats.looks import AT_LOOK

N_RUNS = 10


def row(rng, *, values=None, groups=("none", "arm"), is_paired=False):
    """Accuracies of two arms over runs."""
    base, arm = values if values is not None else 0.8 + 0.01 * rng.standard_normal((2, N_RUNS))
    sides = MeanOverRuns(base), MeanOverRuns(arm)
    return MetricContrast("accuracy", groups, *sides, is_paired, (len(base), len(arm)))


def flips(ratio, spread=0.0, n_runs=N_RUNS):
    """Flip rates of two arms whose ratio is given, with a jackknife spread of both."""
    wave = spread * np.cos(np.arange(n_runs))
    sides = [
        MeanOverExamples(
            value,
            1000,
            without=value * (1 + sign * wave),
            example_variance=0.0,
            interaction_variance=0.0,
        )
        for value, sign in ((0.1, 1), (0.1 * ratio, -1))
    ]
    return MetricContrast(
        "flip_rate", ("none", "arm"), *sides, is_paired=False, n_runs=(n_runs, n_runs)
    )


def test_a_single_row_keeps_its_level():
    rng = np.random.default_rng(0)

    assert shared_level([row(rng)], PLAIN) == shared_level([], PLAIN) == PLAIN


def test_identical_rows_cost_less_than_independent_ones():
    """Copies cost little, because correlation is shrunk; independent rows about Bonferroni."""
    rng = np.random.default_rng(1)
    first = row(rng)
    independent = [row(rng, groups=(f"base {i}", f"arm {i}")) for i in range(6)]

    copies, apart = (shared_level(rows, PLAIN).tail for rows in ([first] * 6, independent))

    assert PLAIN.tail / 6 <= apart < copies < PLAIN.tail
    assert apart == pytest.approx(PLAIN.tail / 6, rel=0.35)


def test_further_rows_never_narrow_the_others():
    rng = np.random.default_rng(2)
    rows = [row(rng, groups=(f"base {i}", f"arm {i}")) for i in range(12)]

    tails = [shared_level(rows[:n], PLAIN).tail for n in (1, 2, 4, 8, 12)]

    assert tails == sorted(tails, reverse=True)
    assert len(set(tails)) == len(tails)


@pytest.mark.parametrize("n_rows", [2, MOST_ROWS + 1])
def test_rows_that_cannot_be_drawn_share_the_level_equally(n_rows):
    """Two runs have no correlation, and very many rows take long."""
    rng = np.random.default_rng(3)
    values = 0.8 + 0.01 * rng.standard_normal((2, 2 if n_rows == 2 else N_RUNS))
    rows = [row(rng, values=values)] * n_rows

    assert shared_level(rows, PLAIN) == PLAIN.divided(n_rows)


def test_arms_that_share_a_baseline_are_correlated():
    """Two unpaired arms share the runs of the baseline, two separate studies nothing."""
    rng = np.random.default_rng(4)
    base = 0.8 + 0.05 * rng.standard_normal(N_RUNS)
    arms = 0.8 + 0.005 * rng.standard_normal((2, N_RUNS))
    shared, apart = (
        shared_level(
            [row(rng, values=(base, arm), groups=(name, f"arm {i}")) for i, (name, arm) in rows],
            PLAIN,
        ).tail
        for rows in (
            list(enumerate(zip(("none", "none"), arms, strict=True))),
            list(enumerate(zip(("none", "other"), arms, strict=True))),
        )
    )

    assert shared > apart


@pytest.mark.parametrize(
    ("ratio", "margin", "verdict"),
    [
        (1.0, None, "equivalent"),
        (1.05, None, "equivalent"),
        (1 / 1.05, None, "equivalent"),
        (1.05, 0.02, "no difference shown"),
        (1 / 1.05, 0.02, "no difference shown"),
        (1.15, None, "no difference shown"),
        (1 / 1.15, None, "no difference shown"),
    ],
)
def test_equivalence_is_symmetrical_on_the_scale_of_ratios(ratio, margin, verdict):
    spread = 0.0078 if abs(np.log(ratio)) < 0.1 else 0.022

    effect = flips(ratio, spread).effect(margin=margin)

    assert effect.verdict == verdict
    assert effect.margin == (0.1 if margin is None else margin)
    assert effect.confidence == PLAIN.confidence


def test_equivalence_rests_on_the_interval_that_leaves_out_twice_as_much():
    """At 95 % the interval may reach beyond the margin, at 90 % it may not."""
    contrast = flips(1.03, 0.0078)
    wide, narrow = contrast.effect(), contrast.effect(PLAIN.divided(0.5))
    between = (narrow.high + wide.high) / 2 - 1

    assert contrast.effect(margin=between).verdict == "equivalent"
    assert contrast.effect(margin=narrow.high - 1 - 1e-6).verdict == "no difference shown"


def test_few_runs_are_never_equivalent():
    contrast = flips(1.0, 0.001, n_runs=4)

    assert contrast.effect().verdict == "too few runs"
    assert replace(contrast.effect(), verdict="equivalent").is_shown is False


def of_two_metrics(n_arms, n_runs=N_RUNS):
    """Rows of two metrics of several arms."""
    rng = np.random.default_rng(7)
    values = 0.8 + 0.01 * rng.standard_normal((2, n_arms, 2, n_runs))
    return [
        [row(rng, values=x, groups=(f"none {k}", f"arm {i} {k}")) for i, x in enumerate(of_metric)]
        for k, of_metric in enumerate(values)
    ]


def test_two_primary_metrics_have_half_the_level_each():
    """2.5 % outside on each side, halved: by hand 1.25 %."""
    level = common_level(of_two_metrics(1), PLAIN)

    assert (level.tail, level.example_tail) == (pytest.approx(0.0125), pytest.approx(0.0125))
    assert level.confidence == pytest.approx(0.975)


def test_a_metric_without_a_row_takes_no_part():
    (first, _) = of_two_metrics(1)

    assert common_level([first, []], PLAIN) == common_level([first], PLAIN) == PLAIN
    assert common_level([[], []], PLAIN) == PLAIN


def test_arms_divide_the_level_of_each_metric_further():
    """Four runs: 2.5 % / 2 metrics / 3 arms. Ten runs: between that and half the level."""
    few = common_level(of_two_metrics(3, n_runs=4), PLAIN)
    many = common_level(of_two_metrics(3), PLAIN)

    assert few.tail == pytest.approx(0.025 / 6)
    assert 0.025 / 6 <= many.tail < 0.0125


def test_metrics_have_the_smaller_of_their_levels():
    """So that one number describes both: copies of an arm would have a larger level alone."""
    first, second = of_two_metrics(3)
    copies = [second[0]] * 3
    alone = [shared_level(rows, PLAIN.divided(2)).tail for rows in (first, copies)]

    assert alone[1] > alone[0]
    assert common_level([first, copies], PLAIN).tail == min(alone)


def test_a_level_of_looks_is_divided_as_any_other():
    """0.5 % a look on each side: 0.25 % of each metric; the example part 1.25 %."""
    level = common_level(of_two_metrics(1), AT_LOOK)

    assert (level.tail, level.example_tail) == (pytest.approx(0.0025), pytest.approx(0.0125))
    assert level.is_of_pairs


def contrast_of(base, arm, *, metric="accuracy", is_paired=False):
    """A row of two statistics of five runs."""
    groups = ("seeds", "seeds" if is_paired else "others")
    return MetricContrast(metric, groups, base, arm, is_paired=is_paired, n_runs=(5, 5))


def mean_of_runs(seed):
    without = 0.5 + 0.01 * np.random.default_rng(seed).standard_normal(5)
    return MeanOverExamples(0.5, 100, without, 1e-4, 0.0)


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: RootOfMean(x, 4.0)])
def test_values_without_a_run_are_on_the_scale_of_the_contrast(wrap):
    """Logarithms for ratios; those of unpaired arms are independent, with opposite signs."""
    first, second = mean_of_runs(0), mean_of_runs(1)

    plain = contrast_of(wrap(first), wrap(second)).left_out()
    ratio = contrast_of(wrap(first), wrap(second), metric="flip_rate").left_out()
    paired = contrast_of(wrap(first), wrap(second), is_paired=True).left_out()

    np.testing.assert_allclose(plain["seeds of 5"], -first.without)
    np.testing.assert_allclose(plain["others of 5"], second.without)
    np.testing.assert_allclose(ratio["others of 5"], np.log(second.without))
    np.testing.assert_allclose(paired["seeds of 5"], second.without - first.without)


def test_means_over_pairs_leave_out_both_runs_of_a_pair():
    rng = np.random.default_rng(2)
    matrix = np.triu(0.1 + 0.02 * rng.random((5, 5)), 1)
    pairs = MeanOverPairs(matrix + matrix.T, floor=1e-3)

    left_out = contrast_of(pairs, pairs, metric="net_flip_rate").left_out()

    keep = [np.delete(np.arange(5), run) for run in range(5)]
    means = [(pairs.matrix[np.ix_(x, x)].sum() / 12) for x in keep]
    np.testing.assert_allclose(left_out["others of 5"], np.log(means))


@pytest.mark.parametrize(
    "statistic",
    [
        ValueOnly(0.1),
        MeanOverPairs(np.zeros((2, 2)), floor=1e-3),
        MeanOverExamples(0.0, 100, np.zeros(5), 0.0, 0.0),
    ],
)
def test_what_has_no_logarithm_without_a_run_counts_as_independent(statistic):
    assert contrast_of(statistic, statistic, metric="flip_rate").left_out() == {}
