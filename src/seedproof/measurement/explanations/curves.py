"""Figures of explanations by predicted probability."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from seedproof.metrics.confidence import N_BINS
from seedproof.typing import FloatArray, IntArray

# One curve per class: more are unreadable.
MAX_CURVES = 20


@dataclass(frozen=True, eq=False)
class Curves:
    """Means of each figure in ten bins of the mean predicted probability of a class over runs."""

    classes: tuple[str, ...]  # the classes with a curve: the second of two, all of more than two
    counts: IntArray  # examples in each bin, axes (classes, bins)
    means: Mapping[str, FloatArray]  # axes (classes, bins); NaN in a bin without an example
    errors: Mapping[str, FloatArray]  # standard errors of the means; NaN for one example


class CurveSums:
    """Totals of figures in bins of the predicted probability of some classes."""

    def __init__(self, classes: tuple[str, ...]) -> None:
        self._classes = classes
        self._counts = np.zeros((len(classes), N_BINS), dtype=np.int64)
        self._sums: dict[str, FloatArray] = {}
        self._squares: dict[str, FloatArray] = {}

    def update(self, means: FloatArray, figures: Mapping[str, FloatArray]) -> None:
        """Add examples; those without a prediction are left out."""
        predicted = ~np.isnan(means[0])
        bins = np.clip(means[:, predicted] * N_BINS, 0, N_BINS - 1).astype(np.int64)
        place = (bins + N_BINS * np.arange(len(bins))[:, None]).ravel()
        self._counts += np.bincount(place, minlength=self._counts.size).reshape(self._counts.shape)
        for name, values in figures.items():
            repeated = np.tile(values[predicted], len(bins))
            for totals, weights in ((self._sums, repeated), (self._squares, repeated**2)):
                binned = np.bincount(place, weights=weights, minlength=self._counts.size)
                totals[name] = totals.get(name, 0.0) + binned.reshape(self._counts.shape)

    def result(self) -> Curves:
        """Return means and standard errors in each bin, over all examples so far."""
        n = self._counts
        with np.errstate(invalid="ignore", divide="ignore"):
            means = {name: sums / n for name, sums in self._sums.items()}
            errors = {
                name: np.sqrt(np.maximum(squares / n - means[name] ** 2, 0.0) / (n - 1.0))
                for name, squares in self._squares.items()
            }
        for error in errors.values():
            error[n < 2] = np.nan
        return Curves(self._classes, n, means, errors)
