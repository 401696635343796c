"""Calibration: does a confidence of 80 % mean correct in 80 % of the cases, in every run?"""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import ClassFamily, Detail, Need
from seedproof.metrics.batch import Batch
from seedproof.metrics.block_statistic import ADDED, BinnedGaps
from seedproof.metrics.statistic import ExampleValues, SpreadOverRuns, Statistic, ValueOnly
from seedproof.typing import FloatArray, IntArray

N_BINS = 15
# Sets of examples, or of clusters, from whose totals the variance over examples comes.
N_BLOCKS = 64
# With up to so many classes, each has reliability diagrams of its own.
MOST_SHOWN_CLASSES = 6


def scrambled(keys: IntArray) -> IntArray:
    """Return a hash of each key, as if drawn at random: the mixing function of SplitMix64."""
    mixed = keys.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed


def blocks_of(keys: IntArray) -> IntArray:
    """Return the block of each key, a position or a checksum, as if drawn at random.

    In data that are sorted or periodic, equal steps would make the blocks more alike than random
    ones.
    """
    return np.asarray((scrambled(keys) >> np.uint64(58)).astype(np.int64))


def confidence_bins(confidence: FloatArray, n_bins: int = N_BINS) -> IntArray:
    """Return the equal-width bin of each confidence; 1.0 belongs to the last one."""
    return np.clip((confidence * n_bins).astype(np.int64), 0, n_bins - 1)


