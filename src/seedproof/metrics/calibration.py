"""Does a confidence of 80 % mean right in 80 % of the cases, and does that depend on the run?"""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import Detail, Need
from seedproof.metrics.batch import Batch
from seedproof.metrics.statistic import (
    ExampleSums,
    ExampleValues,
    MeanOverRuns,
    SpreadOverRuns,
    Statistic,
)
from seedproof.typing import BoolArray, FloatArray, IntArray

N_BINS = 15
# A probability of zero for the right answer would make the mean infinite.
SMALLEST = 1e-10


def nll(gold_probs: FloatArray) -> FloatArray:
    """Negative log-likelihood of the right answer, in nats: (runs, examples).

    Args:
        gold_probs: Probability of the gold class, axes (runs, examples).

    Returns:
        Losses in [0, 23.03]; probabilities below 1e-10 count as 1e-10.
    """
    return -np.log(np.clip(gold_probs, SMALLEST, 1.0))


def brier(probs: FloatArray, labels: IntArray) -> FloatArray:
    """Brier score: squared distance to the right answer, summed over all classes.

    With two classes that is twice the score of the one-column definition.

    Args:
        probs: Probabilities, axes (runs, examples, classes).
        labels: Gold class index, axes (examples).

    Returns:
        Scores in [0, 2], axes (runs, examples); 0 is perfect.
    """
    probs = probs.astype(np.float64)
    gold = np.take_along_axis(probs, labels[None, :, None], axis=2)[:, :, 0]
    return np.asarray(np.einsum("rik,rik->ri", probs, probs) - 2 * gold + 1)


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


def _mean_of_runs(losses: FloatArray) -> ExampleValues:
    n_runs = len(losses)
    whole = losses.sum(axis=0)
    without = whole - losses if n_runs > 2 else None
    return ExampleValues(whole, without, whole_denominator=n_runs, without_denominator=n_runs - 1)


def _losses(batch: Batch) -> tuple[FloatArray, FloatArray]:
    """NLL and Brier score of the labeled examples of a batch, axes (runs, examples)."""
    labeled = batch.labeled
    if labeled.probs is None or labeled.labels is None:
        raise ValueError("calibration needs probabilities and labels")
    probs, labels = labeled.probs, labeled.labels
    return batch.once("losses", lambda: (nll(labeled.reference_probs), brier(probs, labels)))


class Calibration:
    """Calibration errors and proper scores of each run, and their spread."""

    figures: ClassVar[tuple[str, ...]] = (
        "ece",
        "ece_sd",
        "mce",
        "mce_sd",
        "nll",
        "nll_sd",
        "brier",
        "brier_sd",
    )
    needs: ClassVar[frozenset[Need]] = frozenset({"labels", "probs"})
    memory: ClassVar[str] = "runs × bins"

    def __init__(self, n_runs: int, n_classes: int) -> None:
        # With two classes the reliability of each predicted class is kept apart.
        n_groups = 2 if n_classes == 2 else 1
        shape = (n_runs, n_groups, N_BINS)
        self._counts = np.zeros(shape, dtype=np.int64)
        self._right = np.zeros(shape, dtype=np.int64)
        self._confidence = np.zeros(shape)
        self._nll, self._nll_by_run = ExampleSums(), np.zeros(n_runs)
        self._brier, self._brier_by_run = ExampleSums(), np.zeros(n_runs)

    def values(self, batch: Batch) -> Mapping[str, ExampleValues]:
        """Both losses of each labeled example, averaged over runs."""
        losses, scores = _losses(batch)
        return batch.once(
            "mean losses",
            lambda: {"nll": _mean_of_runs(losses), "brier": _mean_of_runs(scores)},
        )

    def update(self, batch: Batch) -> Detail:
        """Add the labeled examples of one batch; says nothing of single examples."""
        values, labeled = self.values(batch), batch.labeled
        self._add_bins(labeled.predictions, labeled.confidence, labeled.correct)
        losses, scores = _losses(batch)
        self._nll.update(values["nll"])
        self._nll_by_run += losses.sum(axis=1)
        self._brier.update(values["brier"])
        self._brier_by_run += scores.sum(axis=1)
        return {}

    def _add_bins(self, predictions: IntArray, confidence: FloatArray, correct: BoolArray) -> None:
        n_runs, n_groups, _ = shape = self._counts.shape
        place = confidence_bins(confidence) + np.arange(n_runs)[:, None] * (n_groups * N_BINS)
        if n_groups > 1:
            place += N_BINS * predictions
        flat = place.ravel()
        size = self._counts.size
        self._counts += np.bincount(flat, minlength=size).reshape(shape)
        self._right += np.bincount(flat[correct.ravel()], minlength=size).reshape(shape)
        sums = np.bincount(flat, weights=confidence.ravel(), minlength=size)
        self._confidence += sums.reshape(shape)

    def merge(self, other: "Calibration") -> None:
        """Add the examples of another part."""
        self._counts += other._counts
        self._right += other._right
        self._confidence += other._confidence
        self._nll.merge(other._nll)
        self._nll_by_run += other._nll_by_run
        self._brier.merge(other._brier)
        self._brier_by_run += other._brier_by_run

    def _by_run(self) -> dict[str, FloatArray]:
        ece, mce = calibration_errors(
            self._counts.sum(axis=1), self._right.sum(axis=1), self._confidence.sum(axis=1)
        )
        n_examples = self._nll.n_examples
        return {
            "ece": ece,
            "mce": mce,
            "nll": self._nll_by_run / n_examples,
            "brier": self._brier_by_run / n_examples,
        }

    def result(self) -> Mapping[str, Statistic]:
        """Means over runs and spreads over runs, over all labeled examples so far."""
        by_run = self._by_run()
        return {
            "ece": MeanOverRuns(by_run["ece"], largest=1.0),
            "ece_sd": SpreadOverRuns(by_run["ece"]),
            "mce": MeanOverRuns(by_run["mce"], largest=1.0),
            "mce_sd": SpreadOverRuns(by_run["mce"]),
            "nll": self._nll.mean_over_examples(),
            "nll_sd": SpreadOverRuns(by_run["nll"]),
            "brier": self._brier.mean_over_examples(largest=2.0),
            "brier_sd": SpreadOverRuns(by_run["brier"]),
        }

    def detail(self) -> Detail:
        """Scores of each run, and its reliability: axes (runs, predicted class, bins)."""
        by_run = {f"{name}_by_run": values for name, values in self._by_run().items()}
        return by_run | {
            "reliability_count": self._counts,
            "reliability_right": self._right,
            "reliability_confidence": self._confidence,
        }
