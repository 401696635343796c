"""Flip rate and accuracy of each class and each slice, with simultaneous intervals.

Sums over groups take memory that grows with runs and groups, never with examples.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from seedproof.measurement.groups import NOWHERE, Groups, added
from seedproof.messages import Message
from seedproof.metrics.batch import Batch
from seedproof.metrics.statistic import VERDICT_FROM, ExampleSums, Scale
from seedproof.records.probabilities import UNLABELED
from seedproof.records.shards import Shard
from seedproof.stats.intervals import TAIL, Estimate, estimate_mean
from seedproof.typing import FloatArray, IntArray

# Up to this many groups, a product of matrices is faster than counting.
MOST_MULTIPLIED = 64


@dataclass(frozen=True)
class GroupMetrics:
    """Metrics of the examples of one class, or of one value of a slice.

    Their intervals hold for all classes, or for all values of a column, together.
    """

    name: str  # the class, or the value of the column
    n_examples: int
    n_labeled: int
    metrics: Mapping[str, Estimate]  # flip_rate, and accuracy if there are labels
    is_less_stable: bool  # the interval of the flip rate is above the flip rate of all examples

    def summary(self) -> dict[str, Any]:
        """Return everything as plain data."""
        metrics = {name: asdict(value) for name, value in self.metrics.items()}
        return {**vars(self), "metrics": metrics}

    @classmethod
    def from_summary(cls, summary: Mapping[str, Any]) -> "GroupMetrics":
        """Return what a summary was made from."""
        metrics = {name: Estimate(**value) for name, value in summary["metrics"].items()}
        return cls(**{**summary, "metrics": metrics})


class GroupAccumulator:
    """Sums over the examples of each class and each slice.

    Classes are gold classes; if no example has a gold label, those that most runs predict. All
    sums are of whole numbers, so that they do not depend on the order of examples.
    """

    def __init__(
        self,
        n_runs: int,
        classes: Sequence[str] = (),
        slices: Sequence[str] = (),
        *,
        is_labeled: bool = False,
        has_accuracy: bool = False,
    ) -> None:
        self.groups = Groups(classes, slices)
        self._n_runs = n_runs
        self._is_labeled = is_labeled
        # Columns of `_sums`: for each run, the number of runs that disagree with it; the sum of
        # their squares; the square of their sum. Then, for each run, 1 if it is right; the square
        # of their sum.
        self._width = n_runs + 2
        n_columns = self._width + (n_runs + 1 if has_accuracy else 0)
        self._sums: FloatArray = np.zeros((len(self.groups), n_columns))

    @property
    def notes(self) -> tuple[Message, ...]:
        """Remarks on groups that are left out."""
        return self.groups.notes

    def slice_codes(self, shard: Shard) -> IntArray:
        """Return the groups of a shard's examples by their slices, axes (columns, examples)."""
        return self.groups.slice_codes(len(shard), shard.extras)

    def add(self, batch: Batch, slice_codes: IntArray) -> None:
        """Add a batch, given the groups of its examples by their slices."""
        gold = np.full(batch.n_examples, UNLABELED) if batch.labels is None else batch.labels
        classes = self.groups.class_codes(gold if self._is_labeled else batch.consensus)
        codes = np.concatenate([classes, slice_codes])
        self.groups.add(codes, gold != UNLABELED)
        n_runs, width, contested = self._n_runs, self._width, batch.contested
        values = np.empty((self._sums.shape[1], len(contested)))
        against = values[:n_runs]
        np.subtract(n_runs, batch.contested_agreement, out=against)
        values[n_runs] = np.einsum("ri,ri->i", against, against)
        values[n_runs + 1] = np.square(against.sum(axis=0))
        if len(values) > width:
            right = values[width:-1]
            np.equal(batch.contested_predictions, gold[contested], out=right)
            values[-1] = np.square(right.sum(axis=0))
        sums = _summed(values, codes[:, contested], len(self.groups))
        if len(values) > width:
            is_right = batch.predictions[0] == gold
            is_right[contested] = False
            always = self.groups.count(codes[:, is_right])
            sums[:, width:-1] += always[:, np.newaxis]
            sums[:, -1] += always * n_runs**2
        self._sums = added(self._sums, sums)

    def merge(self, other: "GroupAccumulator") -> None:
        """Add the examples of another part."""
        places = self.groups.merge(other.groups)
        self._sums = added(self._sums, other._sums, places)  # noqa: SLF001 - the same class

    def result(
        self, overall: Estimate
    ) -> tuple[tuple[GroupMetrics, ...], dict[str, tuple[GroupMetrics, ...]]]:
        """Return the metrics of each class, and of each value by column.

        They are judged against the flip rate of all examples.
        """
        members: dict[str, list[tuple[str, int]]] = {}
        for kind, name, index in self.groups.listed():
            if self.groups.n_examples[index]:
                members.setdefault(kind, []).append((name, index))
        by_kind = {kind: tuple(self._kind(listed, overall)) for kind, listed in members.items()}
        slices = {column: by_kind[f"slice {column}"] for column in self.groups.slices}
        return by_kind.get("class", ()), slices

    def _kind(
        self, members: Sequence[tuple[str, int]], overall: Estimate
    ) -> Iterator[GroupMetrics]:
        """Yield the metrics of the groups of one kind, given their names and indices."""
        n_examples, n_labeled = self.groups.n_examples, self.groups.n_labeled
        has_accuracy = self._sums.shape[1] > self._width
        n_judged = sum(n_labeled[index] > 0 for _, index in members)
        for name, index in members:
            metrics = {"flip_rate": _estimate(self._flips(index), "log", TAIL / len(members))}
            if has_accuracy and n_labeled[index]:
                metrics["accuracy"] = _estimate(self._right(index), "logit", TAIL / n_judged)
            low = metrics["flip_rate"].low
            is_above = low is not None and low > overall.value
            yield GroupMetrics(
                name,
                int(n_examples[index]),
                int(n_labeled[index]),
                metrics,
                is_less_stable=is_above and self._n_runs >= VERDICT_FROM,
            )

    def _flips(self, index: int) -> ExampleSums:
        """Return the sums of the flip rate over a group; see `metrics.flips.flip_rate`."""
        n_runs, sums = self._n_runs, self._sums[index, : self._width]
        against, (squares, square) = sums[:n_runs], sums[n_runs:]
        total, n_pairs, n_left = against.sum(), n_runs * (n_runs - 1), (n_runs - 1) * (n_runs - 2)
        totals = ExampleSums(
            int(self.groups.n_examples[index]),
            float(total),
            square / n_pairs**2,
            whole_denominator=n_pairs,
            without_denominator=n_left,
        )
        if n_left:
            totals.without = total - 2 * against
            spread = 4 * (n_runs * squares - square) / n_runs**2  # variances over runs
            totals.interaction = (n_runs - 1) * spread / n_left**2
        return totals

    def _right(self, index: int) -> ExampleSums:
        """Return the sums of the accuracy over a group; see `metrics.accuracy.accuracy`."""
        n_runs, sums = self._n_runs, self._sums[index, self._width :]
        right, square = sums[:n_runs], sums[-1]
        total = right.sum()
        totals = ExampleSums(
            int(self.groups.n_labeled[index]),
            float(total),
            square / n_runs**2,
            whole_denominator=n_runs,
            without_denominator=n_runs - 1,
        )
        if n_runs > 2:
            totals.without = total - right
            spread = (n_runs * total - square) / n_runs**2
            totals.interaction = spread / (n_runs - 1)
        return totals


