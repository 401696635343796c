"""Variance of the calibration error, written once more as loops and checked in simulations."""

import numpy as np
import pytest
from scipy import stats

from seedproof.metrics.batch import Batch
from seedproof.metrics.block_statistic import BinnedGaps, Residuals
from seedproof.metrics.calibration import N_BINS, Calibration, blocks_of
from seedproof.stats.intervals import PLAIN, estimate
from seedproof.stats.looks import AT_LOOK


def study(seed, n_runs=4, n_examples=300, sharpness=1.8):
    """Return probabilities (runs, examples, classes) of over-confident runs, and labels."""
    rng = np.random.default_rng(seed)
    base = 1.5 * rng.standard_normal(n_examples)
    labels = (rng.random(n_examples) < 1 / (1 + np.exp(-base))).astype(np.int32)
    logits = sharpness * (base + 0.3 * rng.standard_normal((n_runs, n_examples)))
    positive = 1 / (1 + np.exp(-logits))
    return np.stack([1 - positive, positive], axis=2), labels


def statistic_of(probs, labels, blocks=None):
    family = Calibration(len(probs), probs.shape[2])
    family.update(Batch.from_probs(probs, labels, blocks))
    return family.result()["ece_corrected"]


def bin_of(probs, labels, run, place):
    """Return the places, hits and confidences of a run's examples in a bin."""
    confidence = probs[run].max(axis=1)
    members = [i for i, x in enumerate(confidence) if min(int(x * N_BINS), N_BINS - 1) == place]
    hits = [float(probs[run, i].argmax() == labels[i]) for i in members]
    return members, np.array(hits), confidence[members]


def slow_parts(probs, labels):
    """Value and bias of each run, contributions per example, and the variance not seen per run."""
    n_runs, n, _ = probs.shape
    values, biases, unseen = np.zeros(n_runs), np.zeros(n_runs), np.zeros(n_runs)
    contributions = np.zeros((n_runs, n))
    for place in range(N_BINS):
        bins = [bin_of(probs, labels, run, place) for run in range(n_runs)]
        gaps = [(hits - confidence).sum() / n for _, hits, confidence in bins]
        direction = -1 if sum(gaps) < 0 else 1
        for run, (members, hits, confidence) in enumerate(bins):
            if not members:
                continue
            count, right, sure = len(members), hits.mean(), confidence.mean()
            moved = (hits.sum() + 2) / (count + 4)
            expected = max(right * (1 - right), moved * (1 - moved), sure * (1 - sure))
            of_size = (right - sure) ** 2 * (1 - count / n)
            error = np.sqrt(count * (expected + of_size)) / n
            z = gaps[run] / error
            both = 2 * stats.norm.cdf(abs(z)) - 1
            values[run] += error * (abs(z) * both - stats.norm.pdf(z))
            biases[run] += 0.5 * error * np.exp(-(z**2) / 8)
            slope = max(both + 3 * abs(z) * stats.norm.pdf(z), 1.0)
            unseen[run] += slope**2 * count * (expected - right * (1 - right)) / n**2
            # A share of the gap belongs to every example, in the bin or not.
            contributions[run] -= direction * slope * gaps[run]
            contributions[run, members] += direction * slope * (hits - confidence)
    return values, biases, contributions, unseen


def slow_interval(probs, labels, blocks, level):
    """Value and ends, from runs (Student), blocks (Student) and the bias that remains."""
    values, biases, contributions, unseen = slow_parts(probs, labels)
    n_runs, n = contributions.shape
    totals = np.array([contributions[:, blocks == b].sum(axis=1) for b in np.unique(blocks)])
    n_blocks = len(totals)
    drawn = n_blocks / (n_blocks - 1) * (totals.mean(axis=1) ** 2).sum() / n**2 + unseen.mean()
    without = np.array([np.delete(totals, run, axis=1).mean(axis=1) for run in range(n_runs)])
    counted = (n_runs - 1) ** 2 / n_runs * without.var(axis=0, ddof=1).sum() / n**2
    runs = values.var(ddof=1) / n_runs
    of_runs = stats.t.isf(level.tail, n_runs - 1) ** 2 * runs
    quantile = stats.t.isf(level.example_tail, n_blocks - 1) ** 2
    variance = max(of_runs + max(quantile * (drawn - counted), 0.0), quantile * drawn)
    half_width = np.sqrt(variance + biases.mean() ** 2)
    value = max(values.mean(), 0.0)
    return value, max(value - half_width, 0.0), min(value + half_width, 1.0)


