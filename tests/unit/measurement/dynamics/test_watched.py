"""Entropies over runs with a run left out, and one more."""

import numpy as np
import pytest


def entropy(labels):
    """Plug-in entropy of some labels, by definition."""
    shares = np.unique(labels, return_counts=True)[1] / len(labels)
    return float(-(shares * np.log(shares)).sum())


def test_entropies_without_a_run_are_those_of_the_runs_that_are_left(watched_of):
    """Row k leaves out run k as well, the run's own row only itself."""
    rng = np.random.default_rng(0)
    predictions = rng.integers(0, 3, (6, 40)) * (rng.random(40) < 0.7)
    watched = watched_of(np.zeros((6, 40)), predictions)

    for run_idx in range(6):
        found = watched.entropies_without(run_idx)

        for k in range(6):
            left = np.delete(np.arange(6), sorted({run_idx, k}))
            expected = [entropy(predictions[left, i]) for i in watched.contested]
            assert found[k] == pytest.approx(expected, abs=1e-12)
            assert (found[k] == 0).sum() == np.sum(np.array(expected) == 0)  # exactly 0


def test_three_against_one_is_the_published_threshold(watched_of):
    """Of five runs the odd one is left out, or one of the four."""
    predictions = np.array([[0], [0], [0], [0], [1]])
    watched = watched_of(np.zeros((1, 1)), predictions)

    assert watched.entropies_without(4)[4] == [0.0]
    assert watched.entropies_without(0)[0] == pytest.approx([0.5623351446], abs=1e-9)
    assert watched.entropies_without(0)[1] == pytest.approx([0.6365141683], abs=1e-9)  # 2 to 1


def test_where_the_others_differ(watched_of):
    """Without run 0, which is alone on example 0, the others agree there; on 1 and 2 they do not."""
    predictions = np.array([[1, 0, 1], [0, 1, 2], [0, 0, 0], [0, 1, 0]])

    watched = watched_of(np.zeros((1, 3)), predictions, [0])

    assert [watched.n_contested_without(run) for run in range(4)] == [2, 3, 3, 3]
