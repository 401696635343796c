import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from seedproof.metrics import FAMILIES
from seedproof.metrics.accuracy import Accuracy
from seedproof.metrics.batch import Batch
from seedproof.metrics.block_statistic import Residuals, Shape
from seedproof.metrics.calibration import Calibration
from seedproof.metrics.clusters import clustered
from seedproof.metrics.confidence import Confidence
from seedproof.metrics.divergence import Divergence
from seedproof.metrics.entropy import Entropy
from seedproof.metrics.flips import Flips
from seedproof.metrics.scores import Scores
from seedproof.metrics.statistic import (
    ExampleSums,
    ExampleValues,
    ExcessSpread,
    Judges,
    MeanOverExamples,
    MeanOverPairs,
    MeanOverRuns,
    RootOfMean,
    SpreadOverRuns,
    ValueOnly,
    mean_over_runs,
    of_trials,
)
from seedproof.stats.intervals import (
    EXTRAPOLATION_ERROR,
    PLAIN,
    Estimate,
    Level,
    estimate,
    jackknife_variance,
)
from support import oracles
from support.simulation import Simulation

# The closed forms and the loops add up the same numbers in another order.
ROUNDING = 1e-10


def study(n_runs, *, n_examples=40, n_classes=3, seed=0):
    """Runs that differ in quality, on examples that differ in difficulty."""
    rng = np.random.default_rng(seed)
    usual = rng.normal(0, 1.5, (n_examples, n_classes))
    effect = rng.normal(0, 0.6, (n_runs, 1, n_classes))
    raised = np.exp(usual + effect + rng.normal(0, 0.8, (n_runs, n_examples, n_classes)))
    labels = (usual + rng.gumbel(size=usual.shape)).argmax(axis=1)
    return Batch.from_probs(raised / raised.sum(axis=2, keepdims=True), labels)


def statistic_of(family, name, batch):
    """One finished metric."""
    accumulator = family(batch.n_runs, batch.n_classes)
    accumulator.update(batch)
    return accumulator.result()[name]


def estimate_of(family, name, batch):
    """One metric with its interval."""
    return estimate(statistic_of(family, name, batch))


def assert_interval(result, expected, *, rel=ROUNDING, largest=math.inf):
    """Check the ends of an interval; the upper end is cut at the largest value."""
    low, high = expected
    assert (result.low, result.high) == pytest.approx((low, min(high, largest)), rel=rel)


# ------------------------------------------------------- closed forms and the delete-one loop


def slow_variances(predictions, labels):
    """Variance over runs of being right, for each example."""
    return oracles.slow_probability_sd((predictions == labels).astype(float)) ** 2


# The largest value that one example can have, of three classes and of any number of runs.
LARGEST = {
    "flip_rate": 1.0,
    "label_entropy": math.log(3),
    "probability_sd": math.sqrt(0.5),
    "predictive_js": 2 * math.log(3),
    "brier": 2.0,
}

# By figure: family, the data it needs, and the slow value of each example from it.
TWO_WAY = {
    "flip_rate": (Flips, "predictions", lambda x, _: oracles.slow_flip_rate(x)),
    "label_entropy": (Entropy, "predictions", lambda x, _: oracles.slow_label_entropy(x)),
    "probability_sd": (Confidence, "reference_probs", lambda x, _: oracles.slow_probability_sd(x)),
    "predictive_kl": (Divergence, "probs", lambda x, _: oracles.slow_predictive_kl(x)),
    "predictive_js": (Divergence, "probs", lambda x, _: oracles.slow_predictive_js(x)),
    "nll": (Scores, "probs", lambda x, y: oracles.slow_nll(x, y).mean(axis=0)),
    "brier": (Scores, "probs", lambda x, y: oracles.slow_brier(x, y).mean(axis=0)),
}


@pytest.mark.parametrize("name", TWO_WAY)
@pytest.mark.parametrize("n_runs", [3, 5, 12])
def test_closed_forms_equal_deleting_each_run(name, n_runs):
    """Totals with one run left out equal those computed from the other runs."""
    family, attribute, slow = TWO_WAY[name]
    batch = study(n_runs)

    result = estimate_of(family, name, batch)

    expected = oracles.slow_two_way_interval(
        lambda data: slow(data, batch.labels), getattr(batch, attribute)
    )
    assert result.over == "runs × examples"
    assert_interval(result, expected, largest=LARGEST.get(name, math.inf))


@pytest.mark.parametrize("n_runs", [3, 5, 12])
def test_accuracy_equals_deleting_each_run_on_the_logit_scale(n_runs):
    """Symmetric in the log odds, so that neither end leaves [0, 1]."""
    batch = study(n_runs)

    result = estimate_of(Accuracy, "accuracy", batch)

    expected = oracles.slow_two_way_interval(
        lambda data: oracles.slow_accuracy(data, batch.labels), batch.predictions, scale="logit"
    )
    assert result.over == "runs × examples"
    assert_interval(result, expected)


@pytest.mark.parametrize("n_runs", [3, 5, 12])
def test_independent_sd_is_the_root_of_an_interval_of_variances(n_runs):
    """√(mean/n) is monotone: both ends are carried through it."""
    batch = study(n_runs)

    result = estimate_of(Accuracy, "accuracy_sd_independent", batch)

    low, high = oracles.slow_two_way_interval(
        lambda data: slow_variances(data, batch.labels), batch.predictions
    )
    high = min(high, 0.5)  # one of two runs is right
    assert_interval(result, (math.sqrt(low / 40), math.sqrt(high / 40)))


