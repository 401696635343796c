"""Labels smoothed by neighbors, compared with a loop over all pairs in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from seedproof.errors import OptionError, ShapeError
from seedproof.stabilize import knn_smoothed
from seedproof.stabilize.soft_labels import neighbors
from seedproof.testing.errors import WithFields


def slowly(features, labels, *, n_classes, k, weight, uniform, counts_itself):
    """Smooth by a loop over pairs, with exact distances."""
    points = [[Fraction(float(x)) for x in point] for point in features]
    result = np.zeros((len(points), n_classes))
    for i, point in enumerate(points):
        far = {
            j: sum((a - b) ** 2 for a, b in zip(point, other, strict=True))
            for j, other in enumerate(points)
            if counts_itself or j != i
        }
        limit = sorted(far.values())[k - 1]
        near = [labels[j] for j, distance in far.items() if distance <= limit]
        for label in range(n_classes):
            share = near.count(label) / len(near)
            around = uniform / n_classes + (1 - uniform) * share
            result[i, label] = (1 - weight) * (label == labels[i]) + weight * around
    return result


@pytest.mark.parametrize("counts_itself", [True, False])
@pytest.mark.parametrize("grid", [None, 2])
def test_smoothing_equals_a_loop_over_all_pairs(counts_itself, grid):
    """Also on a grid, where most distances tie; 1e-15 is the rounding of the last sum."""
    rng = np.random.default_rng(3)
    features = rng.normal(size=(60, 3))
    if grid is not None:
        features = features.round() / grid
    labels = rng.integers(0, 4, 60).tolist()
    settings = {"n_classes": 4, "weight": 0.8, "uniform": 0.25, "counts_itself": counts_itself}

    for k in (1, 5, 59):
        smoothed = knn_smoothed(features, labels, k=k, **settings)

        expected = slowly(features, labels, k=k, **settings)
        np.testing.assert_allclose(smoothed, expected, rtol=0, atol=1e-15)


def test_hand_computed_case():
    """On a line: the nearest three of 0 are 0, 1 and 2, of the classes a, a and b."""
    q = knn_smoothed([[0.0], [1.0], [2.0], [9.0]], [0, 0, 1, 1], n_classes=2, k=3, weight=0.6)

    # Of 9 they are 9, 2 and 1: b, b and a.
    expected = [[0.4 + 0.4, 0.2], [0.4 + 0.4, 0.2], [0.4, 0.4 + 0.2], [0.2, 0.4 + 0.4]]
    np.testing.assert_allclose(q, expected, rtol=0, atol=1e-15)


def test_all_examples_tied_for_the_last_place_are_neighbors():
    q = knn_smoothed([[0.0], [1.0], [-1.0]], [0, 1, 2], n_classes=3, k=2, weight=1.0)

    np.testing.assert_allclose(q[0], [1 / 3, 1 / 3, 1 / 3], rtol=0, atol=1e-15)


def test_order_of_examples_and_size_of_pieces_change_no_bit(monkeypatch):
    """Features far from the origin, where fast distances round to 0."""
    rng = np.random.default_rng(5)
    features = 1e8 + rng.normal(size=(80, 7)).round(2)
    labels = rng.integers(0, 3, 80)
    settings = {"n_classes": 3, "k": 6, "weight": 1.0}
    expected = knn_smoothed(features, labels, **settings)
    order = rng.permutation(80)

    assert torch.equal(knn_smoothed(features[order], labels[order], **settings), expected[order])
    monkeypatch.setattr(neighbors, "PIECE", 97)  # one example, and 13 pairs, at a time
    assert torch.equal(knn_smoothed(features, labels, **settings), expected)
    exact = slowly(features, labels.tolist(), **settings, uniform=0.0, counts_itself=True)
    np.testing.assert_allclose(expected, exact, rtol=0, atol=1e-15)


def test_identical_examples_are_all_neighbors():
    q = knn_smoothed(np.ones((8, 2)), [0, 0, 0, 0, 0, 0, 1, 1], n_classes=2, k=1, weight=1.0)

    np.testing.assert_array_equal(q, np.tile([0.75, 0.25], (8, 1)))


def test_weight_zero_is_the_gold_label_and_uniform_one_is_label_smoothing():
    features, labels = [[0.0], [0.1], [5.0]], [0, 1, 1]

    gold = knn_smoothed(features, labels, n_classes=2, k=2, weight=0.0)
    uniform = knn_smoothed(features, labels, n_classes=2, k=2, weight=0.2, uniform=1.0)

    np.testing.assert_array_equal(gold, np.eye(2)[labels])
    np.testing.assert_allclose(uniform, 0.8 * np.eye(2)[labels] + 0.1, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("features", "choice", "error", "fields"),
    [
        ([[0.0], [1.0]], {"k": 3}, OptionError, {"k": 3, "most": 2}),
        ([[0.0], [1.0]], {"k": 2, "counts_itself": False}, OptionError, {"k": 2, "most": 1}),
        ([[0.0], [1.0]], {"k": 0}, OptionError, {"k": 0}),
        ([[0.0], [float("nan")]], {}, OptionError, {"argument": "features"}),
        ([[0.0], [1e200]], {}, OptionError, {"argument": "features"}),
        ([0.0, 1.0], {}, ShapeError, {"shape": (2,), "n_examples": 2}),
        ([[0.0]], {}, ShapeError, {"shape": (1, 1), "n_examples": 2}),
        ([[0.0], [1.0]], {"weight": 1.5}, OptionError, {"option": "weight", "number": 1.5}),
        ([[0.0], [1.0]], {"uniform": -1}, OptionError, {"option": "uniform", "number": -1}),
    ],
    ids=[
        "many", "not-itself", "none", "feature-nan", "large-feature",
        "one-axis", "one-example", "weight", "uniform",
    ],
)  # fmt: skip
def test_bad_arguments_are_refused(features, choice, error, fields):
    with pytest.raises(error, check=WithFields(**fields)):
        knn_smoothed(features, [0, 1], **({"n_classes": 2, "k": 1, "weight": 0.5} | choice))
