"""Figures of a pilot."""

import numpy as np
import pytest
from scipy import stats

import seedproof as sp
from seedproof.comparison.planning.pilot import pilot_of, pilot_of_arms
from seedproof.errors import TooFewRunsError
from seedproof.metrics.flips import Flips
from seedproof.testing.errors import WithFields
from support.simulation import Simulation


def measured(batch):
    """The measurement of a simulated study."""
    return sp.measure(batch.predictions, labels=batch.labels).measurement


def test_the_pilot_has_the_spreads_of_its_runs():
    """Three runs and four examples, by hand.

    Disagreements are 1/4, 2/4 and 3/4, so runs disagree by 3/8, 4/8 and 5/8 on average: a mean of
    1/2 and an sd of 1/8, doubled because each mean is over two others. Accuracies are 4/4, 3/4 and 2/4.
    """
    predictions = np.array([[0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 1, 0]])

    pilot = pilot_of(sp.measure(predictions, labels=np.zeros(4, dtype=int)).measurement)

    assert (pilot.n_runs, pilot.n_examples) == (3, 4)
    assert pilot.sd.value == pytest.approx(0.25)
    assert pilot.cv.value == pytest.approx(0.5)
    assert pilot.pair_cv is None
    assert pilot.sd.low is pilot.cv.low is None  # fewer than five runs have no interval


@pytest.mark.parametrize("n_classes", [2, 6])
@pytest.mark.parametrize("effect", ["quality", "threshold"])
def test_the_example_variance_is_that_of_the_flip_rate(effect, n_classes):
    """As the interval of the flip rate has it, less the bias of the jackknife for pairs."""
    batch = Simulation(8, 300, n_classes, effect=effect).draw(np.random.default_rng(9))
    flips = Flips(batch.n_runs, batch.n_classes)
    flips.update(batch)
    statistic = flips.result()["flip_rate"]
    expected = (statistic.example_variance - statistic.interaction_variance) / statistic.value**2

    pilot = pilot_of(measured(batch))
    share = 4 / (8 * 6) - 2 / (8 * 7)
    expected = (expected + share / 300) / (1 - share)

    assert pilot.drawn["flip_rate"].variance == pytest.approx(expected, rel=1e-9)
    assert pilot.cv.low < pilot.cv.value < pilot.cv.high


def test_runs_that_agree_have_no_variation():
    """And no division by zero."""
    predictions = np.tile(np.array([0, 1, 0, 1]), (4, 1))

    pilot = pilot_of(sp.measure(predictions).measurement)

    assert pilot.sd is None
    assert pilot.cv is None
    assert pilot.drawn == {}


def test_two_runs_are_too_few_for_a_pilot():
    """They have no spread."""
    with pytest.raises(TooFewRunsError, check=WithFields(n_runs=2)):
        pilot_of(sp.measure(np.array([[0, 1], [0, 0]])).measurement)


def test_the_variance_of_accuracy_leaves_out_what_runs_explain():
    """Examples are right with probability 0.9 or 0.5, equally often, so their sd is 0.2."""
    rng = np.random.default_rng(1)
    shares = np.tile([0.9, 0.5], 5000)
    right = rng.random((6, 10_000)) < shares

    pilot = pilot_of(sp.measure((~right).astype(int), labels=np.zeros(10_000, int)).measurement)

    assert pilot.drawn["mean"].n_examples == 10_000
    assert pilot.drawn["mean"].variance == pytest.approx(0.2**2 / 10_000, rel=0.1)


@pytest.mark.parametrize("n_runs", [5, 10])
def test_few_runs_show_the_variance_of_flips_over_examples(n_runs):
    """Examples flip with probability 0.095 or 0.455, so their sd is 0.18 and their mean 0.275."""
    rng = np.random.default_rng(1)
    right = rng.random((n_runs, 20_000)) < np.tile([0.95, 0.65], 10_000)

    pilot = pilot_of(sp.measure(right.astype(int)).measurement)

    expected = (0.18 / 0.275) ** 2 / 20_000
    assert pilot.drawn["flip_rate"].variance == pytest.approx(expected, rel=0.1)


def test_range_of_the_variance_over_clusters_has_their_degrees_of_freedom():
    """χ² with one degree of freedom less than clusters, of which examples are copies."""
    batch = Simulation(6, 80).draw(np.random.default_rng(5))
    clusters = np.repeat(np.arange(80), 3)
    predictions = sp.Predictions.from_arrays(
        batch.predictions[:, clusters], labels=batch.labels[clusters], clusters=clusters
    )

    drawn = pilot_of(sp.measure(predictions).measurement).drawn["mean"]

    of_clusters = (batch.predictions == batch.labels).mean(axis=0).var(ddof=1) / 80
    interaction = of_clusters - drawn.variance
    ends = of_clusters * 79 / stats.chi2.ppf([0.975, 0.025], 79) - interaction
    assert (drawn.n_examples, drawn.n_clusters) == (240, 80)
    assert (drawn.low, drawn.high) == pytest.approx(tuple(ends), rel=1e-3)  # an approximate χ²
    assert 0.0 < interaction < of_clusters


def test_labeled_examples_alone_count_for_accuracy():
    batch = Simulation(6, 300).draw(np.random.default_rng(3))
    labels = np.where(np.arange(300) < 200, batch.labels, -1)

    pilot = pilot_of(sp.measure(batch.predictions, labels=labels).measurement)

    assert (pilot.drawn["mean"].n_examples, pilot.drawn["flip_rate"].n_examples) == (200, 300)


@pytest.mark.parametrize("alike", [0.0, 0.5, 1.0])
def test_two_arms_show_their_correlation_over_examples(alike):
    """Although few runs show the accuracy of an example only roughly: the noise is taken out."""
    rng = np.random.default_rng(2)
    same = rng.random(8000) < alike
    shares = rng.choice([0.95, 0.35], (2, 8000))
    shares[1, same] = shares[0, same]
    arms = {
        name: sp.Predictions.from_arrays(
            (rng.random((5, 8000)) > share).astype(int), labels=np.zeros(8000, int)
        )
        for name, share in zip(("none", "arm"), shares, strict=True)
    }

    pilot = pilot_of_arms(sp.compare(arms).comparison)

    assert pilot.has_two_arms
    assert pilot.drawn["mean"].correlation == pytest.approx(alike, abs=0.05)
    assert pilot.drawn["flip_rate"].correlation == pytest.approx(alike, abs=0.1)


def test_noise_of_pairs_is_what_two_runs_do_not_explain():
    """Independent answers on 2000 examples: a pair differs by chance alone."""
    rng = np.random.default_rng(4)
    predictions = (rng.random((12, 2000)) < 0.5).astype(int)

    pilot = pilot_of(sp.measure(predictions).measurement)

    # The sd of a share of 0.5 over its mean; 54 degrees of freedom give it to 10 %.
    assert pilot.pair_cv == pytest.approx(1 / np.sqrt(2000), rel=0.35)
