import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from seedproof.metrics import FAMILIES
from seedproof.metrics.accuracy import Accuracy
from seedproof.metrics.batch import Batch
from seedproof.metrics.calibration import Calibration
from seedproof.metrics.confidence import Confidence
from seedproof.metrics.divergence import Divergence
from seedproof.metrics.entropy import Entropy
from seedproof.metrics.flips import Flips
from seedproof.metrics.scores import Scores
from seedproof.metrics.statistic import (
    ExcessSpread,
    MeanOverExamples,
    MeanOverPairs,
    MeanOverRuns,
    RootOfMean,
    SpreadOverRuns,
    ValueOnly,
)
from seedproof.stats.intervals import (
    BIAS_DOUBT,
    BIAS_TAKEN,
    Estimate,
    estimate,
    jackknife_variance,
    student,
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


def assert_interval(found, expected, *, rel=ROUNDING, largest=math.inf):
    """The ends of an interval are the expected ones; the upper one is cut at the largest value."""
    low, high = expected
    assert (found.low, found.high) == pytest.approx((low, min(high, largest)), rel=rel)


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

# Family, figure, which data the runs have, and the slow value of each example from it.
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
    """Totals with one run left out are what starting over without it gives."""
    family, attribute, slow = TWO_WAY[name]
    batch = study(n_runs)

    found = estimate_of(family, name, batch)

    expected = oracles.slow_two_way_interval(
        lambda data: slow(data, batch.labels), getattr(batch, attribute)
    )
    assert found.over == "runs × examples"
    assert_interval(found, expected, largest=LARGEST.get(name, math.inf))


@pytest.mark.parametrize("n_runs", [3, 5, 12])
def test_accuracy_equals_deleting_each_run_on_the_logit_scale(n_runs):
    """Symmetric in the log odds, so that neither end leaves [0, 1]."""
    batch = study(n_runs)

    found = estimate_of(Accuracy, "accuracy", batch)

    expected = oracles.slow_two_way_interval(
        lambda data: oracles.slow_accuracy(data, batch.labels), batch.predictions, scale="logit"
    )
    assert found.over == "runs × examples"
    assert_interval(found, expected)


@pytest.mark.parametrize("n_runs", [3, 5, 12])
def test_independent_sd_is_the_root_of_an_interval_of_variances(n_runs):
    """√(mean/n) is monotone: both ends are carried through it."""
    batch = study(n_runs)

    found = estimate_of(Accuracy, "accuracy_sd_independent", batch)

    low, high = oracles.slow_two_way_interval(
        lambda data: slow_variances(data, batch.labels), batch.predictions
    )
    high = min(high, 0.5)  # one of two runs is right
    assert_interval(found, (math.sqrt(low / 40), math.sqrt(high / 40)))


@pytest.mark.parametrize("n_runs", [3, 5, 12])
def test_corrected_entropy_without_bias_left_equals_deleting_each_run(n_runs):
    """Deleting a run from a jackknife deletes two runs at a time."""
    batch = study(n_runs, n_examples=20)
    corrected = statistic_of(Entropy, "label_entropy_corrected", batch)

    found = estimate(replace(corrected, bias_left=0.0, largest=None))

    expected = oracles.slow_two_way_interval(
        oracles.slow_label_entropy_corrected, batch.predictions
    )
    assert_interval(found, expected)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_runs", [3, 4, 10, 25])
def test_flip_rate_equals_the_formula_of_the_disagreement_matrix(n_runs, seed):
    """U·exp(±w) with V_run from the row means of D, and V_ex and V_int from label counts."""
    batch = study(n_runs, seed=seed)

    found = estimate_of(Flips, "flip_rate", batch)

    assert_interval(found, oracles.slow_flip_rate_interval(batch.predictions), largest=1.0)


def test_a_flip_rate_without_one_run_is_at_least_half_an_example():
    """Without the run that makes every flip none is left: ln 0 becomes ln(1/2n), not minus ∞."""
    predictions = np.zeros((4, 30), dtype=int)
    predictions[0, :6] = 1

    found = estimate_of(Flips, "flip_rate", Batch(predictions, n_classes=2))

    assert found.low > 0
    assert_interval(found, oracles.slow_flip_rate_interval(predictions), largest=1.0)


def test_net_flip_rate_equals_deleting_each_run():
    """Over runs, given the examples: jackknife of the logarithm with Student's t."""
    batch = study(6, n_examples=200)

    found = estimate_of(Flips, "net_flip_rate", batch)

    expected = oracles.slow_log_interval_over_runs(oracles.slow_net_flip_rate, batch.predictions)
    assert found.over == "runs"
    assert_interval(found, expected)


@pytest.mark.parametrize("name", ["predictive_kl", "predictive_js", "probability_sd"])
def test_small_values_keep_the_variance_of_the_runs(name):
    """Half an example is a floor for counts; a divergence of 0.001 of 40 examples is no count.

    With values below 1/(2n) the runs' part must not vanish: the interval is the loop's.
    """
    family, attribute, slow = TWO_WAY[name]
    rng = np.random.default_rng(1)
    raised = np.exp(
        rng.normal(0, 1, (40, 3))
        + 0.02 * rng.normal(0, 1, (6, 1, 1)) * rng.normal(0, 1, (6, 40, 3))
    )
    batch = Batch.from_probs(raised / raised.sum(axis=2, keepdims=True), np.zeros(40, dtype=int))

    found = estimate_of(family, name, batch)

    expected = oracles.slow_two_way_interval(
        lambda data: slow(data, batch.labels), getattr(batch, attribute)
    )
    assert found.value < 1 / 80
    # Divergences this small are differences of sums of order one: fewer digits are left.
    assert_interval(found, expected, rel=1e-6)


def test_a_spread_without_the_run_that_makes_it_is_at_least_half_an_example_of_it():
    """All runs but one say the same: ln 0 becomes ln(U/2n), so the interval is wide but finite."""
    positive = np.full((5, 20), 0.6)
    positive[0] = np.linspace(0.65, 0.9, 20)
    batch = Batch.from_probs(np.stack([1 - positive, positive], axis=2), np.ones(20, dtype=int))

    found = estimate_of(Confidence, "probability_sd", batch)

    expected = oracles.slow_two_way_interval(
        oracles.slow_probability_sd, positive, smallest=found.value / 40
    )
    assert found.low > 0
    assert_interval(found, expected, largest=math.sqrt(0.5))


def test_the_interval_of_a_spread_scales_with_the_spread():
    """Ten times less spread is the same interval, ten times smaller."""
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


@pytest.mark.parametrize(
    ("family", "name"),
    [
        (Flips, "flip_rate"),
        (Entropy, "label_entropy"),
        (Entropy, "label_entropy_corrected"),
        (Accuracy, "accuracy_sd_independent"),
        (Confidence, "probability_sd"),
        (Divergence, "predictive_kl"),
        (Divergence, "predictive_js"),
    ],
)
def test_with_two_runs_the_interval_is_over_examples(family, name):
    """One pair says nothing about other pairs, and the estimate says so."""
    assert estimate_of(family, name, study(2)).over == "examples"


def test_two_runs_have_the_interval_of_a_mean_over_examples():
    """U·exp(±1.96·√V_ex)."""
    batch = study(2)

    found = estimate_of(Flips, "flip_rate", batch)

    assert_interval(found, oracles.slow_two_way_interval(oracles.slow_flip_rate, batch.predictions))
    rate = found.value
    half_width = 1.959964 * math.sqrt(rate * (1 - rate) / 39) / rate
    assert found.high == pytest.approx(rate * math.exp(half_width), rel=1e-5)


def test_two_runs_have_no_interval_over_runs_alone():
    """Neither a spread nor a distance of class shares can be enclosed from one pair."""
    batch = study(2)

    for family, name in ((Accuracy, "accuracy_sd"), (Flips, "net_flip_rate")):
        found = estimate_of(family, name, batch)
        assert (found.low, found.high, found.over) == (None, None, None)


# ----------------------------------------------------------------------------------- the edges


@pytest.mark.parametrize("n_runs", [2, 5])
@pytest.mark.parametrize("n_examples", [1, 10, 1000])
def test_no_flip_at_all_leaves_an_exact_upper_bound(n_runs, n_examples):
    """U = 0: [0, 1 - .025^(1/n)], as for no event in n tries."""
    batch = Batch(np.ones((n_runs, n_examples), dtype=int), n_classes=2)

    found = estimate_of(Flips, "flip_rate", batch)

    assert (found.value, found.low) == (0, 0)
    assert found.high == pytest.approx(1 - 0.025 ** (1 / n_examples), rel=1e-12)
    assert found.high == pytest.approx(stats.beta.ppf(0.975, 1, n_examples), rel=1e-9)
    assert_interval(found, oracles.slow_flip_rate_interval(batch.predictions))


@pytest.mark.parametrize("n_flips", [1, 8, 40])
def test_rare_flips_of_many_runs_have_a_width(n_flips):
    """A flip rate below half an example is no reason to be certain of it."""
    predictions = np.zeros((50, 5000), dtype=int)
    predictions[7, :n_flips] = 1

    found = estimate_of(Flips, "flip_rate", Batch(predictions, n_classes=2))

    assert found.low < 0.8 * found.value
    assert found.high > 1.2 * found.value


def test_one_labeled_example_has_an_interval_over_runs_alone():
    """Eight of ten runs are right on it; nothing is known of other examples."""
    predictions = np.array([[0]] * 8 + [[1]] * 2)

    found = estimate_of(Accuracy, "accuracy", Batch(predictions, n_classes=2, labels=np.array([0])))

    assert found.over == "runs"
    assert found.low < 0.8 < found.high


@pytest.mark.parametrize("family", FAMILIES)
def test_intervals_of_two_runs_are_over_examples_or_absent(family):
    """One pair of runs says nothing of other pairs."""
    rng = np.random.default_rng(12)
    probs = rng.dirichlet(np.ones(3), size=(2, 40))
    accumulator = family(2, 3)
    accumulator.update(Batch.from_probs(probs, rng.integers(0, 3, 40)))

    over = {estimate(statistic).over for statistic in accumulator.result().values()}

    assert over <= {None, "examples"}


def test_all_right_leaves_an_exact_lower_bound():
    """Accuracy 1 of 50 examples: [.025^(1/50), 1] = [0.929, 1]."""
    batch = Batch(np.ones((4, 50), dtype=int), n_classes=2, labels=np.ones(50, dtype=int))

    found = estimate_of(Accuracy, "accuracy", batch)

    assert (found.value, found.high) == (1, 1)
    assert found.low == pytest.approx(0.025 ** (1 / 50), rel=1e-12)
    assert found.low == pytest.approx(0.929, abs=5e-4)


def test_all_wrong_leaves_an_exact_upper_bound():
    """Accuracy 0 is the mirror image."""
    batch = Batch(np.ones((4, 50), dtype=int), n_classes=2, labels=np.zeros(50, dtype=int))

    found = estimate_of(Accuracy, "accuracy", batch)

    assert (found.value, found.low) == (0, 0)
    assert found.high == pytest.approx(1 - 0.025 ** (1 / 50), rel=1e-12)


def test_the_edge_is_in_the_unit_of_the_metric():
    """Six runs of three classes reach ln 3 at most, so the bound is ln 3·(1 - .025^(1/n))."""
    batch = Batch(np.ones((6, 20), dtype=int), n_classes=3)

    found = estimate_of(Entropy, "label_entropy", batch)

    assert found.high == pytest.approx(math.log(3) * (1 - 0.025 ** (1 / 20)), rel=1e-12)


@pytest.mark.parametrize(("n_runs", "n_classes"), [(2, 2), (2, 10), (4, 2), (6, 3)])
def test_the_largest_possible_entropy_leaves_a_lower_bound(n_runs, n_classes):
    """Every example as disputed as can be is no reason to be certain: low < value.

    Two runs of ten classes reach ln 2; the flip rate of the same data gets the exact bound.
    """
    answers = np.arange(n_runs) % min(n_runs, n_classes)
    batch = Batch(np.repeat(answers[:, None], 50, axis=1), n_classes=n_classes)

    found = estimate_of(Entropy, "label_entropy", batch)

    reach = math.log(min(n_runs, n_classes)) * (1 - 0.025 ** (1 / 50))
    assert found.low == pytest.approx(found.value - reach)
    assert found.high == pytest.approx(found.value)


def test_without_a_largest_value_the_edge_has_no_interval():
    """A KL divergence of 0 could be anything next time."""
    mean = MeanOverExamples(0.0, 10, np.zeros(3), 0.0, 0.0)

    assert estimate(mean) == Estimate(0.0)


def test_no_interval_exceeds_the_largest_value():
    """Three runs know little, but a flip rate of 120 % they exclude."""
    predictions = np.array([[0] * 10, [0] * 10, [1] * 9 + [0]])

    found = estimate_of(Flips, "flip_rate", Batch(predictions, n_classes=2))

    assert found.high == 1.0


@pytest.mark.parametrize(
    ("family", "name"), [(Calibration, "ece"), (Calibration, "mce"), (Flips, "net_flip_rate")]
)
def test_shares_over_runs_stay_below_one(family, name):
    """ECE, MCE and net flips are shares: an upper end of 500 % is not honest but absurd."""
    for seed in range(5):
        for n_runs in (2, 3):
            found = estimate_of(family, name, study(n_runs, seed=seed, n_examples=30))
            assert found.high is None or found.high <= 1.0


# --------------------------------------------------------------------- bias of the few runs


def test_bias_left_moves_the_interval_up():
    """The upper end allows for what few runs have not met yet, and the value stays inside."""
    corrected = statistic_of(Entropy, "label_entropy_corrected", study(5, seed=3))
    assert corrected.bias_left > 0

    plain, shifted = estimate(replace(corrected, bias_left=0.0)), estimate(corrected)

    assert shifted.value == plain.value
    assert shifted.high > plain.high
    assert shifted.low <= shifted.value


def test_bias_left_by_hand():
    """Without any variance: center 1 + 0.75·0.4 = 1.3, doubt ln(1 + 0.4·0.4/1.3)."""
    mean = MeanOverExamples(1.0, 10, np.ones(5), 0.0, 0.0, bias_left=0.4)

    found = estimate(mean)

    assert (BIAS_TAKEN, BIAS_DOUBT) == (0.75, 0.4)
    assert found.high == pytest.approx(1.3 * (1 + 0.16 / 1.3))
    assert found.low == 1.0


@pytest.mark.parametrize("n_runs", [2, 3, 5, 10])
def test_coin_tosses_have_their_corrected_entropy_in_its_interval(n_runs):
    """The jackknife of an even split exceeds ln 2; the interval must hold it all the same."""
    predictions = np.random.default_rng(4).integers(0, 2, (n_runs, 500))

    found = estimate_of(Entropy, "label_entropy_corrected", Batch(predictions, n_classes=2))

    assert found.low <= found.value <= found.high


# ------------------------------------------------------------------------- spreads over runs


@pytest.mark.parametrize("n_runs", [10, 11, 30])
@pytest.mark.parametrize("shape", ["normal", "skewed", "heavy"])
def test_from_ten_runs_on_the_spread_has_bonetts_interval(n_runs, shape):
    """Written from the paper (CSDA 50:775), once more with scipy's trimmed mean."""
    rng = np.random.default_rng(5)
    draw = {"normal": rng.normal, "skewed": rng.exponential, "heavy": rng.standard_cauchy}[shape]
    values = 0.8 + 0.01 * draw(size=n_runs)

    found = estimate(SpreadOverRuns(values))

    assert found.over == "runs"
    assert found.value == pytest.approx(oracles.slow_sd(values), rel=1e-12)
    assert_interval(found, oracles.slow_bonett_interval(values))
    assert_interval(found, bonett_with_scipy(values))


def bonett_with_scipy(values):
    """exp[ln(c·s²) ± z·se] for the variance, se = c·√((γ₄ - (n-3)/n)/(n-1)), c = n/(n-z)."""
    n, z = len(values), stats.norm.ppf(0.975)
    middle = stats.trim_mean(values, 1 / (2 * math.sqrt(n - 4)))
    kurtosis = n * ((values - middle) ** 4).sum() / (((values - values.mean()) ** 2).sum()) ** 2
    c = n / (n - z)
    error = c * math.sqrt((kurtosis - (n - 3) / n) / (n - 1))
    variance = np.var(values, ddof=1)
    return tuple(math.sqrt(c * variance * math.exp(sign * z * error)) for sign in (-1, 1))


@pytest.mark.parametrize("n_runs", [5, 7, 9])
def test_below_ten_runs_the_spread_has_a_jackknife_of_its_logarithm(n_runs):
    """Student's t with R - 1 degrees, by deleting each run in turn."""
    values = np.random.default_rng(6).normal(0.8, 0.01, n_runs)

    found = estimate(SpreadOverRuns(values))

    assert found.over == "runs"
    assert_interval(found, oracles.slow_log_interval_over_runs(oracles.slow_sd, values))


@pytest.mark.parametrize("n_runs", [2, 3, 4])
def test_below_five_runs_the_spread_has_no_interval(n_runs):
    """It would reach over orders of magnitude and say nothing."""
    found = estimate(SpreadOverRuns(np.linspace(0.7, 0.8, n_runs)))

    assert found.value > 0
    assert (found.low, found.high, found.over) == (None, None, None)


@pytest.mark.parametrize("n_runs", [2, 3, 9, 10, 30])
@pytest.mark.parametrize("value", [0.0, 0.1, 0.83])
def test_equal_values_have_no_interval(n_runs, value):
    """The logarithm of no spread is nothing that an interval could be put around."""
    found = estimate(SpreadOverRuns(np.full(n_runs, value)))

    assert (found.low, found.high, found.over) == (None, None, None)


@pytest.mark.parametrize("n_runs", [2, 3, 9, 10, 30])
@pytest.mark.parametrize("value", [0.0, 0.05, 0.1, 0.83])
def test_equal_values_have_no_spread(n_runs, value):
    """Exactly 0: a report should not print ± 1e-17."""
    assert estimate(SpreadOverRuns(np.full(n_runs, value))).value == 0.0


@pytest.mark.parametrize("n_runs", [5, 9])
def test_a_spread_made_by_one_run_has_no_interval_below_ten_runs(n_runs):
    """Without that run there is no spread, and its logarithm is unbounded."""
    values = np.full(n_runs, 0.8)
    values[0] = 0.7

    found = estimate(SpreadOverRuns(values))

    assert found.value > 0
    assert found.low is None


@pytest.mark.parametrize("n_runs", [5, 12])
def test_the_excess_takes_the_known_part_off_both_ends(n_runs):
    """√max(0, s² - known²) of the value and of each end."""
    values = np.random.default_rng(7).normal(0.8, 0.02, n_runs)
    spread = estimate(SpreadOverRuns(values))
    known = (spread.low + spread.value) / 2

    found = estimate(ExcessSpread(values, known=known))

    assert found.value == pytest.approx(math.sqrt(spread.value**2 - known**2))
    assert found.low == 0.0
    assert found.high == pytest.approx(math.sqrt(spread.high**2 - known**2))
    assert found.over == "runs"


def test_no_excess_is_zero_up_to_what_the_spread_may_be():
    """As on SST for ASWA: nothing is shown, but an upper limit is."""
    values = np.random.default_rng(8).normal(0.8, 0.01, 10)
    spread = estimate(SpreadOverRuns(values))

    found = estimate(ExcessSpread(values, known=spread.value * 1.1))

    assert (found.value, found.low) == (0, 0)
    assert found.high > 0


def test_the_excess_of_equal_values_has_no_interval():
    """There is none of the spread either."""
    assert estimate(ExcessSpread(np.full(5, 0.5), known=0.1)) == Estimate(0.0)


# --------------------------------------------------------------------- means over runs, pairs


@pytest.mark.parametrize("n_runs", [3, 5, 20])
def test_a_mean_over_runs_has_students_interval(n_runs):
    """As `scipy.stats.t.interval` gives it; shares do not fall below 0."""
    values = np.random.default_rng(9).uniform(0.05, 0.15, n_runs)

    found = estimate(MeanOverRuns(values))

    low, high = stats.t.interval(0.95, n_runs - 1, loc=values.mean(), scale=stats.sem(values))
    assert found.over == "runs"
    assert found.low == pytest.approx(max(low, 0.0), rel=ROUNDING)
    assert found.high == pytest.approx(high, rel=ROUNDING)


def test_pairs_that_do_not_differ_have_no_interval():
    """Equal class shares in all runs."""
    assert estimate(MeanOverPairs(np.zeros((4, 4)), floor=0.1)) == Estimate(0.0)


def test_pairs_without_one_run_are_at_least_the_floor():
    """One run makes all distances; without it ln 0 becomes the logarithm of the floor."""
    matrix = np.zeros((4, 4))
    matrix[0, 1:] = matrix[1:, 0] = 0.2

    found = estimate(MeanOverPairs(matrix, floor=0.005))

    left_out = np.log([0.005, 0.4 / 3, 0.4 / 3, 0.4 / 3])
    half_width = stats.t.ppf(0.975, 3) * math.sqrt(3 * np.var(left_out))
    assert found.value == pytest.approx(0.1)
    assert found.low == pytest.approx(0.1 * math.exp(-half_width), rel=ROUNDING)


# -------------------------------------------------------------------------- small parts, words


@pytest.mark.parametrize("n_runs", [2, 3, 10, 50])
def test_students_quantile_is_that_of_scipy(n_runs):
    """R - 1 degrees of freedom, 97.5 %."""
    assert student(n_runs) == pytest.approx(stats.t.ppf(0.975, n_runs - 1), rel=1e-9)


def test_jackknife_variance_of_a_mean_is_its_squared_standard_error():
    """The textbook case: leaving one value out of a mean."""
    values = np.random.default_rng(10).normal(size=12)
    left_out = np.array([rest.mean() for rest in oracles.slow_deletions(values)])

    assert jackknife_variance(left_out) == pytest.approx(stats.sem(values) ** 2, rel=ROUNDING)


def test_a_figure_has_no_interval():
    """There is no population value to enclose; low, high and over are None."""
    found = estimate(ValueOnly(0.31))

    assert (found.value, found.low, found.high, found.over) == (0.31, None, None, None)


@pytest.mark.parametrize("name", ["ambiguity", "discrepancy"])
def test_multiplicity_has_no_interval(name):
    """It grows with the number of runs."""
    assert estimate_of(Flips, name, study(5)).low is None


def test_an_estimate_says_what_it_is_over():
    """Every ± says what it is over."""
    text = "0.0895 [0.057, 0.14] over runs"

    assert str(Estimate(0.0895, 0.057, 0.14, "runs")) == text
    assert str(Estimate(0.31)) == "0.31"


def test_something_else_than_a_statistic_is_refused():
    """A new kind of statistic must bring its interval."""
    with pytest.raises(TypeError):
        estimate(0.5)


def test_a_root_of_nothing_has_no_interval():
    """Where the mean has none, its root has none."""
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
def test_estimates_hold_their_value(family, name, n_runs):
    """The value is inside, and the ends differ: no figure is certain."""
    found = estimate_of(family, name, study(n_runs, n_examples=200, seed=n_runs))

    if found.low is not None:
        assert 0 <= found.low <= found.value <= found.high
        assert found.low < found.high


@pytest.mark.parametrize(
    ("family", "name"),
    [
        (Flips, "flip_rate"),
        (Flips, "net_flip_rate"),
        (Entropy, "label_entropy_corrected"),
        (Accuracy, "accuracy"),
        (Accuracy, "accuracy_sd"),
        (Confidence, "probability_sd"),
        (Calibration, "ece"),
    ],
)
def test_fewer_runs_give_wider_intervals(family, name):
    """Relative widths, averaged over ten studies because a single one may be lucky."""
    widths = []
    for n_runs in (40, 12, 5):
        found = [estimate_of(family, name, study(n_runs, seed=seed)) for seed in range(10)]
        widths.append(np.median([(each.high - each.low) / each.value for each in found]))

    assert widths == sorted(widths)


def test_fewer_examples_give_wider_intervals():
    """The examples' part falls with their number."""
    widths = [
        np.median(
            [
                math.log(found.high / found.low)
                for found in (
                    estimate_of(Flips, "flip_rate", study(12, n_examples=n, seed=seed))
                    for seed in range(10)
                )
            ]
        )
        for n in (1000, 100, 20)
    ]

    assert widths == sorted(widths)


@pytest.mark.parametrize("run_sd", [0.2, 1.0])
def test_a_two_way_bootstrap_agrees_from_many_runs_on(run_sd):
    """Resampled runs and examples, without pairs of a run with its own copy.

    With 40 runs the half width on the log scale is that of the closed form to 15 %: 400 draws know
    an sd to 3.5 %, and a bootstrap of 40 runs counts the runs' and the shared part a little
    differently.
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

    found = estimate_of(Flips, "flip_rate", batch)
    half_width = math.log(found.high / found.low) / 2
    assert half_width == pytest.approx(1.96 * np.std(np.log(draws)), rel=0.15)


def test_a_spread_of_shares_is_at_most_a_half():
    """One run far from four others: the jackknife alone would say hundreds."""
    values = np.array([0.1, 0.1001, 0.1002, 0.1, 0.9])

    found = estimate(SpreadOverRuns(values, largest=1.0))

    assert estimate(SpreadOverRuns(values)).high > 1
    assert found.high == 0.5
    assert found.low < found.value < found.high
