import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from seedproof.metrics.batch import Batch
from seedproof.metrics.card import card
from seedproof.metrics.entropy import (
    Entropy,
    label_entropy,
    label_entropy_corrected,
    rarefied_entropy,
)
from seedproof.metrics.entropy_extrapolation import extrapolated_entropy
from seedproof.stats.intervals import estimate
from support import oracles

TRUE_ENTROPY = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))  # 0.562


def votes(*counts):
    """One example whose classes get so many runs each."""
    return np.repeat(np.arange(len(counts)), counts)[:, None]


def agreement_of(predictions):
    """Return the input of the kernels."""
    return Batch(predictions, n_classes=int(predictions.max()) + 1).agreement


def entropy_of(predictions, n_classes=4):
    """The family after one batch."""
    entropy = Entropy(len(predictions), n_classes)
    entropy.update(Batch(predictions, n_classes=n_classes))
    return entropy


def values_of(predictions, n_classes=4):
    """The value of each figure."""
    result = entropy_of(predictions, n_classes).result()
    return {name: estimate(statistic).value for name, statistic in result.items()}


def random_predictions(seed, shape=(6, 80), n_classes=4):
    """Runs that agree with a usual answer on most examples."""
    rng = np.random.default_rng(seed)
    usual = rng.integers(0, n_classes, shape[1])
    return np.where(rng.random(shape) < 0.3, rng.integers(0, n_classes, shape), usual)


def expected_over_studies(kernel, n_runs, shares):
    """Mean of a kernel over all studies of runs that predict 1 with given probabilities."""
    counts = np.arange(n_runs + 1)
    predictions = (np.arange(n_runs)[:, None] < counts).astype(int)
    chance = stats.binom.pmf(counts[:, None], n_runs, shares).mean(axis=1)
    return float(kernel(agreement_of(predictions)).values @ chance)


@pytest.mark.parametrize(("counts", "expected"), [((90, 5, 5), 0.394), ((75, 25), 0.562)])
def test_published_entropies(counts, expected):
    """Findings 2023: 90/5/5 → -(.9 ln .9 + 2·.05 ln .05) = 0.394; 75/25 → 0.562."""
    assert values_of(votes(*counts))["label_entropy"] == pytest.approx(expected, abs=5e-4)


def test_entropy_by_hand():
    """Predictions 0, 0, 1, 1 have entropy ln 2, 0, 1, 2, 3 have ln 4: ln √8 on average.

    The largest entropy is ln R, even if there are more classes.
    """
    predictions = np.array([[0, 0], [0, 1], [1, 2], [1, 3]])

    assert values_of(predictions)["label_entropy"] == pytest.approx(1.5 * math.log(2), rel=1e-14)
    assert values_of(votes(1, 1, 1, 1), 9)["label_entropy"] == pytest.approx(math.log(4))


def test_corrected_entropy_by_hand():
    """2 v 1 of 3 runs: 3·0.6365 - 2·(2·ln 2 + 0)/3 = 0.9853, where ln 2 is a 1 v 1 left over.

    Of two runs it is twice the plug-in: one run alone has no entropy, so 2·H - 1·0.
    """
    whole = math.log(3) - 2 / 3 * math.log(2)

    expected = 3 * whole - 2 * (2 * math.log(2) / 3)

    assert expected == pytest.approx(0.9853, abs=5e-5)
    jackknifed = label_entropy_corrected(agreement_of(votes(2, 1))).values
    assert jackknifed == pytest.approx(expected, rel=1e-13)
    of_two = values_of(np.array([[0, 0], [0, 1]]))
    assert of_two["label_entropy_corrected"] == pytest.approx(2 * of_two["label_entropy"])


def test_corrected_entropy_may_exceed_that_of_an_even_split():
    """5 v 5: 10·ln 2 - 9·H(5/9) = 0.749, above ln 2; the card says why it is not cut."""
    left = -(5 / 9 * math.log(5 / 9) + 4 / 9 * math.log(4 / 9))

    expected = 10 * math.log(2) - 9 * left

    assert expected == pytest.approx(0.749, abs=5e-4)
    jackknifed = label_entropy_corrected(agreement_of(votes(5, 5))).values
    assert jackknifed == pytest.approx(expected, rel=1e-12)
    assert f"{expected:.3f}" in card("label_entropy_corrected").text


@pytest.mark.parametrize(("n_runs", "plug_in"), [(5, 0.442), (10, 0.507), (50, 0.552)])
def test_jackknife_removes_the_bias_of_the_plug_in(n_runs, plug_in):
    """At 75/25, a true 0.562, the plug-in is biased by -21, -10, -2 %, the jackknife by 1.4 %."""
    share = np.array([0.25])

    assert pytest.approx(0.562, abs=5e-4) == TRUE_ENTROPY
    plain = expected_over_studies(label_entropy, n_runs, share)
    assert plain == pytest.approx(plug_in, abs=5e-4)
    corrected = expected_over_studies(label_entropy_corrected, n_runs, share)
    assert corrected == pytest.approx(TRUE_ENTROPY, rel=0.015)


