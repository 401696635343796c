"""Runs with a planted truth: how hard an example is decides wavering and disagreement alike."""

import pytest

from seedproof.testing.dynamics_simulation import DynamicsSimulation
from seedproof.testing.dynamics_simulation import watched_of as lay_side_by_side


@pytest.fixture(scope="session")
def watched_of():
    """Lays entropies within runs beside predictions."""
    return lay_side_by_side


@pytest.fixture(scope="session")
def planted_study():
    """Makes a study whose truth is known."""

    def make(n_runs, n_examples, rng, **settings):
        return DynamicsSimulation(n_runs, n_examples, **settings).draw(rng)

    return make
