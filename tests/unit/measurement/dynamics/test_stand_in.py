"""How well one run tells of the others: values, intervals and what they are held against."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from seedproof.measurement.dynamics.scores import Pearson, Precision, Spearman
from seedproof.measurement.dynamics.stand_in import stand_in, told_by_other_runs

SCORES = {"pearson": Pearson(), "spearman": Spearman(), "precision": Precision()}


def _others(watched, run_idx):
    """Entropy over the other runs of all examples."""
    over = np.zeros(watched.n_examples)
    over[watched.contested] = watched.entropies_without(run_idx)[run_idx]
    return over


@pytest.fixture
def study(watched_of, planted_study):
    """Eight runs, three of them traced: not the first three."""
    whole = planted_study(8, 300, np.random.default_rng(1))
    predictions = np.zeros((8, 300), dtype=int)
    predictions[:, whole.contested] = whole.predictions
    return watched_of(whole.entropies[[1, 4, 6]], predictions, [1, 4, 6])


def test_pearson_equals_numpys(study):
    """For each traced run, against the others without it."""
    found = stand_in(study, Pearson())

    pairs = zip(study.entropies, study.traced, strict=True)
    expected = [np.corrcoef(within, _others(study, r))[0, 1] for within, r in pairs]
    assert found.by_run == pytest.approx(expected, abs=1e-12)
    assert found.mean.value == pytest.approx(np.mean(expected), abs=1e-12)


def test_spearman_equals_scipys(study):
    """Equals share a rank. Entropies over runs are ranked on a fine grid, hence the tolerance."""
    found = stand_in(study, Spearman())

    pairs = zip(study.entropies.round(9), study.traced, strict=True)
    expected = [spearmanr(within, _others(study, r).round(9)).statistic for within, r in pairs]
    assert found.by_run == pytest.approx(expected, abs=1e-4)


def test_precision_by_hand(watched_of):
    """Of 20 examples two are least stable; one of them is among the two that a run wavers on."""
    predictions = np.zeros((5, 20), dtype=int)
    predictions[[1, 2], 3] = 1  # 2 of the 4 others
    predictions[[3, 4], 7] = 1
    predictions[1, 9] = 1  # 1 of the 4 others
    within = np.zeros((1, 20))
    within[0, [3, 12]] = 0.5, 0.4

    found = stand_in(watched_of(within, predictions, [0]), Precision())

    assert found.by_run == pytest.approx([0.5])


def test_equals_at_the_limit_count_in_part(watched_of):
    """A run that wavers on nothing finds what chance finds: a tenth."""
    predictions = np.zeros((5, 20), dtype=int)
    predictions[1:3, :5] = 1

    watched = watched_of(np.zeros((1, 20)), predictions, [0])

    assert stand_in(watched, Precision()).by_run == pytest.approx([0.1])
    assert stand_in(watched, Pearson()).by_run.tolist() == [0.0]
    assert stand_in(watched, Spearman()).by_run.tolist() == [0.0]


def test_one_more_in_the_tenth_pushes_another_out():
    """Where the limit lies among equals, what is pushed out is found as often as these are."""
    over, within = np.zeros(100), np.zeros(100)
    over[:5] = 0.6  # fewer than a tenth ever change, so the limit lies among the other 95
    within[:20] = 0.5  # the limit lies among these 20
    x, y = np.zeros(100), np.full(100, 5 / 95)
    x[:20], y[:5] = 0.5, 1.0

    moved = Precision().at_limits(within, over, x, y)

    found, kept = 15 * 0.5 / 95, (5 + 15 * 5 / 95) / 20
    assert moved[0] == pytest.approx((found * (1 - 0.1) + kept * (0.5 - 0.1)) / 0.1)
    assert moved[99] == pytest.approx((found * (5 / 95 - 0.1) + kept * (0 - 0.1)) / 0.1)
    assert Pearson().at_limits(within, over, x, y).tolist() == [0.0] * 100


def test_a_run_is_not_held_against_its_own_vote(watched_of):
    """The only run that ever disagrees tells nothing of the others, who never do."""
    predictions = np.zeros((4, 30), dtype=int)
    predictions[0, :6] = 1
    within = np.zeros((1, 30))
    within[0, :6] = 0.6

    assert stand_in(watched_of(within, predictions, [0]), Pearson()).mean.value == 0.0
    told = stand_in(watched_of(within, predictions, [1]), Pearson()).mean.value
    assert told == pytest.approx(1.0)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize(
    ("n_runs", "n_traced", "over"),
    [
        (8, 8, "runs × examples"),
        (8, 3, "runs × examples"),
        (8, 7, "runs × examples"),
        (8, 2, "examples"),
        (4, 4, "examples"),
        (3, 1, "examples"),
    ],
)
def test_an_interval_says_what_it_is_over(name, n_runs, n_traced, over, planted_study):
    """Over runs as well from five runs and three traced ones on."""
    study = planted_study(n_runs, 200, np.random.default_rng(2), n_traced=n_traced)

    found = stand_in(study, SCORES[name]).mean

    assert found.over == over
    assert found.low < found.value < found.high


def test_a_perfect_stand_in_stays_inside_its_interval(watched_of):
    """Where a correlation is 1 Fisher's z has no end."""
    predictions = np.zeros((6, 40), dtype=int)
    predictions[1:4, :8] = 1
    within = np.zeros((1, 40))
    within[0, :8] = 0.5

    for scores in SCORES.values():
        found = stand_in(watched_of(within, predictions, [0]), scores).mean

        assert found.low <= found.value <= found.high
        assert np.isfinite([found.low, found.high]).all()