@pytest.mark.parametrize("n_runs", [3, 5, 12])
def test_corrected_entropy_without_bias_left_equals_deleting_each_run(n_runs):
    """Deleting a run from a jackknife deletes two runs at a time."""
    batch = study(n_runs, n_examples=20)
    corrected = statistic_of(Entropy, "label_entropy_corrected", batch)

    result = estimate(replace(corrected, bias_left=0.0, extrapolated=0.0, largest=None))

    expected = oracles.slow_two_way_interval(
        oracles.slow_label_entropy_corrected, batch.predictions
    )
    assert_interval(result, expected)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_runs", [3, 4, 10, 25])
def test_flip_rate_equals_the_formula_of_the_disagreement_matrix(n_runs, seed):
    """U·exp(±w) with V_run from the row means of D, and V_ex and V_int from label counts."""
    batch = study(n_runs, seed=seed)

    result = estimate_of(Flips, "flip_rate", batch)

    assert_interval(result, oracles.slow_flip_rate_interval(batch.predictions), largest=1.0)


def test_flip_rate_with_a_run_left_out_is_at_least_half_an_example():
    """If one run causes every flip, ln 0 becomes ln(1/2n), not minus ∞."""
    predictions = np.zeros((4, 30), dtype=int)
    predictions[0, :6] = 1

    result = estimate_of(Flips, "flip_rate", Batch(predictions, n_classes=2))

    assert result.low > 0
    assert_interval(result, oracles.slow_flip_rate_interval(predictions), largest=1.0)


def test_net_flip_rate_equals_deleting_each_run():
    """Over runs, given the examples: jackknife of the logarithm with Student's t."""
    batch = study(6, n_examples=200)

    result = estimate_of(Flips, "net_flip_rate", batch)

    expected = oracles.slow_log_interval_over_runs(oracles.slow_net_flip_rate, batch.predictions)
    assert result.over == "runs"
    assert_interval(result, expected)


@pytest.mark.parametrize("name", ["predictive_kl", "predictive_js", "probability_sd"])
def test_small_values_keep_the_variance_of_the_runs(name):
    """Half an example is a floor for counts; a divergence of 0.001 of 40 examples is not a count.

    With values below 1/(2n) the variance over runs must not vanish.
    """
    family, attribute, slow = TWO_WAY[name]
    rng = np.random.default_rng(1)
    raised = np.exp(
        rng.normal(0, 1, (40, 3))
        + 0.02 * rng.normal(0, 1, (6, 1, 1)) * rng.normal(0, 1, (6, 40, 3))
    )
    batch = Batch.from_probs(raised / raised.sum(axis=2, keepdims=True), np.zeros(40, dtype=int))

    result = estimate_of(family, name, batch)

    expected = oracles.slow_two_way_interval(
        lambda data: slow(data, batch.labels), getattr(batch, attribute)
    )
    assert result.value < 1 / 80
    # Divergences this small are differences of sums of order one: fewer digits are left.
    assert_interval(result, expected, rel=1e-6)


def test_spread_caused_by_one_run_has_a_finite_interval():
    """All runs but one agree: ln 0 becomes ln(U/2n), so the interval is wide but finite."""
    positive = np.full((5, 20), 0.6)
    positive[0] = np.linspace(0.65, 0.9, 20)
    batch = Batch.from_probs(np.stack([1 - positive, positive], axis=2), np.ones(20, dtype=int))

    result = estimate_of(Confidence, "probability_sd", batch)

    expected = oracles.slow_two_way_interval(
        oracles.slow_probability_sd, positive, smallest=result.value / 40
    )
    assert result.low > 0
    assert_interval(result, expected, largest=math.sqrt(0.5))


def test_the_interval_of_a_spread_scales_with_the_spread():
    """A tenth of the spread gives a tenth of the interval."""
    rng = np.random.default_rng(2)
    center, moves = rng.uniform(0.4, 0.6, 40), rng.normal(0, 0.05, (6, 1)) * rng.random((6, 40))

    wide, narrow = (
        estimate_of(
            Confidence,
            "probability_sd",
            Batch.from_probs(
                np.stack([center + moves * size, 1 - center - moves * size], axis=2),
                np.zeros(40, dtype=int),
            ),
        )
        for size in (1.0, 0.1)
    )

    assert narrow.value == pytest.approx(wide.value / 10)
    assert narrow.high / narrow.low == pytest.approx(wide.high / wide.low)


# ---------------------------------------------------------------------------------- two runs


# Means over examples that have an interval for two runs already.
OVER_EXAMPLES = {
    "flip_rate",
    "label_entropy",
    "label_entropy_corrected",
    "accuracy_sd_independent",
    "probability_sd",
    "predictive_kl",
    "predictive_js",
}


@pytest.mark.parametrize("family", FAMILIES)
def test_intervals_of_two_runs_are_over_examples_or_absent(family):
    """One pair of runs shows nothing about other pairs."""
    accumulator = family(2, 3)
    accumulator.update(study(2))

    over = {name: estimate(value).over for name, value in accumulator.result().items()}

    assert set(over.values()) <= {None, "examples"}
    assert all(over[name] == "examples" for name in OVER_EXAMPLES & over.keys())


