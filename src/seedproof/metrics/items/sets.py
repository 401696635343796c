"""Sets of labels or spans: how far those of two runs are apart, and how good they are."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import Detail, Need
from seedproof.metrics.calibration import N_BLOCKS
from seedproof.metrics.classwise import (
    ClassScores,
    Counts,
    add_counts,
    f1_scores,
    mean_over_runs_and_classes,
    n_blocks_for,
    precisions,
    recalls,
    scores_by_run,
)
from seedproof.metrics.items.batch import ItemBatch
from seedproof.metrics.items.family import Catalog, ItemFamily, of_labeled
from seedproof.metrics.items.overlap import differ, jaccard_distance
from seedproof.metrics.items.relevance import are_right, f1_of
from seedproof.metrics.statistic import (
    ExampleValues,
    ExcessSpread,
    SpreadOverRuns,
    Statistic,
    ValueOnly,
)
from seedproof.records.items import NO_ITEM
from seedproof.typing import FloatArray, IntArray

# The last is averaged over labels, the others are of all labels together.
SCORES: Mapping[str, ClassScores] = {
    "precision": precisions,
    "recall": recalls,
    "micro_f1": f1_scores,
    "macro_f1": f1_scores,
}


class SetOverlap(ItemFamily):
    """Sets of two runs for the same example."""

    figures: ClassVar[tuple[str, ...]] = ("set_flips", "jaccard_distance")

    def values(self, batch: ItemBatch) -> Mapping[str, ExampleValues]:
        """Return both figures, averaged over pairs of runs, per example."""
        return {"set_flips": differ(batch), "jaccard_distance": jaccard_distance(batch)}

    def columns(
        self, batch: ItemBatch, values: Mapping[str, ExampleValues]
    ) -> dict[str, FloatArray]:
        """Return both figures of each example."""
        del batch
        return {name: values[name].values for name in self.figures}

    def result(self) -> Mapping[str, Statistic]:
        """Return both figures over all examples so far."""
        return {name: self.mean_of(name, is_count=name == "set_flips") for name in self.figures}


class SetQuality(ItemFamily):
    """Precision, recall and F1 of each run, and their spread.

    They are ratios of totals over examples. Totals are kept by block of examples, those of macro F1
    by label as well.
    """

    figures: ClassVar[tuple[str, ...]] = (
        *SCORES,
        "score_sd",
        "score_sd_independent",
        "score_sd_excess",
        "macro_f1_sd",
    )
    needs: ClassVar[frozenset[Need]] = frozenset({"labels"})
    memory: ClassVar[str] = "runs × labels × blocks"
    least_runs: ClassVar[int] = 1

    def __init__(self, n_runs: int, catalog: Catalog) -> None:
        super().__init__(n_runs, catalog)
        n_labels = len(catalog.labels)
        self.n_blocks = n_blocks_for(n_runs, n_labels)
        self._sizes = np.zeros(N_BLOCKS, dtype=np.int64)
        # Of all labels together; right items, right ones that are given, and given ones.
        self._all_gold = np.zeros(N_BLOCKS, dtype=np.int64)
        self._all_right = np.zeros((n_runs, N_BLOCKS), dtype=np.int64)
        self._all_answers = np.zeros((n_runs, N_BLOCKS), dtype=np.int64)
        # The same by label, in fewer blocks if there are many labels.
        self._gold = np.zeros((n_labels, self.n_blocks), dtype=np.int64)
        self._right = np.zeros((n_runs, n_labels, self.n_blocks), dtype=np.int32)
        self._answers = np.zeros((n_runs, n_labels, self.n_blocks), dtype=np.int32)
        # Variances over runs, summed over examples: of the number of right items that are given,
        # of the number of given ones, and their covariance.
        self._moments = np.zeros(3)

    def columns(
        self, batch: ItemBatch, values: Mapping[str, ExampleValues]
    ) -> dict[str, FloatArray]:
        """Add the counts of a batch; return the mean F1 of each example with right items."""
        del values
        labeled = batch.labeled
        if labeled.relevance is None:
            raise ValueError("quality needs right items")
        gold, items, blocks = labeled.relevance.items, labeled.items, labeled.filled_blocks
        is_right, is_gold = are_right(items, gold), gold != NO_ITEM
        n_right, n_answers = is_right.sum(axis=2), labeled.whole_sizes
        n_gold = is_gold.sum(axis=1)
        self._sizes += np.bincount(blocks, minlength=N_BLOCKS)
        self._all_gold += np.bincount(blocks, n_gold, N_BLOCKS).astype(np.int64)
        for run_idx in range(self.n_runs):
            for totals, counts in ((self._all_right, n_right), (self._all_answers, n_answers)):
                totals[run_idx] += np.bincount(blocks, counts[run_idx], N_BLOCKS).astype(np.int64)
        self._add_by_label(items, is_right, gold, blocks // (N_BLOCKS // self.n_blocks))
        if self.n_runs > 1:
            right, answers = (x - x.mean(axis=0) for x in (n_right, n_answers))
            products = (right * right, right * answers, answers * answers)
            self._moments += np.array([x.sum() for x in products]) / (self.n_runs - 1)
        f1 = f1_of(n_right, n_answers + n_gold)
        return {"f1": of_labeled(batch, f1.mean(axis=0))}

    def _add_by_label(
        self, items: IntArray, is_right: np.ndarray, gold: IntArray, blocks: IntArray
    ) -> None:
        n_labels, n_blocks = self._gold.shape
        runs = np.arange(self.n_runs)[:, np.newaxis, np.newaxis] * n_labels
        places = (self.catalog.to_labels(items) + runs) * n_blocks + blocks[:, np.newaxis]
        add_counts(self._answers, places[items != NO_ITEM])
        add_counts(self._right, places[is_right])
        places = self.catalog.to_labels(gold) * n_blocks + blocks[:, np.newaxis]
        add_counts(self._gold, places[gold != NO_ITEM])

    def result(self) -> Mapping[str, Statistic]:
        """Return means and spreads over runs, over all examples with right items so far."""
        results: dict[str, Statistic] = {}
        for name, scores in SCORES.items():
            n_blocks = self.n_blocks if name == "macro_f1" else N_BLOCKS
            sizes = self._sizes.reshape(n_blocks, -1).sum(axis=1)
            results[name] = mean_over_runs_and_classes(self._counts(name), sizes, scores)
            results |= self._spread(name)
        return results

    def _spread(self, name: str) -> dict[str, Statistic]:
        if self.n_runs == 1:
            return {}
        by_run = self._by_run(name)
        spread: dict[str, Statistic] = {f"{name}_sd": SpreadOverRuns(by_run, largest=1.0)}
        if name != "micro_f1":
            return spread
        alone = self._independent_sd(float(by_run.mean()))
        return {
            **spread,
            f"{name}_sd_independent": ValueOnly(alone),
            f"{name}_sd_excess": ExcessSpread(by_run, known=alone),
        }

    def _independent_sd(self, f1: float) -> float:
        """Spread of micro F1 if the sets of each example varied independently of all others.

        To first order, F1 moves by (right - F1·(gold + answers)/2) over its denominator.
        """
        right, both, answers = self._moments
        variance = max(float(right - f1 * both + f1**2 / 4 * answers), 0.0)
        denominator = (self._all_gold.sum() + self._all_answers.sum(axis=1).mean()) / 2
        return float(np.sqrt(variance) / max(denominator, 1.0))

    def _by_run(self, name: str) -> FloatArray:
        return scores_by_run(self._counts(name), SCORES[name])

    def _counts(self, name: str) -> Iterator[Counts]:
        """Yield right items that are given, right ones and given ones of each run."""
        for run_idx in range(self.n_runs):
            if name == "macro_f1":
                yield self._right[run_idx], self._gold, self._answers[run_idx]
            else:
                of_run = (self._all_right[run_idx], self._all_gold, self._all_answers[run_idx])
                right, gold, answers = (counts[np.newaxis] for counts in of_run)
                yield right, gold, answers

    def detail(self) -> Detail:
        """Return the figures of each run, and the number of right items per label."""
        by_run = {f"{name}_by_run": self._by_run(name) for name in SCORES}
        return {**by_run, "gold_count": self._gold.sum(axis=1)}
