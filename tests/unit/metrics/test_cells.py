import numpy as np
import pytest

from seedproof.metrics.cells import mean_over_cells
from seedproof.metrics.statistic import ExampleSums, mean_over_runs
from seedproof.stats.intervals import estimate


@pytest.fixture
def values():
    """Return values of 5 runs for 40 examples."""
    return np.random.default_rng(0).gamma(2.0, size=(5, 40))


@pytest.fixture
def chosen():
    """Return about half of the cells."""
    return np.random.default_rng(1).random((5, 40)) < 0.5


def test_all_cells_give_the_mean_over_examples(values):
    """The same value, means without each run, and variance over examples."""
    sums = ExampleSums()
    sums.update(mean_over_runs(values))
    expected = sums.mean_over_examples()

    statistic = mean_over_cells(values, np.ones(values.shape, dtype=np.bool_))

    assert statistic.value == pytest.approx(expected.value)
    np.testing.assert_allclose(statistic.without, expected.without)
    assert statistic.example_variance == pytest.approx(expected.example_variance)
    assert statistic.n_examples == 40


def test_mean_is_that_of_the_chosen_cells(values, chosen):
    """By hand, with all runs and without each; other cells do not matter."""
    other = np.where(chosen, values, 1e9)

    statistic = mean_over_cells(other, chosen)

    assert statistic.value == pytest.approx(values[chosen].mean())
    for run, mean in enumerate(statistic.without):
        kept = chosen.copy()
        kept[run] = False
        assert mean == pytest.approx(values[kept].mean())


def test_variance_over_examples_is_that_of_a_jackknife(values, chosen):
    """Leaving out one example at a time gives nearly the variance from residuals."""
    without = []
    for example in range(40):
        kept = chosen.copy()
        kept[:, example] = False
        without.append(values[kept].mean())
    expected = 39 * np.var(without)

    variance = mean_over_cells(values, chosen).example_variance

    assert variance == pytest.approx(expected, rel=0.1)


def test_examples_of_one_cluster_count_once(values, chosen):
    """Four copies of an example are not more than one, and the interval says so."""
    copies = np.repeat(np.arange(40), 4)
    alone = mean_over_cells(values, chosen)

    copied = mean_over_cells(values[:, copies], chosen[:, copies], clusters=copies)

    assert copied.example_variance == pytest.approx(alone.example_variance)
    assert estimate(copied).over == "runs × clusters"


def test_examples_without_a_chosen_cell_do_not_matter(values, chosen):
    """Neither for the value nor for the interval."""
    chosen[:, 30:] = False

    whole, part = (estimate(mean_over_cells(values[:, :n], chosen[:, :n])) for n in (40, 30))

    assert (whole.value, whole.low, whole.high) == pytest.approx((part.value, part.low, part.high))


def test_cells_of_a_single_run_show_nothing_about_others(values):
    """The interval is over examples then."""
    chosen = np.zeros(values.shape, dtype=np.bool_)
    chosen[2, :20] = True

    statistic = mean_over_cells(values, chosen)

    assert statistic.without is None
    assert estimate(statistic).over == "examples"