def test_two_runs_have_the_interval_of_a_mean_over_examples():
    """U·exp(±1.96·√V_ex)."""
    batch = study(2)

    result = estimate_of(Flips, "flip_rate", batch)

    assert_interval(
        result, oracles.slow_two_way_interval(oracles.slow_flip_rate, batch.predictions)
    )
    rate = result.value
    half_width = 1.959964 * math.sqrt(rate * (1 - rate) / 39) / rate
    assert result.high == pytest.approx(rate * math.exp(half_width), rel=1e-5)


def test_two_runs_have_no_interval_over_runs():
    """One pair gives no interval of a spread or of a distance of class shares."""
    batch = study(2)

    for family, name in ((Accuracy, "accuracy_sd"), (Flips, "net_flip_rate")):
        result = estimate_of(family, name, batch)
        assert (result.low, result.high, result.over) == (None, None, None)


# ----------------------------------------------------------------------------------- the edges


@pytest.mark.parametrize("n_runs", [2, 5])
@pytest.mark.parametrize("n_examples", [1, 10, 1000])
def test_no_flip_at_all_leaves_an_exact_upper_bound(n_runs, n_examples):
    """U = 0: [0, 1 - .025^(1/n)], as for no event in n tries."""
    batch = Batch(np.ones((n_runs, n_examples), dtype=int), n_classes=2)

    result = estimate_of(Flips, "flip_rate", batch)

    assert (result.value, result.low) == (0, 0)
    assert result.high == pytest.approx(1 - 0.025 ** (1 / n_examples), rel=1e-12)
    assert result.high == pytest.approx(stats.beta.ppf(0.975, 1, n_examples), rel=1e-9)
    assert_interval(result, oracles.slow_flip_rate_interval(batch.predictions))


@pytest.mark.parametrize("n_flips", [1, 8, 40])
def test_rare_flips_of_many_runs_have_a_width(n_flips):
    """A flip rate below half an example is still uncertain."""
    predictions = np.zeros((50, 5000), dtype=int)
    predictions[7, :n_flips] = 1

    result = estimate_of(Flips, "flip_rate", Batch(predictions, n_classes=2))

    assert result.low < 0.8 * result.value
    assert result.high > 1.2 * result.value


def in_turn(n_runs, n_flips, n_examples):
    """Runs of which one differs on each of the first examples, all equally often."""
    predictions = np.zeros((n_runs, n_examples), dtype=int)
    places = np.arange(n_flips)
    predictions[places % n_runs, places] = 1
    return Batch(predictions, n_classes=2, labels=np.zeros(n_examples, dtype=int))


@pytest.mark.parametrize("n_runs", [3, 4, 10])
def test_runs_that_flip_equally_often_have_the_interval_over_examples(n_runs):
    """Otherwise the runs have no variance, and that of the examples is all counted as theirs."""
    mean = statistic_of(Flips, "flip_rate", in_turn(n_runs, 60, 600))
    assert np.ptp(mean.without) == 0.0
    assert mean.interaction_variance > 0.0

    result, alone = estimate(mean), estimate(replace(mean, without=None))

    assert (result.low, result.high) == (alone.low, alone.high)
    assert (result.over, alone.over) == ("runs × examples", "examples")
    assert result.low < 0.9 * result.value < 1.1 * result.value < result.high


@pytest.mark.parametrize(
    ("family", "name", "value"), [(Flips, "flip_rate", 2 / 3), (Accuracy, "accuracy", 2 / 3)]
)
def test_the_same_value_on_all_examples_has_an_exact_bound(family, name, value):
    """With 97.5 % confidence at most 1 - .025^(1/30) of other examples have another value."""
    result = estimate_of(family, name, in_turn(3, 30, 30))

    others = 1 - 0.025 ** (1 / 30)
    assert result.value == pytest.approx(value)
    assert (result.low, result.high) == pytest.approx(
        (value * (1 - others), value + (1 - value) * others), rel=1e-12
    )
    assert result.over == "examples"


def test_one_labeled_example_has_an_interval_over_runs_alone():
    """Eight of ten runs are right on it; other examples are unknown."""
    predictions = np.array([[0]] * 8 + [[1]] * 2)

    result = estimate_of(
        Accuracy, "accuracy", Batch(predictions, n_classes=2, labels=np.array([0]))
    )

    assert result.over == "runs"
    assert result.low < 0.8 < result.high


@pytest.mark.parametrize("label", [0, 1])
def test_accuracy_of_0_or_1_has_an_exact_bound(label):
    """Accuracy 1 of 50 examples: [.025^(1/50), 1] = [0.929, 1]; accuracy 0 is the mirror image."""
    labels = np.full(50, label)
    batch = Batch(np.ones((4, 50), dtype=int), n_classes=2, labels=labels)

    result = estimate_of(Accuracy, "accuracy", batch)

    ends = (0.025 ** (1 / 50), 1) if label else (0, 1 - 0.025 ** (1 / 50))
    assert result.value == label
    assert (result.low, result.high) == pytest.approx(ends, rel=1e-12)


def test_bound_is_in_the_unit_of_the_metric():
    """Six runs of three classes reach ln 3 at most, so the bound is ln 3·(1 - .025^(1/n))."""
    batch = Batch(np.ones((6, 20), dtype=int), n_classes=3)

    result = estimate_of(Entropy, "label_entropy", batch)

    assert result.high == pytest.approx(math.log(3) * (1 - 0.025 ** (1 / 20)), rel=1e-12)


