"""Seeds that a difference needs, against textbooks, loops and simulated studies."""

import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from seedproof.errors import OptionError
from seedproof.metrics.flips import Flips
from seedproof.stats.contrast import compared
from seedproof.stats.distributions import student_quantile
from seedproof.stats.effect import Contrast
from seedproof.stats.families import level_of_arms
from seedproof.stats.intervals import PLAIN, Level, jackknife_variance
from seedproof.stats.power import (
    FlipTest,
    MeanTest,
    Promise,
    SpreadTest,
    detectable,
    examples_factor,
    observed_needed,
    seeds_for,
)
from seedproof.testing.errors import WithFields
from support.simulation import Simulation

FULL = os.environ.get("SEEDPROOF_FULL") == "1"
TESTS = [MeanTest(0.012), MeanTest(1.0, correlation=0.6), SpreadTest(), FlipTest(0.2)]
EXACT = [MeanTest(1.0, correlation=0.6), SpreadTest()]  # their level is exactly 5 %


def share_shown(is_shown):
    """Share of the studies that show a difference, and four standard errors of a share of 0.8."""
    return np.mean(is_shown), 4 * np.sqrt(0.8 * 0.2 / len(is_shown))


def welch_df(n_runs):
    """Welch's degrees of freedom that two arms of normal runs are expected to give."""
    shares = (np.arange(20_000) + 0.5) / 20_000
    of_base = stats.beta((n_runs - 1) / 2, (n_runs - 1) / 2).ppf(shares)
    return (n_runs - 1) / np.mean(of_base**2 + (1 - of_base) ** 2)


# ------------------------------------------------------------------------------------ the figures


