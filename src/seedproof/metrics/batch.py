"""Some examples as all runs saw them: what every kernel takes."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from seedproof.metrics.statistic import ExampleValues
from seedproof.records.predicted import most_probable, most_probable_of_top
from seedproof.records.schema import UNLABELED
from seedproof.records.shards import TopProbs
from seedproof.typing import BoolArray, FloatArray, IntArray

Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class Batch:
    """Predictions of all runs for the same few examples.

    What several kernels need (who agrees with whom, who is right) is computed once, when first
    asked for, and kept with the batch.

    Args:
        predictions: Predicted class index, axes (runs, examples).
        n_classes: How many classes there are, predicted here or not.
        labels: Gold class index of each example, `UNLABELED` where unknown; None without labels.
        probs: Probabilities, axes (runs, examples, classes); None for predictions alone.
        top: The most probable classes with their probabilities, where no others are known.
    """

    predictions: IntArray
    n_classes: int
    labels: IntArray | None = None
    probs: FloatArray | None = None
    top: TopProbs | None = None
    _made: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def from_probs(cls, probs: FloatArray, labels: IntArray | None = None) -> "Batch":
        """The batch whose predictions are the most probable classes, the first one among equals."""
        return cls(most_probable(probs), n_classes=probs.shape[2], labels=labels, probs=probs)

    @classmethod
    def from_top(cls, top: TopProbs, n_classes: int, labels: IntArray | None = None) -> "Batch":
        """The batch of which the most probable classes alone are known."""
        return cls(most_probable_of_top(*top), n_classes=n_classes, labels=labels, top=top)

    @property
    def n_runs(self) -> int:
        """How many runs there are."""
        return int(self.predictions.shape[0])

    @property
    def n_examples(self) -> int:
        """How many examples are in this batch."""
        return int(self.predictions.shape[1])

    @cached_property
    def contested(self) -> IntArray:
        """Which examples some run sees differently: ascending positions.

        On all others the runs agree, and whatever counts disagreement is 0.
        """
        return np.flatnonzero((self.predictions != self.predictions[0]).any(axis=0))

    @cached_property
    def _pairs(self) -> tuple[IntArray, IntArray]:
        predictions = np.ascontiguousarray(self.predictions[:, self.contested])
        agreement = np.ones(predictions.shape, dtype=np.int32)
        disagreements = np.zeros((self.n_runs, self.n_runs), dtype=np.int64)
        for run_idx in range(self.n_runs - 1):
            agree = predictions[run_idx] == predictions[run_idx + 1 :]
            agreement[run_idx] += agree.sum(axis=0, dtype=np.int32)
            agreement[run_idx + 1 :] += agree
            disagreements[run_idx, run_idx + 1 :] = predictions.shape[1] - agree.sum(axis=1)
        return agreement, disagreements + disagreements.T

    @property
    def contested_agreement(self) -> IntArray:
        """`agreement` on the contested examples alone: (runs, contested)."""
        return self._pairs[0]

    @cached_property
    def agreement(self) -> IntArray:
        """How many runs, itself included, predict what this run predicts: (runs, examples)."""
        whole = np.full(self.predictions.shape, self.n_runs, dtype=np.int32)
        whole[:, self.contested] = self.contested_agreement
        return whole

    @property
    def disagreements(self) -> IntArray:
        """On how many examples two runs differ: (runs, runs), symmetric, zero diagonal."""
        return self._pairs[1]

    @cached_property
    def majority(self) -> IntArray:
        """How many runs predict the consensus: (examples,)."""
        whole = np.full(self.n_examples, self.n_runs, dtype=np.int32)
        whole[self.contested] = self.contested_agreement.max(axis=0)
        return whole

    @cached_property
    def consensus(self) -> IntArray:
        """The class most runs predict: (examples,). Among equals the smallest class index."""
        contested = self.predictions[:, self.contested]
        votes_then_class = self.contested_agreement.astype(np.int64) * self.n_classes - contested
        winner = votes_then_class.argmax(axis=0)
        whole: IntArray = self.predictions[0].copy()
        whole[self.contested] = np.take_along_axis(contested, winner[None, :], axis=0)[0]
        return whole

    def once(self, name: str, make: Callable[[], Made]) -> Made:
        """What a family makes of this batch: made when first asked for, and kept with it."""
        if name not in self._made:
            self._made[name] = make()
        made: Made = self._made[name]
        return made

    def of_contested(self, values: ExampleValues) -> ExampleValues:
        """Values of the contested examples, with their places in the batch."""
        n_zeros = self.n_examples - len(self.contested)
        return replace(values, places=self.contested, n_zeros=n_zeros)

    def over_contested(self, values: FloatArray) -> FloatArray:
        """Values of the contested examples, 0 for all others: (examples,)."""
        whole = np.zeros(self.n_examples)
        whole[self.contested] = values
        return whole

    @property
    def labeled(self) -> "Batch":
        """The examples whose gold label is known; this batch itself if all are."""
        # A batch that kept itself would live until the garbage collector finds the circle.
        return self if self._some_labeled is None else self._some_labeled

    @cached_property
    def _some_labeled(self) -> "Batch | None":
        if self.labels is None:
            return self._select(np.zeros(self.n_examples, dtype=np.bool_))
        known = self.labels != UNLABELED
        return None if known.all() else self._select(known)

    def _select(self, chosen: BoolArray) -> "Batch":
        return Batch(
            self.predictions[:, chosen],
            n_classes=self.n_classes,
            labels=None if self.labels is None else self.labels[chosen],
            probs=None if self.probs is None else self.probs[:, chosen],
            top=None if self.top is None else self.top.rows(chosen),
        )

    @cached_property
    def correct(self) -> BoolArray:
        """Whether each run is right: (runs, examples). Only for a batch that is `labeled`."""
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
        return self._gather(self.predictions)

    @cached_property
    def hidden(self) -> FloatArray:
        """Probability of all classes that are not among the top: (runs, examples), float64."""
        if self.top is None:
            return np.zeros(self.predictions.shape)
        return np.asarray(np.maximum(1.0 - self.top.probs.sum(axis=2, dtype=np.float64), 0.0))

    @cached_property
    def most_hidden(self) -> FloatArray:
        """The most that a class outside of the top can have: (runs, examples), float64.

        Neither more than the least of the top, nor than all that is hidden.
        """
        if self.top is None:
            return np.zeros(self.predictions.shape)
        least = self.top.probs.min(axis=2).astype(np.float64)
        return np.asarray(np.minimum(least, self.hidden))

    @cached_property
    def reference_is_hidden(self) -> BoolArray:
        """Whether the `reference` class is outside of a run's top: (runs, examples)."""
        if self.top is None:
            return np.zeros(self.predictions.shape, dtype=np.bool_)
        return np.asarray((self.top.classes != self.reference[:, None]).all(axis=2))

    @cached_property
    def reference_error(self) -> FloatArray:
        """The most by which the sd of `reference_probs` over runs can be wrong: (examples,).

        Where a run hides the class, half of the most that it can have stands for its probability,
        which is off by no more than that half. A standard deviation over R runs moves by no more
        than the length of what its values moved by, over sqrt(R-1).
        """
        if self.top is None:
            return np.zeros(self.n_examples)
        off = np.where(self.reference_is_hidden, self.most_hidden / 2, 0.0)
        return np.asarray(np.sqrt(np.square(off).sum(axis=0) / (self.n_runs - 1)))

    def probs_of(self, classes: IntArray) -> FloatArray:
        """Probability that each run gives to one class an example: (runs, examples), float64.

        Where a class is outside of a run's top, half of the most that it can have.
        """
        return self._gather(np.broadcast_to(classes, self.predictions.shape))

    def _gather(self, classes: IntArray) -> FloatArray:
        if self.top is not None:
            found = self.top.classes == classes[..., None]
            seen = np.where(found, self.top.probs, np.float32(0.0)).sum(axis=2, dtype=np.float64)
            return np.where(found.any(axis=2), seen, self.most_hidden / 2)
        if self.probs is None:
            raise ValueError("this batch holds predictions alone, no probabilities")
        rows = self.probs.reshape(-1, self.n_classes)
        chosen = rows[np.arange(len(rows)), classes.ravel()]
        return chosen.reshape(classes.shape).astype(np.float64)
