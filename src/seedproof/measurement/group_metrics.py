"""Flip rate and accuracy of each class and each slice, with simultaneous intervals.

Sums over groups take memory that grows with runs and groups, never with examples.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from seedproof.measurement.clusters import ClusterKeys
from seedproof.measurement.groups import NOWHERE, Groups, added
from seedproof.messages import Message
from seedproof.metrics.batch import Batch
from seedproof.metrics.block_statistic import Residuals
from seedproof.metrics.statistic import (
    VERDICT_FROM,
    ExampleSums,
    MeanOverExamples,
    Scale,
    of_trials,
)
from seedproof.records.probabilities import UNLABELED
from seedproof.records.shards import Shard
from seedproof.stats.intervals import PLAIN, Estimate, Level, estimate_mean
from seedproof.typing import FloatArray, IntArray

# Sets of clusters in each group, 2 to this power: enough for Student's quantile to be near the
# normal one.
PART_BITS = 6
N_PARTS = 2**PART_BITS
# Up to this many rows of sums, a product of matrices is faster than counting.
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


@dataclass(frozen=True, eq=False)
class _Totals:
    """Sums of one metric over the examples of a group, in one part or in one per set of clusters.

    They are of whole numbers; dividing by the denominators gives the metric.
    """

    n_examples: IntArray  # axes (parts)
    whole: FloatArray  # from all runs, axes (parts)
    without: FloatArray  # without run r, axes (parts, runs)
    square: float  # of `whole` of each example
    variances: float  # over runs, of `without` of each example
    denominators: tuple[int, int]  # of `whole` and of `without`
    scale: Scale
    has_clusters: bool
    are_trials: bool = False  # of one model: examples contain their noise

    @property
    def n(self) -> int:
        """Number of examples."""
        return int(self.n_examples.sum())

    def estimate(self, level: Level) -> Estimate:
        """Return the mean with its interval; a single example or cluster has none."""
        n, n_runs, (of_whole, of_without) = self.n, self.without.shape[1], self.denominators
        totals = ExampleSums(
            n,
            float(self.whole.sum()),
            self.square / of_whole**2,
            whole_denominator=of_whole,
            without_denominator=of_without,
        )
        if n_runs > 2:
            totals.without = self.without.sum(axis=0)
            totals.interaction = (n_runs - 1) * self.variances / of_without**2
        mean = totals.mean_over_examples(scale=self.scale, largest=1.0, is_count=True)
        if self.has_clusters:
            mean = self._with_clusters(mean)
        if mean.n_drawn == 1:  # it shows nothing about others
            return Estimate(mean.value)
        if self.are_trials:
            mean = of_trials(mean)
        return estimate_mean(replace(mean, is_small=True), level)

    def _with_clusters(self, mean: MeanOverExamples) -> MeanOverExamples:
        """Return a mean with the variances from drawing clusters in place of examples."""
        (of_whole, of_without), has_any = self.denominators, self.n_examples > 0
        rest = self.whole / of_whole - mean.value * self.n_examples
        rest_without = np.zeros((0, len(rest)))
        if mean.without is not None:
            expected = np.outer(mean.without, self.n_examples)
            rest_without = self.without.T / of_without - expected
        clusters = Residuals(self.n, rest[has_any], rest_without[:, has_any])
        interaction = 0.0
        if mean.without is not None:
            interaction = clusters.jackknife_covariance(clusters)
        return replace(
            mean,
            example_variance=clusters.example_covariance(clusters),
            interaction_variance=interaction,
            clusters=clusters,
        )


class GroupAccumulator:
    """Sums over the examples of each class and each slice.

    Classes are gold classes; if no example has a gold label, those that most runs predict. If
    examples belong together, each group has `N_PARTS` rows of sums: whole clusters are added up
    in one of them, which bounds memory. All sums are of whole numbers, so that they do not depend
    on the order of examples.
    """

    def __init__(
        self,
        n_runs: int,
        classes: Sequence[str] = (),
        slices: Sequence[str] = (),
        *,
        has_clusters: bool = False,
        is_labeled: bool = False,
        has_accuracy: bool = False,
        are_trials: bool = False,
    ) -> None:
        self.groups = Groups(classes, slices)
        self._n_runs, self._has_clusters, self._is_labeled = n_runs, has_clusters, is_labeled
        self._are_trials = are_trials
        self._n_parts = N_PARTS if has_clusters else 1
        n_rows = len(self.groups) * self._n_parts
        # Examples, labeled ones, and those on which all runs are right.
        self._counts: IntArray = np.zeros((n_rows, 3), dtype=np.int64)
        # Over the other examples: for each run, the number of runs that disagree with it; the sum
        # of their squares; the square of their sum. Then, for each run, 1 if it is right; the
        # square of their sum.
        self._width = n_runs + 2
        n_columns = self._width + (n_runs + 1 if has_accuracy else 0)
        self._sums: FloatArray = np.zeros((n_rows, n_columns))

    @property
    def notes(self) -> tuple[Message, ...]:
        """Remarks on groups that are left out."""
        return self.groups.notes

    def codes(self, shard: Shard, clusters: ClusterKeys | None) -> IntArray:
        """Return the groups of examples by slice, and last their parts, axes (…, examples)."""
        codes = self.groups.slice_codes(len(shard), shard.extras)
        n_rows = len(self.groups) * self._n_parts
        if n_rows > len(self._sums):
            self._counts = added(self._counts, np.zeros((n_rows, 3), dtype=np.int64))
            self._sums = added(self._sums, np.zeros((n_rows, self._sums.shape[1])))
        parts: IntArray = np.zeros(len(shard), dtype=np.int64)
        if clusters is not None:
            parts = clusters.parts(PART_BITS)
        return np.concatenate([codes, parts[np.newaxis]])

    def add(self, batch: Batch, codes: IntArray) -> None:
        """Add a batch of a shard, given the `codes` of its examples."""
        gold = np.full(batch.n_examples, UNLABELED) if batch.labels is None else batch.labels
        is_right = batch.predictions[0] == gold
        is_right[batch.contested] = False
        values = self._values(batch, gold)
        *slices, parts = codes
        classes = self.groups.class_codes(gold if self._is_labeled else batch.consensus)
        for kind in (*classes, *slices):
            rows = np.where(kind == NOWHERE, NOWHERE, kind * self._n_parts + parts)
            for column, chosen in enumerate((rows, rows[gold != UNLABELED], rows[is_right])):
                known = chosen[chosen != NOWHERE]
                self._counts[:, column] += np.bincount(known, minlength=len(self._counts))
            _add(self._sums, values, rows[batch.contested])

    def _values(self, batch: Batch, gold: IntArray) -> FloatArray:
        """Return what `_sums` adds up over the examples on which runs differ.

        The axes are (columns, examples). Nothing flips on the others.
        """
        n_runs, width, contested = self._n_runs, self._width, batch.contested
        values = np.empty((self._sums.shape[1], len(contested)))
        against, right = values[:n_runs], values[width:-1]
        np.subtract(n_runs, batch.contested_agreement, out=against)
        values[n_runs] = np.einsum("ri,ri->i", against, against)
        values[n_runs + 1] = np.square(against.sum(axis=0))
        if len(values) > width:
            np.equal(batch.contested_predictions, gold[contested], out=right)
            values[-1] = np.square(right.sum(axis=0))
        return values

    def merge(self, other: "GroupAccumulator") -> None:
        """Add the examples of another part."""
        places = self.groups.merge(other.groups)
        rows = (places[:, np.newaxis] * self._n_parts + np.arange(self._n_parts)).ravel()
        self._counts = added(self._counts, other._counts, rows)  # noqa: SLF001 - the same class
        self._sums = added(self._sums, other._sums, rows)  # noqa: SLF001 - same

    def result(
        self, overall: Estimate
    ) -> tuple[tuple[GroupMetrics, ...], dict[str, tuple[GroupMetrics, ...]]]:
        """Return the metrics of each class, and of each value by column.

        They are judged against the flip rate of all examples.
        """
        members: dict[str, list[tuple[str, int]]] = {}
        for kind, name, index in self.groups.listed():
            if self._counts[self._rows(index), 0].any():
                members.setdefault(kind, []).append((name, index))
        by_kind = {kind: tuple(self._kind(listed, overall)) for kind, listed in members.items()}
        slices = {column: by_kind[f"slice {column}"] for column in self.groups.slices}
        return by_kind.get("class", ()), slices

    def _kind(
        self, members: Sequence[tuple[str, int]], overall: Estimate
    ) -> Iterator[GroupMetrics]:
        """Yield the metrics of the groups of one kind, given their names and indices."""
        totals = {"flip_rate": [self._flips(self._rows(index)) for _, index in members]}
        if self._sums.shape[1] > self._width:
            totals["accuracy"] = [self._right(self._rows(index)) for _, index in members]
        n_groups = {metric: sum(x.n > 0 for x in of_groups) for metric, of_groups in totals.items()}
        for place, (name, index) in enumerate(members):
            metrics = {
                metric: of_groups[place].estimate(PLAIN.divided(n_groups[metric]))
                for metric, of_groups in totals.items()
                if of_groups[place].n
            }
            low = metrics["flip_rate"].low
            is_above = low is not None and low > overall.value
            n_examples, n_labeled, _ = self._counts[self._rows(index)].sum(axis=0).tolist()
            is_judged = self._are_trials or self._n_runs >= VERDICT_FROM
            is_less_stable = is_above and is_judged
            yield GroupMetrics(name, n_examples, n_labeled, metrics, is_less_stable)

    def _rows(self, index: int) -> slice:
        return slice(index * self._n_parts, (index + 1) * self._n_parts)

    def _flips(self, rows: slice) -> _Totals:
        """Return the sums of the flip rate over a group; see `metrics.flips.flip_rate`."""
        n_runs, against = self._n_runs, self._sums[rows, : self._n_runs]
        squares, square = self._sums[rows, n_runs : self._width].sum(axis=0).tolist()
        whole = against.sum(axis=1)
        return _Totals(
            self._counts[rows, 0],
            whole,
            whole[:, np.newaxis] - 2 * against,
            square,
            variances=4 * (n_runs * squares - square) / n_runs**2,
            denominators=(n_runs * (n_runs - 1), (n_runs - 1) * (n_runs - 2)),
            scale="log",
            has_clusters=self._has_clusters,
            are_trials=self._are_trials,
        )

    def _right(self, rows: slice) -> _Totals:
        """Return the sums of the accuracy over a group; see `metrics.accuracy.accuracy`."""
        n_runs, (_, n_labeled, always) = self._n_runs, self._counts[rows].T
        right = self._sums[rows, self._width : -1] + always[:, np.newaxis]
        square = float(self._sums[rows, -1].sum()) + n_runs**2 * int(always.sum())
        whole = right.sum(axis=1)
        return _Totals(
            n_labeled,
            whole,
            whole[:, np.newaxis] - right,
            square,
            variances=(n_runs * float(whole.sum()) - square) / n_runs**2,
            denominators=(n_runs, n_runs - 1),
            scale="logit",
            has_clusters=self._has_clusters,
            are_trials=self._are_trials,
        )


def _add(sums: FloatArray, values: FloatArray, rows: IntArray) -> None:
    """Add values with the axes (columns, examples) to the row of each example."""
    if len(sums) <= MOST_MULTIPLIED:
        members = np.zeros((len(sums) + 1, len(rows)))  # the last is `NOWHERE`
        members[rows, np.arange(len(rows))] = 1.0
        sums += members[:-1] @ values.T
        return
    is_present = np.zeros(len(sums) + 1, dtype=np.bool_)  # the last is `NOWHERE`
    is_present[rows] = True
    present, places = is_present.nonzero()[0], is_present.cumsum()[rows] - 1
    flat = places * len(values) + np.arange(len(values))[:, np.newaxis]
    totals = np.bincount(flat.ravel(), values.ravel(), len(present) * len(values))
    is_known = present < len(sums)
    sums[present[is_known]] += totals.reshape(len(present), len(values))[is_known]
