"""Figures of each slice, with simultaneous intervals."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic

import numpy as np

from seedproof.measurement.clusters import EXAMPLES, LABELED, ClusterAccumulator, ClusterKeys
from seedproof.measurement.group_metrics import GroupMetrics
from seedproof.measurement.groups import Groups
from seedproof.metrics.accumulator import Accumulator, BatchT
from seedproof.metrics.numbers.batch import NumberBatch
from seedproof.metrics.numbers.levels import Tree
from seedproof.metrics.numbers.means import Means
from seedproof.metrics.numbers.spread import Spread, with_whole_runs
from seedproof.metrics.statistic import VERDICT_FROM, Statistic
from seedproof.records.answer_settings import AnswerSettings
from seedproof.records.shards import Shard
from seedproof.stats.intervals import PLAIN, Estimate, estimate
from seedproof.typing import IntArray


class _Group(Generic[BatchT]):
    """Sums over the examples of one value of a slice."""

    def __init__(self, n_runs: int, families: Sequence[Accumulator[BatchT]]) -> None:
        self.families = families
        self.clusters: ClusterAccumulator | None = None
        self.n_examples = self.n_labeled = 0
        self._n_runs = n_runs

    def open(self, clusters: ClusterKeys | None) -> None:
        """Take the clusters of some examples, whose batches follow."""
        if clusters is not None:
            self.clusters = self.clusters or ClusterAccumulator(self._n_runs)
            self.clusters.open(clusters)

    def add(self, batch: BatchT) -> None:
        """Add examples."""
        self.n_examples += batch.n_examples
        self.n_labeled += int(batch.is_labeled.sum())
        if self.clusters is not None:
            self.clusters.start(batch)
        for family in self.families:
            values = family.values(batch)
            if self.clusters is not None:
                self.clusters.add(values, LABELED if "labels" in family.needs else EXAMPLES)
            family.add(batch, values)

    def merge(self, other: "_Group[BatchT]") -> None:
        """Add other examples."""
        self.n_examples += other.n_examples
        self.n_labeled += other.n_labeled
        for family, further in zip(self.families, other.families, strict=True):
            family.merge(further)
        if other.clusters is not None:
            self.clusters = self.clusters or ClusterAccumulator(self._n_runs)
            self.clusters.merge(other.clusters)

    def statistics(self, reported: Sequence[str]) -> dict[str, Statistic]:
        """Return the reported metrics, without those that need labels if there are none."""
        results = {
            name: x
            for family in self.families
            if self.n_labeled or "labels" not in family.needs
            for name, x in family.result().items()
        }
        if self.clusters is not None:
            results = {name: self.clusters.result(name, x) for name, x in results.items()}
        results = with_whole_runs(results)
        return {name: results[name] for name in reported if name in results}


class FamilyGroups(ABC, Generic[BatchT]):
    """Sums of a few families over the examples of each value of the sliced columns."""

    reported: tuple[str, ...]  # metrics of each group: how good it is, and how steady
    judged: str  # the one of them that is compared with all examples

    def __init__(self, n_runs: int, slices: Sequence[str]) -> None:
        self.n_runs = n_runs
        self._groups = Groups((), slices)
        self._sums: dict[int, _Group[BatchT]] = {}

    @abstractmethod
    def families(self) -> Sequence[Accumulator[BatchT]]:
        """Return empty families."""

    @abstractmethod
    def batches(self, shard: Shard, chosen: IntArray, blocks: IntArray | None) -> Iterable[BatchT]:
        """Return some of the examples of a shard."""

    @property
    def has_verdict(self) -> bool:
        """True if there are enough runs for a verdict."""
        return self.n_runs >= VERDICT_FROM

    def add(
        self, shard: Shard, clusters: ClusterKeys | None, blocks: IntArray | None = None
    ) -> None:
        """Add a shard, given the clusters and blocks of its examples."""
        for codes in self._groups.slice_codes(len(shard), shard.extras):
            for group in np.unique(codes):
                chosen = np.flatnonzero(codes == group)
                keys = clusters
                if clusters is not None:
                    keys = ClusterKeys(clusters.keys, clusters.indices[chosen])
                sums = self._of(int(group))
                sums.open(keys)
                for batch in self.batches(shard, chosen, blocks):
                    sums.add(batch)

    def merge(self, other: "FamilyGroups[BatchT]") -> None:
        """Add the examples of another part."""
        places = self._groups.merge(other._groups)  # noqa: SLF001 - the same class
        for group, sums in other._sums.items():  # noqa: SLF001 - same
            self._of(int(places[group])).merge(sums)

    def result(self, overall: Estimate | None) -> Mapping[str, tuple[GroupMetrics, ...]]:
        """Return the metrics of each value by column, judged against all examples.

        `overall` is None with a single trial.
        """
        members: dict[str, list[tuple[str, _Group[BatchT]]]] = {
            name: [] for name in self._groups.slices
        }
        for kind, name, index in self._groups.listed():
            if index in self._sums:
                members[kind.removeprefix("slice ")].append((name, self._sums[index]))
        return {
            column: tuple(
                self._metrics(name, group, len(listed), overall) for name, group in listed
            )
            for column, listed in members.items()
        }

    def _metrics(
        self, name: str, group: _Group[BatchT], n_groups: int, overall: Estimate | None
    ) -> GroupMetrics:
        level = PLAIN.divided(n_groups)
        statistics = group.statistics(self.reported)
        metrics = {metric: estimate(x, level) for metric, x in statistics.items()}
        # A single trial does not differ from any other.
        low = metrics[self.judged].low if self.judged in metrics else None
        is_above = low is not None and overall is not None and low > overall.value
        return GroupMetrics(
            name, group.n_examples, group.n_labeled, metrics, is_above and self.has_verdict
        )

    def _of(self, group: int) -> _Group[BatchT]:
        if group not in self._sums:
            self._sums[group] = _Group(self.n_runs, self.families())
        return self._sums[group]


class NumberGroups(FamilyGroups[NumberBatch]):
    """Mean and spread of the numbers of each slice."""

    reported = ("mean", "mean_difference")
    judged = "mean_difference"

    def __init__(self, tree: Tree, settings: AnswerSettings, slices: Sequence[str]) -> None:
        super().__init__(tree.n_runs, slices)
        self._tree, self._settings = tree, settings

    @property
    def has_verdict(self) -> bool:
        """True if there are enough runs for a verdict; trials always are."""
        return self._settings.are_trials or super().has_verdict

    def families(self) -> Sequence[Accumulator[NumberBatch]]:
        """Return empty families."""
        return Means(self.n_runs, self._settings), Spread(self.n_runs, self._settings)

    def batches(
        self, shard: Shard, chosen: IntArray, blocks: IntArray | None
    ) -> Iterable[NumberBatch]:
        """Return some of the examples of a shard."""
        del blocks
        numbers = np.asarray(shard.numbers, dtype=np.float64)[:, chosen]
        targets = None if shard.targets is None else shard.targets[chosen]
        weights = shard.weights(self._settings.weights)
        batch = NumberBatch(
            np.ascontiguousarray(numbers),
            targets,
            tree=self._tree,
            weights=None if weights is None else weights[chosen],
        )
        return (batch,)