@pytest.mark.parametrize(("n_runs", "n_classes"), [(2, 2), (2, 10), (4, 2), (6, 3)])
def test_the_largest_possible_entropy_leaves_a_lower_bound(n_runs, n_classes):
    """Maximal entropy on every example is still uncertain: low < value.

    Two runs of ten classes reach ln 2; the flip rate of the same data gets the exact bound.
    """
    answers = np.arange(n_runs) % min(n_runs, n_classes)
    batch = Batch(np.repeat(answers[:, None], 50, axis=1), n_classes=n_classes)

    result = estimate_of(Entropy, "label_entropy", batch)

    reach = math.log(min(n_runs, n_classes)) * (1 - 0.025 ** (1 / 50))
    assert result.low == pytest.approx(result.value - reach)
    assert result.high == pytest.approx(result.value)


def test_zero_without_a_largest_value_has_no_interval():
    """A KL divergence of 0 has no upper bound."""
    mean = MeanOverExamples(0.0, 10, np.zeros(3), 0.0, 0.0)

    assert estimate(mean) == Estimate(0.0)


def test_no_interval_exceeds_the_largest_value():
    """The upper end of three runs would be a flip rate of 120 %."""
    predictions = np.array([[0] * 10, [0] * 10, [1] * 9 + [0]])

    result = estimate_of(Flips, "flip_rate", Batch(predictions, n_classes=2))

    assert result.high == 1.0


@pytest.mark.parametrize(
    ("family", "name"),
    [(Calibration, "ece_corrected"), (Calibration, "mce"), (Flips, "net_flip_rate")],
)
def test_shares_over_runs_stay_below_one(family, name):
    """ECE, MCE and net flips are shares, so that an upper end of 500 % is absurd."""
    for seed in range(5):
        for n_runs in (2, 3):
            result = estimate_of(family, name, study(n_runs, seed=seed, n_examples=30))
            assert result.high is None or result.high <= 1.0


# --------------------------------------------------------------------- bias of the few runs


def test_bias_left_moves_value_and_interval():
    """The value is inside its interval, which is wider by the error of the extrapolation."""
    corrected = statistic_of(Entropy, "label_entropy_corrected", study(5, seed=3))
    assert corrected.bias_left > 0

    plain = estimate(replace(corrected, bias_left=0.0, extrapolated=0.0))
    shifted = estimate(corrected)

    assert shifted.value == pytest.approx(plain.value + corrected.bias_left, rel=1e-12)
    assert shifted.low < shifted.value < shifted.high
    assert shifted.high / shifted.low > plain.high / plain.low


def test_bias_left_by_hand():
    """Without any variance: center 1 + 0.4, residual bias ln(1 + 0.6·0.5/1.4)."""
    mean = MeanOverExamples(1.0, 10, np.ones(5), 0.0, 0.0, bias_left=0.4, extrapolated=0.5)

    result = estimate(mean)

    assert EXTRAPOLATION_ERROR == 0.6
    assert result.value == pytest.approx(1.4)
    assert result.high == pytest.approx(1.4 * (1 + 0.3 / 1.4))
    assert result.low == pytest.approx(1.4 / (1 + 0.3 / 1.4))


@pytest.mark.parametrize("n_runs", [2, 3, 5, 10])
def test_coin_tosses_have_their_corrected_entropy_in_its_interval(n_runs):
    """The jackknife of an even split exceeds ln 2; the interval must contain it nevertheless."""
    predictions = np.random.default_rng(4).integers(0, 2, (n_runs, 500))

    result = estimate_of(Entropy, "label_entropy_corrected", Batch(predictions, n_classes=2))

    assert result.low <= result.value <= result.high


# ------------------------------------------------------------------------- spreads over runs


@pytest.mark.parametrize("n_runs", [10, 11, 30])
@pytest.mark.parametrize("shape", ["normal", "skewed", "heavy"])
def test_from_ten_runs_on_the_spread_has_bonetts_interval(n_runs, shape):
    """Written from the paper (CSDA 50:775), once more with scipy's trimmed mean."""
    rng = np.random.default_rng(5)
    draw = {"normal": rng.normal, "skewed": rng.exponential, "heavy": rng.standard_cauchy}[shape]
    values = 0.8 + 0.01 * draw(size=n_runs)

    result = estimate(SpreadOverRuns(values))

    assert result.over == "runs"
    assert result.value == pytest.approx(oracles.slow_sd(values), rel=1e-12)
    assert_interval(result, oracles.slow_bonett_interval(values))
    assert_interval(result, bonett_with_scipy(values))


def bonett_with_scipy(values):
    """exp[ln(c·s²) ± z·se] for the variance, se = c·√((γ₄ - (n-3)/n)/(n-1)), c = n/(n-z)."""
    n, z = len(values), stats.norm.ppf(0.975)
    middle = stats.trim_mean(values, 1 / (2 * math.sqrt(n - 4)))
    kurtosis = n * ((values - middle) ** 4).sum() / (((values - values.mean()) ** 2).sum()) ** 2
    c = n / (n - z)
    error = c * math.sqrt((kurtosis - (n - 3) / n) / (n - 1))
    variance = np.var(values, ddof=1)
    return tuple(math.sqrt(c * variance * math.exp(sign * z * error)) for sign in (-1, 1))


