"""Kernels for examples with unequal numbers of trials of one model.

A trial that is not there is NaN. Figures of an example are from its own trials; those that need
more trials than it has leave it out, so that no figure depends on the examples with most trials.
"""

from functools import lru_cache
from math import comb

import numpy as np

from seedproof.metrics.statistic import ExampleValues
from seedproof.records.answer_settings import Tolerance
from seedproof.typing import BoolArray, FloatArray, IntArray


def mean_of_trials(numbers: FloatArray) -> ExampleValues:
    """Return the mean of the trials of each example, from the axes (trials, examples)."""
    return ExampleValues(np.asarray(np.nansum(numbers, axis=0) / counts_of(numbers)), None)


def counts_of(numbers: FloatArray) -> IntArray:
    """Return the number of trials of each example."""
    return np.asarray(np.count_nonzero(~np.isnan(numbers), axis=0))


def variance_of_trials(numbers: FloatArray) -> ExampleValues:
    """Return the sample variance of the trials of each example that has at least two."""
    numbers, counts, places = _with_at_least(2, numbers)
    squares = np.square(numbers - np.nansum(numbers, axis=0) / counts)
    return _of_subset(np.nansum(squares, axis=0) / (counts - 1), places)


def difference_of_trials(numbers: FloatArray) -> ExampleValues:
    """Return the mean absolute difference of two trials of an example, where there are two."""
    numbers, counts, places = _with_at_least(2, numbers)
    ascending = np.sort(numbers, axis=0)  # NaN is last
    ascending = ascending - ascending[:1]
    # Of the i-th of n, from 0: it is the larger one of i pairs, and the smaller one of the others.
    signs = 2 * np.arange(len(numbers))[:, np.newaxis] - counts + 1
    return _of_subset(2 * np.nansum(signs * ascending, axis=0) / (counts * (counts - 1)), places)


def flips_of_trials(is_above: BoolArray, numbers: FloatArray) -> ExampleValues:
    """Return the share of the pairs of trials of an example on different sides of a threshold."""
    n_above = np.count_nonzero(is_above, axis=0)
    _, counts, places = _with_at_least(2, numbers)
    n_above = n_above[places]
    return _of_subset(2 * n_above * (counts - n_above) / (counts * (counts - 1)), places)


def beyond_of_trials(numbers: FloatArray, tolerance: Tolerance) -> ExampleValues:
    """Return the share of the pairs of trials that differ by more than a tolerance."""
    numbers, counts, places = _with_at_least(2, numbers)
    n_beyond = np.zeros(numbers.shape[1], dtype=np.int64)
    for shift in range(1, len(numbers)):
        differ = tolerance.is_exceeded(numbers[shift:], numbers[:-shift])  # never of NaN
        n_beyond += np.count_nonzero(differ, axis=0)
    return _of_subset(2 * n_beyond / (counts * (counts - 1)), places)


def all_of_trials(passed: BoolArray, numbers: FloatArray, k: int) -> ExampleValues:
    """Return C(c, k) / C(n, k) for the examples with c passes of n ≥ k trials."""
    n_passed = np.count_nonzero(passed, axis=0)
    _, counts, places = _with_at_least(k, numbers)
    return _of_subset(_all_pass(len(numbers), k)[counts, n_passed[places]], places)


def any_of_trials(passed: BoolArray, numbers: FloatArray, k: int) -> ExampleValues:
    """Return the chance that at least one of k trials passes, for examples with n ≥ k trials."""
    none_pass = all_of_trials(~passed & ~np.isnan(numbers), numbers, k)
    return _of_subset(1.0 - none_pass.values, none_pass.places)


@lru_cache(maxsize=64)
def _all_pass(most: int, k: int) -> FloatArray:
    """Return C(c, k) / C(n, k), axes (n, c) from 0; 0 where k trials are not there."""
    table = np.zeros((most + 1, most + 1))
    for n in range(k, most + 1):
        table[n, : n + 1] = [comb(c, k) / comb(n, k) for c in range(n + 1)]
    return table


def _with_at_least(k: int, numbers: FloatArray) -> tuple[FloatArray, IntArray, IntArray]:
    """Return the examples with so many trials, their numbers of trials, and their positions."""
    counts = counts_of(numbers)
    places = np.flatnonzero(counts >= k)
    return numbers[:, places], counts[places], places


def _of_subset(values: FloatArray, places: IntArray | None) -> ExampleValues:
    return ExampleValues(np.asarray(values), None, places=places, is_subset=True)
