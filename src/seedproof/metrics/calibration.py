"""Calibration: does a confidence of 80 % mean correct in 80 % of the cases, in every run?"""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import Accumulator, Detail, Need
from seedproof.metrics.batch import Batch
from seedproof.metrics.statistic import ExampleValues, MeanOverRuns, SpreadOverRuns, Statistic
from seedproof.typing import FloatArray, IntArray

N_BINS = 15


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


class Calibration(Accumulator):
    """Calibration errors of each run, and their spread."""

    figures: ClassVar[tuple[str, ...]] = ("ece", "ece_sd", "mce", "mce_sd")
    needs: ClassVar[frozenset[Need]] = frozenset({"labels", "confidence"})
    memory: ClassVar[str] = "runs × bins"

    def __init__(self, n_runs: int, n_classes: int) -> None:
        super().__init__(n_runs, n_classes)
        # With two classes each predicted class has a reliability diagram of its own.
        shape = (n_runs, 2 if n_classes == 2 else 1, N_BINS)
        self._counts = np.zeros(shape, dtype=np.int64)
        self._right = np.zeros(shape, dtype=np.int64)
        self._confidence = np.zeros(shape)

    def add(self, batch: Batch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add the labeled examples of a batch; single examples have no calibration."""
        del values
        labeled = batch.labeled
        if labeled.labels is None or (labeled.probs is None and labeled.top is None):
            raise ValueError("calibration needs probabilities and labels")
        n_runs, n_groups, _ = shape = self._counts.shape
        place = confidence_bins(labeled.confidence)
        place += np.arange(n_runs)[:, None] * (n_groups * N_BINS)
        if n_groups > 1:
            place += N_BINS * labeled.predictions
        flat, size = place.ravel(), self._counts.size
        # One count of both: wrong predictions at even places, correct ones at odd places.
        wrong_or_right = np.bincount(2 * flat + labeled.correct.ravel(), minlength=2 * size)
        self._counts += wrong_or_right.reshape(*shape, 2).sum(axis=-1)
        self._right += wrong_or_right[1::2].reshape(shape)
        sums = np.bincount(flat, weights=labeled.confidence.ravel(), minlength=size)
        self._confidence += sums.reshape(shape)
        return {}

    def _by_run(self) -> tuple[FloatArray, FloatArray]:
        return calibration_errors(
            self._counts.sum(axis=1), self._right.sum(axis=1), self._confidence.sum(axis=1)
        )

    def result(self) -> Mapping[str, Statistic]:
        """Return means and spreads over runs, over all labeled examples so far."""
        ece, mce = self._by_run()
        return {
            "ece": MeanOverRuns(ece, largest=1.0),
            "ece_sd": SpreadOverRuns(ece, largest=1.0),
            "mce": MeanOverRuns(mce, largest=1.0),
            "mce_sd": SpreadOverRuns(mce, largest=1.0),
        }

    def detail(self) -> Detail:
        """Return the errors of each run, and its reliability: (runs, predicted class, bins)."""
        ece, mce = self._by_run()
        return {
            "ece_by_run": ece,
            "mce_by_run": mce,
            "reliability_count": self._counts,
            "reliability_right": self._right,
            "reliability_confidence": self._confidence,
        }
