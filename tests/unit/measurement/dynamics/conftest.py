"""Runs with a planted truth: how hard an example is decides wavering and disagreement alike."""

import numpy as np
import pytest

from seedproof.measurement.dynamics.watched import Watched


def _watched_of(entropies, predictions, traced=None):
    """Both sides, from the predictions of all examples."""
    traced = np.arange(len(entropies)) if traced is None else np.array(traced)
    contested = np.flatnonzero((predictions != predictions[0]).any(axis=0))
    return Watched(np.asarray(entropies), traced, contested, predictions[:, contested])


def _planted_study(n_runs, n_examples, rng, *, n_traced=None, run_sd=0.5):
    """Half of the examples are easy; runs differ in quality; the last step is also the vote."""
    easy = rng.random(n_examples) < 0.5
    margin = np.where(easy, 5 + rng.random(n_examples), rng.normal(1.5, 1.5, n_examples))
    own = margin + 0.8 * rng.normal(size=n_examples)  # what wavering alone depends on
    quality = run_sd * rng.normal(size=(n_runs, 1))
    last = rng.normal(size=(n_runs, n_examples))
    final = margin + quality + 1.2 * last
    predictions = np.where(final > 0, 0, 1 + (final < -2))
    noise = 0.7 * rng.normal(size=(n_runs, n_examples))
    share = 1 / (1 + np.exp(own + 0.6 * quality + 0.5 * last + noise))
    shares = rng.binomial(100, share) / 100
    entropies = -sum(p * np.log(np.maximum(p, 1e-300)) for p in (shares, 1 - shares))
    traced = np.arange(n_runs if n_traced is None else n_traced)
    return _watched_of(entropies[traced], predictions, traced)


@pytest.fixture(scope="session")
def watched_of():
    """Lays entropies within runs beside predictions."""
    return _watched_of


@pytest.fixture(scope="session")
def planted_study():
    """Makes a study whose truth is known."""
    return _planted_study
