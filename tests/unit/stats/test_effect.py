"""Verdicts need five runs, and an interval that shows nothing is known as such."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.stats.effect import (
    Contrast,
    Effect,
    JudgeVariance,
    RatioOfMeans,
    directed,
    effect_of,
    inverted,
    is_inside,
    judged,
    unseen_variance,
    with_enough_runs,
    without_verdict,
)
from seedproof.stats.intervals import PLAIN, Level

BOTH = "runs × examples"
SHOWN = Effect("flip_rate", "ratio", 0.5, 0.4, 0.7, BOTH, detectable=1.6, verdict="steadier")


@pytest.mark.parametrize("verdict", ["steadier", "no difference shown", "not tested"])
def test_fewer_than_five_runs_have_figures_and_no_verdict(verdict):
    """Value and interval stay; neither a difference nor its absence is stated."""
    effect = replace(SHOWN, verdict=verdict)

    assert with_enough_runs(effect, VERDICT_FROM) == effect
    few = with_enough_runs(effect, VERDICT_FROM - 1)
    assert few == replace(effect, verdict="too few runs", detectable=None)
    assert not few.is_shown


@pytest.mark.parametrize(
    ("metric", "ends", "is_too_wide"),
    [
        ("accuracy_sd", (1.5, 1e-8, 1.4e8), True),
        ("accuracy_sd", (1.5, 1e-8, None), True),
        ("accuracy_sd", (1.5, 0.02, 140.0), True),  # a tenth, or ten times
        ("accuracy_sd", (0.9, 0.02, 40.1), True),
        ("accuracy_sd", (1.5, 0.11, 140.0), False),
        ("accuracy_sd", (1.5, 0.02, 9.0), False),
        ("accuracy_sd", (400.0, 2.0, 1e6), False),  # it excludes no change
        ("flip_rate", (0.0, 0.0, 3.0), False),  # nothing flips: only the upper end is known
        ("flip_rate", (None, 0.5, None), False),  # nothing flips in the baseline
        ("flip_rate", (1.5, None, None), False),
        ("accuracy", (0.1, -1.0, 1.0), True),
        ("accuracy", (0.1, -0.9, 1.0), False),
        ("nll", (0.1, -2.0, 2.2), False),
    ],
)
def test_interval_is_too_wide_if_it_shows_nothing(metric, ends, is_too_wide):
    """A ratio that may be anything, or a difference of shares over its whole range."""
    scale = "difference" if metric in {"accuracy", "nll"} else "ratio"

    assert Effect(metric, scale, *ends, BOTH).is_too_wide == is_too_wide


@pytest.mark.parametrize(
    ("effect", "opposite"),
    [
        (SHOWN, (2.0, 1 / 0.7, 2.5, "less steady")),
        (replace(SHOWN, value=0.0, low=0.0, high=0.8), (None, 1.25, None, "less steady")),
        (replace(SHOWN, value=None, low=2.0, high=None), (0.0, 0.0, 0.5, "less steady")),
        (
            replace(SHOWN, low=None, high=None, verdict="not tested"),
            (2.0, None, None, "not tested"),
        ),
        (
            Effect("accuracy", "difference", 0.02, -0.01, 0.05, BOTH, verdict="equivalent"),
            (-0.02, -0.05, 0.01, "equivalent"),
        ),
    ],
)
def test_effect_can_be_read_from_the_other_side(effect, opposite):
    """Ratios are inverted, differences change their sign, and verdicts their direction."""
    value, low, high, verdict = opposite

    inverse = inverted(effect)

    assert (inverse.value, inverse.low, inverse.high) == pytest.approx((value, low, high))
    assert inverse.verdict == verdict
    assert (inverse.detectable, inverse.over) == (effect.detectable, effect.over)


# The range of a ratio is symmetrical on the log scale: 1/1.1 = 0.909, not 0.9.
@pytest.mark.parametrize(
    ("scale", "ends", "margin", "inside"),
    [
        ("ratio", (1 / 1.1 + 1e-9, 1.1 - 1e-9), 0.1, True),
        ("ratio", (1 / 1.1 - 1e-6, 1.0), 0.1, False),
        ("ratio", (0.905, 1.0), 0.1, False),  # between 1 − 0.1 and 1/1.1
        ("ratio", (1.0, 1.1 + 1e-6), 0.1, False),
        ("ratio", (1 / 1.1, 1.1), 0.1, True),  # on the margin
        ("ratio", (0.5 + 1e-9, 2.0 - 1e-9), 1.0, True),
        ("difference", (-0.005, 0.005), 0.005, True),
        ("difference", (-0.0051, 0.0), 0.005, False),
        ("difference", (0.0, 0.0051), 0.005, False),
        ("difference", (0.0, None), 0.005, False),
        ("difference", (None, None), 0.005, False),
    ],
)
def test_equivalence_needs_both_ends_within_the_margin(scale, ends, margin, inside):
    metric = "flip_rate" if scale == "ratio" else "accuracy"
    effect = Effect(metric, scale, 1.0, *ends, BOTH)

    assert is_inside(effect, margin) == inside


@pytest.mark.parametrize("over", ["examples", "clusters"])
def test_an_interval_without_runs_is_never_equivalent_unless_trials_are_asked(over):
    effect = Effect("accuracy", "difference", 0.0, -0.001, 0.001, over)

    assert not is_inside(effect, 0.005)
    assert is_inside(effect, 0.005, needs_runs=False)


@pytest.mark.parametrize(
    ("metric", "ends", "verdict"),
    [
        ("flip_rate", (0.5, 0.9), "steadier"),
        ("flip_rate", (1.1, 1.9), "less steady"),
        ("flip_rate", (0.5, 1.0), "no difference shown"),  # 1 means no change
        ("flip_rate", (1.0, 1.9), "no difference shown"),
        ("accuracy", (0.01, 0.02), "better"),
        ("accuracy", (-0.02, -0.01), "worse"),
        ("accuracy", (-0.02, 0.0), "no difference shown"),
        ("nll", (-0.2, -0.1), "better"),  # lower is better
        ("nll", (0.1, 0.2), "worse"),
        ("mae", (0.5, 0.9), "better"),  # a ratio
        ("mae", (1.1, 1.9), "worse"),
        ("mean", (0.1, 0.2), "higher"),
        ("mean", (-0.2, -0.1), "lower"),
        ("explanation_overlap", (0.1, 0.2), "steadier"),  # an agreement: a difference
    ],
)
def test_verdict_is_that_of_an_interval_which_excludes_no_change(metric, ends, verdict):
    assert judged(metric, *ends) == verdict


def test_an_error_takes_the_verdict_and_leaves_the_figures():
    effect = without_verdict(SHOWN, "duplicate-runs")

    assert (effect.verdict, effect.note.code, effect.detectable) == (
        "not tested",
        "duplicate-runs",
        None,
    )
    assert (effect.value, effect.low, effect.high) == (SHOWN.value, SHOWN.low, SHOWN.high)
    open_effect = Effect("accuracy_sd", "ratio", None)
    assert without_verdict(open_effect, "duplicate-runs") == open_effect


def test_half_an_example_in_each_direction_is_added():
    """One of the square of their number; a step of one run as far as examples differ by noise."""
    assert unseen_variance(0.0, 0.0, n_drawn=20, step=0.2) == pytest.approx(1 / 400)
    assert unseen_variance(0.01, 0.0, n_drawn=20, step=0.2) == pytest.approx(1 / 400)
    assert unseen_variance(0.01, 0.01, n_drawn=20, step=0.2) == pytest.approx(0.04 / 400)
    half = (0.5 + 0.5 * 0.04) / 400
    assert unseen_variance(0.01, 0.005, n_drawn=20, step=0.2) == pytest.approx(half)


def test_half_a_cluster_is_like_those_that_differ():
    """And never more than a cluster whose examples all differ."""
    clusters = np.array([0.01, -0.01, 0.0, 0.0, 0.0])

    unseen = unseen_variance(4e-4, 0.0, n_drawn=5, step=1.0, clusters=clusters)
    largest = unseen_variance(4e-4, 0.0, n_drawn=5, step=1.0, clusters=100 * clusters)
    equal = unseen_variance(0.0, 0.0, n_drawn=5, step=1.0, clusters=np.zeros(5))

    assert unseen == pytest.approx(1e-4)
    assert largest == equal == pytest.approx(1 / 25)


def test_a_difference_of_shares_is_between_minus_one_and_one():
    """Of means only if all of their numbers are shares."""
    contrast = Contrast(-0.9, 0.0, np.inf, 1.0)

    shares = effect_of("mean", -0.9, contrast, level=PLAIN, needs_runs=False, are_shares=True)
    numbers = effect_of("mean", -0.9, contrast, level=PLAIN, needs_runs=False)
    accuracy = effect_of("accuracy", -0.9, contrast, level=PLAIN, needs_runs=False)

    assert (shares.low, shares.high) == (accuracy.low, accuracy.high) == (-1.0, 1.0)
    assert numbers.low < -1.0
    assert numbers.high > 1.0


@pytest.mark.parametrize(
    ("verdict", "better", "expected"),
    [
        ("higher", "higher", "better"),
        ("higher", "lower", "worse"),
        ("lower", "lower", "better"),
        ("lower", "higher", "worse"),
        ("higher", "neither", "higher"),
        ("no difference shown", "higher", "no difference shown"),
        ("better", "lower", "better"),  # it has a direction of its own
    ],
)
def test_direction_of_numbers_turns_higher_into_better_or_worse(verdict, better, expected):
    assert directed(replace(SHOWN, verdict=verdict), better).verdict == expected


@pytest.mark.parametrize("over", ["examples", "clusters", "judges × examples"])
def test_an_effect_over_examples_needs_runs_for_a_verdict_unless_they_are_trials(over):
    contrast = Contrast(0.5, 1e-6, 9.0, 1e-6, over=over)

    runs = effect_of("accuracy", 0.5, contrast, level=PLAIN)
    trials = effect_of("accuracy", 0.5, contrast, level=PLAIN, needs_runs=False)

    assert (runs.verdict, runs.detectable) == ("too few runs", None)
    assert trials.verdict == "better"
    assert (runs.low, runs.high) == (trials.low, trials.high)


def test_an_effect_over_runs_has_a_verdict():
    for over in ("runs", "runs × examples", "runs × clusters"):
        contrast = Contrast(0.5, 1e-6, 9.0, 1e-6, over=over)
        assert effect_of("accuracy", 0.5, contrast, level=PLAIN).verdict == "better"


def test_a_value_is_inside_its_own_interval():
    """The bias that the contrast takes off may put its center elsewhere."""
    effect = effect_of("accuracy", 0.7, Contrast(0.5, 1e-6, 9.0), level=PLAIN)

    assert effect.low < effect.value == effect.high


# A difference with all parts that an interval may have.
LEVEL = Level(tail=0.01, example_tail=0.02, run_share=0.5)
DF, EXAMPLE_DF = 7.0, 20.0
RUNS, EXAMPLES, COUNTED, BIAS, ERROR = 4.0, 3.0, 0.5, 0.7, 0.2
FULL = Contrast(1.0, RUNS, DF, EXAMPLES, COUNTED, BIAS, ERROR, BOTH, EXAMPLE_DF)
OF_RUNS = stats.t.isf(0.01, DF) ** 2
OF_EXAMPLES = stats.t.isf(0.02, EXAMPLE_DF) ** 2


def test_half_width_has_all_parts():
    """Runs by their own quantile, the bias in the root, and the error outside of it."""
    spread = OF_RUNS * 0.5 * RUNS + OF_EXAMPLES * (EXAMPLES - COUNTED)

    assert FULL.half_width(LEVEL) == pytest.approx(np.sqrt(spread + BIAS**2) + ERROR)
    low, high = FULL.ends(LEVEL)
    assert (1.0 - low, high - 1.0) == pytest.approx([FULL.half_width(LEVEL)] * 2)


def test_detectable_difference_is_shown_with_four_in_five():
    """The interval's half width, and the 80 % quantile of the difference itself."""
    deviation = np.sqrt(RUNS + EXAMPLES - COUNTED)

    detectable = FULL.detectable(LEVEL)

    assert detectable == pytest.approx(FULL.half_width(LEVEL) + stats.t.ppf(0.8, DF) * deviation)


