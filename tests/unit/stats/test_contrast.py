"""Ratios and differences of two finished metrics."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import f as f_distribution
from scipy.stats import t as stats_of_t
from scipy.stats import ttest_ind, ttest_rel

from seedproof.metrics.block_statistic import BinnedGaps, BlockJackknife, ClassShares, Residuals
from seedproof.metrics.statistic import (
    ExampleValues,
    ExcessSpread,
    MeanOverExamples,
    MeanOverPairs,
    MeanOverRuns,
    RootOfMean,
    SpreadOverRuns,
    ValueOnly,
)
from seedproof.stats.contrast import (
    LEAST_UNSHARED,
    Pair,
    compared,
    contrast,
)
from seedproof.stats.covariance import crosses
from seedproof.stats.distributions import student_quantile
from seedproof.stats.effect import RatioOfMeans
from seedproof.stats.estimate_contrast import from_estimates
from seedproof.stats.intervals import PLAIN, Estimate, Level, estimate
from seedproof.stats.spread_ratio import spread_ratio


def mean(value, without, *, n_examples=100, spread=0.0, is_count=True):
    """A finished mean over examples."""
    return MeanOverExamples(
        value=value,
        n_examples=n_examples,
        without=None if without is None else np.array(without),
        example_variance=spread,
        interaction_variance=0.0,
        is_count=is_count,
    )


def compare(metric, base, arm, *, is_paired=False):
    """Compare without the covariance over examples."""
    return compared(metric, base, arm, cross=None, is_paired=is_paired, level=PLAIN)


@pytest.mark.parametrize("is_paired", [False, True])
def test_means_over_runs_have_a_t_interval(is_paired):
    """Student's of the differences if paired, else Welch's."""
    base, arm = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.15, 0.26, 0.33, 0.47])
    if not is_paired:
        arm = arm[:3]

    effect = compare("ece_corrected", MeanOverRuns(base), MeanOverRuns(arm), is_paired=is_paired)

    test = ttest_rel(arm, base) if is_paired else ttest_ind(arm, base, equal_var=False)
    assert effect.value == pytest.approx(arm.mean() - base.mean())
    assert (effect.low, effect.high) == pytest.approx(test.confidence_interval(0.95), rel=1e-9)
    assert effect.over == "runs"
    # A larger calibration error.
    assert effect.verdict == ("worse" if is_paired else "no difference shown")


def test_the_root_of_a_mean_over_two_runs_has_no_verdict():
    """Its interval is over examples, as that of the mean itself is."""
    base, arm = mean(0.1, None, spread=1e-6), mean(0.4, None, spread=1e-6)

    effect = compare("accuracy_sd_independent", RootOfMean(base, 100), RootOfMean(arm, 100))

    assert (effect.over, effect.verdict) == ("examples", "too few runs")


def test_a_ratio_is_on_the_log_scale():
    """Swapping the arms inverts value and ends."""
    base = mean(0.2, [0.19, 0.2, 0.21, 0.2, 0.2], spread=1e-5)
    arm = mean(0.1, [0.09, 0.1, 0.11, 0.1, 0.1], spread=1e-5)

    there, back = compare("flip_rate", base, arm), compare("flip_rate", arm, base)

    assert there.value == pytest.approx(0.5)
    assert there.low == pytest.approx(1 / back.high)
    assert there.high == pytest.approx(1 / back.low)
    assert there.detectable == pytest.approx(back.detectable)
    assert (there.verdict, back.verdict) == ("steadier", "less steady")


@pytest.mark.parametrize("metric", ["flip_rate", "accuracy"])
def test_no_effect_is_more_certain_than_over_the_examples_alone(metric):
    """Runs that are alike have no variance, and that of the examples is all counted as theirs."""
    base, arm = (
        replace(mean(value, [value] * 5, spread=1e-4), interaction_variance=1e-4)
        for value in (0.2, 0.1)
    )

    effect = compare(metric, base, arm)
    alone = compare(metric, replace(base, without=None), replace(arm, without=None))

    assert (effect.low, effect.high) == (alone.low, alone.high)
    assert effect.low < effect.value < effect.high
    assert effect.over == "runs × examples"


def test_accuracy_is_a_difference_and_higher_is_better():
    """In points, not as a ratio."""
    base = mean(0.8, [0.799, 0.8, 0.801])
    arm = mean(0.9, [0.899, 0.9, 0.901])

    effect = compare("accuracy", base, arm, is_paired=True)

    assert (effect.scale, effect.verdict) == ("difference", "better")
    assert effect.value == pytest.approx(0.1)


def test_two_runs_give_no_verdict():
    """The interval is over examples only."""
    effect = compare("flip_rate", mean(0.2, None, spread=1e-4), mean(0.1, None, spread=1e-4))

    assert (effect.verdict, effect.over) == ("too few runs", "examples")
    assert effect.low < 0.5 < effect.high


def test_sd_of_independent_flips_is_the_root_of_a_mean():
    """Half of the logarithm: a ratio of 4 in variances is 2 in standard deviations."""
    base = RootOfMean(mean(0.1, [0.1, 0.1, 0.1]), divisor=50)
    arm = RootOfMean(mean(0.4, [0.4, 0.4, 0.4]), divisor=50)

    effect = compare("accuracy_sd_independent", base, arm)

    assert effect.value == pytest.approx(2.0)
    assert effect.verdict == "less steady"


def test_net_flips_leave_out_one_run_at_a_time():
    """The jackknife of the mean over pairs, on the log scale."""
    matrix = np.array([[0, 1, 2, 3], [1, 0, 2, 2], [2, 2, 0, 1], [3, 2, 1, 0]]) / 10
    base, arm = MeanOverPairs(matrix, floor=1e-6), MeanOverPairs(matrix / 2, floor=1e-6)

    effect = compare("net_flip_rate", base, arm, is_paired=True)

    # The ratio is 1/2 with any pair of runs left out.
    assert effect.value == pytest.approx(0.5)
    assert effect.low == pytest.approx(0.5)
    assert effect.high == pytest.approx(0.5)


@pytest.mark.parametrize("statistic", [ValueOnly(0.2), ExcessSpread(np.arange(9.0), known=1.0)])
def test_figures_that_depend_on_the_number_of_runs_are_not_tested(statistic):
    """The figures are shown, without a verdict."""
    effect = compare("ambiguity", statistic, statistic)

    assert (effect.verdict, effect.low) == ("not tested", None)
    assert effect.note.code == "no-interval"


def test_spreads_of_few_runs_have_no_verdict():
    """Four values of each arm."""
    effect = compare(
        "accuracy_sd", SpreadOverRuns(np.arange(4.0)), SpreadOverRuns(2 * np.arange(4.0))
    )

    assert (effect.value, effect.verdict) == (2.0, "too few runs")
    assert effect.note.code == "too-few-runs-for-spread"
    assert effect.note.fields == {"n_needed": 5}


def test_a_ratio_of_spreads_ignores_shift_and_follows_scale():
    """Scaling the arm scales the interval; shifting it changes nothing."""
    rng = np.random.default_rng(3)
    base, arm = rng.normal(size=10), rng.normal(size=12)

    low, high = spread_ratio(base, arm, level=PLAIN)
    moved = spread_ratio(base + 5, 3 * arm - 7, level=PLAIN)

    assert moved == pytest.approx((3 * low, 3 * high), rel=1e-9)
    back = spread_ratio(arm, base, level=PLAIN)
    assert back == pytest.approx((1 / high, 1 / low), rel=1e-9)


def test_a_ratio_of_spreads_of_equal_arms_has_no_width():
    """Rounding takes the correlation of some equal arms above 1."""
    for seed in range(50):
        base = np.random.default_rng(seed).normal(size=12)

        assert spread_ratio(base, 2 * base, level=PLAIN, is_paired=True) == pytest.approx((2, 2))


def test_a_ratio_of_spreads_is_near_the_f_interval_for_normal_runs():
    """With many normal runs both agree to 4 %, since kurtosis is estimated from 400 runs."""
    rng = np.random.default_rng(4)
    base, arm = rng.normal(size=400), 2 * rng.normal(size=400)

    low, high = spread_ratio(base, arm, level=PLAIN)

    ratio = arm.std(ddof=1) / base.std(ddof=1)
    reach = np.sqrt(f_distribution.ppf(0.975, 399, 399))
    assert (low, high) == pytest.approx((ratio / reach, ratio * reach), rel=0.04)


def test_pairs_narrow_the_ratio_of_spreads():
    """By √(1 − r²) on the log scale if runs are normal: 0.6 for a correlation r of 0.8."""
    rng = np.random.default_rng(5)
    shared, own = rng.normal(size=800), rng.normal(size=(2, 800))
    base, arm = np.sqrt(0.8) * shared + np.sqrt(0.2) * own

    widths = [
        np.ptp(np.log(spread_ratio(base, arm, is_paired=is_paired))) for is_paired in (True, False)
    ]

    assert widths[0] / widths[1] == pytest.approx(0.6, abs=0.05)


@pytest.mark.parametrize(
    ("base", "arm"),
    [
        (np.arange(9.0), np.arange(9.0) + np.cos(np.arange(9.0))),
        # Only the order of two groups is shared: large deviations meet small ones.
        (np.r_[-3.0, -1, -1, -1, -3, 1, 3, 1, 3, 1], np.r_[-1.0, -3, -3, -3, -1, 3, 1, 3, 1, 3]),
    ],
    ids=["few-pairs", "unrelated-squares"],
)
def test_pairs_that_tell_nothing_change_nothing(base, arm):
    assert spread_ratio(base, arm, is_paired=True) == spread_ratio(base, arm)


def test_no_flip_in_the_arm_leaves_an_upper_end():
    """The upper end of the arm over the lower end of the baseline."""
    effect = from_estimates(
        "flip_rate",
        Estimate(0.2, 0.1, 0.4, "runs × examples"),
        Estimate(0.0, 0.0, 0.01, "runs × examples"),
    )

    assert (effect.value, effect.low) == (0.0, 0.0)
    assert effect.high == pytest.approx(0.01 / 0.1)
    assert effect.verdict == "steadier"


def test_many_runs_without_a_flip_are_steadier():
    """The exact upper bound of the arm is below the lower end of the baseline."""
    effect = compare(
        "flip_rate",
        mean(0.2, [0.19, 0.2, 0.21], spread=1e-5, n_examples=500),
        MeanOverExamples(0.0, 500, np.zeros(10), 0.0, 0.0, largest=1.0, is_count=True),
    )

    assert (effect.value, effect.verdict) == (0.0, "steadier")


@pytest.mark.parametrize("tail", [0.025, 0.005, 1e-6])
def test_exact_bound_of_no_flips_is_that_of_the_level(tail):
    """The bound of 100 examples without a flip, over the lower end of the baseline."""
    base = mean(0.2, [0.19, 0.2, 0.21], spread=1e-5, n_examples=500)
    never = MeanOverExamples(0.0, 100, np.zeros(10), 0.0, 0.0, largest=1.0, is_count=True)
    level = Level(tail, tail)

    effect = compared("flip_rate", base, never, cross=None, is_paired=False, level=level)

    assert effect.high == pytest.approx((1 - tail ** (1 / 100)) / estimate(base, level).low)


def test_no_flip_in_the_baseline_gives_no_ratio():
    """But an interval without an upper end, above 1."""
    effect = from_estimates(
        "flip_rate",
        Estimate(0.0, 0.0, 0.01, "runs × examples"),
        Estimate(0.2, 0.1, 0.4, "runs × examples"),
    )

    assert effect.value is None
    assert effect.low == pytest.approx(10.0)
    assert effect.high is None
    assert effect.verdict == "less steady"


def test_more_arms_widen_every_interval():
    """So that all of them hold together."""
    base, arm = mean(0.2, [0.19, 0.2, 0.21]), mean(0.1, [0.09, 0.1, 0.11])

    alone = compared("flip_rate", base, arm, cross=None, is_paired=True, level=PLAIN)
    among_four = compared(
        "flip_rate", base, arm, cross=None, is_paired=True, level=PLAIN.divided(4)
    )

    assert among_four.low < alone.low < alone.value < alone.high < among_four.high


def test_a_negative_rank_correlation_is_compared_as_it_is():
    """From −0.10 to +0.05 is +0.15; the interval is about it."""
    base, arm = (
        replace(mean(v, [v - 0.01, v, v + 0.01, v]), scale="logit", largest=1.0, is_count=False)
        for v in (-0.10, 0.05)
    )

    effect = compare("explanation_tau", base, arm)

    assert effect.value == pytest.approx(0.15)
    assert effect.value - effect.low == pytest.approx(effect.high - effect.value)


@pytest.mark.parametrize(
    ("base", "arm", "code"),
    [
        (Estimate(0.1), Estimate(0.2, 0.1, 0.3, "runs"), "no-interval"),
        (Estimate(0.0, 0.0, 0.1, "runs"), Estimate(0.0, 0.0, 0.1, "runs"), "both-zero"),
        (Estimate(0.0, 0.0, 0.0, "runs"), Estimate(0.2, 0.1, 0.3, "runs"), "baseline-zero"),
    ],
    ids=["one-alone", "zeros", "zero"],
)
def test_estimates_without_a_ratio_say_why(base, arm, code):
    """No verdict; plain data has the text of the reason."""
    effect = from_estimates("flip_rate", base, arm)

    assert (effect.verdict, effect.low, effect.note.code) == ("not tested", None, code)
    assert effect.summary()["note"] == str(effect.note)


def test_equal_runs_have_no_ratio_of_spreads():
    """Because the denominator is 0."""
    effect = compare("accuracy_sd", SpreadOverRuns(np.ones(6)), SpreadOverRuns(np.arange(6.0)))

    assert (effect.verdict, effect.note.code) == ("not tested", "no-spread")


def test_too_few_kept_classes_give_no_verdict():
    """The error from the other classes may exceed the figure itself."""
    base, arm = (replace(mean(0.1, [0.1, 0.1, 0.1]), error=error) for error in (0.1, 0.0))

    effect = compare("probability_sd", base, arm)

    assert (effect.verdict, effect.note.code) == ("not tested", "too-few-classes-kept")


def test_effect_with_an_interval_has_no_note():
    """Plain data has an empty text there."""
    effect = compare("ece_corrected", MeanOverRuns(np.arange(4.0)), MeanOverRuns(np.arange(4.0)))

    assert effect.note is None
    assert effect.summary()["note"] == ""


def test_calibration_errors_of_the_same_examples_are_paired():
    """An arm equals itself but for the bias that remains; other examples are not compared."""
    rng = np.random.default_rng(0)
    totals, sizes = rng.normal(0, 1, (6, 15, 8)), np.full(8, 50)
    spread = np.full((6, 15), 1e-4)
    gaps = BinnedGaps(totals, sizes, spread, np.zeros((6, 15)))

    same = contrast(gaps, gaps, Pair("ece_corrected", is_paired=True))
    other = contrast(gaps, replace(gaps, sizes=sizes + 1), Pair("ece_corrected", is_paired=True))

    assert (same.center, same.run_variance) == (0.0, 0.0)
    assert same.example_variance == pytest.approx(0.0, abs=1e-15)
    assert same.residual_bias == pytest.approx(np.sqrt(2) * gaps.residual_bias)
    assert other is None


def test_classwise_figures_of_the_same_examples_are_paired():
    """An arm differs from itself by nothing that is seen; other examples are not compared."""
    rng = np.random.default_rng(0)
    by_run, sizes = rng.uniform(0.7, 0.8, 6), np.full(8, 50)
    left = by_run[:, None] + rng.normal(0, 0.01, (6, 8))
    shares = ClassShares(
        np.tile([90.0, 8.0], (6, 1)), np.tile([390.0, 10.0], (6, 1)), np.array([8, 4])
    )
    base = BlockJackknife(by_run, left, sizes, shares)
    arm = replace(base, by_run=by_run + 0.1, without_block=left + 0.1)

    better = contrast(base, arm, Pair("macro_f1", is_paired=True))
    other = contrast(base, replace(arm, sizes=sizes + 1), Pair("macro_f1", is_paired=True))

    assert better.center == pytest.approx(0.1)
    assert better.run_variance == pytest.approx(0.0, abs=1e-15)
    assert better.example_variance == pytest.approx(2 * base.unseen_variance * LEAST_UNSHARED)
    assert 3 < better.example_df < 4  # most of it is from the rare class, in four blocks
    assert other is None
    assert compare("macro_f1", base, arm).verdict == "better"
    assert compare("macro_f1", arm, base).verdict == "worse"


@pytest.mark.parametrize("power", [1.0, 0.5])
def test_ratio_of_equal_arms_is_judged_like_their_differences(power):
    """Fieller's interval contains 1 if and only if the paired t interval contains 0."""
    rng = np.random.default_rng(0)
    for shift in np.linspace(0, 0.6, 25):
        base, arm = rng.lognormal(0, 1.5, (2, 40)) + np.array([[0.0], [3 * shift]])
        covariance = np.cov(base, arm) / 40
        parts = [(covariance[i, j], 0.0) for i, j in ((0, 0), (1, 1), (0, 1))]
        ratio = RatioOfMeans(base.mean(), arm.mean(), *parts, power=power)
        quantile = student_quantile(39, 0.975)

        low, high = ratio.log_ends(quantile, quantile)

        apart = arm - base
        half_width = quantile * apart.std(ddof=1) / np.sqrt(40)
        assert (low <= 0 <= high) == (abs(apart.mean()) <= half_width)
        assert low <= power * np.log(arm.mean() / base.mean()) <= high


