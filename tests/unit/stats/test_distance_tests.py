"""Exact tests of distances against a loop over all assignments."""

from itertools import combinations

import numpy as np
import pytest

from seedproof.stats.distance_tests import examine_distances


def drawn(rng, n_runs, n_examples, *, shift=0.0, n_old=0):
    """Distances of points on a line, of which the old ones may lie elsewhere."""
    points = rng.integers(0, 4, (n_runs, n_examples)).astype(float)
    points[:n_old] += shift
    return np.abs(points[:, np.newaxis] - points)


def beyond(distances, old):
    runs = range(len(distances))
    new = [run for run in runs if run not in old]

    def mean(pairs):
        values = [distances[a, b] for a, b in pairs]
        return sum(values) / len(values) if values else None

    within = [mean(list(combinations(x, 2))) for x in (old, new)]
    within = [x for x in within if x is not None]
    return mean([(a, b) for a in old for b in new]) - sum(within) / len(within)


@pytest.mark.parametrize(("n_old", "n_new"), [(3, 3), (2, 4), (1, 5)])
def test_p_values_equal_a_loop_over_all_assignments(n_old, n_new):
    distances = drawn(np.random.default_rng(0), n_old + n_new, 40)

    tested = examine_distances(distances, n_old)

    ways = list(combinations(range(n_old + n_new), n_old))
    for example, p_value in enumerate(tested.p_values):
        seen, *_ = values = [beyond(distances[..., example], way) for way in ways]
        assert p_value == pytest.approx(np.mean([x >= seen - 1e-9 for x in values]))


@pytest.mark.parametrize("n_runs", [5, 10])
def test_shifted_versions_are_detected(n_runs):
    distances = drawn(np.random.default_rng(1), 2 * n_runs, 30, shift=20.0, n_old=n_runs)

    tested = examine_distances(distances, n_runs)

    assert tested.is_tested.all()
    assert tested.p_values.max() <= 0.01


@pytest.mark.parametrize("n_runs", [5, 10])
def test_p_values_of_equal_versions_are_at_least_uniform(n_runs):
    rng = np.random.default_rng(2)
    points = rng.normal(size=(2 * n_runs, 4000))
    distances = np.abs(points[:, np.newaxis] - points)

    tested = examine_distances(distances, n_runs)

    for level in (0.01, 0.05, 0.2):
        share = (tested.p_values <= level).mean()
        assert share <= level + 3 * np.sqrt(level * (1 - level) / 4000)  # three standard errors


def test_equal_answers_are_not_tested():
    for n_runs in (4, 10):
        assert not examine_distances(np.zeros((2 * n_runs, 2 * n_runs, 3)), n_runs).is_tested.any()
