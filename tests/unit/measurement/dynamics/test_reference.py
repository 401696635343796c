"""What as many other runs would tell, against runs that were in fact made anew."""

import numpy as np
import pytest

from seedproof.measurement.dynamics.reference import told_by_other_runs


def _entropy(predictions):
    """Label entropy of each example, by counting."""
    shares = [np.unique(column, return_counts=True)[1] / len(column) for column in predictions.T]
    return np.array([-(p * np.log(p)).sum() for p in shares])


def _whole(watched):
    """Predictions of all examples."""
    predictions = np.zeros((watched.n_runs, watched.n_examples), dtype=int)
    predictions[:, watched.contested] = watched.predictions
    return predictions


def test_other_runs_tell_what_fresh_runs_would(watched_of, planted_study):
    """Halves of ten runs foretell the correlation between nine runs and nine fresh ones."""
    rng = np.random.default_rng(3)
    foretold, seen = [], []
    for _ in range(20):
        predictions = _whole(planted_study(18, 1500, rng, n_traced=1))
        pair = [_entropy(predictions[chosen]) for chosen in (slice(9), slice(9, 18))]
        seen.append(np.corrcoef(pair)[0, 1])
        foretold.append(told_by_other_runs(watched_of(np.zeros((1, 1500)), predictions[:10])))

    values = [one.value for one in foretold]
    assert np.mean(values) == pytest.approx(np.mean(seen), abs=0.04)
    assert np.mean(values) < np.mean(seen)  # rather low, as the card says
    assert all(one.over == "runs × examples" for one in foretold)
    held = [one.low <= np.mean(seen) <= one.high for one in foretold]
    assert np.mean(held) >= 0.8  # of 20 at 95 %, less what chance may take
    assert np.mean([one.high - one.low for one in foretold]) < 0.4


def test_halves_and_what_is_left_of_them_by_brute_force(planted_study):
    """Eight runs, four ways to halve them; with each run, and each example, left out."""
    n = 1000
    study = planted_study(8, n, np.random.default_rng(6))
    predictions = _whole(study)

    def entropies(without=None):
        orders = [np.roll(np.arange(8), -start) for start in range(4)]
        cut = [(order[:4], order[4:]) for order in orders]
        halves = [[half[half != without] for half in pair] for pair in cut]
        return [np.stack([_entropy(predictions[half]) for half in pair]) for pair in halves]

    def told(pairs, without=None):
        found = [np.corrcoef(pair)[0, 1] for pair in pairs]
        times = 7 / 4 if without is None else 6 / 3.5
        return times * np.mean(found) / (1 + (times - 1) * np.mean(found))

    found = told_by_other_runs(study)

    whole = entropies()
    value = told(whole)
    runs = np.arctanh([told(entropies(run), run) for run in range(8)])
    left = [[np.delete(pair, i, axis=1) for pair in whole] for i in range(n)]
    examples = np.arctanh([told(pairs) for pairs in left])
    width = np.sqrt(
        2.3646**2 * 7 / 8 * np.square(runs - runs.mean()).sum()  # Student, 7 degrees
        + 1.96**2 * (n - 1) / n * np.square(examples - examples.mean()).sum()
    )
    assert found.value == pytest.approx(value, abs=1e-12)
    ends = np.tanh(np.arctanh(value) + width * np.array([-1, 1]))
    assert [found.low, found.high] == pytest.approx(ends, abs=2e-3)  # left out, not differentiated


def test_too_few_runs_cannot_be_halved(watched_of, planted_study):
    """Below eight runs nothing is said, nor where nobody disagrees."""
    rng = np.random.default_rng(4)

    assert told_by_other_runs(planted_study(7, 100, rng)) is None
    agreed = watched_of(np.zeros((1, 50)), np.zeros((8, 50), dtype=int), [0])
    assert told_by_other_runs(agreed) is None
