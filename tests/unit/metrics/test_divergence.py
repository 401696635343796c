import math
from itertools import permutations

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.special import rel_entr

from seedproof.metrics.batch import Batch
from seedproof.metrics.divergence import (
    EPSILON,
    Divergence,
    predictive_js,
    predictive_kl,
    smooth,
)
from seedproof.stats.intervals import estimate

# The same example seen by two runs.
EVEN, SKEWED = [0.5, 0.5], [0.25, 0.75]


def values_of(probs):
    """The value of each figure."""
    probs = np.asarray(probs)
    family = Divergence(len(probs), probs.shape[2])
    family.update(Batch.from_probs(probs))
    return {name: estimate(statistic).value for name, statistic in family.result().items()}


def random_probs(seed, shape=(5, 40), n_classes=4, alpha=1.0):
    """Predictions that share a usual distribution."""
    rng = np.random.default_rng(seed)
    usual = rng.normal(0, 1 / alpha, (shape[1], n_classes))
    raised = np.exp(usual + rng.normal(0, 1, (*shape, n_classes)))
    return raised / raised.sum(axis=2, keepdims=True)


def test_kl_by_hand():
    """(½ ln 2 + ½ ln ⅔) and (¼ ln ½ + ¾ ln 1½) are 0.1438 and 0.1308: 0.1373 on average."""
    there = 0.5 * math.log(2) + 0.5 * math.log(2 / 3)
    back = 0.25 * math.log(0.5) + 0.75 * math.log(1.5)

    value = values_of([[EVEN], [SKEWED]])["predictive_kl"]

    assert (there + back) / 2 == pytest.approx(0.1373, abs=5e-5)
    assert value == pytest.approx((there + back) / 2, abs=1e-9)  # epsilon is 1e-10


def test_js_by_hand():
    """H(⅜, ⅝) - (H(½, ½) + H(¼, ¾))/2 = 0.6616 - 0.6278 = 0.0338, times 2/1."""
    mean = -(0.375 * math.log(0.375) + 0.625 * math.log(0.625))
    parts = [math.log(2), -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))]

    value = values_of([[EVEN], [SKEWED]])["predictive_js"]

    expected = 2 * (mean - sum(parts) / 2)
    assert expected == pytest.approx(0.0676, abs=5e-5)
    assert value == pytest.approx(expected, abs=1e-9)  # epsilon is 1e-10


@pytest.mark.parametrize("n_runs", [2, 3, 8])
def test_kl_equals_scipy_over_ordered_pairs(n_runs):
    """From sums over runs, and yet the mean over all R(R-1) ordered pairs."""
    probs = smooth(random_probs(0, (n_runs, 30)))

    expected = np.mean([rel_entr(a, b).sum(axis=1) for a, b in permutations(probs, 2)], axis=0)

    # Sums of R² terms are subtracted from each other: absolute, not relative digits.
    np.testing.assert_allclose(predictive_kl(probs).values, expected, atol=1e-12)


def test_js_of_two_runs_equals_scipy():
    """Scipy returns the root of H(mean) - mean H; the factor R/(R-1) is 2."""
    probs = smooth(random_probs(1, (2, 30)))

    expected = 2 * jensenshannon(probs[0], probs[1], axis=1) ** 2

    np.testing.assert_allclose(predictive_js(probs).values, expected, atol=1e-14)


def test_zeros_do_not_make_kl_infinite():
    """Two certain runs that contradict each other: ln(1/ε) = 23.03, as the authors smoothed."""
    value = values_of([[[1.0, 0.0]], [[0.0, 1.0]]])["predictive_kl"]

    # Renormalizing takes off 2ε; multiplied by the logarithm that is 5e-9.
    assert value == pytest.approx(-math.log(EPSILON), abs=1e-8)
    assert pytest.approx(1e-10) == EPSILON


def test_smoothed_rows_sum_to_one():
    """Also if the records rounded them to 16 bits."""
    probs = random_probs(3).astype(np.float16)

    smoothed = smooth(probs)

    assert smoothed.dtype == np.float64
    assert (smoothed > 0).all()
    np.testing.assert_allclose(smoothed.sum(axis=2), 1, rtol=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_divergences_are_never_negative(seed):
    """Runs that differ by less than rounding give 0, not -1e-17."""
    rng = np.random.default_rng(seed)
    probs = random_probs(seed, (1, 50)) + rng.normal(0, 1e-15, (4, 50, 4))
    smoothed = smooth(probs)

    for values in (predictive_kl(smoothed), predictive_js(smoothed)):
        assert (values.values >= 0).all()
        assert (values.without >= 0).all()


@pytest.mark.parametrize("n_runs", [2, 3, 6])
def test_js_is_bounded_by_certain_runs_that_all_differ(n_runs):
    """The bound ln R·R/(R-1) is reached where every run is certain of another class."""
    probs = np.eye(n_runs)[:, None, :]

    value = values_of(probs)["predictive_js"]

    assert value == pytest.approx(math.log(n_runs) * n_runs / (n_runs - 1), abs=1e-7)  # epsilon


def test_js_does_not_depend_on_the_number_of_runs():
    """H(mean) - mean H grows as (R-1)/R for runs that differ a little; the factor takes it out.

    Four runs, and all six pairs of them: the same to 1 %, where the plain form has a ratio of 1.5.
    """
    rng = np.random.default_rng(5)
    raised = np.exp(rng.normal(0, 1, (400, 3)) + rng.normal(0, 0.1, (4, 400, 3)))
    probs = raised / raised.sum(axis=2, keepdims=True)

    of_four = values_of(probs)["predictive_js"]
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    of_pairs = np.mean([values_of(probs[list(pair)])["predictive_js"] for pair in pairs])

    assert of_four == pytest.approx(of_pairs, rel=0.01)


def test_small_js_is_half_of_kl():
    """To second order KL(p‖q) = ½χ² and the scaled JS of two runs = ¼χ²."""
    probs = smooth(np.array([[[0.5, 0.3, 0.2]], [[0.501, 0.2995, 0.1995]]]))

    ratio = predictive_js(probs).values / predictive_kl(probs).values

    assert ratio == pytest.approx(0.5, rel=1e-3)


@pytest.mark.parametrize("kernel", [predictive_kl, predictive_js])
def test_of_two_runs_none_can_be_left_out(kernel):
    """One run is not a pair."""
    assert kernel(smooth(random_probs(6, (2, 3)))).without is None
