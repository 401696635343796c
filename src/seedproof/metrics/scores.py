"""How much do the runs pay for being wrong with confidence? Negative log-likelihood and Brier."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import Detail, Need
from seedproof.metrics.batch import Batch
from seedproof.metrics.statistic import ExampleSums, ExampleValues, SpreadOverRuns, Statistic
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
    probs = probs.astype(np.float64)
    gold = np.take_along_axis(probs, labels[None, :, None], axis=2)[:, :, 0]
    return np.asarray(np.einsum("rik,rik->ri", probs, probs) - 2 * gold + 1)


def _mean_of_runs(losses: FloatArray) -> ExampleValues:
    n_runs = len(losses)
    whole = losses.sum(axis=0)
    without = whole - losses if n_runs > 2 else None
    return ExampleValues(whole, without, whole_denominator=n_runs, without_denominator=n_runs - 1)


def _losses(batch: Batch) -> tuple[FloatArray, FloatArray]:
    """NLL and Brier score of the labeled examples of a batch, axes (runs, examples)."""
    labeled = batch.labeled
    if labeled.probs is None or labeled.labels is None:
        raise ValueError("scores need probabilities and labels")
    probs, labels = labeled.probs, labeled.labels
    return batch.once("losses", lambda: (nll(labeled.reference_probs), brier(probs, labels)))


class Scores:
    """Proper scores of each run, and their spread."""

    figures: ClassVar[tuple[str, ...]] = ("nll", "nll_sd", "brier", "brier_sd")
    needs: ClassVar[frozenset[Need]] = frozenset({"labels", "probs"})
    memory: ClassVar[str] = "runs"

    def __init__(self, n_runs: int, n_classes: int) -> None:
        del n_classes
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
        values = self.values(batch)
        losses, scores = _losses(batch)
        self._nll.update(values["nll"])
        self._nll_by_run += losses.sum(axis=1)
        self._brier.update(values["brier"])
        self._brier_by_run += scores.sum(axis=1)
        return {}

    def merge(self, other: "Scores") -> None:
        """Add the examples of another part."""
        self._nll.merge(other._nll)
        self._nll_by_run += other._nll_by_run
        self._brier.merge(other._brier)
        self._brier_by_run += other._brier_by_run

    def _by_run(self) -> dict[str, FloatArray]:
        n_examples = self._nll.n_examples
        return {"nll": self._nll_by_run / n_examples, "brier": self._brier_by_run / n_examples}

    def result(self) -> Mapping[str, Statistic]:
        """Means and spreads over runs, over all labeled examples so far."""
        by_run = self._by_run()
        return {
            "nll": self._nll.mean_over_examples(),
            "nll_sd": SpreadOverRuns(by_run["nll"]),
            "brier": self._brier.mean_over_examples(largest=2.0),
            "brier_sd": SpreadOverRuns(by_run["brier"], largest=2.0),
        }

    def detail(self) -> Detail:
        """Scores of each run."""
        return {f"{name}_by_run": values for name, values in self._by_run().items()}