def normal_ends_with_scipy(n_runs, tail=0.025):
    """Ends for normal values, as multiples of their standard deviation."""
    quantiles = stats.chi2.ppf([1 - tail, tail], n_runs - 1)
    return np.sqrt((n_runs - 1) / quantiles)


@pytest.mark.parametrize("n_runs", [5, 7, 9])
def test_below_ten_runs_the_spread_has_a_limited_interval_of_bonett(n_runs):
    """Both ends are 1.6 times as far as those of normal values, or closer."""
    for seed in range(20):
        values = np.random.default_rng(seed).standard_t(3, n_runs)
        value, limits = values.std(ddof=1), normal_ends_with_scipy(n_runs) ** 1.6
        low, high = bonett_with_scipy(values)

        result = estimate(SpreadOverRuns(values))

        assert result.over == "runs"
        assert_interval(result, (max(low, value * limits[0]), min(high, value * limits[1])))


@pytest.mark.parametrize("tail", [0.005, 0.025])
def test_the_spread_of_five_normal_runs_is_within_twice_the_width_of_chi_square(tail):
    """An accidental near-tie of the other four runs made it up to ten times as wide."""
    low, high = normal_ends_with_scipy(5, tail)
    runs = np.random.default_rng(3).standard_normal((200, 5))
    runs[0] = 0.0, 0.001, 0.002, 0.003, 1.0

    for values in runs:
        result = estimate(SpreadOverRuns(values), Level(tail=tail))
        assert np.log(result.high / result.low) <= 2 * np.log(high / low)


def test_a_forecast_of_the_spread_is_shorter_by_the_root_of_its_share():
    """On the log scale, where the limits for few runs decide both ends."""
    values = np.array([0.0, 0.01, 0.02, 0.03, 1.0])
    level = Level(run_share=0.25)
    whole, half = (estimate(SpreadOverRuns(values), x) for x in (PLAIN, level))

    assert np.log(half.high / half.value) == pytest.approx(np.log(whole.high / whole.value) / 2)


@pytest.mark.parametrize("n_runs", [2, 3, 4])
def test_below_five_runs_the_spread_has_no_interval(n_runs):
    """It would span orders of magnitude."""
    result = estimate(SpreadOverRuns(np.linspace(0.7, 0.8, n_runs)))

    assert result.value > 0
    assert (result.low, result.high, result.over) == (None, None, None)


@pytest.mark.parametrize("n_runs", [2, 3, 9, 10, 30])
@pytest.mark.parametrize("value", [0.0, 0.05, 0.1, 0.83])
def test_equal_values_have_no_spread_and_no_interval(n_runs, value):
    """Exactly 0: a report must not print ± 1e-17."""
    assert estimate(SpreadOverRuns(np.full(n_runs, value))) == Estimate(0.0)


@pytest.mark.parametrize("n_runs", [5, 9])
def test_spread_caused_by_one_run_has_no_interval_below_ten_runs(n_runs):
    """Without that run there is no spread, and its logarithm is unbounded."""
    values = np.full(n_runs, 0.8)
    values[0] = 0.7

    result = estimate(SpreadOverRuns(values))

    assert result.value > 0
    assert result.low is None


@pytest.mark.parametrize("n_runs", [5, 12])
def test_the_excess_takes_the_known_part_off_both_ends(n_runs):
    """√max(0, s² - known²) of the value and of each end."""
    values = np.random.default_rng(7).normal(0.8, 0.02, n_runs)
    spread = estimate(SpreadOverRuns(values))
    known = (spread.low + spread.value) / 2

    result = estimate(ExcessSpread(values, known=known))

    assert result.value == pytest.approx(math.sqrt(spread.value**2 - known**2))
    assert result.low == 0.0
    assert result.high == pytest.approx(math.sqrt(spread.high**2 - known**2))
    assert result.over == "runs"


def test_no_excess_is_zero_up_to_what_the_spread_may_be():
    """No excess is shown, but an upper limit is."""
    values = np.random.default_rng(8).normal(0.8, 0.01, 10)
    spread = estimate(SpreadOverRuns(values))

    result = estimate(ExcessSpread(values, known=spread.value * 1.1))

    assert (result.value, result.low) == (0, 0)
    assert result.high > 0


def test_the_excess_of_equal_values_has_no_interval():
    """Neither has their spread."""
    assert estimate(ExcessSpread(np.full(5, 0.5), known=0.1)) == Estimate(0.0)


# --------------------------------------------------------------------- means over runs, pairs


@pytest.mark.parametrize("n_runs", [3, 5, 20])
def test_a_mean_over_runs_has_students_interval(n_runs):
    """As `scipy.stats.t.interval` gives it; shares do not fall below 0."""
    values = np.random.default_rng(9).uniform(0.05, 0.15, n_runs)

    result = estimate(MeanOverRuns(values))

    low, high = stats.t.interval(0.95, n_runs - 1, loc=values.mean(), scale=stats.sem(values))
    assert result.over == "runs"
    assert result.low == pytest.approx(max(low, 0.0), rel=ROUNDING)
    assert result.high == pytest.approx(high, rel=ROUNDING)