@pytest.mark.parametrize("gap", [0.0, 0.05, 0.08, 0.3])
def test_ratio_over_runs_contains_1_if_the_difference_contains_0(gap):
    """Over runs and examples, and at least over the examples alone."""
    runs, examples, both = (4e-4, 5e-4, 1e-4), (6e-4, 7e-4, 2e-4), (1e-4, 1e-4, 5e-5)
    parts = list(zip(examples, both, strict=True))
    ratio = RatioOfMeans(1.0, 1.0 + gap, *parts, runs=runs)

    low, high = ratio.log_ends(2.0, 2.5)

    def of_difference(variances):
        return variances[0] + variances[1] - 2 * variances[2]

    drawn = of_difference(examples) - of_difference(both)
    width = max(2.5**2 * of_difference(runs) + 4 * drawn, 4 * of_difference(examples)) ** 0.5
    assert (low <= 0.0 <= high) == (gap <= width)


def test_ratio_to_a_baseline_that_may_be_0_has_no_ends():
    ratio = RatioOfMeans(0.1, 0.2, (0.01, 0.0), (0.01, 0.0), (0.0, 0.0))

    assert ratio.log_ends(2.0, 2.0) == (-np.inf, np.inf)


def accuracy(value, *, n_examples=20, spread=0.0, **further):
    """The accuracy of five equal runs."""
    statistic = mean(value, [value] * 5, n_examples=n_examples, spread=spread)
    return replace(statistic, scale="logit", largest=1.0, **further)


