"""Results of a setting that are derived from comparisons."""

from dataclasses import replace

import numpy as np
import pytest

import seedproof as sp
from seedproof_reproductions.conll2019.results import run_distances

ARMS = {"none": [[0, 1, 1], [0, 1, 0], [1, 1, 0]], "calm": [[0, 1, 1], [0, 1, 1], [0, 1, 0]]}


def test_distances_of_runs_follow_from_means_without_each():
    """The mean distance of a run to all others, from means over pairs."""
    n_runs = 6
    apart = np.triu(np.random.default_rng(0).random((n_runs, n_runs)), 1)
    apart += apart.T
    pairs = np.triu_indices(n_runs - 1, 1)
    without = [np.delete(np.delete(apart, r, 0), r, 1)[pairs].mean() for r in range(n_runs)]
    statistic = sp.compare(ARMS).arm("calm").contrasts["flip_rate"].base
    value = float(apart[np.triu_indices(n_runs, 1)].mean())

    distances = run_distances(replace(statistic, value=value, without=np.array(without)))

    assert distances == pytest.approx(apart.sum(0) / (n_runs - 1), rel=1e-5)
    assert run_distances(replace(statistic, without=None)) is None
