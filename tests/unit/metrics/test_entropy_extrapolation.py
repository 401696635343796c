"""The mean entropy of infinitely many runs."""

import math

import numpy as np
import pytest
from scipy import special, stats

from seedproof.metrics import entropy_extrapolation
from seedproof.metrics.batch import Batch
from seedproof.metrics.entropy_extrapolation import (
    entropy_limit,
    extrapolated_entropy,
    novelty,
)
from support import oracles


def votes(*counts):
    """One example with so many votes for each class: (runs, 1)."""
    return np.repeat(np.arange(len(counts)), counts)[:, np.newaxis]


def counts_of(predictions):
    n_runs = len(predictions)
    agreement = Batch(predictions, n_classes=int(predictions.max()) + 1).agreement
    return np.bincount(agreement.ravel(), minlength=n_runs + 1)


def drawn(rng, shares, n_runs):
    """Return predictions of runs that draw each example's class: (runs, examples)."""
    edges = np.cumsum(shares, axis=1)[:, :-1]
    return np.stack([(edges < rng.random((len(shares), 1))).sum(axis=1) for _ in range(n_runs)])


def wrong_classes(n_examples, n_classes, right, weights):
    """Return probabilities of a gold class, and of all others by their weights."""
    weights = np.broadcast_to(weights, (n_examples, n_classes - 1))
    others = (1 - right)[:, np.newaxis] * weights / weights.sum(axis=1, keepdims=True)
    return np.column_stack([right, others])


def test_novelty_is_counted_over_all_choices_of_other_runs():
    predictions = np.random.default_rng(8).integers(0, 4, (6, 60))

    expected = [1.0, *(oracles.slow_novelty(predictions, k) for k in range(1, 6))]

    np.testing.assert_allclose(novelty(counts_of(predictions)), expected, atol=1e-13)


def test_known_terms_are_added_up():
    """Sum over k of T_k / k. Where no run is alone with its class, nothing is extrapolated."""
    predictions = np.concatenate([votes(3, 2), votes(2, 3), votes(5), votes(5)], axis=1)

    result = extrapolated_entropy(counts_of(predictions), 10**6)

    expected = sum(oracles.slow_novelty(predictions, k) / k for k in range(1, 5))
    assert result.seen == pytest.approx(expected, rel=1e-13)
    assert result.beyond == 0.0
    assert extrapolated_entropy(counts_of(votes(6)), 10**6).entropy == 0.0


def test_two_runs_have_a_single_term():
    """Nothing can be extrapolated from it."""
    predictions = np.array([[0, 0, 0], [0, 1, 0]])

    assert extrapolated_entropy(counts_of(predictions), 2) == (pytest.approx(1 / 3), 0.0)


def test_extrapolation_never_exceeds_what_the_flip_rate_allows():
    """If each minority is a single run, only the flip rate limits how rare its class is.

    One pair in five disagrees: 2q(1-q) = 0.2 has q = 0.1127, and its entropy is 0.352.
    """
    predictions = np.concatenate([votes(4, 1), votes(5)], axis=1)
    counts = 10**6 * counts_of(predictions)  # so that nothing is left to chance

    assert extrapolated_entropy(counts, 2).entropy == pytest.approx(0.352, abs=5e-4)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_no_distribution_exceeds_the_entropy_limit_of_its_flip_rate(n_classes):
    """The limit is reached by one class against equal others, and by no random distribution."""
    rng = np.random.default_rng(11)
    shares = rng.dirichlet(np.full(n_classes, 0.5), size=3000)
    flips = 1 - np.square(shares).sum(axis=1)
    entropies = special.entr(shares).sum(axis=1)
    extreme = np.r_[0.8, np.full(n_classes - 1, 0.2 / (n_classes - 1))]

    limits = np.array([entropy_limit(flip, n_classes) for flip in flips])

    assert (entropies <= limits + 1e-12).all()
    # A mean over examples keeps to the limit of the mean flip rate.
    assert entropies.mean() <= entropy_limit(flips.mean(), n_classes)
    reached = entropy_limit(1 - np.square(extreme).sum(), n_classes)
    assert reached == pytest.approx(special.entr(extreme).sum(), rel=1e-12)
    largest = entropy_limit(1 - 1 / n_classes, n_classes)
    assert largest == pytest.approx(math.log(n_classes))


@pytest.mark.parametrize("n_runs", [3, 4, 5, 10, 60])
def test_many_runs_and_examples_show_the_entropy_of_a_coin(n_runs):
    """A share of 0.25 has 0.562."""
    rng = np.random.default_rng(9)
    predictions = (rng.random((n_runs, 20_000)) < 0.25).astype(int)

    result = extrapolated_entropy(counts_of(predictions), 2)

    # Three runs leave a third of the terms' sum unseen, and no shape to continue it by.
    assert result.entropy == pytest.approx(0.562, rel=0.08 if n_runs < 5 else 0.02)


RIGHT = stats.beta(4, 0.55)
DESIGNS = {
    "even": np.ones,
    "Zipf": lambda k: 1 / np.arange(1.0, k + 1),
    "geometric": lambda k: 0.6 ** np.arange(k),
}


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("n_runs", [5, 10])
@pytest.mark.parametrize("n_classes", [10, 150])
def test_bias_at_many_classes(n_classes, n_runs, design):
    """It is at most 15 %, where the terms that the runs show miss up to 60 %."""
    rng = np.random.default_rng(1)
    right = RIGHT.ppf((np.arange(2000) + 0.5) / 2000)
    shares = wrong_classes(2000, n_classes, right, DESIGNS[design](n_classes - 1))
    truth = special.entr(shares).sum(axis=1).mean()

    entropies = [
        extrapolated_entropy(counts_of(drawn(rng, shares, n_runs)), n_classes).entropy
        for _ in range(20)
    ]

    # The standard error of the mean of 20 studies is about 1 %.
    assert abs(np.mean(entropies) / truth - 1) < 0.15 + 0.02


@pytest.mark.parametrize("x", [0.3, 1.0, 4.0, 9.99, 10.0, 1e4])
def test_digamma_equals_that_of_scipy(x):
    assert entropy_extrapolation._digamma(x) == pytest.approx(special.digamma(x), rel=1e-11)


@pytest.mark.parametrize(("s", "n"), [(1.01, 5), (1.5, 3), (4.0, 10)])
def test_tail_of_the_zeta_sum_equals_that_of_scipy(s, n):
    assert entropy_extrapolation._zeta(s, n) == pytest.approx(special.zeta(s, n), rel=1e-10)


def test_two_atoms_are_found_from_four_moments():
    """Weights 0.3 and 0.7 at 0.2 and 0.9."""
    k = np.arange(4)

    nodes = entropy_extrapolation._gauss(0.3 * 0.2**k + 0.7 * 0.9**k)

    assert nodes == pytest.approx((0.2, 0.9), rel=1e-10)
    assert entropy_extrapolation._gauss(0.9**k) is None


@pytest.mark.parametrize("q", [0.3, 0.89, 0.91, 0.999])
def test_terms_of_one_atom_are_continued(q):
    """With an even split over all classes, T_k is (1 - 1/K)^k, and the whole sum is ln K."""
    terms = q ** np.arange(6)
    series = entropy_extrapolation._Series(terms, n_classes=10**6)

    beyond = series._beyond(entropy_extrapolation._Atom(terms[-1], q))

    assert beyond + (terms[1:] / np.arange(1, 6)).sum() == pytest.approx(-math.log1p(-q), rel=1e-9)