@pytest.mark.parametrize("n_examples", [20, 300])
def test_a_difference_of_accuracies_has_half_an_example_each_way(n_examples):
    """Agresti and Min: arms that differ on no example are not equal for sure."""
    spread = 0.09 / n_examples
    arms = accuracy(0.9, n_examples=n_examples, spread=spread), accuracy(0.9, n_examples=n_examples)
    quantile = stats_of_t.ppf(0.975, n_examples - 1)

    alike = compare("accuracy", arms[1], arms[1])
    apart = compare("accuracy", *arms)

    assert alike.high == -alike.low == pytest.approx(quantile / n_examples)
    assert apart.high == pytest.approx(quantile * np.sqrt(spread + 1 / n_examples**2))


def test_a_difference_of_accuracies_with_clusters_has_half_a_cluster_each_way():
    """One that differs like those that do, with the degrees of freedom of their number."""
    n_clusters, n_examples = 10, 200
    totals = np.array([2.0, -2.0, *[0.0] * 8])
    residuals = [Residuals(n_examples, x, np.zeros((5, 10))) for x in (np.zeros(10), totals)]
    spread = residuals[1].example_covariance(residuals[1])
    arms = [
        accuracy(0.9, n_examples=n_examples, spread=x, clusters=y)
        for x, y in zip((0.0, spread), residuals, strict=True)
    ]

    effect = compare("accuracy", *arms)

    unseen = (2 / n_examples) ** 2
    expected = stats_of_t.ppf(0.975, n_clusters - 1) * np.sqrt(spread + unseen)
    assert effect.high == pytest.approx(expected)


def test_shares_of_these_trials_are_not_compared():
    """They depend on the number of trials."""
    effect = compare("solid_share", accuracy(0.9, spread=0.01), accuracy(0.5, spread=0.01))

    assert (effect.low, effect.high, effect.verdict) == (None, None, "not tested")


def test_examples_that_both_arms_share_cancel():
    """The variance is that of the differences of examples, not the sum of both."""
    base, arm = np.random.default_rng(0).random((2, 40)) + np.random.default_rng(1).random(40)
    means = [
        mean(x.mean(), [x.mean()] * 5, spread=x.var(ddof=1) / 40, is_count=False)
        for x in (base, arm)
    ]
    values = [{"accuracy": ExampleValues(x, None)} for x in (base, arm)]
    cross = crosses(*values, is_paired=False)["accuracy"]

    paired = contrast(*means, Pair("accuracy", is_paired=False, cross=cross))

    assert paired.example_variance == pytest.approx((arm - base).var(ddof=1) / 40)
