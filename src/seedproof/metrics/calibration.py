"""Does a confidence of 80 % mean right in 80 % of the cases, and does that depend on the run?"""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import Accumulator, Detail, Need
from seedproof.metrics.batch import Batch
from seedproof.metrics.statistic import ExampleValues, MeanOverRuns, SpreadOverRuns, Statistic
from seedproof.typing import BoolArray, FloatArray, IntArray

N_BINS = 15


def confidence_bins(confidence: FloatArray, n_bins: int = N_BINS) -> IntArray:
    """Equal-width bin of each confidence; 1.0 belongs to the last one."""
    return np.clip((confidence * n_bins).astype(np.int64), 0, n_bins - 1)


def calibration_errors(
    counts: IntArray, right: IntArray, confidence: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Expected and maximum calibration error of each run.

    Args:
        counts: Examples in each bin, axes (runs, bins).
        right: How many of them are right, axes (runs, bins).
        confidence: Sum of their confidences, axes (runs, bins).

    Returns:
        ECE (gap between accuracy and confidence, weighted by the bin's size) and MCE (the largest
        gap of a bin that is not empty), axes (runs) each, in [0, 1].
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
        # With two classes the reliability of each predicted class is kept apart.
        n_groups = 2 if n_classes == 2 else 1
        shape = (n_runs, n_groups, N_BINS)
        self._counts = np.zeros(shape, dtype=np.int64)
        self._right = np.zeros(shape, dtype=np.int64)
        self._confidence = np.zeros(shape)

    def add(self, batch: Batch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add the labeled examples of a batch; single examples have no calibration."""
        del values
        labeled = batch.labeled
        if labeled.labels is None or (labeled.probs is None and labeled.top is None):
            raise ValueError("calibration needs probabilities and labels")
        self._add_bins(labeled.predictions, labeled.confidence, labeled.correct)
        return {}

    def _add_bins(self, predictions: IntArray, confidence: FloatArray, correct: BoolArray) -> None:
        n_runs, n_groups, _ = shape = self._counts.shape
        place = confidence_bins(confidence) + np.arange(n_runs)[:, None] * (n_groups * N_BINS)
        if n_groups > 1:
            place += N_BINS * predictions
        flat, size = place.ravel(), self._counts.size
        # One count of both: wrong answers at even places, right ones at odd places.
        wrong_or_right = np.bincount(2 * flat + correct.ravel(), minlength=2 * size)
        self._counts += wrong_or_right.reshape(*shape, 2).sum(axis=-1)
        self._right += wrong_or_right[1::2].reshape(shape)
        sums = np.bincount(flat, weights=confidence.ravel(), minlength=size)
        self._confidence += sums.reshape(shape)

    def _by_run(self) -> dict[str, FloatArray]:
        ece, mce = calibration_errors(
            self._counts.sum(axis=1), self._right.sum(axis=1), self._confidence.sum(axis=1)
        )
        return {"ece": ece, "mce": mce}

    def result(self) -> Mapping[str, Statistic]:
        """Means over runs and spreads over runs, over all labeled examples so far."""
        by_run = self._by_run()
        return {
            "ece": MeanOverRuns(by_run["ece"], largest=1.0),
            "ece_sd": SpreadOverRuns(by_run["ece"], largest=1.0),
            "mce": MeanOverRuns(by_run["mce"], largest=1.0),
            "mce_sd": SpreadOverRuns(by_run["mce"], largest=1.0),
        }

    def detail(self) -> Detail:
        """Errors of each run, and its reliability: axes (runs, predicted class, bins)."""
        by_run = {f"{name}_by_run": values for name, values in self._by_run().items()}
        return by_run | {
            "reliability_count": self._counts,
            "reliability_right": self._right,
            "reliability_confidence": self._confidence,
        }
