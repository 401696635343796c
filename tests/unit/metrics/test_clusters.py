"""Totals per cluster: hand-computed, against an oracle, merged in any order, in bounded memory."""

import numpy as np
import pytest

from seedproof.metrics.clusters import (
    KEY_BITS,
    LEAST_BITS,
    MOST_CLUSTERS,
    ClusterSums,
    Places,
    clustered,
)
from seedproof.metrics.statistic import (
    ExampleSums,
    ExampleValues,
    MeanOverExamples,
    RootOfMean,
    ValueOnly,
)

SIZES, NAME = "n_examples", "figure"


def sums_of(values: np.ndarray, without: np.ndarray, keys: np.ndarray) -> ClusterSums:
    """Totals of one batch."""
    sums = ClusterSums(1 + len(without))
    places = sums.places(keys)
    sums.count(SIZES, places)
    sums.add_values(NAME, ExampleValues(values, without), Places(places))
    return sums


def drawn(n_examples: int, n_clusters: int, seed: int = 0):
    """Whole numbers, so that sums are exact in any order."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 9, n_examples).astype(float)
    without = rng.integers(0, 9, (4, n_examples)).astype(float)
    return values, without, rng.integers(0, n_clusters, n_examples)


def test_variance_from_two_clusters_by_hand():
    """1 and 3 against 5: mean 3, residuals 4 − 6 = −2 and 5 − 3 = 2; 2/1 · (4 + 4)/9."""
    sums = sums_of(np.array([1.0, 3.0, 5.0]), np.zeros((3, 3)), np.array([7, 7, 8]))

    residuals = sums.residuals(NAME, SIZES)

    assert residuals.whole.tolist() == [-2, 2]
    assert residuals.example_covariance(residuals) == pytest.approx(16 / 9, rel=1e-15)


def test_clusters_of_one_example_give_the_variance_of_independent_examples():
    values, without, _ = drawn(200, 1)
    plain = ExampleSums()
    plain.update(ExampleValues(values, without))
    residuals = sums_of(values, without, np.arange(200)).residuals(NAME, SIZES)

    mean = plain.mean_over_examples()

    assert residuals.example_covariance(residuals) == pytest.approx(mean.example_variance)


def test_interaction_is_the_jackknife_variance_of_residuals():
    values, without, keys = drawn(60, 7)
    residuals = sums_of(values, without, keys).residuals(NAME, SIZES)

    expected = 0.0
    for key in np.unique(keys):
        inside = keys == key
        rest = without[:, inside].sum(axis=1) - without.mean(axis=1) * inside.sum()
        expected += (len(without) - 1) * rest.var() / 60**2

    assert residuals.jackknife_covariance(residuals) == pytest.approx(expected, rel=1e-12)


def test_main_effect_of_a_run_is_no_interaction():
    """Every example is higher without run 0: the variance over runs has that, and nothing else."""
    without = np.zeros((3, 40))
    without[0] = 1.0
    residuals = sums_of(np.zeros(40), without, np.arange(40) // 8).residuals(NAME, SIZES)

    assert residuals.jackknife_covariance(residuals) == pytest.approx(0.0, abs=1e-30)


def test_a_single_cluster_has_no_variance_over_clusters():
    residuals = sums_of(np.arange(5.0), np.zeros((3, 5)), np.zeros(5, int)).residuals(NAME, SIZES)

    assert (residuals.n_clusters, residuals.example_covariance(residuals)) == (1, 0.0)


@pytest.mark.parametrize("n_clusters", [50, 20_000])
def test_result_does_not_depend_on_how_examples_were_divided(n_clusters):
    """Neither with few clusters nor if so many are added up that bits are dropped."""
    values, without, keys = drawn(6000, n_clusters)
    keys = (keys * 2654435761) % 2**32
    whole = sums_of(values, without, keys)

    for cuts in ([3000], [10, 20, 4000], [5900]):
        in_parts = ClusterSums(5)
        for rows in np.split(np.arange(6000), cuts):
            in_parts.merge(sums_of(values[rows], without[:, rows], keys[rows]))
        assert in_parts.keys.tolist() == whole.keys.tolist()
        np.testing.assert_array_equal(in_parts.totals[NAME], whole.totals[NAME])
        assert in_parts.is_exact == whole.is_exact == (n_clusters == 50)


def test_memory_does_not_grow_with_the_number_of_clusters():
    values, without, _ = drawn(50_000, 1)
    keys = (np.arange(50_000) * 2654435761) % 2**32

    sums = sums_of(values, without, keys)
    residuals = sums.residuals(NAME, SIZES)

    assert len(sums.keys) <= MOST_CLUSTERS
    assert residuals.n_examples == 50_000
    exact = values.var() / (50_000 - 1)
    # The variance has the precision of MOST_CLUSTERS values: a relative error of √(2/512).
    assert residuals.example_covariance(residuals) == pytest.approx(exact, rel=4 * 0.044)


def test_groups_have_clusters_of_their_own():
    values, without, keys = drawn(100, 6)
    groups = np.arange(100) % 3
    sums = sums_of(values, without, (groups << KEY_BITS) | keys)
    chosen = groups == 1

    of_group = sums.residuals(NAME, SIZES, group=1)

    alone = sums_of(values[chosen], without[:, chosen], keys[chosen]).residuals(NAME, SIZES)
    np.testing.assert_allclose(of_group.whole, alone.whole, rtol=1e-14)


def test_groups_of_a_part_get_their_numbers_in_the_whole():
    values, without, keys = drawn(100, 6)
    part = sums_of(values, without, keys)  # group 0 there
    whole = ClusterSums(5)

    whole.merge(part, groups=np.array([4]))

    np.testing.assert_array_equal(
        whole.residuals(NAME, SIZES, group=4).whole, part.residuals(NAME, SIZES).whole
    )


def test_many_groups_keep_a_few_clusters_each():
    keys = (np.arange(2000) * 2654435761) % 2**32
    every = ((np.arange(500)[:, None] << KEY_BITS) | keys).ravel()
    sums = ClusterSums(1)

    sums.places(every)

    assert len(sums.keys) == 500 * 2**LEAST_BITS


def test_examples_that_are_not_listed_count_as_zeros():
    sums = ClusterSums(3)
    places = sums.places(np.array([3, 3, 9]))
    sums.count(SIZES, places)
    listed = ExampleValues(
        np.array([6]), None, whole_denominator=2, places=np.array([1]), n_zeros=2
    )
    sums.add_values(NAME, listed, Places(places))

    residuals = sums.residuals(NAME, SIZES)

    assert residuals.whole.tolist() == [1, -1]  # 3 − 1·2 and 0 − 1·1


def test_root_of_a_mean_gets_the_variances_of_its_mean():
    values, without, keys = drawn(60, 7)
    residuals = sums_of(values, without, keys).residuals(NAME, SIZES)
    mean = MeanOverExamples(1.0, 60, without.mean(axis=1), 0.0, 0.0)

    root = clustered(RootOfMean(mean, divisor=2), residuals)

    assert root.mean.n_drawn == 7
    assert root.mean.example_variance > 0.0
    assert clustered(ValueOnly(1.0), residuals) == ValueOnly(1.0)
