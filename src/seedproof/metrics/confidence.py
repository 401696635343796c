"""How far does the probability of an answer move between runs?"""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import Accumulator, Detail, Need
from seedproof.metrics.batch import Batch
from seedproof.metrics.entropy import HIGH_ENTROPY, entropies
from seedproof.metrics.statistic import ExampleSums, ExampleValues, Statistic
from seedproof.typing import FloatArray, IntArray

N_BINS = 10
# The map of mean against spread: columns of the mean, rows of the spread up to its largest value.
MAP_COLUMNS = 60
MAP_ROWS = 40
LARGEST_SD = float(np.sqrt(0.5))
AGREEMENTS = ("all runs agree", "some differ", "split more evenly than 3 to 1")


def probability_sd(probs: FloatArray) -> ExampleValues:
    """Standard deviation over runs of one probability an example.

    Args:
        probs: Probability of the class that is followed, axes (runs, examples).

    Returns:
        Standard deviations with R-1 in the denominator; at most 0.71.
    """
    n_runs = len(probs)
    deviations = probs - probs.mean(axis=0)
    # A rounded mean leaves a trace where all runs say exactly the same.
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
    # Where one run makes nearly all of the spread, the subtraction has no digits left: the root of
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
    """Index into `AGREEMENTS` of each example: 0 all agree, 1 some differ, 2 split."""
    places = np.zeros(batch.n_examples, dtype=np.int64)
    high = entropies(batch.contested_agreement) > HIGH_ENTROPY
    places[batch.contested] = 1 + high
    return places


class Confidence(Accumulator):
    """Spread of the probability of the gold class, or of the consensus where no label is known."""

    figures: ClassVar[tuple[str, ...]] = ("probability_sd",)
    needs: ClassVar[frozenset[Need]] = frozenset({"confidence"})

    def __init__(self, n_runs: int, n_classes: int) -> None:
        super().__init__(n_runs, n_classes)
        self._spread = ExampleSums()
        self._error = 0.0
        self._counts = np.zeros(N_BINS, dtype=np.int64)
        self._sums = np.zeros(N_BINS)
        self._squares = np.zeros(N_BINS)
        self._map = np.zeros((len(AGREEMENTS), MAP_ROWS, MAP_COLUMNS), dtype=np.int64)

    def values(self, batch: Batch) -> Mapping[str, ExampleValues]:
        """Spread of each example's probability."""
        return {"probability_sd": probability_sd(batch.reference_probs)}

    def add(self, batch: Batch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add a batch; return mean and standard deviation over runs of each probability."""
        spread, mean = values["probability_sd"].values, batch.reference_mean
        self._spread.update(values["probability_sd"])
        self._error += float(batch.reference_error.sum())
        # With two classes the curve runs over the probability of the second one, as published.
        followed = np.where(batch.reference == 1, mean, 1 - mean) if self.n_classes == 2 else mean
        place = np.clip(followed * N_BINS, 0, N_BINS - 1).astype(np.int64)
        self._counts += np.bincount(place, minlength=N_BINS)
        self._sums += np.bincount(place, weights=spread, minlength=N_BINS)
        self._squares += np.bincount(place, weights=np.square(spread), minlength=N_BINS)

        self._add_to_map(batch, mean, spread)
        return {"probability_mean": mean, "probability_sd": spread}

    def _add_to_map(self, batch: Batch, mean: FloatArray, spread: FloatArray) -> None:
        column = np.clip(mean * MAP_COLUMNS, 0, MAP_COLUMNS - 1).astype(np.int64)
        row = np.clip(spread / LARGEST_SD * MAP_ROWS, 0, MAP_ROWS - 1).astype(np.int64)
        place = (agreement_class(batch) * MAP_ROWS + row) * MAP_COLUMNS + column
        self._map += np.bincount(place, minlength=self._map.size).reshape(self._map.shape)

    def result(self) -> Mapping[str, Statistic]:
        """Mean spread over all examples so far."""
        spread = self._spread.mean_over_examples(largest=LARGEST_SD)
        return {"probability_sd": replace(spread, error=self._error / self._spread.n_examples)}

    def detail(self) -> Detail:
        """Where the spread is.

        Returns:
            Mean spread in ten bins of the mean probability, with its standard error; counts of
            examples by agreement, spread and mean.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = self._sums / self._counts
            variance = np.maximum(self._squares / self._counts - mean**2, 0.0)
            error = np.sqrt(variance / np.maximum(self._counts - 1, 1))
        return {
            "sd_curve_count": self._counts,
            "sd_curve_mean": mean,
            "sd_curve_error": error,
            "confidence_map": self._map,
        }
