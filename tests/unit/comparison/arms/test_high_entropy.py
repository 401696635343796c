"""The effect of an arm on examples of high baseline entropy."""

import numpy as np
import pytest

from seedproof.comparison.arms import high_entropy
from seedproof.comparison.arms.high_entropy import HighEntropySums
from seedproof.measurement.clusters import ClusterKeys
from seedproof.metrics.batch import Batch


def votes(rng, chances, n_runs):
    """Draw runs that choose the second of two classes with each example's probability."""
    predictions = (rng.random((n_runs, len(chances))) < chances).astype(int)
    return Batch(predictions, n_classes=2)


@pytest.mark.parametrize(("n_runs", "regression"), [(10, 0.15), (50, 0.03)])
def test_equal_arms_show_no_reduction_if_cross_fitted(n_runs, regression):
    """The published method shows 15 and 3 %: regression to the mean."""
    rng = np.random.default_rng(5)
    chances = rng.beta(0.4, 0.4, 20_000)
    sums = HighEntropySums(n_runs, n_runs)

    sums.update(votes(rng, chances, n_runs), votes(rng, chances, n_runs))

    result = sums.result()
    assert abs(result.reduction) < 0.05
    assert result.as_published == pytest.approx(regression, abs=0.05)
    assert result.n_chosen > 1_000


def test_an_arm_that_copies_the_baseline_shows_no_reduction():
    """Runs whose seeds chose the examples are not measured."""
    rng = np.random.default_rng(10)
    base = votes(rng, rng.beta(0.4, 0.4, 20_000), 10)
    sums = HighEntropySums(10, 10, partners=tuple(range(10)))

    sums.update(base, Batch(base.predictions.copy(), n_classes=2))

    assert sums.result().reduction == 0.0


def test_some_copies_of_the_baseline_show_no_reduction():
    """Runs whose seeds chose the examples are not measured, in any order of the runs."""
    rng = np.random.default_rng(11)
    base = votes(rng, rng.beta(0.4, 0.4, 20_000), 40)
    partners = (3, 38, 12, 25, 6, 31, 17, 20, 9, 34, 1, 28)
    sums, unaware = HighEntropySums(40, 12, partners=partners), HighEntropySums(40, 12)

    for each in (sums, unaware):
        each.update(base, Batch(base.predictions[list(partners)], n_classes=2))

    assert abs(sums.result().reduction) < 0.01
    # Half of the arm's runs chose the examples: entropy is high where they disagree.
    assert unaware.result().reduction < -0.02


def test_a_half_with_fewer_than_two_runs_to_measure_is_left_out():
    """Of four ways to choose, one is left: on the second and fourth run, measured on the others."""
    rng = np.random.default_rng(12)
    base = votes(rng, rng.beta(0.4, 0.4, 500), 4)
    sums = HighEntropySums(4, 2, partners=(0, 2))

    sums.update(base, Batch(base.predictions[[0, 2]], n_classes=2))

    assert sums.result().reduction == 0.0
    assert sums.result().n_chosen == (base.predictions[1] != base.predictions[3]).sum()


def test_an_arm_whose_runs_agree_reduces_all_entropy():
    """By both figures."""
    rng = np.random.default_rng(6)
    chances = rng.random(2_000)
    sums = HighEntropySums(10, 10)
    agreed = Batch(np.ones((10, 2_000), dtype=int), n_classes=2)

    sums.update(votes(rng, chances, 10), agreed)

    assert (sums.result().reduction, sums.result().as_published) == (1.0, 1.0)


def test_unequal_numbers_of_runs_are_compared_at_the_smaller():
    """Six runs against thirty of the same population."""
    rng = np.random.default_rng(7)
    chances = rng.beta(0.4, 0.4, 20_000)
    sums = HighEntropySums(30, 6)

    sums.update(votes(rng, chances, 30), votes(rng, chances, 6))

    assert abs(sums.result().reduction) < 0.05


