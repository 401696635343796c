"""Labels that two runs do not give to the same examples, label by label."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import Detail
from seedproof.metrics.block_statistic import Residuals
from seedproof.metrics.calibration import N_BLOCKS
from seedproof.metrics.classwise import add_counts, n_blocks_for
from seedproof.metrics.items.batch import ItemBatch
from seedproof.metrics.items.family import Catalog, ItemFamily
from seedproof.metrics.statistic import ExampleValues, MeanOverExamples, Statistic
from seedproof.typing import FloatArray, IntArray


class LabelFlips(ItemFamily):
    """Of the pairs of runs of which at least one gives a label, the share in which one does not.

    It is the Jaccard distance of the examples that two runs give the label to, as a ratio of sums
    over pairs. Counts are kept by block of examples.
    """

    figures: ClassVar[tuple[str, ...]] = ("label_flips",)
    memory: ClassVar[str] = "runs × labels × blocks"
    most_labels: ClassVar[int] = 1000  # with more there are no figures by label

    def __init__(self, n_runs: int, catalog: Catalog) -> None:
        super().__init__(n_runs, catalog)
        n_labels = len(catalog.labels) if self.is_kept else 0
        self.n_blocks = n_blocks_for(n_runs, n_labels)
        # Examples with the label in any run, and of each run; then, summed over the latter, the
        # runs that give it.
        self._n_given = np.zeros((n_labels, self.n_blocks), dtype=np.int64)
        self._answers = np.zeros((n_runs, n_labels, self.n_blocks), dtype=np.int64)
        self._agreeing = np.zeros((n_runs, n_labels, self.n_blocks), dtype=np.int64)

    @property
    def is_kept(self) -> bool:
        """True if there are few enough labels."""
        return len(self.catalog.labels) <= self.most_labels

    def add(self, batch: ItemBatch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add a batch; there are no columns."""
        columns = super().add(batch, values)
        n_labels, n_blocks = self._n_given.shape
        if not n_labels:
            return columns
        items, _, runs, starts, is_item = batch.occurrences
        first = np.flatnonzero(starts)
        counts = np.diff(first, append=starts.size)
        blocks = np.broadcast_to(
            (batch.filled_blocks // (N_BLOCKS // n_blocks))[:, None], items.shape
        )
        places = self.catalog.to_labels(items) * n_blocks + blocks
        is_first = is_item.ravel()[first]
        add_counts(self._n_given, places.ravel()[first][is_first])
        places = (places + runs * (n_labels * n_blocks)).ravel()
        n_with = np.repeat(counts, counts)
        known = is_item.ravel()
        add_counts(self._answers, places[known])
        totals = np.bincount(places[known], n_with[known], self._agreeing.size)
        self._agreeing += totals.reshape(self._agreeing.shape).astype(np.int64)
        return columns

    def result(self) -> Mapping[str, Statistic]:
        """Return the share over all labels together, if any run gives any."""
        return {"label_flips": self.share(slice(None))} if self._n_given.any() else {}

    def given(self) -> IntArray:
        """Return the places of the labels that any run gives."""
        return np.flatnonzero(self._n_given.sum(axis=1))

    def share(self, labels: slice, *, is_clustered: bool = False) -> MeanOverExamples:
        """Return the share of some labels together; blocks may consist of whole clusters."""
        n_given = self._n_given[labels].sum(axis=0)
        n_runs, chosen = self.n_runs, n_given > 0
        answers, agreeing = (
            counts[:, labels].sum(axis=1, dtype=np.float64)[:, chosen]
            for counts in (self._answers, self._agreeing)
        )
        # Of each run: the pairs with another in which exactly one of both gives the label, and
        # those in which any does. Each sum over runs has every pair twice.
        all_answers = answers.sum(axis=0)
        apart = all_answers + n_runs * answers - 2 * agreeing
        either = all_answers + (n_runs - 1) * answers - agreeing
        whole = np.stack([apart.sum(axis=0), either.sum(axis=0)])
        value, residuals = _ratio(*whole)
        without, of_runs = None, np.zeros((0, len(residuals)))
        n_examples = int(n_given.sum())
        if n_runs > 2:
            # A pair is left out with either of its runs.
            rest = whole[:, np.newaxis] - 2 * np.stack([apart, either])
            ratios = [_ratio(*rest[:, run]) for run in range(n_runs)]
            without = np.array([ratio for ratio, _ in ratios])
            of_runs = np.stack([pulls for _, pulls in ratios])
        blocks = Residuals(n_examples, n_examples * residuals, n_examples * of_runs)
        return MeanOverExamples(
            value,
            n_examples,
            without,
            example_variance=blocks.example_covariance(blocks),
            interaction_variance=0.0 if without is None else blocks.jackknife_covariance(blocks),
            scale="logit",
            largest=1.0,
            is_count=True,
            clusters=blocks if is_clustered else None,
            is_small=True,
        )


def _ratio(numerators: FloatArray, denominators: FloatArray) -> tuple[float, FloatArray]:
    """Return a ratio of totals over blocks, and the part of each block in its error."""
    total = float(denominators.sum())
    if total == 0.0:
        return 0.0, np.zeros(len(numerators))
    value = float(numerators.sum()) / total
    return value, np.asarray((numerators - value * denominators) / total)
