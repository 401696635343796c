"""Sums over the examples that two arms share."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Generic, Self, TypeAlias

import numpy as np

from seedproof.comparison.arms.high_entropy import HighEntropySums
from seedproof.comparison.arms.most_changed import (
    MostChanged,
    MostChangedItems,
    MostChangedNumbers,
    MostChangedVotes,
    ShardRows,
)
from seedproof.comparison.arms.result import VOTE_SHARES
from seedproof.measurement.clusters import ClusterAccumulator, ClusterKeys
from seedproof.metrics.accumulator import BatchT
from seedproof.metrics.batch import Batch
from seedproof.metrics.card import Better
from seedproof.metrics.entropy import rarefied_entropy
from seedproof.metrics.items.batch import ItemBatch
from seedproof.metrics.numbers.batch import NumberBatch
from seedproof.metrics.statistic import (
    ExampleSums,
    ExampleValues,
    MeanOverExamples,
    RootOfMean,
    Statistic,
)
from seedproof.stats.covariance import Cross, add_crosses, crosses
from seedproof.stats.effect import COUNTED
from seedproof.stats.families import MetricContrast
from seedproof.typing import IntArray

# Metrics that say the same as others: the fewer verdicts, the narrower their intervals.
REPEATED = frozenset({"pass^1", "pass@1", "mean_sd_independent"})
# The same if all numbers are 0 or 1.
SAME_AS_FLIPS = frozenset({"example_sd", "mean_difference"})
# A batch, and what each metric gives for its examples.
MeasuredBatch: TypeAlias = tuple[BatchT, dict[str, ExampleValues]]


class PairSums(Generic[BatchT]):
    """Covariances of all metrics of two arms; the first has the role of the baseline."""

    @classmethod
    def compared(cls, metrics: Collection[str], *, is_uneven: bool) -> list[str]:
        """Return the metrics to compare, without those that say the same as another.

        Args:
            metrics: Names of the metrics that both arms have.
            is_uneven: The arms have different numbers of runs.

        Returns:
            Their names.
        """
        del is_uneven
        return list(metrics)

    def __init__(self, n_base: int, n_arm: int, *, is_paired: bool) -> None:
        self.n_base, self.n_arm = n_base, n_arm
        self.is_paired = is_paired  # run r of both has the same seeds
        self.has_clusters = False
        self.crosses: dict[str, Cross] = {}  # empty with clusters

    def open(self, clusters: ClusterKeys | None) -> None:
        """Take the clusters of the examples of a shard, whose batches follow."""
        self.has_clusters = clusters is not None

    def update(self, base: MeasuredBatch[BatchT], arm: MeasuredBatch[BatchT]) -> None:
        """Add the same batch of both arms."""
        if not self.has_clusters:
            add_crosses(self.crosses, crosses(base[1], arm[1], is_paired=self.is_paired))

    def merge(self, other: Self) -> None:
        """Add other examples."""
        add_crosses(self.crosses, other.crosses)

    def contrasts(
        self,
        base: Mapping[str, Statistic],
        arm: Mapping[str, Statistic],
        seed_groups: tuple[str, str],
    ) -> dict[str, MetricContrast]:
        """Return each metric to compare that both arms have."""
        both = [metric for metric in base if metric in arm]
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
            for metric in self.compared(both, is_uneven=self.n_base != self.n_arm)
        }


class ClassPairs(PairSums[Batch]):
    """The same for classes: arms with unlike numbers of runs have entropies of as many."""

    def __init__(self, n_base: int, n_arm: int, *, is_paired: bool) -> None:
        super().__init__(n_base, n_arm, is_paired=is_paired)
        self.entropies = ExampleSums(), ExampleSums()  # rarefied to the smaller number of runs
        self.clusters: tuple[ClusterAccumulator, ClusterAccumulator] | None = None  # of these

    def open(self, clusters: ClusterKeys | None) -> None:
        """Take the clusters of the examples of a shard, whose batches follow."""
        super().open(clusters)
        if clusters is not None and self.n_base != self.n_arm:
            self.clusters = self.clusters or self._new_clusters()
            for accumulator in self.clusters:
                accumulator.open(clusters)

    def _new_clusters(self) -> tuple[ClusterAccumulator, ClusterAccumulator]:
        return ClusterAccumulator(self.n_base), ClusterAccumulator(self.n_arm)

    def update(self, base: MeasuredBatch[Batch], arm: MeasuredBatch[Batch]) -> None:
        """Add the same batch of both arms."""
        if self.n_base != self.n_arm:
            base, arm = (self._rarefied(i, *side) for i, side in enumerate((base, arm)))
        super().update(base, arm)

    def _rarefied(
        self, side: int, batch: Batch, values: dict[str, ExampleValues]
    ) -> MeasuredBatch[Batch]:
        """Return a batch with the entropies that as many runs as the other arm's would show."""
        rarefied = rarefied_entropy(batch.contested_agreement, min(self.n_base, self.n_arm))
        entropy = batch.of_contested(rarefied)
        self.entropies[side].update(entropy)
        if self.clusters is not None:
            self.clusters[side].start(batch)
            self.clusters[side].add({"label_entropy": entropy})
        return batch, {**values, "label_entropy": entropy}

    def merge(self, other: Self) -> None:
        """Add other examples."""
        super().merge(other)
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
        """Return each metric to compare that both arms have."""
        if self.n_base != self.n_arm:
            entropies: list[Statistic] = [
                sums.mean_over_examples(is_count=True) for sums in self.entropies
            ]
            if self.clusters is not None:
                pairs = zip(self.clusters, entropies, strict=True)
                entropies = [own.result("label_entropy", entropy) for own, entropy in pairs]
            base = {**base, "label_entropy": entropies[0]}
            arm = {**arm, "label_entropy": entropies[1]}
        return super().contrasts(base, arm, seed_groups)


