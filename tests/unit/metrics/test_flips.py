import math

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from seedproof.metrics.batch import Batch
from seedproof.metrics.flips import Flips, flip_rate, net_flips
from seedproof.stats.intervals import estimate

# Three runs, four examples, three classes; see the tests for what follows from it.
SMALL = np.array([[0, 1, 2, 0], [0, 1, 1, 0], [0, 2, 1, 0]])


def flips_of(predictions, n_classes=3):
    """The family after one batch."""
    flips = Flips(len(predictions), n_classes)
    flips.update(Batch(predictions, n_classes=n_classes))
    return flips


def values_of(predictions, n_classes=3):
    """The value of each figure."""
    result = flips_of(predictions, n_classes).result()
    return {name: estimate(statistic).value for name, statistic in result.items()}


def random_predictions(seed, shape=(6, 80), n_classes=4):
    """Runs that agree with a usual answer on most examples."""
    rng = np.random.default_rng(seed)
    usual = rng.integers(0, n_classes, shape[1])
    return np.where(rng.random(shape) < 0.3, rng.integers(0, n_classes, shape), usual)


def test_figures_by_hand():
    """Examples have 0, 2, 2, 0 of 3 pairs that disagree: (0 + 2/3 + 2/3 + 0)/4 = 1/3.

    Class counts 2/1/1, 2/2/0, 2/1/1: distances 1/4, 0, 1/4, so 1/6 on average. Runs disagree on two
    of four examples, and so do runs 0 and 2, which differ most.
    """
    values = values_of(SMALL)

    assert values["flip_rate"] == pytest.approx(1 / 3, rel=1e-15)
    assert values["net_flip_rate"] == pytest.approx(1 / 6, rel=1e-15)
    assert (values["ambiguity"], values["discrepancy"]) == (0.5, 0.5)
    # 75/25 over 4 runs: of 6 pairs the 3 with the odd run disagree.
    assert values_of(np.array([[1], [1], [1], [0]]))["flip_rate"] == 0.5


def test_detail_by_hand():
    """Runs 0 and 1 differ on one example of four, 0 and 2 on two, 1 and 2 on one.

    Shares of class 1 are ¼, ½, ¼, of class 2 ¼, 0, ¼, of class 0 always ½: the class that moves
    most comes first, the smaller index among equals. Two examples have a majority of three runs,
    two of two. Both contested examples are between classes 1 and 2, with one run in the minority.
    """
    detail = flips_of(SMALL).detail()

    assert detail["flip_matrix"].tolist() == [[0, 0.25, 0.5], [0.25, 0, 0.25], [0.5, 0.25, 0]]
    assert detail["drift_classes"].tolist() == [1, 2, 0]
    assert detail["drift_shares"].tolist() == [[0.25, 0.25, 0.5], [0.5, 0, 0.5], [0.25, 0.25, 0.5]]
    assert detail["majority_counts"].tolist() == [0, 0, 2, 2]
    assert detail["swap_classes"].tolist() == [[1, 2]]
    assert detail["swap_counts"].tolist() == [2]


@pytest.mark.parametrize("n_examples", [3, 5, 7, 10, 49])
def test_ambiguity_is_a_count_over_the_examples(n_examples):
    """One contested example of five is 0.2, not 0.19999999999999996, as is the discrepancy."""
    predictions = np.zeros((2, n_examples), dtype=int)
    predictions[1, 0] = 1

    values = values_of(predictions)

    assert values["ambiguity"] == 1 / n_examples
    assert values["ambiguity"] == values["discrepancy"]


def test_at_most_twenty_drifting_classes_are_listed():
    """Those that move most."""
    predictions = random_predictions(13, (4, 200), 60)

    detail = flips_of(predictions, 60).detail()

    counts = np.stack([np.bincount(run, minlength=60) for run in predictions])
    moves = counts.max(axis=0) - counts.min(axis=0)
    assert detail["drift_shares"].shape == (4, 20)
    assert moves[detail["drift_classes"]].tolist() == sorted(moves, reverse=True)[:20]


def test_swaps_count_votes_against_the_majority_in_both_directions():
    """0 for 2 and 2 for 0 are one swap; the most frequent comes first."""
    predictions = np.array([[0, 2, 1, 1], [0, 2, 1, 1], [0, 2, 1, 1], [2, 0, 0, 1]])

    detail = flips_of(predictions).detail()

    assert detail["swap_classes"].tolist() == [[0, 2], [0, 1]]
    assert detail["swap_counts"].tolist() == [2, 1]