@pytest.mark.parametrize(("n_runs", "n_studies"), [(5, 100), (10, 60)])
def test_intervals_cover_the_truth(n_runs, n_studies, planted_study):
    """At least 92 % of planted studies, and not all; less what 60 to 100 studies may miss."""
    rng = np.random.default_rng(n_runs)
    large = [planted_study(n_runs, 4000, rng, n_traced=3) for _ in range(40)]
    truth = {
        name: np.mean([stand_in(one, scores).mean.value for one in large])
        for name, scores in SCORES.items()
    }
    studies = [planted_study(n_runs, 400, rng) for _ in range(n_studies)]

    for name, scores in SCORES.items():
        found = [stand_in(one, scores).mean for one in studies]
        share = np.mean([one.low <= truth[name] <= one.high for one in found])
        half = [
            (one.value + one.low) / 2 <= truth[name] <= (one.value + one.high) / 2 for one in found
        ]

        assert share >= 0.92 - 0.05, (name, share)
        assert np.mean(half) < 0.9, name  # an interval of half the width is noticed


def test_other_runs_tell_what_fresh_runs_would(watched_of, planted_study):
    """Halves of ten runs foretell the correlation between nine runs and nine fresh ones."""
    rng = np.random.default_rng(3)
    foretold, seen = [], []
    for _ in range(20):
        whole = planted_study(18, 1500, rng, n_traced=1)
        first, second = (
            watched_of(whole.entropies[:1, whole.contested], whole.predictions[chosen], [0])
            for chosen in (np.arange(9), np.arange(9, 18))
        )
        pair = np.zeros((2, 1500))
        for row, one in zip(pair, (first, second), strict=True):
            shares = [np.unique(column, return_counts=True)[1] / 9 for column in one.predictions.T]
            row[whole.contested[one.contested]] = [-(p * np.log(p)).sum() for p in shares]
        seen.append(np.corrcoef(pair)[0, 1])
        predictions = np.zeros((10, 1500), dtype=int)
        predictions[:, whole.contested] = whole.predictions[:10]
        foretold.append(told_by_other_runs(watched_of(np.zeros((1, 1500)), predictions, [0])))

    assert np.mean(foretold) == pytest.approx(np.mean(seen), abs=0.04)
    assert np.mean(foretold) < np.mean(seen)  # rather low, as the card says


def test_too_few_runs_cannot_be_halved(watched_of, planted_study):
    """Below eight runs nothing is said, nor where nobody disagrees."""
    rng = np.random.default_rng(4)

    assert told_by_other_runs(planted_study(7, 100, rng)) is None
    agreed = watched_of(np.zeros((1, 50)), np.zeros((8, 50), dtype=int), [0])
    assert told_by_other_runs(agreed) is None