def test_pairs_that_do_not_differ_have_no_interval():
    """Equal class shares in all runs."""
    assert estimate(MeanOverPairs(np.zeros((4, 4)), floor=0.1)) == Estimate(0.0)


def test_pairs_with_a_run_left_out_are_at_least_the_floor():
    """One run causes all distances; with it left out, ln 0 becomes the logarithm of the floor."""
    matrix = np.zeros((4, 4))
    matrix[0, 1:] = matrix[1:, 0] = 0.2

    result = estimate(MeanOverPairs(matrix, floor=0.005))

    left_out = np.log([0.005, 0.4 / 3, 0.4 / 3, 0.4 / 3])
    half_width = stats.t.ppf(0.975, 3) * math.sqrt(3 * np.var(left_out))
    assert result.value == pytest.approx(0.1)
    assert result.low == pytest.approx(0.1 * math.exp(-half_width), rel=ROUNDING)


# -------------------------------------------------------------------------- small parts, words


def test_jackknife_variance_of_a_mean_is_its_squared_standard_error():
    """The textbook case: leaving one value out of a mean."""
    values = np.random.default_rng(10).normal(size=12)
    left_out = np.array([rest.mean() for rest in oracles.slow_deletions(values)])

    assert jackknife_variance(left_out) == pytest.approx(stats.sem(values) ** 2, rel=ROUNDING)


def test_a_figure_has_no_interval():
    """There is no population value to enclose."""
    assert estimate(ValueOnly(0.31)) == Estimate(0.31, None, None, None)
    for name in ("ambiguity", "discrepancy"):
        assert estimate_of(Flips, name, study(5)).low is None


def test_text_of_an_estimate_says_what_it_is_over():
    """If it has an interval."""
    text = "0.0895 [0.057, 0.14] over runs"

    assert str(Estimate(0.0895, 0.057, 0.14, "runs")) == text
    assert str(Estimate(0.31)) == "0.31"


def test_a_value_that_is_not_a_statistic_is_refused():
    """A new kind of statistic must register its interval."""
    with pytest.raises(TypeError):
        estimate(0.5)


def test_root_of_a_mean_without_interval_has_none():
    """The mean is 0 and has no largest value."""
    mean = MeanOverExamples(0.0, 10, None, 0.0, 0.0)

    assert estimate(RootOfMean(mean, divisor=10)) == Estimate(0.0)


# ------------------------------------------------------------------------------ plausibility


ALL_FIGURES = [
    (family, name)
    for family in (Flips, Entropy, Accuracy, Confidence, Divergence, Calibration, Scores)
    for name in family.figures
]


@pytest.mark.parametrize(("family", "name"), ALL_FIGURES)
@pytest.mark.parametrize("n_runs", [2, 3, 8, 15])
def test_intervals_contain_their_value(family, name, n_runs):
    """And their ends differ: no figure is certain."""
    result = estimate_of(family, name, study(n_runs, n_examples=200, seed=n_runs))

    if result.low is not None:
        assert 0 <= result.low <= result.value <= result.high
        assert result.low < result.high


@pytest.mark.parametrize(
    ("family", "name"),
    [
        (Flips, "flip_rate"),
        (Flips, "net_flip_rate"),
        (Entropy, "label_entropy_corrected"),
        (Accuracy, "accuracy"),
        (Accuracy, "accuracy_sd"),
        (Confidence, "probability_sd"),
        (Calibration, "ece_corrected"),
    ],
)
def test_fewer_runs_give_wider_intervals(family, name):
    """Relative widths, as the median of ten studies."""
    widths = []
    for n_runs in (40, 12, 5):
        results = [estimate_of(family, name, study(n_runs, seed=seed)) for seed in range(10)]
        widths.append(np.median([(x.high - x.low) / x.value for x in results]))

    assert widths == sorted(widths)


def test_fewer_examples_give_wider_intervals():
    """Widths on the log scale, as the median of ten studies."""
    widths = []
    for n in (1000, 100, 20):
        studies = [study(12, n_examples=n, seed=seed) for seed in range(10)]
        results = [estimate_of(Flips, "flip_rate", batch) for batch in studies]
        widths.append(np.median([math.log(x.high / x.low) for x in results]))

    assert widths == sorted(widths)


@pytest.mark.parametrize("run_sd", [0.2, 1.0])
def test_a_two_way_bootstrap_agrees_from_many_runs_on(run_sd):
    """Resampled runs and examples, without pairs of a run with its own copy.

    With 40 runs the half width on the log scale is that of the closed form to 15 %: 400 draws give
    an sd to 3.5 %, and a bootstrap of 40 runs splits the variance a little differently.
    """
    rng = np.random.default_rng(11)
    batch = Simulation(n_runs=40, n_examples=300, effect="threshold", run_sd=run_sd).draw(rng)
    differ = batch.predictions[:, None] != batch.predictions[None, :]

    draws = []
    for _ in range(400):
        examples = np.bincount(rng.integers(0, 300, 300), minlength=300)
        runs = np.bincount(rng.integers(0, 40, 40), minlength=40)
        weights = np.outer(runs, runs)
        np.fill_diagonal(weights, 0)
        draws.append((weights * (differ @ examples)).sum() / weights.sum() / 300)

    result = estimate_of(Flips, "flip_rate", batch)
    half_width = math.log(result.high / result.low) / 2
    assert half_width == pytest.approx(1.96 * np.std(np.log(draws)), rel=0.15)


