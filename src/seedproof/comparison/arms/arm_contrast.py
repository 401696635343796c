"""Sums over the examples that two arms share."""

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from seedproof.comparison.arms.high_entropy import HighEntropySums
from seedproof.comparison.arms.most_changed import MostChanged
from seedproof.comparison.arms.result import VOTE_SHARES
from seedproof.measurement.clusters import ClusterAccumulator, ClusterKeys
from seedproof.metrics.batch import Batch
from seedproof.metrics.entropy import rarefied_entropy
from seedproof.metrics.statistic import ExampleSums, ExampleValues, Statistic
from seedproof.stats.covariance import Cross, add_crosses, crosses
from seedproof.stats.families import MetricContrast
from seedproof.typing import IntArray

# A batch, and what each metric gives for its examples.
MeasuredBatch: TypeAlias = tuple[Batch, dict[str, ExampleValues]]


class PairSums:
    """Covariances of all metrics of two arms; the first has the role of the baseline."""

    def __init__(self, n_base: int, n_arm: int, *, is_paired: bool) -> None:
        self.n_base, self.n_arm = n_base, n_arm
        self.is_paired = is_paired  # run r of both has the same seeds
        self.crosses: dict[str, Cross] = {}  # empty with clusters
        self.entropies = ExampleSums(), ExampleSums()  # rarefied to the smaller number of runs
        self.clusters: tuple[ClusterAccumulator, ClusterAccumulator] | None = None  # of these

    def open(self, clusters: ClusterKeys | None) -> None:
        """Take the clusters of the examples of a shard, whose batches follow."""
        if clusters is not None:
            self.clusters = self.clusters or self._new_clusters()
            for accumulator in self.clusters if self.n_base != self.n_arm else ():
                accumulator.open(clusters)

    def _new_clusters(self) -> tuple[ClusterAccumulator, ClusterAccumulator]:
        return ClusterAccumulator(self.n_base), ClusterAccumulator(self.n_arm)

    def update(self, base: MeasuredBatch, arm: MeasuredBatch) -> None:
        """Add the same batch of both arms."""
        values = [dict(base[1]), dict(arm[1])]
        if self.n_base != self.n_arm:
            n_runs = min(self.n_base, self.n_arm)
            for i, (batch, _) in enumerate((base, arm)):
                rarefied = rarefied_entropy(batch.contested_agreement, n_runs)
                entropy = values[i]["label_entropy"] = batch.of_contested(rarefied)
                self.entropies[i].update(entropy)
                if self.clusters is not None:
                    self.clusters[i].start(batch)
                    self.clusters[i].add({"label_entropy": entropy})
        if self.clusters is None:
            add_crosses(self.crosses, crosses(values[0], values[1], is_paired=self.is_paired))

    def merge(self, other: "PairSums") -> None:
        """Add other examples."""
        add_crosses(self.crosses, other.crosses)
        (base, arm), (other_base, other_arm) = self.entropies, other.entropies
        self.entropies = base + other_base, arm + other_arm
        if other.clusters is not None:
            self.clusters = self.clusters or self._new_clusters()
            for own, further in zip(self.clusters, other.clusters, strict=True):
                own.merge(further)

    def contrasts(
        self,
        base: Mapping[str, Statistic],
        arm: Mapping[str, Statistic],
        seed_groups: tuple[str, str],
    ) -> dict[str, MetricContrast]:
        """Return each metric that both arms have."""
        if self.n_base != self.n_arm:
            entropies: list[Statistic] = [
                sums.mean_over_examples(is_count=True) for sums in self.entropies
            ]
            if self.clusters is not None:
                pairs = zip(self.clusters, entropies, strict=True)
                entropies = [own.result("label_entropy", entropy) for own, entropy in pairs]
            base = {**base, "label_entropy": entropies[0]}
            arm = {**arm, "label_entropy": entropies[1]}
        return {
            metric: MetricContrast(
                metric,
                seed_groups,
                base[metric],
                arm[metric],
                self.is_paired,
                (self.n_base, self.n_arm),
                self.crosses.get(metric),
            )
            for metric in base
            if metric in arm
        }


class ArmContrast(PairSums):
    """An arm against the baseline: also votes, and the examples that change."""

    def __init__(
        self,
        n_base: int,
        n_arm: int,
        *,
        is_paired: bool,
        partners: tuple[int, ...] | None = None,  # as `partners_in` returns them
    ) -> None:
        super().__init__(n_base, n_arm, is_paired=is_paired)
        self.votes: IntArray = np.zeros((len(VOTE_SHARES),) * 2, dtype=np.int64)
        self.high_entropy = HighEntropySums(n_base, n_arm, partners, is_paired=is_paired)
        self.most_changed = MostChanged()

    def open(self, clusters: ClusterKeys | None) -> None:
        """Take the clusters of the examples of a shard, whose batches follow."""
        super().open(clusters)
        self.high_entropy.open(clusters)

    def update(self, base: MeasuredBatch, arm: MeasuredBatch) -> None:
        """Add the same batch of both arms."""
        super().update(base, arm)
        flat = _vote_places(arm[0]) * len(VOTE_SHARES) + _vote_places(base[0])
        self.votes += np.bincount(flat, minlength=self.votes.size).reshape(self.votes.shape)
        self.high_entropy.update(base[0], arm[0])

    def merge(self, other: PairSums) -> None:
        """Add other examples."""
        super().merge(other)
        if isinstance(other, ArmContrast):
            self.votes += other.votes
            self.high_entropy.merge(other.high_entropy)
            self.most_changed.merge(other.most_changed)


def partners_in(
    seeds: tuple[str, ...] | None, base_seeds: tuple[str, ...] | None
) -> tuple[int, ...] | None:
    """Return for each run of an arm the row of the baseline's run with the same seeds, or −1.

    None if the seeds of either are unknown.
    """
    if seeds is None or base_seeds is None:
        return None
    rows = {of_run: row for row, of_run in enumerate(base_seeds)}
    return tuple(rows.get(of_run, -1) for of_run in seeds)


def _vote_places(batch: Batch) -> IntArray:
    """Row of `VOTE_SHARES` that each example belongs to."""
    limits = np.array(VOTE_SHARES[::-1])
    reached = np.searchsorted(limits, batch.majority / batch.n_runs + 1e-9, side="right")
    return len(VOTE_SHARES) - reached
