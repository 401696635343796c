"""How much do the runs pay for being wrong with confidence? Negative log-likelihood and Brier."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import Accumulator, Detail, Need
from seedproof.metrics.batch import Batch
from seedproof.metrics.statistic import (
    ExampleSums,
    ExampleValues,
    SpreadOverRuns,
    Statistic,
    mean_over_runs,
)
from seedproof.typing import FloatArray, IntArray

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
    gold = np.take_along_axis(probs, labels[None, :, None], axis=2)[:, :, 0]
    return _brier(probs, gold.astype(np.float64))


def _brier(probs: FloatArray, gold_probs: FloatArray) -> FloatArray:
    squares = np.square(probs, dtype=np.float64).sum(axis=2)
    return np.asarray(squares - 2 * gold_probs + 1)


class Scores(Accumulator):
    """Proper scores of each run, and their spread."""

    figures: ClassVar[tuple[str, ...]] = ("nll", "nll_sd", "brier", "brier_sd")
    needs: ClassVar[frozenset[Need]] = frozenset({"labels", "probs"})

    def __init__(self, n_runs: int, n_classes: int) -> None:
        super().__init__(n_runs, n_classes)
        self._nll = ExampleSums()
        self._brier = ExampleSums()

    def values(self, batch: Batch) -> Mapping[str, ExampleValues]:
        """Both losses of each labeled example, averaged over runs."""
        labeled = batch.labeled
        if labeled.probs is None or labeled.labels is None:
            raise ValueError("scores need probabilities and labels")
        gold = labeled.reference_probs
        return {
            "nll": mean_over_runs(nll(gold)),
            "brier": mean_over_runs(_brier(labeled.probs, gold)),
        }

    def add(self, batch: Batch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add the labeled examples of a batch; single examples get no column."""
        del batch
        self._nll.update(values["nll"])
        self._brier.update(values["brier"])
        return {}

    def result(self) -> Mapping[str, Statistic]:
        """Means and spreads over runs, over all labeled examples so far."""
        return {
            "nll": self._nll.mean_over_examples(),
            "nll_sd": SpreadOverRuns(self._nll.mean_by_run),
            "brier": self._brier.mean_over_examples(largest=2.0),
            "brier_sd": SpreadOverRuns(self._brier.mean_by_run, largest=2.0),
        }

    def detail(self) -> Detail:
        """Scores of each run."""
        return {"nll_by_run": self._nll.mean_by_run, "brier_by_run": self._brier.mean_by_run}