@pytest.mark.parametrize("sharpness", [1.0, 1.8])
@pytest.mark.parametrize("level", [PLAIN, AT_LOOK])
@pytest.mark.parametrize(("n_runs", "n_examples"), [(3, 40), (5, 400)])
def test_value_and_interval_are_those_of_loops(sharpness, level, n_runs, n_examples):
    probs, labels = study(n_runs, n_runs, n_examples, sharpness)
    blocks = blocks_of(np.arange(n_examples))

    result = estimate(statistic_of(probs, labels), level)

    expected = slow_interval(probs, labels, blocks, level)
    assert (result.value, result.low, result.high) == pytest.approx(expected)


def test_blocks_of_unequal_size_have_their_own_totals():
    """Three blocks: their residuals are less what their sizes give."""
    probs, labels = study(7, 4, 200)
    blocks = np.repeat([0, 1, 2], [20, 30, 150])

    result = estimate(statistic_of(probs, labels, blocks))

    expected = slow_interval(probs, labels, blocks, PLAIN)
    assert (result.value, result.low, result.high) == pytest.approx(expected)


def test_variance_is_at_least_that_of_simulated_studies():
    """300 draws of 2,000 examples: 8 % are a standard error, and bins without a clear gap add some.

    The ratio is 1.2; with 300 examples, whose gaps are less clear, it is 1.5.
    """
    statistics = [statistic_of(*study(seed, 3, 2000)) for seed in range(300)]
    variance = np.var([x.by_run.mean() for x in statistics], ddof=1)

    drawn = [x.blocks.example_covariance(x.blocks) + x.unseen_variance for x in statistics]

    assert 1.0 < np.mean(drawn) / variance < 1.4


def test_covariance_of_means_over_clusters_is_that_of_their_totals():
    """Of equally large clusters it is the covariance of their means, over their number."""
    rng = np.random.default_rng(0)
    first, second = rng.standard_normal((2, 3, 8))
    residuals = [
        Residuals(40, x.mean(axis=0) - x.mean(), np.zeros((3, 8))) for x in (first, second)
    ]

    covariance = residuals[0].example_covariance(residuals[1])

    means = [x.mean(axis=0) / 5 for x in (first, second)]
    assert covariance == pytest.approx(np.cov(*means)[0, 1] / 8)
    single = Residuals(40, np.ones(1), np.ones((3, 1)))
    assert single.example_covariance(single) == 0.0


def test_covariance_over_runs_is_that_of_the_jackknife():
    rng = np.random.default_rng(1)
    first, second = rng.standard_normal((2, 3, 8))
    residuals = [Residuals(40, x.mean(axis=0), x) for x in (first, second)]

    covariance = residuals[0].jackknife_covariance(residuals[1])

    of_clusters = [np.cov(a, b, bias=True)[0, 1] for a, b in zip(first.T, second.T, strict=True)]
    assert covariance == pytest.approx(2 * sum(of_clusters) / 40**2)


def test_clusters_raise_the_error_of_a_bin():
    """To what their totals show, if that is more than independent examples would give."""
    totals = np.array([[[3.0, -1.0, 2.0, 0.0]]] * 3)
    sizes, spread = np.full(4, 5), np.full((3, 1), 1e-4)
    alone, clustered = (
        BinnedGaps(totals, sizes, spread, np.zeros((3, 1)), is_clustered=x) for x in (False, True)
    )

    residuals = totals[0, 0] - totals[0, 0].mean()
    drawn = 4 / 3 * (residuals**2).sum() / 20**2
    for statistic, variance in ((alone, 1e-4), (clustered, drawn)):
        error, gap = np.sqrt(variance), 4 / 20
        both = 2 * stats.norm.cdf(gap / error) - 1
        expected = gap * both - error * stats.norm.pdf(gap / error)
        assert statistic.value == pytest.approx(expected)