def test_judges_widen_what_they_did_not_count():
    """Student's quantile for few judges; what examples count as well is taken off once."""
    judges = JudgeVariance(variance=2.0, df=2.0, interaction_variance=0.3)
    graded = replace(FULL, judges=judges, error=0.0)
    alone = replace(FULL, error=0.0)
    squared = alone.half_width(LEVEL) ** 2
    of_judges = stats.t.isf(0.02, 2) ** 2 * 2.0

    expected = np.sqrt(of_judges + squared - OF_EXAMPLES * 0.3)

    assert graded.half_width(LEVEL) == pytest.approx(expected)
    deviation = np.sqrt(2.0 + RUNS + EXAMPLES - COUNTED - 0.3)
    assert graded.detectable(LEVEL) == pytest.approx(expected + stats.t.ppf(0.8, DF) * deviation)


def fieller(base, arm, variances):
    """Ratios for which the difference arm − r·baseline is within its half width, by a search."""
    ratios = np.linspace(0.0, 20.0, 200_001)
    of_base, of_arm, both = variances
    is_kept = (arm - ratios * base) ** 2 <= of_arm - 2 * ratios * both + ratios**2 * of_base
    return ratios[is_kept].min(), ratios[is_kept].max()


@pytest.mark.parametrize("covariance", [0.0, 0.008, -0.01])
@pytest.mark.parametrize("power", [1.0, 0.5])
def test_a_ratio_of_means_has_every_ratio_that_its_difference_allows(covariance, power):
    """Parts that are noise have the quantile of runs, and the rest that of examples."""
    drawn, noise = 2.0, 3.0
    parts = ((0.02, 0.005), (0.03, 0.01), (covariance, covariance / 2))
    ratio = RatioOfMeans(1.0, 1.5, *parts, power=power)

    ends = ratio.log_ends(drawn, noise)

    squares = [drawn**2 * (x - part) + noise**2 * part for x, part in parts]
    expected = power * np.log(fieller(1.0, 1.5, squares))
    assert ends == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("run_share", [1.0, 0.25])