def test_a_spread_of_shares_is_at_most_a_half():
    """One run is far from four others: the jackknife alone would give hundreds."""
    values = np.array([0.1, 0.1001, 0.1002, 0.1, 0.9])

    result = estimate(SpreadOverRuns(values, largest=1.0))

    assert estimate(SpreadOverRuns(values)).high > 1
    assert result.high == 0.5
    assert result.low < result.value < result.high


def test_looks_widen_means_over_pairs():
    """Both ends by the lost degree of freedom; the upper end more if a few runs flip most."""
    look = Level(is_of_pairs=True)
    even, skewed = 0.1 * np.exp(np.linspace(-0.1, 0.1, 9)), np.r_[np.full(8, 0.102), 0.084]

    def widths(without, level):
        figure = MeanOverExamples(0.1, 10_000, without, 0.0, 0.0)
        interval = estimate(figure, level)
        return np.log([0.1 / interval.low, interval.high / 0.1])

    factors = widths(even, look) / widths(even, PLAIN)
    upward = widths(skewed, look) / widths(skewed, PLAIN)

    assert factors == pytest.approx(np.sqrt(8 / 7), rel=1e-6)
    assert upward[0] == pytest.approx(np.sqrt(8 / 7), rel=1e-6)
    assert upward[1] > 1.5


# ------------------------------------------------------- rates and means of scores


def rate(values, *, scale="logit", n_clusters=None, weights=None):
    """The rate of trials, from one share of passes per example."""
    sums = ExampleSums(shape=Shape())
    shares = ExampleValues(np.asarray(values, dtype=np.float64), None, weights=weights)
    sums.update(shares)
    mean = of_trials(sums.mean_over_examples(scale=scale, largest=1.0, is_count=scale != "linear"))
    mean = replace(mean, is_small=True)
    if n_clusters is not None:
        gaps = np.asarray(values) - mean.value
        residuals = Residuals(len(gaps), gaps.reshape(n_clusters, -1).sum(axis=1), np.zeros((0, 0)))
        mean = clustered(mean, residuals)
    return mean


def korn_graubard(mean, variance, n_drawn, tail=0.025):
    """The bounds of Clopper and Pearson for the effective number of answers."""
    quantiles = stats.norm.ppf(tail), stats.t.ppf(tail, n_drawn - 1)
    n = mean * (1 - mean) / variance * (quantiles[0] / quantiles[1]) ** 2
    x, alike = mean * n, tail ** (1 / n_drawn)
    low, high = stats.beta.ppf(tail, x, n - x + 1), stats.beta.ppf(1 - tail, x + 1, n - x)
    return min(low, alike), max(high, 1 - alike)


@pytest.mark.parametrize("scale", ["log", "logit"])
@pytest.mark.parametrize("tail", [0.0005, 0.015, 0.025])
def test_a_rate_has_the_interval_of_korn_and_graubard(scale, tail):
    """Near 0, in the middle and near 1, on both sides."""
    rng = np.random.default_rng(4)
    for share in (0.02, 0.3, 0.97):
        passed = rng.binomial(3, rng.beta(5 * share, 5 * (1 - share), 80)) / 3
        variance = passed.var(ddof=1) / 80

        result = estimate(rate(passed, scale=scale), Level(tail=tail, example_tail=tail))

        assert_interval(result, korn_graubard(passed.mean(), variance, 80, tail), rel=1e-9)


def test_a_rate_of_clusters_counts_clusters():
    """Their totals give the variance, and their number the degrees of freedom."""
    passed = np.random.default_rng(5).binomial(3, 0.9, 60) / 3
    totals = (passed - passed.mean()).reshape(12, 5).sum(axis=1)
    variance = 12 / 11 * np.square(totals).sum() / 60**2

    result = estimate(rate(passed, n_clusters=12))

    assert result.over == "clusters"
    assert_interval(result, korn_graubard(passed.mean(), variance, 12), rel=1e-9)


def test_a_rate_with_weights_counts_examples_of_equal_weight():
    """Kish's number gives the degrees of freedom."""
    rng = np.random.default_rng(6)
    passed, weights = rng.binomial(3, 0.8, 60) / 3, rng.exponential(size=60)
    n = weights.sum() ** 2 / np.square(weights).sum()
    mean = np.average(passed, weights=weights)
    residuals = weights * (passed - mean)
    variance = n / (n - 1) * np.square(residuals).sum() / weights.sum() ** 2

    result = estimate(rate(passed, weights=weights))

    assert_interval(result, korn_graubard(mean, variance, n), rel=1e-9)


def test_a_rate_at_a_look_has_a_smaller_tail_for_the_noise_of_trials():
    """The part that is noise gets the quantile of the runs, the rest that of the examples."""
    passed = np.random.default_rng(7).binomial(3, 0.8, 50) / 3
    level = Level(tail=0.0025, example_tail=0.015)
    mean = replace(rate(passed), interaction_variance=0.4 * rate(passed).example_variance)
    quantiles = [stats.t.ppf(1 - tail, 49) ** 2 for tail in (0.015, 0.0025)]
    square = mean.example_variance * (0.6 * quantiles[0] + 0.4 * quantiles[1])
    n = stats.norm.ppf(0.985) ** 2 * mean.value * (1 - mean.value) / square

    result = estimate(mean, level)

    x = mean.value * n
    assert_interval(
        result,
        (stats.beta.ppf(0.015, x, n - x + 1), stats.beta.ppf(0.985, x + 1, n - x)),
        rel=1e-9,
    )