def calibration_errors(
    counts: IntArray, right: IntArray, confidence: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the expected and the maximum calibration error of each run.

    Counts, correct predictions and sums of confidences have the axes (runs, bins). ECE is the gap
    between accuracy and confidence, weighted by the bin's size, MCE the largest gap of a bin that
    is not empty.
    """
    gaps = np.abs(right - confidence)
    expected = gaps.sum(axis=1) / counts.sum(axis=1)
    largest = (gaps / np.maximum(counts, 1)).max(axis=1)
    return expected, largest


class Calibration(ClassFamily):
    """Calibration errors of each run, and their spread."""

    figures: ClassVar[tuple[str, ...]] = ("ece", "ece_corrected", "ece_sd", "mce", "mce_sd")
    needs: ClassVar[frozenset[Need]] = frozenset({"labels", "confidence"})
    memory: ClassVar[str] = "runs × bins × blocks"

    def __init__(self, n_runs: int, n_classes: int) -> None:
        super().__init__(n_runs, n_classes)
        # By predicted class if there are few.
        shape = (n_runs, n_classes if n_classes <= MOST_SHOWN_CLASSES else 1, N_BINS)
        self._counts = np.zeros(shape, dtype=np.int64)
        self._right = np.zeros(shape, dtype=np.int64)
        # By gold class: wrong predictions, and sums of the probabilities of the class.
        self._missed = np.zeros(shape, dtype=np.int64)
        self._expected = np.zeros(shape)
        self._gaps = np.zeros((*shape, N_BLOCKS))  # correct less confidence
        self._sizes = np.zeros(N_BLOCKS, dtype=np.int64)

    def add(self, batch: Batch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add the labeled examples of a batch; single examples have no calibration."""
        del values
        labeled = batch.labeled
        if labeled.labels is None or (labeled.probs is None and labeled.top is None):
            raise ValueError("calibration needs probabilities and labels")
        n_runs, n_groups, _ = shape = self._counts.shape
        place = confidence_bins(labeled.confidence)
        place += np.arange(n_runs)[:, None] * (n_groups * N_BINS)
        correct = labeled.correct
        if n_groups > 1:
            self._add_by_label(labeled, labeled.labels, place)
            place += N_BINS * labeled.predictions
        # One count of both: wrong predictions at even places, correct ones at odd places.
        both = (2 * place + correct).ravel()
        wrong_or_right = np.bincount(both, minlength=2 * self._counts.size)
        self._counts += wrong_or_right.reshape(*shape, 2).sum(axis=-1)
        self._right += wrong_or_right[1::2].reshape(shape)
        blocks = labeled.blocks
        if blocks is None:
            blocks = blocks_of(np.arange(labeled.n_examples))
        self._sizes += np.bincount(blocks, minlength=N_BLOCKS)
        place *= N_BLOCKS
        place += blocks
        gaps = (correct - labeled.confidence).ravel()
        if place.size < self._gaps.size:
            np.add.at(self._gaps.reshape(-1), place.ravel(), gaps)
        else:
            sums = np.bincount(place.ravel(), weights=gaps, minlength=self._gaps.size)
            self._gaps += sums.reshape(self._gaps.shape)
        return {}

    def _add_by_label(self, labeled: Batch, labels: IntArray, place: IntArray) -> None:
        """Add examples by gold class, given the bins of runs in a table of classes."""
        shape = self._missed.shape
        missed = (place + N_BINS * labels)[~labeled.correct]
        self._missed += np.bincount(missed, minlength=self._missed.size).reshape(shape)
        # With two classes the probability of the other one is known.
        if labeled.probs is not None and self.n_classes > 2:
            for index in range(self.n_classes):
                probs = labeled.probs[:, :, index].ravel()
                sums = np.bincount(place.ravel(), weights=probs, minlength=self._expected.size)
                self._expected[:, index] += sums.reshape(shape)[:, 0]

    def _by_class(self) -> Detail:
        """Return the reliability of each class: (runs, classes, bins)."""
        if self._counts.shape[1] == 1:
            return {}
        detail: dict[str, IntArray | FloatArray] = {}
        confidence, expected = self._confidence(), self._expected
        if self.n_classes > 2:
            detail["reliability_by_answer_count"] = self._counts
            detail["reliability_by_answer_right"] = self._right
            detail["reliability_by_answer_confidence"] = confidence
        else:
            expected = confidence + (self._counts - confidence)[:, ::-1]
        if expected.any():  # otherwise the probabilities of some classes are unknown
            detail["reliability_by_label_count"] = self._right + self._missed
            detail["reliability_by_label_expected"] = expected
        return detail

    def _confidence(self) -> FloatArray:
        """Sums of confidences: (runs, predicted class, bins)."""
        return np.asarray(self._right - self._gaps.sum(axis=-1))

    def _by_run(self) -> tuple[FloatArray, FloatArray]:
        return calibration_errors(
            self._counts.sum(axis=1), self._right.sum(axis=1), self._confidence().sum(axis=1)
        )

    def _binned(self) -> BinnedGaps:
        counts, right = self._counts.sum(axis=1), self._right.sum(axis=1)
        n, at_least_one = int(self._sizes.sum()), np.maximum(counts, 1)
        share = right / at_least_one
        confidence = self._confidence().sum(axis=1) / at_least_one
        moved = (right + ADDED) / (counts + 2 * ADDED)
        seen = share * (1 - share)
        # A calibrated model is right with its confidence, whether errors were seen or not.
        expected = np.maximum.reduce(
            [seen, moved * (1 - moved), np.maximum(confidence * (1 - confidence), 0.0)]
        )
        # The number of examples in a bin is random as well.
        of_size = np.square(share - confidence) * (1 - counts / n)
        is_used = self._sizes > 0
        return BinnedGaps(
            totals=self._gaps.sum(axis=1)[:, :, is_used],
            sizes=self._sizes[is_used],
            spread=counts * (expected + of_size) / n**2,
            unseen=counts * (expected - seen) / n**2,
        )

    def result(self) -> Mapping[str, Statistic]:
        """Return means and spreads over runs, over all labeled examples so far."""
        ece, mce = self._by_run()
        return {
            # Few examples make it too large, so an interval around it would miss the truth.
            "ece": ValueOnly(float(ece.mean())),
            "ece_corrected": self._binned(),
            "ece_sd": SpreadOverRuns(ece, largest=1.0),
            "mce": ValueOnly(float(mce.mean())),
            "mce_sd": SpreadOverRuns(mce, largest=1.0),
        }

    def detail(self) -> Detail:
        """Return the errors of each run, and its reliability: (runs, predicted class, bins).

        Among examples of one gold class a calibrated model is right more or less often than its
        confidence says, depending on how frequent the class is. So there are also the sums of the
        probabilities of the class, the expected number of its examples if labels were drawn from
        the model's own probabilities; as many of them would be right as the confidences in the
        class sum up to.
        """
        ece, mce = self._by_run()
        of_all = (self._counts, self._right, self._confidence())
        if self.n_classes > 2:
            of_all = tuple(x.sum(axis=1, keepdims=True) for x in of_all)
        counts, right, confidence = of_all
        return {
            "ece_by_run": ece,
            "mce_by_run": mce,
            "reliability_count": counts,
            "reliability_right": right,
            "reliability_confidence": confidence,
            **self._by_class(),
        }