def test_three_runs_cannot_be_cut_into_halves():
    """A half needs two runs to disagree."""
    rng = np.random.default_rng(8)
    sums = HighEntropySums(3, 3)
    sums.update(votes(rng, rng.random(50), 3), votes(rng, rng.random(50), 3))

    assert sums.result().reduction is None


def test_merging_is_adding():
    """Two parts make the whole."""
    rng = np.random.default_rng(9)
    whole, parts = HighEntropySums(6, 6), [HighEntropySums(6, 6), HighEntropySums(6, 6)]
    for part in parts:
        pair = votes(rng, rng.random(100), 6), votes(rng, rng.random(100), 6)
        part.update(*pair)
        whole.update(*pair)

    parts[0].merge(parts[1])

    # Sums of floats in another order.
    assert parts[0].result().reduction == pytest.approx(whole.result().reduction, rel=1e-12)
    assert parts[0].result().n_chosen == whole.result().n_chosen


def unsure_of_different(rng, n_examples):
    """Chances of two arms that are equally unsure, of examples that are mostly not the same."""
    shared = rng.normal(size=n_examples)
    margins = [np.sqrt(0.6) * shared + np.sqrt(0.4) * rng.normal(size=n_examples) for _ in "ab"]
    return [1 / (1 + np.exp(-4 * margin)) for margin in margins]


def test_arms_that_are_unsure_of_different_examples_show_no_reduction_in_both():
    """Selected by the baseline entropy falls, selected by the arm it rises, both clearly."""
    rng = np.random.default_rng(13)
    chances = unsure_of_different(rng, 2_000)
    sums = HighEntropySums(10, 10)

    sums.update(*(votes(rng, chance, 10) for chance in chances))

    result = sums.result()
    assert result.low > 0.0
    assert result.by_arm.high < 0.0


def test_selecting_by_the_arm_is_selecting_by_the_baseline_with_arms_exchanged():
    """The ratio is inverted, and so are the ends of its interval."""
    rng = np.random.default_rng(14)
    first, second = (votes(rng, chance, 10) for chance in unsure_of_different(rng, 500))
    sums, exchanged = HighEntropySums(10, 12), HighEntropySums(12, 10)
    second = Batch(np.concatenate([second.predictions, second.predictions[:2]]), n_classes=2)

    sums.update(first, second)
    exchanged.update(second, first)

    by_arm, by_baseline = sums.result().by_arm, exchanged.result()
    assert by_arm.n_chosen == by_baseline.n_chosen
    for selected_by_arm, exchanged_end in (
        (by_arm.reduction, by_baseline.reduction),
        (by_arm.low, by_baseline.high),
        (by_arm.high, by_baseline.low),
    ):
        assert 1 - selected_by_arm == pytest.approx(1 / (1 - exchanged_end), rel=1e-10)


@pytest.mark.parametrize("is_paired", [True, False])
def test_interval_of_the_reduction_covers_no_effect(is_paired):
    """In 60 studies of equal arms, at 95 %, more than 8 misses have a chance of 0.2 %."""
    rng = np.random.default_rng(15)
    n_missed = 0
    for _ in range(60):
        chances = rng.beta(0.4, 0.4, 400)
        partners = tuple(range(10)) if is_paired else None
        sums = HighEntropySums(10, 10, partners, is_paired=is_paired)
        sums.update(votes(rng, chances, 10), votes(rng, chances, 10))
        result = sums.result()
        assert result.low <= result.reduction <= result.high
        n_missed += not result.low <= 0.0 <= result.high

    assert n_missed <= 8