@pytest.mark.parametrize(
    ("n_runs", "plug_in_bias", "corrected_bias"),
    [(5, -0.26, -0.05), (10, -0.15, -0.02), (50, -0.03, 0.0)],
)
def test_bias_where_runs_agree_on_most_examples(n_runs, plug_in_bias, corrected_bias):
    """With normal logits of sd 5, plug-in -26, -15, -3 %, jackknife -5, -2, 0 %."""
    quantiles = (np.arange(2000) + 0.5) / 2000
    shares = 1 / (1 + np.exp(-5 * stats.norm.ppf(quantiles)))
    truth = stats.entropy(np.stack([shares, 1 - shares])).mean()

    plain = expected_over_studies(label_entropy, n_runs, shares) / truth - 1
    corrected = expected_over_studies(label_entropy_corrected, n_runs, shares) / truth - 1

    # The stated figures are whole percents of an unknown population: one point either way.
    assert plain == pytest.approx(plug_in_bias, abs=0.01)
    assert corrected == pytest.approx(corrected_bias, abs=0.01)


@pytest.mark.parametrize("shape", [(2, 30), (3, 30), (6, 80), (25, 40)])
def test_entropy_equals_that_of_scipy(shape):
    """Table look-ups by agreement give the textbook entropy of the label counts."""
    predictions = random_predictions(1, shape)
    counts = np.stack([np.bincount(column, minlength=4) for column in predictions.T])

    values = label_entropy(agreement_of(predictions)).values

    # ln R - S/R cancels digits: an absolute tolerance, 1e-14 is 50 roundings.
    np.testing.assert_allclose(values, stats.entropy(counts, axis=1), atol=1e-14)


@pytest.mark.parametrize("seed", range(4))
def test_corrected_entropy_is_never_below_the_plug_in(seed):
    """Entropy is concave, so leaving out a run never raises it on average."""
    agreement = agreement_of(random_predictions(seed))

    assert (label_entropy_corrected(agreement).values >= label_entropy(agreement).values).all()


@pytest.mark.parametrize(
    ("counts", "high"), [((75, 25), 1.0), ((76, 24), 0.0), ((3, 1), 1.0), ((4, 1), 0.0)]
)
def test_high_entropy_starts_at_75_against_25(counts, high):
    """75/25 has 0.562 and is above 0.56; 76/24 has 0.551 and is not."""
    assert values_of(votes(*counts))["high_entropy_share"] == high


def test_high_entropy_share_equals_the_loop():
    """The share counts examples, not entropy."""
    predictions = random_predictions(4)

    expected = oracles.slow_high_entropy_share(predictions)

    assert 0 < expected < 1
    assert values_of(predictions)["high_entropy_share"] == expected


def test_histogram_holds_every_example_once():
    """Bins reach up to the largest entropy possible, which falls into the last one."""
    predictions = np.concatenate([random_predictions(5, (4, 30)), votes(1, 1, 1, 1)], axis=1)

    histogram = entropy_of(predictions).detail()["entropy_histogram"]

    assert histogram.sum() == 31
    assert histogram[0] == sum(len(set(column)) == 1 for column in predictions.T.tolist())
    assert histogram[-1] >= 1


def test_columns_are_the_entropies_of_each_example():
    """Both entropies, one value per example; of two runs none can be left out."""
    predictions = random_predictions(6)

    columns = Entropy(len(predictions), 4).update(Batch(predictions, n_classes=4))

    assert columns.keys() == {"label_entropy", "label_entropy_corrected"}
    expected = oracles.slow_label_entropy(predictions)
    np.testing.assert_allclose(columns["label_entropy"], expected, atol=1e-14)
    expected = oracles.slow_label_entropy_corrected(predictions)
    np.testing.assert_allclose(columns["label_entropy_corrected"], expected, atol=1e-13)
    assert label_entropy(agreement_of(votes(1, 1))).without is None
    assert label_entropy_corrected(agreement_of(votes(1, 1))).without is None


def test_mean_of_the_corrected_entropy_is_extrapolated():
    """Its bias is the distance to the extrapolated entropy, of which one part was not seen."""
    predictions = random_predictions(10, (5, 60))
    counts = np.bincount(agreement_of(predictions).ravel(), minlength=6)

    corrected = entropy_of(predictions).result()["label_entropy_corrected"]

    reach = extrapolated_entropy(counts, n_classes=4)
    assert corrected.unbiased == pytest.approx(reach.entropy, rel=1e-12)
    assert corrected.extrapolated == reach.beyond


@pytest.mark.parametrize("n_drawn", [2, 3, 4, 5])
def test_rarefied_entropy_is_the_mean_over_all_draws(n_drawn):
    """Every subset of the six runs, and of the five that are left without one.

    Drawing all runs gives the plain entropy.
    """
    votes = np.array([[0, 0, 0], [0, 1, 0], [0, 2, 0], [1, 2, 0], [1, 1, 0], [2, 0, 0]])

    def brute(rows):
        subsets = list(combinations(range(len(rows)), n_drawn))
        entropies = [
            [stats.entropy(np.bincount(rows[list(subset), i])) for i in range(3)]
            for subset in subsets
        ]
        return np.mean(entropies, axis=0)

    agreement = Batch(votes, n_classes=3).agreement
    rarefied = rarefied_entropy(agreement, n_drawn)

    assert rarefied.whole == pytest.approx(brute(votes), abs=1e-12)
    for run_idx in range(6):
        assert rarefied.without[run_idx] == pytest.approx(
            brute(np.delete(votes, run_idx, axis=0)), abs=1e-12
        )
    assert np.array_equal(rarefied_entropy(agreement, 6).whole, label_entropy(agreement).whole)
