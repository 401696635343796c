"""Disagreement between runs: flip rate, net flips, ambiguity, discrepancy."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import ClassFamily, Detail
from seedproof.metrics.batch import Batch
from seedproof.metrics.statistic import ExampleValues, MeanOverPairs, Statistic, ValueOnly
from seedproof.typing import FloatArray, IntArray

# The table of swaps takes classes² numbers: it is omitted beyond this many classes.
MAX_SWAP_CLASSES = 1000
N_LISTED = 20


def flip_rate(agreement: IntArray) -> ExampleValues:
    """Return the share of the pairs of runs that disagree, per example.

    It takes `Batch.agreement` and is unbiased in the number of runs.
    """
    n_runs = len(agreement)
    opponents = n_runs - agreement.astype(np.int64)
    whole = opponents.sum(axis=0)
    without = whole - 2 * opponents if n_runs > 2 else None
    return ExampleValues(
        whole,
        without,
        whole_denominator=n_runs * (n_runs - 1),
        without_denominator=(n_runs - 1) * (n_runs - 2),
    )


def class_counts(predictions: IntArray, n_classes: int) -> IntArray:
    """Return how often each run predicts each class, axes (runs, classes)."""
    if predictions.max(initial=0) >= n_classes:
        raise ValueError(f"a prediction is not one of the {n_classes} classes")
    first = np.arange(len(predictions))[:, np.newaxis] * n_classes
    counts = np.bincount((predictions + first).ravel(), minlength=len(predictions) * n_classes)
    return counts.reshape(len(predictions), n_classes)


def net_flips(class_counts: IntArray) -> FloatArray:
    """Return the total variation between the class shares of every two runs, axes (runs, runs).

    It is the least share of flips that would turn one run's class shares into the other's: flips
    that do not cancel out, as when the decision threshold moves.
    """
    shares = class_counts / class_counts.sum(axis=1, keepdims=True)
    return np.stack([np.abs(shares - row).sum(axis=1) / 2 for row in shares])


@dataclass(frozen=True, eq=False)
class RunSums:
    """Sums over examples that show which runs are no evidence; see `predictions.input_checks`."""

    n_examples: int
    disagreements: IntArray  # examples on which two runs differ: (runs, runs)
    class_counts: IntArray  # (runs, classes)
    label_counts: IntArray  # labeled examples by gold class: (classes,)
    # Votes against the consensus, by consensus and vote: (classes, classes). None for two classes
    # and for very many.
    swaps: IntArray | None


class Disagreement(ClassFamily):
    """Pairs of runs that disagree, whatever their answers."""

    figures: ClassVar[tuple[str, ...]] = ("flip_rate", "ambiguity", "discrepancy")
    memory: ClassVar[str] = "runs²"

    def __init__(self, n_runs: int, n_classes: int) -> None:
        super().__init__(n_runs, n_classes)
        self._disagreements = np.zeros((n_runs, n_runs), dtype=np.int64)
        self._majorities = np.zeros(n_runs + 1, dtype=np.int64)

    def values(self, batch: Batch) -> Mapping[str, ExampleValues]:
        """Return the flip rate per example."""
        return {"flip_rate": batch.of_contested(flip_rate(batch.contested_agreement))}

    def add(self, batch: Batch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add a batch; return the share of the runs with the majority answer, and the flip rate."""
        super().add(batch, values)
        self._disagreements += batch.disagreements
        self._majorities += np.bincount(batch.majority, minlength=len(self._majorities))
        return {
            "consensus_share": batch.majority / batch.n_runs,
            "flip_rate": batch.over_contested(values["flip_rate"].values),
        }

    def result(self) -> Mapping[str, Statistic]:
        """Return all figures over all examples so far."""
        n_examples = self.n_examples
        return {
            "flip_rate": self.sums["flip_rate"].mean_over_examples(largest=1.0, is_count=True),
            "ambiguity": ValueOnly((n_examples - int(self._majorities[-1])) / n_examples),
            "discrepancy": ValueOnly(float(self._disagreements.max()) / n_examples),
        }

    @property
    def n_examples(self) -> int:
        """Number of examples so far."""
        return self.sums["flip_rate"].n_examples

    @property
    def disagreements(self) -> IntArray:
        """Examples on which two runs differ: (runs, runs)."""
        return self._disagreements

    def detail(self) -> Detail:
        """Return the disagreement matrix, and counts of examples by size of their majority."""
        return {
            "flip_matrix": self._disagreements / self.n_examples,
            "majority_counts": self._majorities,
        }


