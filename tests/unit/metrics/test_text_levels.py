"""Texts of several runs with several trials each, against loops."""

from itertools import combinations

import numpy as np
import pytest

from seedproof.metrics.batch import Batch
from seedproof.metrics.numbers.levels import Tree
from seedproof.metrics.text_levels import ModelAccuracy, ModelAnswers
from seedproof.records.levels import settings_of
from seedproof.stats.intervals import estimate


def tree_of(n_runs, n_trials):
    """Trials of all runs, in an order that mixes them."""
    repeats = [(str(run), str(trial)) for trial in range(n_trials) for run in range(n_runs)]
    return Tree.of(settings_of(["run", "trial"], repeats), len(repeats))


def entropy(answers):
    shares = np.unique(answers, return_counts=True)[1] / len(answers)
    return -(shares * np.log(shares)).sum()


def slow(codes, labels):
    """Means over runs and examples by loops, from codes by run, trial and example."""
    n_runs, _, n_examples = codes.shape
    cells = [(run, example) for run in range(n_runs) for example in range(n_examples)]
    pairs = [
        np.mean([a != b for a, b in combinations(codes[run, :, example], 2)])
        for run, example in cells
    ]
    right = (codes == labels)[:, :, labels >= 0].mean(axis=1)
    return {
        "flip_rate": np.mean(pairs),
        "ambiguity": np.mean([len(set(codes[..., e].ravel())) > 1 for e in range(n_examples)]),
        "distinct_answers": np.mean([len(set(codes[run, :, e])) for run, e in cells]),
        "label_entropy": np.mean([entropy(codes[run, :, e]) for run, e in cells]),
        "accuracy": right.mean(),
        "accuracy_sd": right.mean(axis=1).std(ddof=1),
        "accuracy_sd_independent": np.sqrt(right.var(axis=0, ddof=1).mean() / right.shape[1]),
    }


def test_figures_equal_loops():
    rng = np.random.default_rng(0)
    for _ in range(500):
        n_runs, n_trials, n_examples = rng.integers(2, 5, 3)
        codes = rng.integers(0, 3, (n_runs, n_trials, n_examples), dtype=np.int32)
        labels = np.where(rng.random(n_examples) < 0.2, -1, 0)
        labels[0] = 0
        tree = tree_of(n_runs, n_trials)
        flat = codes.transpose(1, 0, 2).reshape(-1, n_examples)
        families = [ModelAnswers(tree, 3), ModelAccuracy(tree, 3)]

        for family in families:
            family.update(Batch(flat, 3, labels))

        figures = {
            name: estimate(x).value for family in families for name, x in family.result().items()
        }
        for name, value in slow(codes, labels).items():
            assert figures[name] == pytest.approx(value, abs=1e-12), name


def test_runs_are_left_out_with_all_of_their_trials():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, (4, 3, 5), dtype=np.int32)
    flat = codes.transpose(1, 0, 2).reshape(-1, 5)

    whole = ModelAnswers(tree_of(4, 3), 3).values(Batch(flat, 3))
    rest = codes[1:].transpose(1, 0, 2).reshape(-1, 5)
    others = ModelAnswers(tree_of(3, 3), 3).values(Batch(rest, 3))

    for name, values in whole.items():
        without = values.without[0] / values.without_denominator
        np.testing.assert_allclose(without, others[name].values, atol=1e-12)
