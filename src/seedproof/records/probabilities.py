"""Probabilities as arrays: their memory layout, and the class that each run predicts.

Metrics need only this part of the records, so it imports nothing but numpy.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from seedproof.typing import BoolArray, FloatArray, IntArray

# Class index of an example without a gold label.
UNLABELED = -1
# Up to this number of classes, work class by class is faster than along the classes of a row.
FEW_CLASSES = 32


class TopProbs(NamedTuple):
    """The most probable classes and their probabilities, axes (runs, rows, top) each."""

    classes: IntArray
    probs: FloatArray

    def rows(self, chosen: slice | IntArray | BoolArray) -> "TopProbs":
        """Return some rows of all runs."""
        return TopProbs(
            np.ascontiguousarray(self.classes[:, chosen]),
            np.ascontiguousarray(self.probs[:, chosen]),
        )

    @staticmethod
    def joined(parts: Sequence["TopProbs"]) -> "TopProbs":
        """Concatenate the rows of several."""
        return TopProbs(
            np.concatenate([part.classes for part in parts], axis=1),
            np.concatenate([part.probs for part in parts], axis=1),
        )


def class_by_class(probs: FloatArray) -> FloatArray:
    """Return the same array (..., classes) with each class contiguous, if there are few.

    Sums over a short last axis are slow, sums of a few long arrays are not.
    """
    if probs.shape[-1] > FEW_CLASSES:
        return np.ascontiguousarray(probs)
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(probs, -1, 0)), 0, -1)


def most_probable(probs: FloatArray) -> IntArray:
    """Return the index of the class with the largest probability, the first among equals."""
    n_classes = probs.shape[-1]
    if n_classes > FEW_CLASSES:
        return np.asarray(probs.argmax(axis=-1).astype(np.int32))
    by_class = np.moveaxis(class_by_class(probs), -1, 0)
    largest = by_class[0].copy()
    winner = np.zeros(largest.shape, dtype=np.uint8)
    for index in range(1, n_classes):
        better = by_class[index] > largest
        np.maximum(largest, by_class[index], out=largest)
        np.maximum(winner, better.view(np.uint8) * np.uint8(index), out=winner)
    return winner.astype(np.int32)


def most_probable_of_top(classes: IntArray, probs: FloatArray) -> IntArray:
    """Return the index of the class with the largest probability, the smallest among equals.

    The order in which a run lists its classes has no meaning.
    """
    largest = probs.max(axis=-1, keepdims=True)
    among = np.where(probs == largest, classes, np.iinfo(np.int32).max)
    return np.asarray(among.min(axis=-1).astype(np.int32))