class NumberPairs(PairSums[NumberBatch]):
    """The same for numbers, whose better direction and need of runs depend on what they are."""

    def __init__(
        self,
        n_base: int,
        n_arm: int,
        *,
        is_paired: bool,
        are_trials: bool,
        are_unequal: bool,  # examples have different numbers of trials
        better: Better,
    ) -> None:
        super().__init__(n_base, n_arm, is_paired=is_paired)
        self._are_trials, self._are_unequal, self._better = are_trials, are_unequal, better

    @classmethod
    def compared(cls, metrics: Collection[str], *, is_uneven: bool) -> list[str]:
        """Return the metrics to compare."""
        del is_uneven
        repeated = REPEATED | (SAME_AS_FLIPS if "flip_rate" in metrics else frozenset())
        return [metric for metric in metrics if metric not in repeated]

    def contrasts(
        self,
        base: Mapping[str, Statistic],
        arm: Mapping[str, Statistic],
        seed_groups: tuple[str, str],
    ) -> dict[str, MetricContrast]:
        """Return each metric to compare that both arms have, on the same examples in both."""
        if self._are_unequal:
            base, arm = of_all_examples(base), of_all_examples(arm)
        return {
            metric: replace(
                contrast,
                are_trials=self._are_trials,
                better=self._better if metric == "mean" else "neither",
            )
            for metric, contrast in super().contrasts(base, arm, seed_groups).items()
        }


def of_all_examples(statistics: Mapping[str, Statistic]) -> dict[str, Statistic]:
    """Return the statistics that mean the same in two arms with unequal numbers of trials.

    Some leave out the examples with too few trials, which are others in each arm. Counts of flaky
    and solid examples depend on the number of trials of each.
    """

    def n_examples(statistic: Statistic) -> int | None:
        mean = statistic.mean if isinstance(statistic, RootOfMean) else statistic
        return mean.n_examples if isinstance(mean, MeanOverExamples) else None

    n_all = n_examples(statistics["mean"]) if "mean" in statistics else None
    errors = {"mae", "rmse", "bias"}  # of the examples with a target, the same in both arms
    return {
        name: x
        for name, x in statistics.items()
        if name not in COUNTED and (name in errors or n_examples(x) in {None, n_all})
    }


class ItemPairs(PairSums[ItemBatch]):
    """The same for ranked lists and sets."""

    @classmethod
    def compared(cls, metrics: Collection[str], *, is_uneven: bool) -> list[str]:
        """Return the metrics to compare."""
        del is_uneven
        return [x for x in metrics if x != "label_flips" and not x.endswith("_sd_independent")]


class ArmContrast(PairSums[BatchT]):
    """An arm against the baseline: also the examples that change."""

    # Fields of `ComparedArm` for examples whose value falls, and rises.
    changes: ClassVar[tuple[str, str]] = ("fallen", "risen")

    most_changed: MostChanged

    def add_rows(self, base: ShardRows, arm: ShardRows) -> None:
        """Add the examples of a whole shard of both arms."""
        self.most_changed.update(base, arm)

    def merge(self, other: Self) -> None:
        """Add other examples."""
        super().merge(other)
        self.most_changed.merge(other.most_changed)

    def results(self) -> dict[str, Any]:
        """Return the fields of `ComparedArm` that depend on the kind of answers."""
        fallen, risen = self.changes
        return {fallen: self.most_changed.fallen, risen: self.most_changed.risen}


class ClassContrast(ClassPairs, ArmContrast[Batch]):
    """An arm of classes against the baseline: also votes, and the examples that change."""

    changes = "settled", "unsettled"

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
        self.most_changed = MostChangedVotes()

    def open(self, clusters: ClusterKeys | None) -> None:
        """Take the clusters of the examples of a shard, whose batches follow."""
        super().open(clusters)
        self.high_entropy.open(clusters)

    def update(self, base: MeasuredBatch[Batch], arm: MeasuredBatch[Batch]) -> None:
        """Add the same batch of both arms."""
        super().update(base, arm)
        flat = _vote_places(arm[0]) * len(VOTE_SHARES) + _vote_places(base[0])
        self.votes += np.bincount(flat, minlength=self.votes.size).reshape(self.votes.shape)
        self.high_entropy.update(base[0], arm[0])

    def merge(self, other: Self) -> None:
        """Add other examples."""
        super().merge(other)
        self.votes += other.votes
        self.high_entropy.merge(other.high_entropy)

    def results(self) -> dict[str, Any]:
        """Return votes, the effect on examples of high entropy, and those that change most."""
        return {
            "high_entropy": self.high_entropy.result(),
            "votes": self.votes,
            **super().results(),
        }


class NumberContrast(NumberPairs, ArmContrast[NumberBatch]):
    """An arm of numbers against the baseline: also the examples whose mean changes most."""

    def __init__(
        self,
        n_base: int,
        n_arm: int,
        *,
        is_paired: bool,
        are_trials: bool,
        are_unequal: bool,
        better: Better,
    ) -> None:
        super().__init__(
            n_base,
            n_arm,
            is_paired=is_paired,
            are_trials=are_trials,
            are_unequal=are_unequal,
            better=better,
        )
        self.most_changed = MostChangedNumbers()


class ItemContrast(ItemPairs, ArmContrast[ItemBatch]):
    """An arm of lists or sets against the baseline: also where runs agree much more, or less."""

    def __init__(self, n_base: int, n_arm: int, *, is_paired: bool) -> None:
        super().__init__(n_base, n_arm, is_paired=is_paired)
        self.most_changed = MostChangedItems()


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
