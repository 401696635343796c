"""Spread of the predicted probability between runs, and the error that hidden classes allow."""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import ClassFamily, Detail, Need
from seedproof.metrics.batch import Batch
from seedproof.metrics.entropy import HIGH_ENTROPY, entropies
from seedproof.metrics.statistic import ExampleValues, Statistic, ValueOnly, mean_over_runs
from seedproof.typing import FloatArray, IntArray

N_BINS = 10
# The map of mean against spread: columns of the mean, rows of the spread up to its largest value.
MAP_COLUMNS = 60
MAP_ROWS = 40
LARGEST_SD = float(np.sqrt(0.5))
AGREEMENTS = ("all runs agree", "some differ", "split more evenly than 3 to 1")


def probability_sd(probs: FloatArray) -> ExampleValues:
    """Return the standard deviation over runs per example, with R-1 in the denominator.

    `probs` is the probability of one class per example, axes (runs, examples).
    """
    n_runs = len(probs)
    deviations = probs - probs.mean(axis=0)
    # A rounded mean leaves a trace where all runs are exactly equal.
    are_alike = (probs == probs[0]).all(axis=0)
    if are_alike.any():
        deviations[:, are_alike] = 0.0
    squares = np.square(deviations)
    total = squares.sum(axis=0)
    whole = np.sqrt(total / (n_runs - 1))
    if n_runs == 2:
        return ExampleValues(whole, None)
    remaining = total - squares * (n_runs / (n_runs - 1))
    without = np.sqrt(np.maximum(remaining, 0.0) / (n_runs - 2))
    # Where one run causes nearly all of the spread, the subtraction has no digits left: the root of
    # a rounding error of 1e-17 is 3e-9.
    run_idx, example_idx = np.nonzero(remaining < 1e-6 * total)
    if len(run_idx):
        others = probs[:, example_idx]
        others[run_idx, np.arange(len(run_idx))] = np.nan
        apart = np.nanmax(others, axis=0) > np.nanmin(others, axis=0)
        exact = np.nanstd(others, axis=0, ddof=1)
        without[run_idx, example_idx] = np.where(apart, exact, 0.0)
    return ExampleValues(whole, without)


def agreement_class(batch: Batch) -> IntArray:
    """Return the index into `AGREEMENTS` per example: 0 all agree, 1 some differ, 2 split."""
    places = np.zeros(batch.n_examples, dtype=np.int64)
    high = entropies(batch.contested_agreement) > HIGH_ENTROPY
    places[batch.contested] = 1 + high
    return places


class Confidence(ClassFamily):
    """Spread of the probability of the gold class, or of the consensus where no label is known."""

    figures: ClassVar[tuple[str, ...]] = ("probability_sd",)
    needs: ClassVar[frozenset[Need]] = frozenset({"confidence"})

    def __init__(self, n_runs: int, n_classes: int) -> None:
        super().__init__(n_runs, n_classes)
        self._error = 0.0
        self._bin_counts = np.zeros(N_BINS, dtype=np.int64)
        self._bin_sums = np.zeros(N_BINS)
        self._bin_squares = np.zeros(N_BINS)
        self._map = np.zeros((len(AGREEMENTS), MAP_ROWS, MAP_COLUMNS), dtype=np.int64)

    def values(self, batch: Batch) -> Mapping[str, ExampleValues]:
        """Return the spread of the probability per example."""
        return {"probability_sd": probability_sd(batch.reference_probs)}

    def add(self, batch: Batch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add a batch; return mean and standard deviation over runs of the probability."""
        super().add(batch, values)
        spread, mean = values["probability_sd"].values, batch.reference_probs.mean(axis=0)
        self._error += float(batch.reference_error.sum())
        # With two classes the curve runs over the probability of the second one, as published.
        followed = np.where(batch.reference == 1, mean, 1 - mean) if self.n_classes == 2 else mean
        place = np.clip(followed * N_BINS, 0, N_BINS - 1).astype(np.int64)
        self._bin_counts += np.bincount(place, minlength=N_BINS)
        self._bin_sums += np.bincount(place, weights=spread, minlength=N_BINS)
        self._bin_squares += np.bincount(place, weights=np.square(spread), minlength=N_BINS)
        column = np.clip(mean * MAP_COLUMNS, 0, MAP_COLUMNS - 1).astype(np.int64)
        row = np.clip(spread / LARGEST_SD * MAP_ROWS, 0, MAP_ROWS - 1).astype(np.int64)
        place = (agreement_class(batch) * MAP_ROWS + row) * MAP_COLUMNS + column
        self._map += np.bincount(place, minlength=self._map.size).reshape(self._map.shape)
        return {"probability_mean": mean, "probability_sd": spread}

    def result(self) -> Mapping[str, Statistic]:
        """Return the mean spread over all examples so far."""
        spread = self.sums["probability_sd"].mean_over_examples(largest=LARGEST_SD)
        return {"probability_sd": replace(spread, error=self._error / spread.n_examples)}

    def detail(self) -> Detail:
        """Return the spread by mean probability, and counts by agreement, spread and mean."""
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = self._bin_sums / self._bin_counts
            variance = np.maximum(self._bin_squares / self._bin_counts - mean**2, 0.0)
            error = np.sqrt(variance / np.maximum(self._bin_counts - 1, 1))
        return {
            "sd_curve_count": self._bin_counts,
            "sd_curve_mean": mean,
            "sd_curve_error": error,
            "confidence_map": self._map,
        }


class Truncation(ClassFamily):
    """Probability of the classes that were not kept, where runs log their top classes only."""

    figures: ClassVar[tuple[str, ...]] = ("hidden_probability", "probability_sd_error")
    needs: ClassVar[frozenset[Need]] = frozenset({"truncated"})

    def __init__(self, n_runs: int, n_classes: int) -> None:
        super().__init__(n_runs, n_classes)
        self._error = 0.0

    def values(self, batch: Batch) -> Mapping[str, ExampleValues]:
        """Return the hidden probability per example."""
        return {"hidden_probability": mean_over_runs(batch.hidden)}

    def add(self, batch: Batch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add a batch; return the largest possible error of each example's spread."""
        super().add(batch, values)
        self._error += float(batch.reference_error.sum())
        return {"probability_sd_error": batch.reference_error}

    def result(self) -> Mapping[str, Statistic]:
        """Return the hidden probability, and the bound on the error of the mean spread."""
        hidden = self.sums["hidden_probability"].mean_over_examples(largest=1.0)
        return {
            "hidden_probability": hidden,
            "probability_sd_error": ValueOnly(self._error / hidden.n_examples),
        }