def test_clusters_widen_the_interval():
    """Twenty copies of an example are one draw."""
    rng = np.random.default_rng(16)
    clusters = np.arange(2_000) // 20
    base, arm = (votes(rng, rng.beta(0.4, 0.4, 100), 10) for _ in range(2))
    copies = [Batch(x.predictions[:, clusters], n_classes=2) for x in (base, arm)]
    plain, clustered, few = (HighEntropySums(10, 10) for _ in range(3))
    clustered.open(ClusterKeys(np.arange(100), clusters))

    plain.update(*copies)
    clustered.update(*copies)
    few.update(base, arm)

    widths = {
        name: result.high - result.low
        for name, result in (
            ("plain", plain.result()),
            ("clustered", clustered.result()),
            ("few", few.result()),
        )
    }
    assert clustered.result().over == "runs × clusters"
    assert widths["clustered"] > 1.5 * widths["plain"]
    assert widths["clustered"] == pytest.approx(widths["few"], rel=0.1)


def test_clusters_of_one_example_change_little():
    """The variance from drawing clusters is that from drawing examples."""
    rng = np.random.default_rng(17)
    pair = votes(rng, rng.beta(0.4, 0.4, 800), 10), votes(rng, rng.beta(0.4, 0.4, 800), 10)
    plain, clustered = HighEntropySums(10, 10), HighEntropySums(10, 10)
    clustered.open(ClusterKeys(np.arange(800), np.arange(800)))
    for sums in (plain, clustered):
        sums.update(*pair)

    by_examples, by_clusters = plain.result(), clustered.result()

    assert by_clusters.reduction == by_examples.reduction
    # Student's quantile for 800 clusters in place of the normal one.
    ends = by_examples.low, by_examples.high
    assert (by_clusters.low, by_clusters.high) == pytest.approx(ends, rel=0.01)


@pytest.mark.parametrize(
    ("n_runs", "n_examples", "n_clusters", "note"),
    [
        (9, 400, None, high_entropy.FEW_RUNS),
        (10, 20, None, high_entropy.FEW_EXAMPLES),
        (10, 400, 5, high_entropy.FEW_CLUSTERS),
    ],
)
def test_too_little_data_gives_a_reduction_with_a_reason(n_runs, n_examples, n_clusters, note):
    rng = np.random.default_rng(18)
    sums = HighEntropySums(n_runs, n_runs)
    if n_clusters is not None:
        sums.open(ClusterKeys(np.arange(n_clusters), np.arange(n_examples) % n_clusters))

    sums.update(*(votes(rng, rng.beta(0.4, 0.4, n_examples), n_runs) for _ in range(2)))

    result = sums.result()
    assert result.reduction is not None
    assert (result.low, result.high, result.over) == (None, None, None)
    assert result.note == note
    assert result.summary()["note"]


def test_arm_whose_runs_agree_has_no_interval():
    rng = np.random.default_rng(19)
    sums = HighEntropySums(10, 10)
    agreed = Batch(np.ones((10, 500), dtype=int), n_classes=2)

    sums.update(votes(rng, rng.random(500), 10), agreed)

    result = sums.result()
    assert result.note == high_entropy.NO_ENTROPY
    assert result.by_arm.reduction is None


def test_merging_keeps_intervals():
    """Of examples and of clusters, in both directions."""
    rng = np.random.default_rng(20)
    pairs = [[votes(rng, rng.random(300), 10) for _ in range(2)] for _ in range(2)]
    keys = [ClusterKeys(np.arange(30) + start, np.arange(300) // 10) for start in (0, 20)]
    for clusters in (None, keys):
        whole, parts = HighEntropySums(10, 10), [HighEntropySums(10, 10) for _ in range(2)]
        for i, pair in enumerate(pairs):
            for sums in (whole, parts[i]):
                sums.open(None if clusters is None else clusters[i])
                sums.update(*pair)

        parts[0].merge(parts[1])

        merged, expected = parts[0].result(), whole.result()
        for result, whole_result in ((merged, expected), (merged.by_arm, expected.by_arm)):
            assert result.over == whole_result.over
            # Sums of floats in another order.
            ends = whole_result.low, whole_result.high
            assert (result.low, result.high) == pytest.approx(ends, rel=1e-10)