@pytest.mark.parametrize(("standardized", "n_runs"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_seeds_for_paired_means_are_those_of_textbooks(standardized, n_runs):
    """Cohen (1988), of differences with sd 2: sd·sqrt(2(1-0.5)) is sd."""
    assert seeds_for(MeanTest(2.0, correlation=0.5), 2.0 * standardized) == n_runs


@pytest.mark.parametrize(
    # Cohen (1988), table 2.4.1: two-sided, 0.05, power 0.80; 393 there for 0.2 is rounded.
    ("standardized", "n_runs"), [(0.2, 394), (0.5, 64), (0.8, 26), (1.0, 17), (1.5, 9)]
)  # fmt: skip
def test_unpaired_means_need_at_most_one_seed_more_than_in_textbooks(standardized, n_runs):
    """Their variances may differ, so `compare` has Welch's degrees of freedom, not 2(R - 1)."""
    assert n_runs <= seeds_for(MeanTest(2.0), 2.0 * standardized) <= n_runs + 1


def test_the_power_of_means_is_an_integral():
    """Over the pooled variance: a normal probability given it, with its chi-square weight."""
    df, critical, shift = 12, stats.t.ppf(0.975, welch_df(7)), 0.9 / (0.5 * np.sqrt(2 / 7))
    shares = (np.arange(200_000) + 0.5) / 200_000
    scale = np.sqrt(stats.chi2.ppf(shares, df) / df)
    both = stats.norm.sf(critical * scale - shift) + stats.norm.cdf(-critical * scale - shift)

    assert MeanTest(0.5).chance(7, 0.9) == pytest.approx(both.mean(), abs=1e-6)  # midpoint rule


@pytest.mark.parametrize(
    "test", [MeanTest(0.5, example_variance=0.02), MeanTest(0.5, 0.3, 0.02, 25)]
)
@pytest.mark.parametrize("n_arms", [1, 4])
def test_half_width_is_that_of_a_contrast(test, n_arms):
    """With the same quantiles for runs and examples, or clusters."""
    level = Promise(n_arms=n_arms).level(8)
    runs = 2 * 0.5**2 / 8 * (1 - (test.correlation or 0.0))
    example_df = np.inf if test.n_clusters is None else test.n_clusters - 1
    df = 7 if test.correlation is not None else welch_df(8)
    contrast = Contrast(0.0, runs, df, test.example_variance, example_df=example_df)

    assert test.needed(8, level) == pytest.approx(contrast.half_width(level), rel=1e-6)


@pytest.mark.parametrize("n_clusters", [None, 20])
@pytest.mark.parametrize("correlation", [None, 0.5])
@pytest.mark.parametrize("share", [0.5, 3.0])
def test_power_over_runs_and_examples_is_that_of_drawn_variances(share, correlation, n_clusters):
    """Estimated variances have chi-square distributions; 100,000 draws have an error of 0.13 %."""
    runs = 2 * (1 - (correlation or 0.0)) / 6
    test = MeanTest(1.0, correlation, share * runs, n_clusters)
    size, rng, n = detectable(test, 6), np.random.default_rng(8), 100_000
    examples = test.example_variance
    if n_clusters is not None:
        examples = examples * rng.chisquare(19, n) / 19
    example_quantile = student_quantile(np.inf if n_clusters is None else 19, 0.975)
    variances, df = runs * rng.chisquare(5, n) / 5, np.full(n, 5.0)
    if correlation is None:  # Welch, of two halves
        halves = runs / 2 * rng.chisquare(5, (2, n)) / 5
        variances = halves.sum(axis=0)
        df = 5 / np.square(halves / variances).sum(axis=0)
    squares = stats.t.ppf(0.975, df) ** 2 * variances + example_quantile**2 * examples
    effects = rng.normal(size, np.sqrt(runs + test.example_variance), n)

    assert np.mean(effects**2 > squares) == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize(("n_arms", "n_runs"), [(3, 11), (9, 16)])
def test_level_of_arms_is_that_of_dunnett(n_arms, n_runs):
    """At most 5 %, and not much less: the correlation is shrunk for few runs."""
    level = level_of_arms(n_arms, n_runs, PLAIN)
    shape = np.eye(n_arms) * 0.5 + 0.5
    joint = stats.multivariate_t(shape=shape, df=n_runs - 1, seed=0)
    quantile = student_quantile(n_runs - 1, 1 - level.tail)
    ends = np.full(n_arms, quantile)
    outside = 1 - joint.cdf(ends, lower_limit=-ends)

    assert 0.035 < outside < 0.052  # the quantile is from 20,000 draws
    assert PLAIN.divided(n_arms).tail < level.tail < PLAIN.tail


def test_one_arm_has_the_plain_level():
    level = Level(tail=0.005, example_tail=0.005)

    assert level_of_arms(1, 10, level) == level


def test_the_variance_of_flip_rates_is_that_of_the_jackknife():
    """To first order, for any matrix: here g varies by 1 %, so the next order is 1e-4."""
    rng = np.random.default_rng(3)
    n_runs = 9
    effects = rng.normal(0.05, 0.0005, n_runs)
    matrix = (effects[:, None] + effects) * (1 - np.eye(n_runs))
    by_run = matrix.sum(axis=1) / (n_runs - 1)
    rate = by_run.mean()
    left_out = [
        np.delete(np.delete(matrix, r, 0), r, 1).sum() / ((n_runs - 1) * (n_runs - 2))
        for r in range(n_runs)
    ]
    quantile = stats.t.ppf(0.975, welch_df(n_runs))
    expected = quantile * np.sqrt(2 * jackknife_variance(np.log(left_out)))

    # A run's mean disagreement with infinitely many others is its effect plus a constant.
    test = FlipTest(float(effects.std(ddof=1) / rate), pair_cv=0.0)

    assert test.needed(n_runs) == pytest.approx(expected, rel=1e-3)


def test_noise_of_pairs_has_the_variance_of_a_mean_over_pairs():
    """The jackknife of many random matrices, and their mean; 4000 of them give both to 3 %."""
    rng, n_runs, pair_sd = np.random.default_rng(4), 8, 0.01
    first, second = np.triu_indices(n_runs, 1)
    noise = np.zeros((4000, n_runs, n_runs))
    noise[:, first, second] = pair_sd * rng.normal(size=(4000, len(first)))
    noise += noise.transpose(0, 2, 1)
    by_run = noise.sum(axis=2) / (n_runs - 1)
    means = by_run.mean(axis=1)
    without = means[:, None] - 2 * (by_run - means[:, None]) / (n_runs - 2)
    jackknife = np.mean([jackknife_variance(x) for x in without])

    test = FlipTest(1e-9, pair_cv=pair_sd)

    assert test._variance(n_runs) == pytest.approx(2 * means.var(), rel=0.1)
    assert test._run_variance(n_runs) == pytest.approx(2 * jackknife, rel=0.1)


def test_many_runs_have_four_cv_squared_over_their_number():
    """So 200 unpaired runs of cv 0.2 detect exp(2.8·sqrt(8·0.04/200)), within 1 % of its log."""
    expected = (1.96 + 0.8416) * np.sqrt(8 * 0.2**2 / 200)

    assert np.log(detectable(FlipTest(0.2), 200)) == pytest.approx(expected, rel=0.02)


# -------------------------------------------------------------------------------------- properties


@pytest.mark.parametrize("test", TESTS, ids=repr)
@given(n_runs=st.integers(5, 400), power=st.floats(0.5, 0.99))
def test_detectable_effect_needs_that_many_seeds(test, n_runs, power):
    """Planning for the smallest detectable effect gives the seeds back, and one less is too few."""
    promise = Promise(power)
    effect = detectable(test, n_runs, promise)
    size = test.size(effect)

    # Slightly more or less, since the root is computed to 1e-12.
    assert seeds_for(test, test.effect(size * (1 + 1e-6)), promise) <= n_runs
    needed = seeds_for(test, test.effect(size * (1 - 1e-6)), promise)
    assert needed > n_runs or n_runs == test.least_runs


@pytest.mark.parametrize("test", TESTS[2:], ids=repr)
@given(ratio=st.floats(1.05, 20))
def test_a_ratio_and_its_inverse_need_the_same_seeds(test, ratio):
    """The order of the arms does not matter."""
    assert seeds_for(test, ratio) == seeds_for(test, 1 / ratio)


@pytest.mark.parametrize("test", TESTS, ids=repr)
@given(effect=st.floats(1.1, 1000.0), n_runs=st.integers(5, 100))
def test_power_grows_with_seeds_and_with_the_effect(test, effect, n_runs):
    """Never smaller with one seed more, or an effect 10 % larger."""
    size = test.size(effect)
    power = test.chance(n_runs, size)

    assert 0.01 <= power <= 1.0 + 1e-12
    assert test.chance(n_runs + 1, size) >= power - 1e-9  # scipy's own error
    assert test.chance(n_runs, 1.1 * size) >= power - 1e-9


@pytest.mark.parametrize("test", EXACT, ids=repr)
def test_no_effect_is_shown_in_5_percent_of_the_studies(test):
    """The level of the test."""
    assert test.chance(8, 0.0) == pytest.approx(0.05, abs=1e-9)


def test_correlated_pairs_save_seeds():
    """At a correlation of 0.9 a tenth of the variance is left, and about a tenth of the seeds."""
    unpaired = seeds_for(MeanTest(0.012), 0.005)
    paired = seeds_for(MeanTest(0.012, correlation=0.9), 0.005)

    assert (unpaired, paired) == (92, 12)


def test_no_number_of_seeds_suffices_with_too_few_examples():
    """Beyond the limit the answer is None; just within it, a large number."""
    needed = (np.log(1.25) / (1.959964 + 0.841621)) ** 2

    assert seeds_for(FlipTest(0.2, example_variance=1.001 * needed), 1.25) is None
    assert seeds_for(FlipTest(0.2, example_variance=0.999 * needed), 1.25) > 10_000
    factor = examples_factor(FlipTest(0.2, example_variance=3 * needed), 1.25)
    assert factor == pytest.approx(3, rel=1e-5)  # the quantiles above have six digits


@pytest.mark.parametrize("n_clusters", [None, 30])
@pytest.mark.parametrize("n_arms", [1, 5])
def test_seeds_suffice_for_means_just_within_the_factor_of_examples(n_arms, n_clusters):
    """Also for several arms and clusters."""
    promise = Promise(n_arms=n_arms)
    test = MeanTest(0.01, example_variance=1e-4, n_clusters=n_clusters)
    factor = examples_factor(test, 0.01, promise)

    enough, too_few = (
        MeanTest(0.01, example_variance=1e-4 / factor * x, n_clusters=n_clusters)
        for x in (0.98, 1.001)
    )

    assert seeds_for(enough, 0.01, promise) > 50
    assert seeds_for(too_few, 0.01, promise) is None


@pytest.mark.parametrize("test", TESTS, ids=repr)
def test_more_arms_need_more_seeds(test):
    """Fewer than with a level divided by their number."""
    needed = [seeds_for(test, 1.5, Promise(n_arms=n, power=0.8)) for n in (1, 3, 10)]
    divided = seeds_for(test, 1.5, Promise(confidence=1 - 0.05 / 10))

    assert needed[0] <= needed[1] <= needed[2] <= divided


def test_spreads_need_at_least_the_runs_of_a_verdict():
    """The F test would do with 3 runs, but no verdict is given on fewer than 5."""
    assert seeds_for(SpreadTest(), 100.0) == 5


# ----------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("make", "fields"),
    [
        (lambda: MeanTest(0.0), {"quantity": "standard deviation", "given": 0.0}),
        (lambda: MeanTest(float("inf")), {"quantity": "standard deviation", "given": float("inf")}),
        (lambda: MeanTest(float("nan")), {"quantity": "standard deviation"}),
        (lambda: MeanTest(1.0, correlation=1.0), {"correlation": 1.0}),
        (lambda: FlipTest(-0.1), {"quantity": "coefficient of variation", "given": -0.1}),
        (lambda: MeanTest(1.0, example_variance=-1.0), {"quantity": "example variance", "given": -1.0}),
        (lambda: Promise(n_arms=0), {"keyword": "arms", "n_arms": 0}),
        (lambda: seeds_for(MeanTest(1.0), 0.0), {"effect": 0.0}),
        (lambda: seeds_for(SpreadTest(), 1.0), {"ratio": 1.0}),
        (lambda: seeds_for(FlipTest(0.2), -0.8), {"ratio": -0.8}),
        (lambda: Promise(power=1.2), {"quantity": "power", "given": 1.2}),
        (lambda: Promise(confidence=1.0), {"quantity": "confidence", "given": 1.0}),
        (lambda: seeds_for(MeanTest(1.0), 1e-4), {"effect": 1e-4, "at_most": 1_000_000}),
        (lambda: detectable(SpreadTest(), 4), {"n_runs": 4, "least_runs": 5}),
        (lambda: observed_needed(MeanTest(1.0), 2), {"n_runs": 2, "least_runs": 5}),
    ],
    ids=[
        "sd-zero", "sd-infinite", "sd-nan", "correlation", "variation", "examples", "arms", "difference", "ratio-one", "ratio-negative",
        "power", "confidence", "too-many", "spread-runs", "mean-runs",
    ],
)  # fmt: skip
def test_impossible_figures_are_refused(make, fields):
    """With their value."""
    with pytest.raises(OptionError, check=WithFields(**fields)):
        make()


# --------------------------------------------------------------------------------------- simulation


@pytest.mark.parametrize("correlation", [None, 0.7])
@pytest.mark.parametrize("difference", [0.5, 1.8])
def test_planned_seeds_reach_their_power_for_means(difference, correlation):
    """Student's test on simulated normal runs; Welch's if they are unpaired."""
    n_runs = seeds_for(MeanTest(1.0, correlation=correlation), difference)
    rng = np.random.default_rng(4)
    shared = np.sqrt(correlation or 0.0) * rng.normal(size=(4000, n_runs))
    own = np.sqrt(1 - (correlation or 0.0))
    base, arm = (shared + own * rng.normal(size=(4000, n_runs)) for _ in range(2))
    if correlation is None:
        test = stats.ttest_ind(base, arm + difference, axis=1, equal_var=False)
    else:
        test = stats.ttest_rel(base, arm + difference, axis=1)

    result, error = share_shown(test.pvalue < 0.05)

    exact = MeanTest(1.0, correlation=correlation).chance(n_runs, difference)
    assert exact >= 0.8
    assert abs(result - exact) < error


def test_planned_seeds_reach_their_power_for_skewed_means():
    """Exponential runs, skewness 2: the power is that of normal ones within 3 points."""
    n_runs = seeds_for(MeanTest(1.0), 0.5)
    rng = np.random.default_rng(5)
    base, arm = (rng.exponential(size=(4000, n_runs)) for _ in range(2))

    result, error = share_shown(stats.ttest_ind(base, arm + 0.5, axis=1).pvalue < 0.05)

    assert abs(result - 0.8) < 0.03 + error


@pytest.mark.parametrize("ratio", [2.0, 0.3])
def test_planned_seeds_reach_their_power_for_spreads(ratio):
    """The F test on simulated normal runs."""
    n_runs = seeds_for(SpreadTest(), ratio)
    rng = np.random.default_rng(6)
    spreads = rng.normal(size=(2, 4000, n_runs)).var(axis=2, ddof=1)
    quotients = ratio**2 * spreads[1] / spreads[0]
    shares = stats.f.cdf(quotients, n_runs - 1, n_runs - 1)

    result, error = share_shown(np.minimum(shares, 1 - shares) < 0.025)

    exact = SpreadTest().chance(n_runs, abs(np.log(ratio)))
    assert exact >= 0.8
    assert abs(result - exact) < error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("simulation", "logit_sd"),
    [
        (Simulation(3, 1000, effect="quality", run_sd=0.5), 4.2),
        (Simulation(3, 1000, effect="threshold", run_sd=2.0), 4.5),
    ],
    ids=["quality", "threshold"],
)
def test_planned_seeds_reach_their_power_for_flip_rates(simulation, logit_sd):
    """Two arms of different confidence, judged as `compare` does, reach between 70 and 92 %.

    The formula is of first order and assumes normal disagreements, so its power is right to a few
    points only. Chance adds 4 points in CI.
    """
    rng = np.random.default_rng(7)
    arms = simulation, replace(simulation, logit_sd=logit_sd)
    ratio = arms[1].truth(rng)["flip_rate"] / arms[0].truth(rng)["flip_rate"]
    figures = [figures_of(replace(arm, n_runs=300, n_examples=3000), rng) for arm in arms]
    cv = np.sqrt(np.mean([x.cv**2 for x in figures]))
    examples = sum(x.example_variance for x in figures) * 3000 / simulation.n_examples
    n_runs = seeds_for(FlipTest(float(cv), example_variance=examples), ratio)

    n_studies = 1000 if FULL else 150
    shown = []
    for _ in range(n_studies):
        base, arm = (flips_of(replace(x, n_runs=n_runs), rng)[0] for x in arms)
        effect = compared("flip_rate", base, arm, cross=None, is_paired=False, level=PLAIN)
        shown.append(effect.is_shown)
    result, error = share_shown(shown)

    assert 5 <= n_runs <= 40
    assert 0.7 - error / 4 < result < 0.92 + error / 4


def flips_of(simulation, rng):
    """The flip rate of one simulated arm, and the disagreement matrix."""
    batch = simulation.draw(rng)
    flips = Flips(batch.n_runs, batch.n_classes)
    flips.update(batch)
    return flips.result()["flip_rate"], flips.detail()["flip_matrix"]


def figures_of(simulation, rng):
    """Estimate the cv of an arm and the example variance of its log flip rate from many runs."""
    statistic, matrix = flips_of(simulation, rng)
    by_run = matrix.sum(axis=1) / (len(matrix) - 1)
    examples = statistic.example_variance - statistic.interaction_variance
    return FlipTest(
        float(by_run.std(ddof=1) / by_run.mean()), example_variance=examples / statistic.value**2
    )
