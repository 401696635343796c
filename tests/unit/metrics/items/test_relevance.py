"""Quality of ranked lists against slow loops and scikit-learn."""

import numpy as np
from sklearn.metrics import ndcg_score

from seedproof.metrics.items.batch import NO_ITEM
from seedproof.metrics.items.relevance import RankedGains

N_CASES = 500


def _draw(rng):
    n_runs, n_examples = int(rng.integers(1, 5)), int(rng.integers(1, 6))
    n_places, n_items = int(rng.integers(1, 9)), 12
    items = np.full((n_runs, n_examples, n_places), NO_ITEM)
    relevant = np.full((n_examples, 5), NO_ITEM)
    for example in range(n_examples):
        n_relevant = int(rng.integers(0, 6))
        relevant[example, :n_relevant] = rng.permutation(n_items)[:n_relevant]
        for run in range(n_runs):
            size = int(rng.integers(0, n_places + 1))
            items[run, example, :size] = rng.permutation(n_items)[:size]
    return items, relevant, rng.integers(1, 4, relevant.shape).astype(float)


def _slow(ranked, grade_of, depth):
    """Hit, recall, reciprocal rank and NDCG of one list."""
    gains = [grade_of.get(item, 0.0) for item in ranked[:depth]]
    ranks = [rank for rank, gain in enumerate(gains, 1) if gain > 0]
    best = sorted(grade_of.values(), reverse=True)[:depth]
    ideal = sum(gain / np.log2(rank + 1) for rank, gain in enumerate(best, 1))
    gained = sum(gain / np.log2(rank + 1) for rank, gain in enumerate(gains, 1))
    return (
        float(bool(ranks)),
        len(ranks) / len(grade_of) if grade_of else 0.0,
        1 / ranks[0] if ranks else 0.0,
        gained / ideal if ideal else 0.0,
    )


def test_every_quality_equals_a_slow_loop():
    """At every depth, also beyond the end of the lists."""
    rng = np.random.default_rng(0)
    for _ in range(N_CASES):
        items, relevant, grades = _draw(rng)
        depth = int(rng.integers(1, 11))
        ranked = RankedGains(items, relevant, grades)
        values = np.stack(
            [
                ranked.hit_rate(depth),
                ranked.recall(depth),
                ranked.reciprocal_rank(depth),
                ranked.ndcg(depth),
            ],
            axis=-1,
        )
        for run, example in np.ndindex(*items.shape[:2]):
            known = relevant[example] != NO_ITEM
            grade_of = dict(zip(relevant[example][known], grades[example][known], strict=True))
            own = [item for item in items[run, example] if item != NO_ITEM]
            np.testing.assert_allclose(values[run, example], _slow(own, grade_of, depth))


def test_ndcg_equals_scikit_learn():
    """For lists of all items, in the order of distinct scores."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        scores, grades = rng.permutation(10)[np.newaxis], rng.integers(0, 4, (1, 10))
        if not grades.any():
            continue
        depth = int(rng.integers(1, 11))
        order = np.argsort(-scores[0])
        relevant = np.where(grades[0] > 0, np.arange(10), NO_ITEM)[np.newaxis]
        ranked = RankedGains(order[np.newaxis, np.newaxis], relevant, grades.astype(float))

        expected = ndcg_score(grades, scores, k=depth)
        np.testing.assert_allclose(ranked.ndcg(depth), [[expected]])


def test_grades_may_be_omitted():
    """All right items count alike."""
    items, relevant = np.array([[[3, 1, 2]]]), np.array([[2, 7]])

    np.testing.assert_allclose(RankedGains(items, relevant).recall(3), [[0.5]])
    np.testing.assert_allclose(RankedGains(items, relevant).reciprocal_rank(3), [[1 / 3]])