def test_a_rate_over_runs_has_both_variances():
    """Left-out rates on the logit scale, as for accuracies."""
    passed = np.random.default_rng(8).random((6, 40)) < np.linspace(0.6, 1.0, 40)
    sums = ExampleSums()
    sums.update(mean_over_runs(passed))
    mean = replace(
        sums.mean_over_examples(scale="logit", largest=1.0, is_count=True), is_small=True
    )
    p, slope = mean.value, 1 / (mean.value * (1 - mean.value))
    logits = np.log(mean.without) - np.log1p(-mean.without)
    runs = stats.t.ppf(0.975, 5) ** 2 * 5 * logits.var()
    square = stats.t.ppf(0.975, 39) ** 2 * slope**2
    drawn = max(mean.example_variance - mean.interaction_variance, 0.0)
    width = max(runs + square * drawn, square * mean.example_variance)
    n = stats.norm.ppf(0.975) ** 2 * slope / width

    result = estimate(mean)

    x = p * n
    assert_interval(
        result, (stats.beta.ppf(0.025, x, n - x + 1), stats.beta.ppf(0.975, x + 1, n - x)), rel=1e-9
    )


@pytest.mark.parametrize("n_trials", [1, 3, 20])
def test_each_failure_lowers_the_end_of_a_rate(n_trials):
    """Of single trials of different tasks; none of them leaves the exact bound."""
    lows = []
    for n_failing in range(5):
        passed = np.ones(300)
        passed[:n_failing] -= 1 / n_trials
        lows.append(estimate(rate(passed)).low)

    assert lows[0] == pytest.approx(0.025 ** (1 / 300))
    assert lows == sorted(lows, reverse=True)
    assert min(lows) > 0.95


@pytest.mark.parametrize("odd", [0.0, 0.5])
@pytest.mark.parametrize("n_examples", [20, 300])
def test_one_odd_score_leaves_a_mean_in_its_range(odd, n_examples):
    """Narrow, and no closer to 1 than if all scores were 1."""
    scores = np.ones(n_examples)
    scores[0] = odd

    result = estimate(rate(scores, scale="linear"))
    mirrored = estimate(rate(1 - scores, scale="linear"))

    # The exact bound for one failure among as many answers.
    assert (
        stats.beta.ppf(0.025, n_examples - 1, 2) * 0.999 <= result.low < 0.025 ** (1 / n_examples)
    )
    assert scores.mean() < result.high <= 1.0
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - result.high, 1 - result.low))


def test_scores_in_the_middle_have_students_interval():
    """The range has no part in it."""
    scores = np.random.default_rng(9).normal(0.5, 0.05, 60)
    # The tails are light, so that the variance has all degrees of freedom.
    scores = 0.5 + 0.05 * (np.argsort(np.argsort(scores)) - 29.5) / 30

    result = estimate(rate(scores, scale="linear"))

    assert_interval(result, stats.t.interval(0.95, 59, scores.mean(), stats.sem(scores)), rel=1e-9)


def test_scores_of_clusters_stay_in_their_range():
    """One odd cluster of twelve."""
    scores = np.ones(60)
    scores[:5] = 0.2

    result = estimate(rate(scores, scale="linear", n_clusters=12))

    assert stats.beta.ppf(0.025, 11, 2) < result.low < scores.mean() < result.high <= 1.0


# -------------------------------------------------------------------------------------- levels


def test_a_divided_level_has_the_same_share_of_both_tails():
    level = Level(tail=0.01, example_tail=0.02, is_of_pairs=True, run_share=0.5)

    divided = level.divided(4)

    assert divided == Level(tail=0.0025, example_tail=0.005, is_of_pairs=True, run_share=0.5)
    assert (PLAIN.confidence, level.confidence) == pytest.approx((0.95, 0.98))


def test_quantiles_of_a_forecast_are_shorter_by_the_root_of_its_share():
    level = Level(tail=0.01, run_share=0.25)

    assert level.student(8) == pytest.approx(stats.t.isf(0.01, 7) / 2)


@pytest.mark.parametrize(("value", "end"), [(0.02, "low"), (0.98, "high")])
def test_an_interval_of_bounded_numbers_stays_in_their_range(value, end):
    """Runs that differ widely would take it below 0, or above 1."""
    mean = MeanOverExamples(
        value, 1000, value + np.array([-0.01, 0.01, 0.0]), 1e-6, 0.0, scale="linear", largest=1.0
    )

    result = estimate(mean)

    assert getattr(result, end) == (0.0 if end == "low" else 1.0)
    assert result.low < value < result.high


def test_three_judges_have_two_degrees_of_freedom():
    """Their jackknife variance is wide of that of examples, which is nearly 0."""
    without = np.array([0.4, 0.5, 0.6])
    judges = Judges(without, interaction_variance=0.0)
    mean = MeanOverExamples(0.5, 10_000, None, 1e-12, 0.0, scale="linear", judges=judges)

    result = estimate(mean)

    error = math.sqrt(2 * np.var(without))
    assert result.high - result.value == pytest.approx(stats.t.isf(0.025, 2) * error)
    assert result.over == "judges × examples"
