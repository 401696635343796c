"""Kernels of lists and sets against slow loops over pairs of runs."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import kendalltau

from seedproof.metrics.items import overlap
from seedproof.metrics.items.batch import NO_ITEM, ItemBatch
from seedproof.metrics.items.overlap import (
    average_overlap_weights,
    differ,
    first_differs,
    jaccard_distance,
    kendall_distance,
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
    if not first and not second:
        return 1.0
    shares = [len({*first[:d]} & {*second[:d]}) / d for d in range(1, depth + 1)]
    return sum(shares) / depth


def _rank_biased(first, second, depth):
    if not first and not second:
        return 1.0
    p = 0.9
    shares = [len({*first[:d]} & {*second[:d]}) / d for d in range(1, depth + 1)]
    top = sum(p**i * share for i, share in enumerate(shares))
    return shares[-1] * p**depth + (1 - p) * top


def _kendall(first, second, depth):
    """Fagin, Kumar and Sivakumar (2003), case by case."""
    penalty = 0.0
    for i, j in combinations(sorted({*first, *second}), 2):
        orders = []
        for ranked in (first, second):
            ranks = [ranked.index(x) if x in ranked else None for x in (i, j)]
            if ranks == [None, None]:
                orders.append(0)
            else:
                after_last = [len(ranked) if x is None else x for x in ranks]
                orders.append(1 if after_last[0] < after_last[1] else -1)
        penalty += 0.5 if 0 in orders else float(orders[0] != orders[1])
    return penalty / max(depth * (3 * depth - 1) / 2, 1.0)


KERNELS = {
    "first": (first_differs, lambda a, b, _: float(a[:1] != b[:1])),
    "differ": (differ, lambda a, b, _: float({*a} != {*b})),
    "jaccard": (jaccard_distance, _jaccard),
    "average": (lambda x: weighted_overlap(x, average_overlap_weights), _average_overlap),
    "rank-biased": (lambda x: weighted_overlap(x, rank_biased_weights), _rank_biased),
    "kendall": (kendall_distance, _kendall),
}
# Those of the first items, which only they get.
AT_DEPTH = {
    "jaccard": jaccard_distance,
    "differ": differ,
    "average": lambda x: weighted_overlap(x, average_overlap_weights, of_top=True),
    "kendall": kendall_distance,
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_equals_a_loop_over_pairs(name):
    """With all runs, and with one left out."""
    kernel, of_pair = KERNELS[name]
    rng = np.random.default_rng(0)
    for _ in range(N_CASES):
        items = _draw(rng)
        values, lists = kernel(ItemBatch(items)), _lists(items)
        depths = [max(len(run[i]) for run in lists) for i in range(len(lists[0]))]

        def mean(kept, lists=lists, depths=depths):
            pairs = list(combinations(kept, 2))
            return [
                sum(of_pair(lists[a][i], lists[b][i], depth) for a, b in pairs) / len(pairs)
                for i, depth in enumerate(depths)
            ]

        np.testing.assert_allclose(values.values, mean(range(len(lists))), atol=1e-12)
        if len(lists) > 2:
            left_out = int(rng.integers(len(lists)))
            kept = [run for run in range(len(lists)) if run != left_out]
            expected = values.without[left_out] / values.without_denominator
            np.testing.assert_allclose(expected, mean(kept), atol=1e-12)


def _kendall_by_scipy(first, second, depth):
    """The distance from tau-b over the items of either list, missing ones tied after the last."""
    union = sorted({*first, *second})
    if len(union) < 2:
        return 0.0
    ranks = [[x.index(i) if i in x else len(x) for i in union] for x in (first, second)]
    n_pairs = len(union) * (len(union) - 1) / 2
    n_ties = [(len(union) - len(x)) * (len(union) - len(x) - 1) / 2 for x in (first, second)]
    scale = ((n_pairs - n_ties[0]) * (n_pairs - n_ties[1])) ** 0.5
    tau = kendalltau(*ranks).statistic if scale else 0.0
    return (n_pairs - tau * scale) / 2 / max(depth * (3 * depth - 1) / 2, 1.0)


def test_kendall_distance_follows_from_tau_of_scipy():
    rng = np.random.default_rng(2)
    for _ in range(N_CASES):
        items = _draw(rng)[:2, :1]
        ((first,), (second,)) = _lists(items)

        (distance,) = kendall_distance(ItemBatch(items)).values

        depth = max(len(first), len(second))
        assert distance == pytest.approx(_kendall_by_scipy(first, second, depth), abs=1e-12)


@pytest.mark.parametrize("name", AT_DEPTH)
def test_first_items_are_those_of_shorter_lists(name):
    """Items beyond the depth have no effect."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        items, depth = _draw(rng), int(rng.integers(1, 6))

        at_depth = AT_DEPTH[name](ItemBatch(items, depth=depth))

        cut = AT_DEPTH[name](ItemBatch(items[:, :, :depth]))
        np.testing.assert_allclose(at_depth.values, cut.values, atol=1e-12)


def test_large_tables_of_pairs_are_made_in_pieces(monkeypatch):
    items = np.stack(
        [
            np.random.default_rng(i).permuted(np.tile(np.arange(9), (40, 1)), axis=1)
            for i in range(4)
        ]
    )
    whole = kendall_distance(ItemBatch(items))
    overlaps = weighted_overlap(ItemBatch(items), rank_biased_weights)

    monkeypatch.setattr(overlap, "MOST_PAIRS", 200)
    monkeypatch.setattr(overlap, "MOST_ENTRIES", 200)

    np.testing.assert_array_equal(kendall_distance(ItemBatch(items)).values, whole.values)
    in_pieces = weighted_overlap(ItemBatch(items), rank_biased_weights)
    np.testing.assert_array_equal(in_pieces.values, overlaps.values)


def test_many_items_take_several_words():
    """Lists that share nothing have more items than bits of a word."""
    items = np.arange(3 * 2 * 50).reshape(3, 2, 50)

    assert ItemBatch(items).members.shape[0] == 3
    np.testing.assert_allclose(jaccard_distance(ItemBatch(items)).values, 1.0)
    np.testing.assert_allclose(jaccard_distance(ItemBatch(items[[0, 0, 0]])).values, 0.0)
