"""Soft labels from the labels of similar examples: exact neighbors, in bounded memory."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seedproof.errors import OptionError, ShapeError
from seedproof.stabilize.soft_labels.checks import as_doubles, as_labels, check_share
from seedproof.stabilize.soft_labels.targets import one_hot
from seedproof.typing import is_count

# Float64 numbers in each of the few temporary arrays: 16 MB.
PIECE = 2**21


def knn_smoothed(
    features: Any,  # noqa: ANN401 - tensors, arrays, lists
    labels: Any,  # noqa: ANN401 - as above
    *,
    n_classes: int,
    k: int,
    weight: float,
    uniform: float = 0.0,
    counts_itself: bool = True,
) -> Tensor:
    """Return labels smoothed by those of similar examples: (1 − a)·y + a·(b/K + (1 − b)·η).

    η has the shares of the classes among the k nearest examples by Euclidean distance. As we read
    Bahri and Jiang (2021, arXiv:2102.05140), neighbors come from the training set itself, in which
    an example is its own nearest. All examples at the distance of the k-th count, so ties need not
    be broken and the order of examples does not matter. The paper's features are the logits of a
    first model, which costs a second training; features of a frozen encoder cost none.

    Neighbors are exact, by sums of squared differences in float64. Memory beyond features and
    result is bounded; time grows with the square of the number of examples.

    Args:
        features: Vectors whose distance defines similarity, axes (examples, features).
        labels: Gold classes.
        n_classes: K, the number of classes.
        k: Number of neighbors, 1 or more.
        weight: a, the share of the label that is replaced; 0 keeps the gold label.
        uniform: b, the uniform part of that share, as in label smoothing.
        counts_itself: Count an example as its own neighbor.

    Returns:
        Axes (examples, classes).

    Raises:
        OptionError: k, weight or uniform is not possible, or a feature is not finite.
        ShapeError: Features and labels belong to different examples.
        UnknownLabelError: A label is not one of the classes.
    """
    check_share(weight, "weight")
    check_share(uniform, "uniform")
    gold = as_labels(labels, n_classes=n_classes)
    points = _checked(features, n_examples=len(gold))
    most = len(gold) if counts_itself else len(gold) - 1
    if not is_count(k, 1) or k > most:
        raise OptionError("k is {k!r}. Pass a whole number from 1 to {most}.", k=k, most=most)
    shares = [
        _shares(nearby, gold, n_classes=n_classes)
        for nearby in _neighborhoods(points, k=k, counts_itself=counts_itself)
    ]
    around = uniform / n_classes + (1.0 - uniform) * torch.cat(shares)
    return (1.0 - weight) * one_hot(gold, n_classes=n_classes) + weight * around


def _checked(features: Any, *, n_examples: int) -> Tensor:  # noqa: ANN401 - as above
    points = as_doubles(features)
    if points.ndim != 2 or len(points) != n_examples:
        raise ShapeError(
            "Features of shape {shape!s} were given for {n_examples} label(s). "
            "Pass two axes, {n_examples} examples and features.",
            shape=tuple(points.shape),
            n_examples=n_examples,
        )
    if not torch.isfinite(points.square().sum()):
        raise OptionError(
            "A feature is missing, infinite or too large. Pass finite features.",
            argument="features",
        )
    return points.contiguous()


def _neighborhoods(points: Tensor, *, k: int, counts_itself: bool) -> Iterator[Tensor]:
    """Yield a mask of the neighbors of a few examples at a time."""
    n_examples, n_features = points.shape
    squares = points.square().sum(dim=1)
    # Matrix products are fast, but their rounding depends on the block, so they only choose
    # candidates. Their error, and that of the sums below, is less than this share of the
    # squared lengths (Higham, Accuracy and Stability, section 3.1, with a margin).
    share = 16 * (n_features + 8) * torch.finfo(torch.float64).eps
    n_at_once = max(1, PIECE // n_examples)
    for begin in range(0, n_examples, n_at_once):
        rows = torch.arange(begin, min(begin + n_at_once, n_examples))
        lengths = squares[rows, None] + squares
        about = lengths - 2.0 * points[rows] @ points.T
        is_possible = torch.ones(about.shape, dtype=torch.bool)
        if not counts_itself:
            is_possible[torch.arange(len(rows)), rows] = False
        about[~is_possible] = torch.inf
        reach = (about + share * lengths).kthvalue(k, dim=1, keepdim=True).values
        here, there = (is_possible & (about - share * lengths <= reach)).nonzero(as_tuple=True)
        distances = torch.full_like(about, torch.inf)
        distances[here, there] = _distances(points, rows[here], there)
        yield is_possible & (distances <= distances.kthvalue(k, dim=1, keepdim=True).values)


def _distances(points: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Squared distances of pairs; the bits of each do not depend on the other pairs."""
    vectors = points.numpy()
    distances = torch.empty(len(first), dtype=torch.float64)
    length = max(1, PIECE // max(1, vectors.shape[1]))
    for begin in range(0, len(first), length):
        some = slice(begin, begin + length)
        differences = vectors[first[some].numpy()] - vectors[second[some].numpy()]
        # numpy adds up each row by itself; torch may sum differently for another shape.
        distances[some] = torch.from_numpy(np.square(differences).sum(axis=1))
    return distances


def _shares(nearby: Tensor, gold: Tensor, *, n_classes: int) -> Tensor:
    """Shares of the classes in some neighborhoods, from integer counts."""
    here, there = nearby.nonzero(as_tuple=True)
    cells = here * n_classes + gold[there]
    counts = torch.bincount(cells, minlength=len(nearby) * n_classes).reshape(-1, n_classes)
    return counts.to(torch.float64) / counts.sum(dim=1, keepdim=True)
