"""Predictions of all runs for a few examples: the input of every kernel."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from seedproof.metrics.statistic import ExampleValues
from seedproof.records.probabilities import (
    FEW_CLASSES,
    UNLABELED,
    TopProbs,
    class_by_class,
    most_probable,
    most_probable_of_top,
)
from seedproof.records.text_answers import codes_of
from seedproof.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from seedproof.records.shards import Shard  # pyarrow is not needed for kernels

# Batches of about this many values stay in the processor's cache.
BATCH_VALUES = 2**18
MIN_BATCH_ROWS = 64
# Up to this many runs, comparing each with all others is faster than counting votes.
MOST_SHIFTED_RUNS = 48
# Most entries of a table of votes.
MOST_VOTES = 2**22
# Pairs of runs are counted in blocks of about this many words, which stay in the cache.
MOST_PAIRED_WORDS = 2**16


@dataclass(frozen=True, eq=False)
class Batch:
    """Predictions of all runs for the same few examples.

    Quantities that several kernels need are computed once, on first use, and kept with the batch.
    """

    predictions: IntArray  # predicted class index, axes (runs, examples)
    n_classes: int  # number of classes, predicted here or not
    labels: IntArray | None = None  # gold class index per example, or `UNLABELED`
    probs: FloatArray | None = None  # axes (runs, examples, classes)
    top: TopProbs | None = None  # the most probable classes, where no others are known
    blocks: IntArray | None = None  # independent sets of examples: their number, per example

    @classmethod
    def from_probs(
        cls, probs: FloatArray, labels: IntArray | None = None, blocks: IntArray | None = None
    ) -> "Batch":
        """Predict the most probable class of each row, the first one among equals."""
        probs = class_by_class(probs)
        return cls(most_probable(probs), probs.shape[2], labels, probs, blocks=blocks)

    @classmethod
    def from_top(
        cls,
        top: TopProbs,
        n_classes: int,
        labels: IntArray | None = None,
        blocks: IntArray | None = None,
    ) -> "Batch":
        """Make a batch of which only the most probable classes are known."""
        return cls(most_probable_of_top(*top), n_classes, labels, top=top, blocks=blocks)

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        return int(self.predictions.shape[0])

    @property
    def n_examples(self) -> int:
        """Number of examples in this batch."""
        return int(self.predictions.shape[1])

    @property
    def weights(self) -> None:
        """None: all examples count equally."""
        return None

    @cached_property
    def contested(self) -> IntArray:
        """Ascending positions of the examples on which not all runs agree.

        Every measure of disagreement is 0 on all others.
        """
        return np.flatnonzero((self.predictions != self.predictions[0]).any(axis=0))

    @cached_property
    def contested_predictions(self) -> IntArray:
        """Predictions on the contested examples, in the smallest type that holds a class."""
        kind = np.min_scalar_type(self.n_classes - 1)
        return self.predictions.astype(kind)[:, self.contested]

    @cached_property
    def contested_agreement(self) -> IntArray:
        """`agreement` on the contested examples alone: (runs, contested)."""
        return agreement(self.contested_predictions, self.n_classes)

    @cached_property
    def agreement(self) -> IntArray:
        """Number of runs, itself included, that predict the same class: (runs, examples)."""
        whole = np.full(self.predictions.shape, self.n_runs, dtype=np.int32)
        whole[:, self.contested] = self.contested_agreement
        return whole

    @cached_property
    def disagreements(self) -> IntArray:
        """Number of examples on which two runs differ: (runs, runs), symmetric, zero diagonal."""
        return disagreements(self.contested_predictions, self.n_classes)

    @cached_property
    def majority(self) -> IntArray:
        """Number of runs that predict the consensus: (examples,)."""
        whole = np.full(self.n_examples, self.n_runs, dtype=np.int32)
        whole[self.contested] = self.contested_agreement.max(axis=0)
        return whole

    @cached_property
    def consensus(self) -> IntArray:
        """The class that most runs predict: (examples,). Among equals the smallest class index."""
        # One number orders by votes, then by the smallest class.
        votes = self.contested_agreement.astype(np.int64) * self.n_classes
        last = self.n_classes - 1
        largest = (votes + (last - self.contested_predictions.astype(np.int64))).max(axis=0)
        whole: IntArray = self.predictions[0].copy()
        whole[self.contested] = last - largest % self.n_classes
        return whole

    def of_contested(self, values: ExampleValues) -> ExampleValues:
        """Return values of the contested examples with their places in the batch."""
        n_zeros = self.n_examples - len(self.contested)
        return replace(values, places=self.contested, n_zeros=n_zeros)

    def over_contested(self, values: FloatArray) -> FloatArray:
        """Return values of the contested examples and 0 for all others: (examples,)."""
        whole = np.zeros(self.n_examples)
        whole[self.contested] = values
        return whole

    @property
    def labeled(self) -> "Batch":
        """The examples whose gold label is known; this batch itself if all are."""
        # A batch that kept itself would live until the garbage collector finds the cycle.
        return self if self._some_labeled is None else self._some_labeled

    @property
    def is_labeled(self) -> BoolArray:
        """True for each example whose gold label is known: (examples)."""
        if self.labels is None:
            return np.zeros(self.n_examples, dtype=np.bool_)
        return np.asarray(self.labels != UNLABELED)

    @cached_property
    def _some_labeled(self) -> "Batch | None":
        known = self.is_labeled
        return None if known.all() else self._select(known)

    def _select(self, chosen: BoolArray) -> "Batch":
        return Batch(
            self.predictions[:, chosen],
            n_classes=self.n_classes,
            labels=None if self.labels is None else self.labels[chosen],
            probs=None if self.probs is None else self.probs[:, chosen],
            top=None if self.top is None else self.top.rows(chosen),
            blocks=None if self.blocks is None else self.blocks[chosen],
        )

    @cached_property
    def correct(self) -> BoolArray:
        """Correctness of each run: (runs, examples). Only for a batch that is `labeled`."""
        return np.asarray(self.predictions == self.labels)

    @cached_property
    def reference(self) -> IntArray:
        """The class whose probability is followed: the gold label, else the consensus."""
        if self.labels is None:
            return self.consensus
        return np.where(self.labels == UNLABELED, self.consensus, self.labels)

    @cached_property
    def reference_probs(self) -> FloatArray:
        """Probability that each run gives to the `reference` class: (runs, examples), float64."""
        return self.probs_of(self.reference)

    @cached_property
    def confidence(self) -> FloatArray:
        """Probability that each run gives to its own prediction: (runs, examples), float64."""
        if self.probs is None:
            return self.probs_of(self.predictions)
        return np.asarray(self.probs.max(axis=2), dtype=np.float64)

    @cached_property
    def hidden(self) -> FloatArray:
        """Probability of all classes that are not among the top: (runs, examples), float64."""
        if self.top is None:
            return np.zeros(self.predictions.shape)
        return np.asarray(np.maximum(1.0 - self.top.probs.sum(axis=2, dtype=np.float64), 0.0))

    @cached_property
    def most_hidden(self) -> FloatArray:
        """Upper bound of the probability of a class outside of the top: (runs, examples), float64.

        It is neither above the least of the top, nor above all that is hidden.
        """
        if self.top is None:
            return np.zeros(self.predictions.shape)
        least = self.top.probs.min(axis=2).astype(np.float64)
        return np.asarray(np.minimum(least, self.hidden))

    @cached_property
    def reference_error(self) -> FloatArray:
        """Upper bound of the error of the sd of `reference_probs` over runs: (examples,).

        Where a run hides the class, half of `most_hidden` is used as its probability, which is off
        by no more than that half. A standard deviation over R runs changes by no more than the norm
        of the change of its values, over sqrt(R-1).
        """
        if self.top is None:
            return np.zeros(self.n_examples)
        is_hidden = (self.top.classes != self.reference[:, None]).all(axis=2)
        off = np.where(is_hidden, self.most_hidden / 2, 0.0)
        return np.asarray(np.sqrt(np.square(off).sum(axis=0) / (self.n_runs - 1)))

    def probs_of(self, classes: IntArray) -> FloatArray:
        """Return each run's probability of one class per example: (runs, examples), float64.

        Where a class is outside of a run's top, use half of `most_hidden`.
        """
        classes = np.broadcast_to(classes, self.predictions.shape)
        if self.top is not None:
            is_class = self.top.classes == classes[..., None]
            seen = np.where(is_class, self.top.probs, np.float32(0.0)).sum(axis=2, dtype=np.float64)
            return np.where(is_class.any(axis=2), seen, self.most_hidden / 2)
        if self.probs is None:
            raise ValueError("this batch holds predictions alone, no probabilities")
        # Positions in memory, which has all rows of a class or all classes of a row together.
        rows = np.arange(classes.size).reshape(classes.shape)
        if self.n_classes > FEW_CLASSES:
            chosen = self.probs.ravel().take(rows * self.n_classes + classes)
        else:
            by_class = np.moveaxis(self.probs, -1, 0).ravel()
            chosen = by_class.take(rows + classes * np.int64(classes.size))
        return np.asarray(chosen, dtype=np.float64)


def batch_rows(width: int) -> int:
    """Return the number of examples per batch if each has `width` values over all runs."""
    return max(MIN_BATCH_ROWS, BATCH_VALUES // width)


def agreement(predictions: IntArray, n_classes: int) -> IntArray:
    """Count the runs, itself included, that predict the same class as a run: (runs, examples)."""
    n_runs, n_examples = predictions.shape
    if n_runs > MOST_SHIFTED_RUNS and n_classes * n_examples <= MOST_VOTES:
        place = predictions.astype(np.intp) * n_examples + np.arange(n_examples)
        return np.asarray(np.bincount(place.ravel()).take(place))
    same = np.ones(predictions.shape, dtype=np.min_scalar_type(n_runs))
    for shift in range(1, n_runs):
        agree = predictions[shift:] == predictions[:-shift]
        same[shift:] += agree
        same[:-shift] += agree
    return same


def disagreements(predictions: IntArray, n_classes: int) -> IntArray:
    """Count the examples on which two runs differ, for all pairs of runs: (runs, runs).

    Each bit of the class indices becomes a row of bits, 64 examples per word: two runs differ
    where any of their bits do. That is faster than products of one-hot matrices at every size.
    """
    n_runs, n_examples = predictions.shape
    n_bits, n_words = max(1, (n_classes - 1).bit_length()), -(-n_examples // 64)
    packed = np.zeros((n_bits, n_runs, 8 * n_words), dtype=np.uint8)
    for bit in range(n_bits):
        rows = np.packbits((predictions >> bit & 1).astype(np.bool_), axis=1)
        packed[bit, :, : rows.shape[1]] = rows
    words = packed.view(np.uint64)
    counts = np.zeros((n_runs, n_runs), dtype=np.int64)
    n_rows = max(1, MOST_PAIRED_WORDS // max(1, n_runs * n_words))
    for start in range(0, n_runs, n_rows):
        block = slice(start, start + n_rows)
        differ = words[0, block, np.newaxis] ^ words[0, start:]
        for plane in words[1:]:
            differ |= plane[block, np.newaxis] ^ plane[start:]
        bits = np.bitwise_count(differ)
        # numpy is slow to sum over an axis of length 1, the usual one of many runs.
        counts[block, start:] = bits[..., 0] if n_words == 1 else bits.sum(axis=2, dtype=np.int64)
        counts[start:, block] = counts[block, start:].T
    return counts


def batches(
    shard: "Shard", n_classes: int, n_rows: int | None = None, blocks: IntArray | None = None
) -> Iterator[Batch]:
    """Yield a shard in pieces whose size depends on its shape alone, never on the machine."""
    if n_rows is None:
        top = None if shard.top is None else shard.top.probs
        known = (shard.probs, top, shard.predictions, shard.answers)
        width = next((values[:, 0].size for values in known if values is not None), 1)
        n_rows = batch_rows(width)
    for start in range(0, len(shard), n_rows):
        yield batch_of(shard, n_classes, slice(start, start + n_rows), blocks)


def batch_of(
    shard: "Shard", n_classes: int, rows: slice = slice(None), blocks: IntArray | None = None
) -> Batch:
    """Return some rows of a shard as a batch, given the blocks of all of its rows."""
    labels = None if shard.labels is None else shard.labels[rows]
    blocks = None if blocks is None else blocks[rows]
    if shard.probs is not None:
        return Batch.from_probs(shard.probs[:, rows], labels, blocks)
    if shard.top is not None:
        return Batch.from_top(shard.top.rows(rows), n_classes, labels, blocks)
    if shard.answers is not None:
        codes = codes_of(shard.answers[:, rows])
        return Batch(codes, n_classes=len(codes) + 1, labels=labels, blocks=blocks)
    if shard.predictions is None:
        raise ValueError("this shard has no predictions")
    predictions = np.ascontiguousarray(shard.predictions[:, rows])
    return Batch(predictions, n_classes=n_classes, labels=labels, blocks=blocks)
