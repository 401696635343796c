"""Distinct answers per example."""

from itertools import combinations

import numpy as np
import pytest

from seedproof.metrics.batch import Batch
from seedproof.metrics.distinct import (
    RAREFIED,
    Distinct,
    distinct_answers,
    distinct_by_runs,
    rarefied_answers,
)
from seedproof.stats.intervals import estimate


def drawn_codes(seed, most_runs=8):
    """Codes of a few runs, in which answers are rare, usual or all the same."""
    rng = np.random.default_rng(seed)
    n_runs, n_answers = int(rng.integers(3, most_runs)), int(rng.integers(1, 9))
    return rng.integers(0, n_answers, (n_runs, 5))


def agreement_of(codes):
    return Batch(codes, n_classes=int(codes.max()) + 1).agreement


def slowly(codes, n_drawn):
    """Mean number of distinct answers over all draws, by a loop."""
    draws = list(combinations(range(len(codes)), n_drawn))
    return np.array(
        [np.mean([len(set(answers[list(draw)])) for draw in draws]) for answers in codes.T]
    )


@pytest.mark.parametrize("first", range(0, 500, 50))
def test_distinct_answers_equal_a_loop(first):
    for seed in range(first, first + 50):
        codes = drawn_codes(seed)
        n_runs = len(codes)
        drawn = int(np.random.default_rng(seed).integers(1, n_runs))

        whole = distinct_answers(agreement_of(codes))
        few = rarefied_answers(agreement_of(codes), drawn)

        assert whole.values.tolist() == slowly(codes, n_runs).tolist()
        assert np.allclose(few.values, slowly(codes, drawn))
        run = seed % n_runs
        left = np.delete(codes, run, axis=0)
        assert np.asarray(whole.without)[run].tolist() == slowly(left, n_runs - 1).tolist()
        assert np.allclose(np.asarray(few.without)[run], slowly(left, drawn))


def test_curve_is_the_mean_of_every_number_of_runs():
    codes = drawn_codes(3, most_runs=7)
    family = Distinct(len(codes), 10)
    family.update(Batch(codes, n_classes=10))

    curve = family.detail()["distinct_by_runs"]

    expected = [slowly(codes, k).mean() for k in range(1, len(codes) + 1)]
    assert curve == pytest.approx(expected)
    assert distinct_by_runs(np.array([0, 0, 4])) == pytest.approx([1.0, 1.0])


def test_interval_begins_at_one_answer():
    """A single answer to every example is the least there is; others remain possible."""
    family = Distinct(6, 10)
    family.update(Batch(np.ones((6, 40), dtype=np.int64), n_classes=10))

    figures = {name: estimate(statistic) for name, statistic in family.result().items()}

    for figure in figures.values():
        assert (figure.value, figure.low) == (1.0, 1.0)
        assert 1.0 < figure.high < 1.6


@pytest.mark.parametrize("seed", range(5))
def test_interval_is_within_what_runs_can_give(seed):
    rng = np.random.default_rng(seed)
    codes = np.where(rng.random((6, 30)) < 0.05, rng.integers(0, 9, (6, 30)), 0)
    family = Distinct(6, 10)
    family.update(Batch(codes, n_classes=10))

    figures = {name: estimate(statistic) for name, statistic in family.result().items()}

    for name, most in (("distinct_answers", 6), (RAREFIED, 5)):
        assert 1.0 <= figures[name].low < figures[name].value < figures[name].high <= most


def test_few_runs_have_no_rarefied_figure():
    family = Distinct(4, 10)
    family.update(Batch(drawn_codes(0)[:3].repeat(2, axis=0)[:4], n_classes=10))

    assert list(family.result()) == ["distinct_answers"]
