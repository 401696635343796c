"""Proper scores: negative log-likelihood and Brier score."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import ClassFamily, Detail, Need
from seedproof.metrics.batch import Batch
from seedproof.metrics.statistic import ExampleValues, SpreadOverRuns, Statistic, mean_over_runs
from seedproof.typing import FloatArray, IntArray

# A probability of zero for the gold class would make the mean infinite.
SMALLEST = 1e-10


def nll(gold_probs: FloatArray) -> FloatArray:
    """Return the negative log-likelihood of the gold class, in nats; at most 23.03.

    Probabilities below 1e-10 count as 1e-10.
    """
    return -np.log(np.clip(gold_probs, SMALLEST, 1.0))


def brier(probs: FloatArray, labels: IntArray) -> FloatArray:
    """Return Brier scores in [0, 2], axes (runs, examples): squared errors summed over classes.

    With two classes that is twice the score of the one-column definition.
    """
    gold = np.take_along_axis(probs, labels[None, :, None], axis=2)[:, :, 0]
    return _brier(probs, gold.astype(np.float64))


def _brier(probs: FloatArray, gold_probs: FloatArray) -> FloatArray:
    squares = np.square(probs, dtype=np.float64).sum(axis=2)
    return np.asarray(squares - 2 * gold_probs + 1)


class Scores(ClassFamily):
    """Proper scores of each run, and their spread."""

    figures: ClassVar[tuple[str, ...]] = ("nll", "nll_sd", "brier", "brier_sd")
    needs: ClassVar[frozenset[Need]] = frozenset({"labels", "probs"})

    def values(self, batch: Batch) -> Mapping[str, ExampleValues]:
        """Return both losses per labeled example, averaged over runs."""
        labeled = batch.labeled
        if labeled.probs is None or labeled.labels is None:
            raise ValueError("scores need probabilities and labels")
        gold = labeled.reference_probs
        return {
            "nll": mean_over_runs(nll(gold)),
            "brier": mean_over_runs(_brier(labeled.probs, gold)),
        }

    def result(self) -> Mapping[str, Statistic]:
        """Return means and spreads over runs, over all labeled examples so far."""
        nll_sums, brier_sums = self.sums["nll"], self.sums["brier"]
        return {
            "nll": nll_sums.mean_over_examples(),
            "nll_sd": SpreadOverRuns(nll_sums.mean_by_run),
            "brier": brier_sums.mean_over_examples(largest=2.0),
            "brier_sd": SpreadOverRuns(brier_sums.mean_by_run, largest=2.0),
        }

    def detail(self) -> Detail:
        """Return the scores of each run."""
        return {f"{name}_by_run": self.sums[name].mean_by_run for name in ("nll", "brier")}
