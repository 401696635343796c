"""Explained variance against loops over runs and examples."""

import numpy as np
import pytest
from sklearn.metrics import r2_score

from seedproof.metrics.numbers.batch import NumberBatch
from seedproof.metrics.numbers.errors import Explained
from seedproof.records.answer_settings import AnswerSettings
from seedproof.stats.intervals import estimate

PLAIN = AnswerSettings()


def explained(numbers, targets, settings=PLAIN, *, cut=None):
    """Return the figures of numbers that are added in two parts."""
    blocks = np.arange(numbers.shape[1]) % 5
    parts = []
    for rows in (slice(0, cut), slice(cut, None)) if cut else (slice(None),):
        family = Explained(len(numbers), settings)
        family.update(NumberBatch(numbers[:, rows], targets[rows], blocks[rows]))
        parts.append(family)
    for part in parts[1:]:
        parts[0].merge(part)
    return parts[0].result()


def slow_r2(numbers, targets):
    """Return 1 less squared errors over squared deviations from the mean, averaged over runs."""
    known = [i for i in range(len(targets)) if not np.isnan(targets[i])]
    mean = sum(targets[i] for i in known) / len(known)
    around = sum((targets[i] - mean) ** 2 for i in known)
    of_runs = [1 - sum((run[i] - targets[i]) ** 2 for i in known) / around for run in numbers]
    return np.mean(of_runs)


def test_r2_is_that_of_a_loop_also_without_each_run():
    for seed in range(500):
        rng = np.random.default_rng(seed)
        n_runs, n_examples = rng.integers(3, 7), rng.integers(6, 15)
        targets = rng.normal(size=n_examples) * 10.0 ** rng.integers(-2, 3) + rng.choice([0, 1e4])
        numbers = targets + rng.normal(size=(n_runs, n_examples))
        targets[rng.random(n_examples) < 0.1] = np.nan
        targets[:4] = rng.normal(size=4)

        r2 = explained(numbers, targets, cut=int(rng.integers(1, n_examples)))["r2"]

        assert r2.value == pytest.approx(slow_r2(numbers, targets), rel=1e-6, abs=1e-9)
        for run, left in enumerate(r2.without):
            expected = slow_r2(np.delete(numbers, run, axis=0), targets)
            assert 1 - np.exp(left) == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_r2_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    targets = rng.normal(size=200)
    numbers = targets + 0.5 * rng.normal(size=(6, 200))

    given = explained(numbers, targets)

    by_run = [r2_score(targets, run) for run in numbers]
    r2, spread = estimate(given["r2"]), estimate(given["r2_sd"])
    assert r2.value == pytest.approx(np.mean(by_run))
    assert spread.value == pytest.approx(np.std(by_run, ddof=1))
    assert r2.low < 0.75 < r2.high
    assert r2.over == "runs × examples"


def test_trials_have_r2_over_examples_and_no_spread():
    rng = np.random.default_rng(1)
    targets = rng.normal(size=100)
    numbers = targets + rng.normal(size=(3, 100))

    given = explained(numbers, targets, AnswerSettings(are_trials=True))

    assert list(given) == ["r2"]
    assert estimate(given["r2"]).over == "examples"


def test_equal_targets_have_no_variance_to_explain():
    assert explained(np.ones((3, 10)), np.ones(10)) == {}
    assert explained(np.ones((3, 1)), np.ones(1)) == {}


def test_numbers_that_equal_their_targets_explain_all():
    targets = np.arange(20.0)

    assert estimate(explained(np.tile(targets, (5, 1)), targets)["r2"]).value == 1.0