def test_twenty_largest_swaps_are_kept():
    """Of 45 pairs of ten classes, counted one vote at a time."""
    predictions = random_predictions(12, (5, 600), 10)
    batch = Batch(predictions, n_classes=10)
    votes = np.zeros((10, 10), dtype=int)
    for run in predictions:
        for answer, majority in zip(run, batch.consensus, strict=True):
            if answer != majority:
                votes[min(answer, majority), max(answer, majority)] += 1

    detail = flips_of(predictions, 10).detail()

    assert detail["swap_counts"].tolist() == sorted(votes.ravel(), reverse=True)[:20]
    listed = [votes[first, second] for first, second in detail["swap_classes"]]
    assert listed == detail["swap_counts"].tolist()


@pytest.mark.parametrize("n_classes", [2, 1001])
def test_swaps_are_left_out_for_two_or_very_many_classes(n_classes):
    """Two classes have one swap; beyond a thousand the table would be too large."""
    detail = flips_of(np.array([[0, 1], [1, 1]]), n_classes).detail()

    assert "swap_counts" not in detail


def test_identical_runs_have_no_swaps():
    """An empty list of pairs, not a list of zeros."""
    detail = flips_of(np.zeros((3, 4), dtype=int)).detail()

    assert detail["swap_classes"].shape == (0, 2)
    assert detail["swap_counts"].shape == (0,)


def test_columns_by_hand():
    """The majority class, its share of the runs, and the flip rate of each example."""
    columns = Flips(len(SMALL), 3).update(Batch(SMALL, n_classes=3))

    assert columns["consensus"].tolist() == [0, 1, 1, 0]
    np.testing.assert_allclose(columns["consensus_share"], [1, 2 / 3, 2 / 3, 1], rtol=1e-15)
    np.testing.assert_allclose(columns["flip_rate"], [0, 2 / 3, 2 / 3, 0], rtol=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_rates_equal_mean_distances_of_scipy(seed):
    """Flips are Hamming distances; net flips, total variations, are half city-block distances."""
    predictions = random_predictions(seed)
    shares = np.stack([np.bincount(run, minlength=4) for run in predictions]) / 80

    values = values_of(predictions, 4)

    # scipy adds up shares, we add up counts: rounding of 15 additions.
    flips, net = pdist(predictions, "hamming").mean(), pdist(shares, "cityblock").mean() / 2
    assert values["flip_rate"] == pytest.approx(flips, rel=1e-14)
    assert values["net_flip_rate"] == pytest.approx(net, rel=1e-13)


def test_runs_that_never_agree_flip_everything():
    """The upper bound 1 is reached."""
    predictions = np.repeat([[0], [1], [2]], 20, axis=1)

    assert set(values_of(predictions).values()) == {1.0}


@pytest.mark.parametrize("n_runs", [2, 3, 5, 8])
def test_flip_rate_is_unbiased_in_the_number_of_runs(n_runs):
    """Runs that predict 1 with probability 1/4 flip in 2·(1/4)·(3/4) = 0.375 of the pairs."""
    counts = np.arange(n_runs + 1)
    votes = (np.arange(n_runs)[:, None] < counts).astype(int)
    chance = [math.comb(n_runs, k) * 0.25**k * 0.75 ** (n_runs - k) for k in counts]

    expected = flip_rate(Batch(votes, n_classes=2).agreement).values @ chance

    assert expected == pytest.approx(0.375, rel=1e-14)


def test_net_flips_equal_flips_where_a_threshold_moves():
    """Every flip goes from class 0 to class 1, so none cancels."""
    positive_from = np.array([3, 5, 6, 9])
    predictions = (np.arange(10) >= positive_from[:, None]).astype(int)

    values = values_of(predictions, 2)

    assert values["net_flip_rate"] == pytest.approx(values["flip_rate"], rel=1e-14)


def test_net_flips_are_zero_where_flips_cancel():
    """Two runs that swap two answers have equal class shares."""
    values = values_of(np.array([[0, 1, 1], [1, 0, 1]]), 2)

    assert values["net_flip_rate"] == 0
    assert values["flip_rate"] == pytest.approx(2 / 3)


def test_net_flips_are_a_symmetric_matrix_with_zero_diagonal():
    """A distance between runs."""
    matrix = net_flips(np.array([[2, 1, 1], [2, 2, 0], [0, 0, 4]]))

    assert matrix.tolist() == [[0, 0.25, 0.75], [0.25, 0, 1], [0.75, 1, 0]]


def test_flip_rate_without_a_run_needs_three_runs():
    """Of two runs none can be left out: one run is not a pair."""
    assert flip_rate(np.array([[1], [1]])).without is None
    assert flip_rate(np.array([[2], [2], [1]])).without.tolist() == [[2], [2], [0]]


def test_prediction_outside_the_classes_is_refused():
    """A fourth class in a study of three."""
    with pytest.raises(ValueError):
        flips_of(np.array([[0, 3], [0, 1]]))
