"""Kernels of lists and sets against slow loops over pairs of runs."""

from itertools import combinations

import numpy as np
import pytest

from seedproof.metrics.items.batch import NO_ITEM, ItemBatch
from seedproof.metrics.items.overlap import (
    average_overlap_weights,
    differ,
    jaccard_distance,
    rank_biased_weights,
    weighted_overlap,
)

N_CASES = 500


def _draw(rng):
    """Lists of different lengths, some of them empty; few items, so that runs share some."""
    n_runs, n_examples = int(rng.integers(2, 7)), int(rng.integers(1, 6))
    n_places = int(rng.integers(1, 9))
    n_items = n_places + int(rng.choice([0, 3, 200]))
    items = np.full((n_runs, n_examples, n_places), NO_ITEM)
    for run in range(n_runs):
        for example in range(n_examples):
            size = int(rng.integers(0, n_places + 1))
            items[run, example, :size] = rng.permutation(n_items)[:size]
    return items


def _lists(items):
    return [[[int(x) for x in row if x != NO_ITEM] for row in run] for run in items]


def _jaccard(first, second, _):
    union = {*first, *second}
    return len(union - ({*first} & {*second})) / len(union) if union else 0.0


def _average_overlap(first, second, depth):
    shares = [len({*first[:d]} & {*second[:d]}) / d for d in range(1, depth + 1)]
    return sum(shares) / depth


def _rank_biased(first, second, depth):
    p = 0.9
    shares = [len({*first[:d]} & {*second[:d]}) / d for d in range(1, depth + 1)]
    top = sum(p**i * share for i, share in enumerate(shares))
    return shares[-1] * p**depth + (1 - p) * top


KERNELS = {
    "differ": (differ, lambda a, b, _: float({*a} != {*b})),
    "jaccard": (jaccard_distance, _jaccard),
    "average": (
        lambda x: weighted_overlap(x, average_overlap_weights(x.n_places)),
        _average_overlap,
    ),
    "rank-biased": (lambda x: weighted_overlap(x, rank_biased_weights(x.n_places)), _rank_biased),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_equals_a_loop_over_pairs(name):
    """With all runs, and with each one left out."""
    kernel, of_pair = KERNELS[name]
    rng = np.random.default_rng(0)
    for _ in range(N_CASES):
        items = _draw(rng)
        values, lists, depth = kernel(ItemBatch(items)), _lists(items), items.shape[2]

        def mean(kept, lists=lists, depth=depth):
            pairs = list(combinations(kept, 2))
            examples = range(len(lists[0]))
            return [
                sum(of_pair(lists[a][i], lists[b][i], depth) for a, b in pairs) / len(pairs)
                for i in examples
            ]

        np.testing.assert_allclose(values.values, mean(range(len(lists))), atol=1e-12)
        if len(lists) > 2:
            for left_out in range(len(lists)):
                kept = [run for run in range(len(lists)) if run != left_out]
                expected = values.without[left_out] / values.without_denominator
                np.testing.assert_allclose(expected, mean(kept), atol=1e-12)


def test_many_items_take_several_words():
    """Lists that share nothing have more items than bits of a word."""
    items = np.arange(3 * 2 * 50).reshape(3, 2, 50)

    assert ItemBatch(items).members.shape[0] == 3
    np.testing.assert_allclose(jaccard_distance(ItemBatch(items)).values, 1.0)
    np.testing.assert_allclose(jaccard_distance(ItemBatch(items[[0, 0, 0]])).values, 0.0)
