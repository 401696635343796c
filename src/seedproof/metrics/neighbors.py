"""Nearest neighbors of vectors, and how many of them two runs have in common."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from seedproof.errors import DtypeError, InputError, OptionError, ShapeError
from seedproof.metrics.items.overlap import over_pairs
from seedproof.metrics.statistic import ExampleSums, ExampleValues, MeanOverExamples
from seedproof.typing import FloatArray, IntArray, check_count

# Entries of the matrix of similarities that is in memory at once: 64 MB.
MOST_ENTRIES = 2**24


def nearest_neighbors(vectors: npt.ArrayLike, k: int = 10) -> IntArray:
    """Return the k nearest other vectors of each vector by cosine, the nearest first.

    Neither a rotation nor a change of scale matters, so vectors of runs that have nothing in common
    but their examples can be compared by their neighbors.

    Args:
        vectors: One per example, axes (examples, dimensions).
        k: Number of neighbors, less than the number of examples.

    Returns:
        Positions of the neighbors among the examples, axes (examples, k).

    Raises:
        ShapeError: There are not two axes.
        DtypeError: The vectors are not numbers.
        InputError: A vector is zero or not finite, so that it has no direction.
        OptionError: There are not enough examples.

    Examples:
        >>> from seedproof.metrics import nearest_neighbors
        >>> nearest_neighbors([[1, 0], [9, 1], [0, 1], [1, 8]], k=1).tolist()
        [[1], [0], [3], [2]]
    """
    directions = _directions(vectors)
    n_examples = len(directions)
    check_count("k", k, 1)
    if k >= n_examples:
        raise OptionError(
            "`{option}` is {number}, and each of {n_examples} examples has {n_others} others. Pass "
            "a smaller one.",
            option="k",
            number=k,
            n_examples=n_examples,
            n_others=n_examples - 1,
        )
    neighbors = np.empty((n_examples, k), dtype=np.int64)
    size = max(MOST_ENTRIES // n_examples, 1)
    for start in range(0, n_examples, size):
        distances = -(directions[start : start + size] @ directions.T)
        rows = np.arange(len(distances))
        distances[rows, start + rows] = np.inf  # not its own neighbor
        nearest = np.sort(np.argpartition(distances, k - 1, axis=1)[:, :k], axis=1)
        order = np.argsort(np.take_along_axis(distances, nearest, axis=1), axis=1, kind="stable")
        neighbors[start : start + size] = np.take_along_axis(nearest, order, axis=1)
    return neighbors


def shared_neighbors(neighbors: IntArray) -> MeanOverExamples:
    """Return the share of the neighbors that two runs have in common, over examples.

    An example has neighbors, and is one: if it is left out, the next nearest takes its place in the
    lists of others. The variance over examples accounts for both.

    Args:
        neighbors: The k nearest and the next one, axes (runs, examples, k + 1).

    Returns:
        The mean over pairs of runs and over examples.
    """
    shares = np.zeros(neighbors.shape[:2])
    pseudo_values = np.zeros(neighbors.shape[:2])
    for first, second in combinations(range(len(neighbors)), 2):
        shared, pulls = _of_pair(neighbors[first], neighbors[second])
        shares[[first, second]] += shared
        pseudo_values[[first, second]] += shared + pulls
    mean, of_pseudo_values = (_mean(over_pairs(by_run)) for by_run in (shares, pseudo_values))
    return replace(
        mean,
        example_variance=of_pseudo_values.example_variance,
        interaction_variance=of_pseudo_values.interaction_variance,
    )


def _mean(values: ExampleValues) -> MeanOverExamples:
    sums = ExampleSums()
    sums.update(values)
    return sums.mean_over_examples(scale="logit", largest=1.0)


def _of_pair(first: IntArray, second: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the share that each example's lists share, and what all others gain by the example."""
    n_examples, k = len(first), first.shape[1] - 1
    # One number for each example and neighbor.
    start = n_examples * np.arange(n_examples)[:, np.newaxis]
    lists = [(x + start)[:, :k] for x in (first, second)]
    follows = [(x + start)[:, k] for x in (first, second)]
    is_shared = [np.isin(lists[i], lists[1 - i], assume_unique=True) for i in (0, 1)]
    # True where the next nearest of one run is in the list of the other.
    returns = [np.isin(follows[i], lists[1 - i], assume_unique=True) for i in (0, 1)]
    lost = 1 - returns[0].astype(np.int64) - returns[1] - (follows[0] == follows[1])
    pulls = np.zeros(n_examples)
    for neighbors, shared, back, loss in zip(
        (first, second), is_shared, returns, (lost, np.zeros_like(lost)), strict=True
    ):
        changes = np.where(shared, loss[:, np.newaxis], -back[:, np.newaxis].astype(np.int64))
        pulls += np.bincount(neighbors[:, :k].ravel(), changes.ravel(), minlength=n_examples)
    return is_shared[0].sum(axis=1) / k, pulls / k


def _directions(vectors: npt.ArrayLike) -> FloatArray:
    """Return vectors of length 1, in single precision unless they have more."""
    array = np.asarray(vectors)
    if array.dtype.kind not in "iuf":
        raise DtypeError("Vectors are {dtype}. Pass numbers.", dtype=array.dtype)
    if array.ndim != 2:
        raise ShapeError(
            "Vectors have the shape {shape!s}. Pass the axes (examples, dimensions).",
            shape=array.shape,
        )
    array = array.astype(np.float32 if array.dtype in (np.float16, np.float32) else np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        # Scale first: the squares of tiny numbers may be 0, and those of huge ones infinite.
        largest = np.abs(array).max(axis=1, initial=0.0, keepdims=True)
        array = array / np.where(largest > 0.0, largest, 1.0)
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    bad = ~(np.isfinite(lengths) & (lengths > 0.0))[:, 0]
    if bad.any():
        raise InputError(
            "The vector of example {position} is zero or not finite, so it has no direction. Leave "
            "such examples out of all runs.",
            position=int(bad.argmax()),
        )
    directions: FloatArray = array / lengths
    return directions