class Flips(Disagreement):
    """Pairs of runs that disagree, and the classes between which they do."""

    figures: ClassVar[tuple[str, ...]] = (
        "flip_rate",
        "net_flip_rate",
        "ambiguity",
        "discrepancy",
    )
    memory: ClassVar[str] = "runs² + runs × classes + classes²"

    def __init__(self, n_runs: int, n_classes: int) -> None:
        super().__init__(n_runs, n_classes)
        self._class_counts = np.zeros((n_runs, n_classes), dtype=np.int64)
        self._label_counts = np.zeros(n_classes, dtype=np.int64)
        self._swaps: IntArray | None = None
        if 2 < n_classes <= MAX_SWAP_CLASSES:
            self._swaps = np.zeros((n_classes, n_classes), dtype=np.int64)

    def add(self, batch: Batch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add a batch; return the majority class, its share of the runs, and the flip rate."""
        columns = super().add(batch, values)
        self._class_counts += class_counts(batch.predictions, batch.n_classes)
        if batch.labels is not None:
            known = batch.labels[batch.labels >= 0]
            self._label_counts += np.bincount(known, minlength=self.n_classes)
        if self._swaps is not None:
            predictions = batch.predictions[:, batch.contested]
            consensus = np.broadcast_to(batch.consensus[batch.contested], predictions.shape)
            differs = predictions != consensus
            pairs = consensus[differs] * np.int64(batch.n_classes) + predictions[differs]
            counts = np.bincount(pairs, minlength=self._swaps.size)
            self._swaps += counts.reshape(self._swaps.shape)
        return {"consensus": batch.consensus, **columns}

    def result(self) -> Mapping[str, Statistic]:
        """Return all figures over all examples so far."""
        net = MeanOverPairs(net_flips(self._class_counts), floor=0.5 / self.n_examples, largest=1.0)
        known = {**super().result(), "net_flip_rate": net}
        return {name: known[name] for name in self.figures}

    def run_sums(self) -> RunSums:
        """Return the sums that checks of the input need."""
        return RunSums(
            self.n_examples,
            self.disagreements,
            self._class_counts,
            self._label_counts,
            self._swaps,
        )

    def detail(self) -> Detail:
        """Return the arrays behind the flips.

        These are the disagreement matrix; the classes whose share differs most between runs, with
        each run's share; counts of examples by size of their majority; and the pairs of classes
        that are swapped most often.
        """
        shared = super().detail()
        moving = np.argsort(-np.ptp(self._class_counts, axis=0), kind="stable")[:N_LISTED]
        detail = {
            "flip_matrix": shared["flip_matrix"],
            "drift_classes": moving,
            "drift_shares": self._class_counts[:, moving] / self.n_examples,
            "majority_counts": shared["majority_counts"],
        }
        if self._swaps is not None:
            both_ways = np.triu(self._swaps + self._swaps.T, k=1)
            largest = np.argsort(-both_ways, axis=None, kind="stable")[:N_LISTED]
            largest = largest[both_ways.ravel()[largest] > 0]
            detail["swap_classes"] = np.stack(np.unravel_index(largest, both_ways.shape), axis=1)
            detail["swap_counts"] = both_ways.ravel()[largest]
        return detail