@pytest.mark.parametrize("of_runs", [0.02, 1e-9], ids=["runs vary", "runs agree"])
def test_a_ratio_over_runs_is_at_least_as_wide_as_over_examples_alone(run_share, of_runs):
    drawn, noise = 2.0, 3.0
    parts, runs = ((0.02, 0.005), (0.03, 0.01), (0.008, 0.001)), (of_runs, of_runs, of_runs / 5)
    ratio = RatioOfMeans(1.0, 1.5, *parts, runs=runs)

    low, high = ratio.log_ends(drawn, noise, run_share)

    both = [
        noise**2 * run_share * x + drawn**2 * (y - part)
        for x, (y, part) in zip(runs, parts, strict=True)
    ]
    alone = [drawn**2 * (x - (1 - run_share) * part) for x, part in parts]
    ends = np.log([fieller(1.0, 1.5, x) for x in (both, alone)])
    assert low == pytest.approx(ends[:, 0].min(), abs=1e-3)
    assert high == pytest.approx(ends[:, 1].max(), abs=1e-3)


@pytest.mark.parametrize(("variance", "is_bounded"), [(0.249, True), (0.251, False)])
def test_a_ratio_to_a_baseline_that_may_be_0_is_unlimited(variance, is_bounded):
    """Two standard errors are as much as the baseline from a variance of a quarter on."""
    ratio = RatioOfMeans(1.0, 1.5, (variance, 0.0), (0.01, 0.0), (0.0, 0.0))

    low, high = ratio.log_ends(2.0, 2.0)

    assert np.isfinite(high) == np.isfinite(low) == is_bounded
