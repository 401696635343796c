"""Distances between every two runs, against loops over pairs of runs and examples."""

from itertools import product

import numpy as np
import pytest
from tests.support.items import drawn_rankings, drawn_sets
from tests.unit.comparison.blame.test_compute import drawn

import seedproof as sp
from seedproof.comparison.blame.distances import run_distances, squared_differences
from seedproof.engines.processes import ProcessEngine
from seedproof.records.arrays import ArrayShards
from seedproof.records.items import NO_ITEM
from seedproof.seeds import SeedPlan


def test_distances_are_those_of_all_pairs_of_runs():
    """Against one comparison of whole arrays; 6,000 examples of 50 runs are several batches."""
    probs = drawn(SeedPlan.blocks(10), n_examples=6000).astype(np.float32)
    labels = np.arange(6000) % 2

    distances = run_distances(ArrayShards(probs, labels=labels))

    assert distances.keys() == {"flips", "logits"}
    predictions = probs.argmax(axis=2)
    expected = (predictions[:, None] != predictions[None]).mean(axis=2)
    np.testing.assert_array_equal(distances["flips"], expected)
    followed = probs[:, np.arange(6000), labels].astype(np.float64)
    logits = np.log(followed / (1 - followed))
    for a, b in ((0, 1), (3, 4), (17, 40)):
        apart = np.mean((logits[a] - logits[b]) ** 2)
        # Sums in another order.
        assert distances["logits"][a, b] == pytest.approx(apart, rel=1e-12)


def test_probabilities_of_0_and_1_have_a_finite_logit():
    """They count as 1e-6 from the end: 2·ln(999999) apart."""
    probs = np.array([[[0.0, 1.0]], [[1.0, 0.0]]])

    squares = run_distances(ArrayShards(probs))["logits"]

    assert squares[0, 1] == pytest.approx((2 * np.log(999_999)) ** 2)


def test_equal_runs_have_a_distance_of_exactly_0():
    """So that a source without effect has a share of 0."""
    values = np.random.default_rng(2).normal(size=(1, 1000)).repeat(3, axis=0)

    assert not squared_differences(values).any()


@pytest.mark.parametrize(("draw", "depth"), [(drawn_rankings, 4), (drawn_sets, None)])
def test_distances_of_items_equal_loops(draw, depth):
    source = draw(np.random.default_rng(3), **({} if depth is None else {"depth": depth}))
    n_runs, n_examples = source.items.shape[:2]
    lists = [
        [[x for x in items if x != NO_ITEM] for items in of_run] for of_run in source.items.tolist()
    ]

    distances = run_distances(source)

    for a, b in product(range(n_runs), repeat=2):
        flips, apart, squares, others = [], [], [], []
        for example in range(n_examples):
            pair = [lists[run][example] for run in (a, b)]
            flips.append(pair[0] != pair[1] if depth is None else pair[0][0] != pair[1][0])
            others.append(pair[0][:depth] != pair[1][:depth])
            first, second = (set(items[:depth]) for items in pair)
            apart.append(1 - len(first & second) / len(first | second) if first | second else 0.0)
            if source.relevance.is_known[example]:
                right = {x for x in source.relevance.items[example].tolist() if x != NO_ITEM}
                quality = [_quality(items, right, depth) for items in pair]
                squares.append((quality[0] - quality[1]) ** 2)
        assert distances["flips"][a, b] == pytest.approx(np.mean(flips))
        assert distances["overlap"][a, b] == pytest.approx(np.mean(apart))
        assert distances["quality"][a, b] == pytest.approx(np.mean(squares))
        if depth is not None:
            assert distances["lists"][a, b] == pytest.approx(np.mean(others))


def _quality(items, right, depth):
    """NDCG of a list, or F1 of a set."""
    if depth is None:
        n_both = len(items) + len(right)
        return 2 * len(right & set(items)) / n_both if n_both else 1.0
    gained = sum(1 / np.log2(rank + 2) for rank, x in enumerate(items[:depth]) if x in right)
    return gained / sum(1 / np.log2(rank + 2) for rank in range(min(depth, len(right))))


def test_texts_differ_by_their_answers_and_by_being_right():
    texts = [["Paris", "x", "7"], ["paris.", "y", "8"], ["Lyon", "x", "7.0"]]
    references = ["Paris", None, "7"]

    distances = run_distances(sp.Predictions.load(texts, references=references).source)

    expected = np.array([[0, 2, 1], [2, 0, 3], [1, 3, 0]]) / 3
    np.testing.assert_allclose(distances["flips"], expected)
    expected = np.array([[0, 1, 1], [1, 0, 2], [1, 2, 0]]) / 2
    np.testing.assert_allclose(distances["quality"], expected)


def test_distances_are_the_same_on_processes():
    source = drawn_sets(np.random.default_rng(0))

    serial, parallel = run_distances(source), run_distances(source, engine=ProcessEngine(workers=2))

    for name, matrix in serial.items():
        np.testing.assert_array_equal(parallel[name], matrix)
