"""Mean and spread of the numbers of each slice, with simultaneous intervals."""

from collections.abc import Mapping, Sequence

import numpy as np

from seedproof.measurement.clusters import EXAMPLES, ClusterAccumulator, ClusterKeys
from seedproof.measurement.group_metrics import GroupMetrics
from seedproof.measurement.groups import Groups
from seedproof.metrics.numbers.batch import NumberBatch
from seedproof.metrics.numbers.levels import Tree
from seedproof.metrics.numbers.means import Means
from seedproof.metrics.numbers.spread import Spread, with_whole_runs
from seedproof.metrics.statistic import VERDICT_FROM, Statistic
from seedproof.records.number_settings import NumberSettings
from seedproof.records.shards import Shard
from seedproof.stats.intervals import PLAIN, Estimate, estimate

# Metrics of each group: how good it is, and how steady.
REPORTED = ("mean", "mean_difference")


class _Group:
    """Sums over the examples of one value of a slice."""

    def __init__(self, n_runs: int, settings: NumberSettings) -> None:
        self.families = Means(n_runs, settings), Spread(n_runs, settings)
        self.clusters: ClusterAccumulator | None = None
        self.n_examples = self.n_labeled = 0

    def add(self, batch: NumberBatch, clusters: ClusterKeys | None) -> None:
        """Add examples, given their clusters."""
        self.n_examples += batch.n_examples
        self.n_labeled += int(batch.is_labeled.sum())
        if clusters is not None:
            self.clusters = self.clusters or ClusterAccumulator(batch.n_runs)
            self.clusters.open(clusters)
            self.clusters.start(batch)
        for family in self.families:
            values = family.values(batch)
            if self.clusters is not None:
                self.clusters.add(values, EXAMPLES)
            family.add(batch, values)

    def merge(self, other: "_Group") -> None:
        """Add other examples."""
        self.n_examples += other.n_examples
        self.n_labeled += other.n_labeled
        for family, further in zip(self.families, other.families, strict=True):
            family.merge(further)
        if other.clusters is not None:
            self.clusters = self.clusters or ClusterAccumulator(self.families[0].n_runs)
            self.clusters.merge(other.clusters)

    def statistics(self) -> dict[str, Statistic]:
        """Return the reported metrics."""
        results = {name: x for family in self.families for name, x in family.result().items()}
        if self.clusters is not None:
            results = {name: self.clusters.result(name, x) for name, x in results.items()}
        results = with_whole_runs(results)
        return {name: results[name] for name in REPORTED}


class NumberGroups:
    """Sums over the examples of each value of the sliced columns."""

    def __init__(self, tree: Tree, settings: NumberSettings, slices: Sequence[str]) -> None:
        self._groups = Groups((), slices)
        self._tree, self._n_runs, self._settings = tree, tree.n_runs, settings
        self._sums: dict[int, _Group] = {}

    def add(self, shard: Shard, clusters: ClusterKeys | None) -> None:
        """Add a shard."""
        whole = NumberBatch(
            np.asarray(shard.numbers, dtype=np.float64),
            shard.targets,
            weights=shard.weights(self._settings.weights),
        )
        for codes in self._groups.slice_codes(len(shard), shard.extras):
            for group in np.unique(codes):
                chosen = np.flatnonzero(codes == group)
                batch = NumberBatch(
                    np.ascontiguousarray(whole.numbers[:, chosen]),
                    None if whole.targets is None else whole.targets[chosen],
                    tree=self._tree,
                    weights=None if whole.weights is None else whole.weights[chosen],
                )
                keys = clusters
                if clusters is not None:
                    keys = ClusterKeys(clusters.keys, clusters.indices[chosen])
                self._of(int(group)).add(batch, keys)

    def merge(self, other: "NumberGroups") -> None:
        """Add the examples of another part."""
        places = self._groups.merge(other._groups)  # noqa: SLF001 - the same class
        for group, sums in other._sums.items():  # noqa: SLF001 - same
            self._of(int(places[group])).merge(sums)

    def result(self, overall: Estimate) -> Mapping[str, tuple[GroupMetrics, ...]]:
        """Return the metrics of each value by column, judged against all examples."""
        members: dict[str, list[tuple[str, _Group]]] = {name: [] for name in self._groups.slices}
        for kind, name, index in self._groups.listed():
            if index in self._sums:
                members[kind.removeprefix("slice ")].append((name, self._sums[index]))
        return {
            column: tuple(
                self._metrics(name, group, len(listed), overall) for name, group in listed
            )
            for column, listed in members.items()
        }

    def _metrics(self, name: str, group: _Group, n_groups: int, overall: Estimate) -> GroupMetrics:
        level = PLAIN.divided(n_groups)
        metrics = {metric: estimate(x, level) for metric, x in group.statistics().items()}
        low = metrics["mean_difference"].low
        has_verdict = self._settings.are_trials or self._n_runs >= VERDICT_FROM
        is_above = low is not None and low > overall.value
        return GroupMetrics(
            name, group.n_examples, group.n_labeled, metrics, is_above and has_verdict
        )

    def _of(self, group: int) -> _Group:
        if group not in self._sums:
            self._sums[group] = _Group(self._n_runs, self._settings)
        return self._sums[group]