def _summed(values: FloatArray, codes: IntArray, n_groups: int) -> FloatArray:
    """Return sums over groups, axes (groups, columns).

    Values have the axes (columns, examples), and codes the axes (kinds of group, examples).
    """
    n_columns, n_examples = values.shape
    if n_groups <= MOST_MULTIPLIED:
        members = np.zeros((n_groups + 1, n_examples))  # the last is `NOWHERE`
        members[codes, np.arange(n_examples)] = 1.0
        return members[:-1] @ values.T
    sums = np.zeros((n_groups, n_columns))
    for kind in codes:
        known = np.flatnonzero(kind != NOWHERE)
        places = np.arange(n_columns)[:, np.newaxis] * n_groups + kind[known]
        weights = values if len(known) == n_examples else values[:, known]
        flat = np.bincount(places.ravel(), weights.ravel(), n_columns * n_groups)
        sums += flat.reshape(n_columns, n_groups).T
    return sums


def _estimate(sums: ExampleSums, scale: Scale, tail: float) -> Estimate:
    """Return a mean over a group with its interval; a single example has none."""
    if sums.n_examples == 1:
        return Estimate(sums.mean)
    statistic = sums.mean_over_examples(scale=scale, largest=1.0, is_count=True)
    return estimate_mean(statistic, tail, is_part=True)
