"""Counts, means and curves that the charts are drawn from."""

import numpy as np
import pytest

from seedproof.measurement.dynamics.pictures import N_CELLS, CumulativeCurve, EntropyMap
from seedproof.records.dynamics import Curve


def test_every_example_is_counted_once_a_traced_run(planted_study):
    """Columns and rows are histograms of the two entropies."""
    study = planted_study(6, 250, np.random.default_rng(0), n_traced=3)

    found = EntropyMap.of(study)

    edges = np.linspace(0, study.entropies.max(), N_CELLS + 1)
    assert found.counts.sum() == 750
    assert found.counts.sum(axis=0).tolist() == np.histogram(study.entropies, edges)[0].tolist()


def test_means_and_errors_by_hand(watched_of):
    """Two examples in the first column, of which one splits the others two to two."""
    predictions = np.zeros((5, 3), dtype=int)
    predictions[1:3, 0] = 1
    predictions[1:3, 2] = 1
    within = np.array([[0.0, 0.0, 0.4]])

    found = EntropyMap.of(watched_of(within, predictions, [0]))

    assert found.over_top == pytest.approx(np.log(2))
    assert found.means[[0, -1]] == pytest.approx([np.log(2) / 2, np.log(2)])
    assert found.errors[0] == pytest.approx(np.log(2) / 2)  # sd 0.49 of two, over √2
    assert np.isnan(found.errors[-1])
    assert np.isnan(found.means[5])


def test_the_same_examples_in_several_runs_are_no_more_examples(watched_of, planted_study):
    """Ten traced runs that waver alike leave the error as it is."""
    one = planted_study(10, 200, np.random.default_rng(1), n_traced=1)
    predictions = np.zeros((10, 200), dtype=int)
    predictions[:, one.contested] = one.predictions
    alike = watched_of(np.repeat(one.entropies, 10, axis=0), predictions)

    few, many = EntropyMap.of(one), EntropyMap.of(alike)

    known = few.counts.sum(axis=0) > 10
    assert many.errors[known] == pytest.approx(few.errors[known], rel=0.35)


def test_curves_are_averaged_as_far_as_the_shortest_goes():
    """What lies between the steps of a curve is interpolated."""
    long, short = Curve((1, 3, 5), (0.0, 0.4, 0.8)), Curve((1, 2, 3), (0.0, 0.4, 0.4))

    found = CumulativeCurve.of([long, short])

    assert found.steps.tolist() == [1, 2, 3]
    assert found.mean == pytest.approx([0.0, 0.3, 0.4])
    assert found.low == pytest.approx([0.0, 0.2, 0.4])
    assert found.high == pytest.approx([0.0, 0.4, 0.4])
    assert CumulativeCurve.of([]) is None
