from itertools import combinations

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

import seedproof as sp
from seedproof.errors import DtypeError, InputError, OptionError, ShapeError, TooFewRunsError
from seedproof.metrics import nearest_neighbors, neighbors
from seedproof.metrics.neighbors import shared_neighbors
from seedproof.testing.errors import WithFields


@pytest.fixture
def runs():
    """Return vectors of four runs, noisy copies of the same ones."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=(90, 6))
    return [base + 0.4 * rng.normal(size=base.shape) for _ in range(4)]


def by_sklearn(vectors, k):
    """Return the k nearest others by cosine."""
    nearest = NearestNeighbors(n_neighbors=k, metric="cosine").fit(vectors)
    return nearest.kneighbors(return_distance=False)


@pytest.mark.parametrize("most_entries", [1, 700, 2**24])
def test_neighbors_are_those_of_scikit_learn(runs, most_entries, monkeypatch):
    """Whatever the size of the blocks."""
    monkeypatch.setattr(neighbors, "MOST_ENTRIES", most_entries)

    np.testing.assert_array_equal(nearest_neighbors(runs[0], 7), by_sklearn(runs[0], 7))


def mean_agreement(lists, chosen):
    """Return the share that the lists of two runs share, averaged over pairs and examples."""
    return np.mean(
        [
            len({*lists[r][i]} & {*lists[s][i]}) / len(lists[r][i])
            for r, s in combinations(chosen, 2)
            for i in range(len(lists[r]))
        ]
    )


def test_agreement_equals_a_loop(runs):
    """Sets of neighbors of all pairs of runs; also without each run."""
    lists = [by_sklearn(vectors, 5) for vectors in runs]

    shared = sp.neighbor_agreement(runs, k=5)
    statistic = shared_neighbors(np.stack([nearest_neighbors(run, 6) for run in runs]))

    assert shared.agreement.value == pytest.approx(mean_agreement(lists, range(4)))
    assert shared.agreement.over == "runs × examples"
    for run, without in enumerate(statistic.without):
        others = [x for x in range(4) if x != run]
        assert without == pytest.approx(mean_agreement(lists, others))


def test_variance_over_examples_is_that_of_a_jackknife(runs):
    """Without an example, its neighbors are searched again in all runs."""
    left_out = []
    for example in range(90):
        lists = [by_sklearn(np.delete(vectors, example, axis=0), 5) for vectors in runs]
        left_out.append(mean_agreement(lists, range(4)))
    expected = 89 / 90 * np.square(np.array(left_out) - np.mean(left_out)).sum()

    statistic = shared_neighbors(np.stack([nearest_neighbors(run, 6) for run in runs]))

    # Of the mean, with 90 in place of 89 in two places.
    assert statistic.example_variance == pytest.approx(expected, rel=0.03)


def test_rotations_and_scales_do_not_matter(runs):
    """A run has the neighbors of its rotated, scaled copy in more dimensions."""
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(8, 8)))[0][:6]
    copies = [runs[0], 3 * runs[0] @ rotation, 1e-200 * runs[0], 1e200 * runs[0]]

    assert sp.neighbor_agreement(copies).agreement.value == 1.0


def test_unrelated_runs_agree_by_chance():
    """Within the interval."""
    rng = np.random.default_rng(2)

    shared = sp.neighbor_agreement(rng.normal(size=(5, 300, 10)), k=30)

    assert shared.chance == 30 / 299
    assert shared.agreement.low < shared.chance < shared.agreement.high


def test_names_of_runs_may_be_given(runs):
    """As a mapping."""
    named = sp.neighbor_agreement({str(i): run for i, run in enumerate(runs)})

    assert named.agreement == sp.neighbor_agreement(runs).agreement
    assert named.n_runs == 4


@pytest.mark.parametrize(
    ("vectors", "options", "error", "fields"),
    [
        ([np.eye(3)], {"k": 1}, TooFewRunsError, {"n_runs": 1}),
        ([np.eye(3), np.eye(4)], {"k": 1}, ShapeError, {"n_first": 3}),
        ([np.eye(4), np.eye(3)], {"k": 2}, ShapeError, {"n_first": 4}),
        ([np.ones(3)] * 2, {"k": 1}, ShapeError, {"shape": (3,)}),
        ([np.eye(3)] * 2, {"k": 2}, OptionError, {"number": 2, "n_examples": 3}),
        ([np.eye(3)] * 2, {"k": 0}, OptionError, {"number": 0}),
        ([np.eye(3) * [1, 1, 0]] * 2, {"k": 1}, InputError, {"position": 2}),
        ([np.eye(3) * [1, np.nan, 1]] * 2, {"k": 1}, InputError, {"position": 0}),
        ([[["a", "b"]] * 3] * 2, {"k": 1}, DtypeError, {}),
    ],
)
def test_bad_vectors_are_refused(vectors, options, error, fields):
    """With what is wrong."""
    with pytest.raises(error, check=WithFields(**fields)):
        sp.neighbor_agreement(vectors, **options)


def test_neighbors_can_be_measured_as_lists(runs):
    """With every metric of ranked lists, and its page."""
    lists = np.stack([nearest_neighbors(vectors, 10) for vectors in runs])

    report = sp.measure(lists, kind="rankings")

    assert 0 < report["jaccard_distance@10"].value < 1
