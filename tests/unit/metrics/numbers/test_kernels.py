"""Kernels of numbers against slow loops over runs and examples."""

from itertools import combinations, permutations
from math import comb

import numpy as np
import pytest

from seedproof.metrics.numbers.passes import all_of, any_of
from seedproof.metrics.numbers.spread import (
    flips_across,
    mean_difference,
    pairs_beyond,
    variance_over_runs,
)
from seedproof.records.answer_settings import Tolerance

N_CASES = 500


def cases(*, is_pass_or_fail=False):
    """Yield numbers of two to seven runs: spread widely, far from 0, with ties, or 0 and 1."""
    for seed in range(N_CASES):
        rng = np.random.default_rng(seed)
        shape = rng.integers(2, 8), rng.integers(1, 6)
        if is_pass_or_fail:
            yield (rng.random(shape) < rng.random()).astype(np.float64)
            continue
        numbers = rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4)
        numbers += rng.choice([0.0, 1e6])
        yield np.round(numbers, 1) if rng.random() < 0.3 else numbers


def check(kernel, slow, numbers):
    """Compare a kernel with a loop, for all runs and with each run left out."""
    values = kernel(numbers)
    whole = [slow(column) for column in numbers.T]
    scale = 1e-9 * (1 + np.abs(numbers).max())
    np.testing.assert_allclose(values.values, whole, rtol=1e-6, atol=scale)
    if len(numbers) == 2:
        assert values.without is None
        return
    left = values.without / values.without_denominator
    expected = [
        [slow(column) for column in np.delete(numbers, run, axis=0).T]
        for run in range(len(numbers))
    ]
    np.testing.assert_allclose(left, expected, rtol=1e-6, atol=scale)


def test_variance_is_the_sample_variance():
    for numbers in cases():
        check(variance_over_runs, lambda x: np.var(x, ddof=1), numbers)


def test_mean_difference_is_the_mean_over_pairs():
    def slow(column):
        return np.mean([abs(a - b) for a, b in combinations(column, 2)])

    for numbers in cases():
        check(mean_difference, slow, numbers)


@pytest.mark.parametrize("given", [0.5, "10%", 0.0])
def test_pairs_beyond_a_tolerance(given):
    tolerance = Tolerance.parse(given)

    def slow(column):
        beyond = []
        for a, b in combinations(column, 2):
            limit = tolerance.size * (max(abs(a), abs(b)) if tolerance.is_relative else 1.0)
            beyond.append(abs(a - b) > limit * (1 + 1e-12))
        return np.mean(beyond)

    for numbers in cases():
        check(lambda x: pairs_beyond(x, tolerance), slow, numbers)


def test_flips_across_a_threshold():
    for numbers in cases():
        threshold = float(np.median(numbers))
        check(
            lambda x, threshold=threshold: flips_across(x >= threshold),
            lambda column, threshold=threshold: np.mean(
                [(a >= threshold) != (b >= threshold) for a, b in combinations(column, 2)]
            ),
            numbers,
        )


@pytest.mark.parametrize("k", [1, 2, 3])
def test_all_and_any_of_k_runs(k):
    """The mean over all ways to draw k runs, in any order."""
    for numbers in cases(is_pass_or_fail=True):
        if len(numbers) <= k:
            continue
        check(
            lambda x: all_of(x == 1.0, k),
            lambda column: np.mean([min(drawn) for drawn in permutations(column, k)]),
            numbers,
        )
        check(
            lambda x: any_of(x == 1.0, k),
            lambda column: np.mean([max(drawn) for drawn in permutations(column, k)]),
            numbers,
        )


def test_all_of_k_is_the_published_formula():
    passed = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 0], [1, 0, 0]], dtype=bool)

    for k in range(1, 5):
        expected = [comb(c, k) / comb(4, k) for c in (4, 2, 0)]
        assert all_of(passed, k).values.tolist() == pytest.approx(expected)


def test_a_tolerance_is_not_exceeded_by_rounding():
    tolerance = Tolerance.parse("0.05")

    assert not tolerance.is_exceeded(np.array([0.30000000000000004]), np.array([0.25])).any()
    assert tolerance.is_exceeded(np.array([0.31]), np.array([0.25])).all()
