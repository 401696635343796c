"""The effect of an arm on examples of high entropy, free of regression to the mean."""

from dataclasses import dataclass, field

import numpy as np

from seedproof.comparison.arms.result import CrossFitted, HighEntropy
from seedproof.measurement.clusters import ClusterAccumulator, ClusterKeys
from seedproof.messages import Message
from seedproof.metrics.batch import Batch, agreement
from seedproof.metrics.entropy import HIGH_ENTROPY, entropies, rarefied_entropy
from seedproof.metrics.statistic import ExampleSums, ExampleValues, MeanOverExamples
from seedproof.stats.contrast import compared
from seedproof.stats.covariance import Cross
from seedproof.typing import FloatArray, IntArray

# Each half needs two runs to disagree.
ENOUGH = 2
MIN_RUNS = 2 * ENOUGH
# The fewest for an interval that covers the truth in simulations.
RUNS_FOR_INTERVAL = 10
EXAMPLES_FOR_INTERVAL = 20
CLUSTERS_FOR_INTERVAL = 10

METRIC = "label_entropy"
FEW_RUNS = Message(
    "high-entropy-few-runs",
    "an interval needs {n_needed} runs per arm, half of them with seeds that did not select",
    n_needed=RUNS_FOR_INTERVAL,
)
FEW_EXAMPLES = Message(
    "high-entropy-few-examples",
    "an interval needs {n_needed} selected examples",
    n_needed=EXAMPLES_FOR_INTERVAL,
)
FEW_CLUSTERS = Message(
    "high-entropy-few-clusters",
    "an interval needs {n_needed} clusters",
    n_needed=CLUSTERS_FOR_INTERVAL,
)
NO_ENTROPY = Message("high-entropy-zero", "the runs of one arm agree on all selected examples")


def cuts(n_runs: int) -> list[tuple[slice, slice]]:
    """Return two ways to halve the runs of an arm: every other run, and in the middle."""
    if n_runs < MIN_RUNS:
        return []
    middle = n_runs // 2
    return [(slice(0, None, 2), slice(1, None, 2)), (slice(0, middle), slice(middle, None))]


@dataclass(frozen=True)
class _Way:
    """Runs that choose examples, and runs of both arms that measure them."""

    choose_on: slice
    measured: IntArray  # runs of the arm that chooses
    others: IntArray  # runs of the other arm

    @property
    def n_drawn(self) -> int:
        """Number of runs whose entropy is compared."""
        return min(len(self.measured), len(self.others))


def _ways(n_choosing: int, n_other: int, partners: tuple[int, ...] | None) -> list[_Way]:
    """Return all ways that leave enough runs; `partners` are rows of the choosing arm, or −1."""
    ways = []
    rows, others = np.arange(n_choosing), np.arange(n_other)
    for halves in cuts(n_choosing):
        for choose_on, measure_on in (halves, halves[::-1]):
            unseen = others
            if partners is not None:
                unseen = others[~np.isin(partners, rows[choose_on])]
            way = _Way(choose_on, rows[measure_on], unseen)
            if way.n_drawn >= ENOUGH:
                ways.append(way)
    return ways


class _Total:
    """Entropies of one arm on the chosen examples of a batch, summed over the ways to choose."""

    def __init__(self, votes: IntArray, n_classes: int, *, has_runs: bool) -> None:
        self._votes, self._n_classes = votes, n_classes
        self._whole = np.zeros(votes.shape[1])
        self._without = np.zeros(votes.shape) if has_runs else None

    def add(self, runs: IntArray, chosen: IntArray, n_drawn: int) -> None:
        """Add one way: the examples at some positions, measured on some runs."""
        votes = self._votes[np.ix_(runs, chosen)]
        entropy = rarefied_entropy(agreement(votes, self._n_classes), n_drawn)
        self._whole[chosen] += entropy.values
        if self._without is not None and entropy.without is not None:
            # If a run that does not measure is left out, nothing changes.
            self._without[:, chosen] += entropy.values
            self._without[np.ix_(runs, chosen)] += entropy.without - entropy.values

    def values(self, places: IntArray, n_examples: int) -> ExampleValues:
        """Return the sum of each example; those that were never chosen have none."""
        n_zeros = n_examples - len(places)
        return ExampleValues(self._whole, self._without, places=places, n_zeros=n_zeros)


class CrossFittedSums:
    """Sums of the entropies of two arms over examples that one of them chooses.

    Which examples half of the runs choose is chance, too. It affects each example independently,
    so that it is part of the variance over examples.
    """

    def __init__(
        self, n_choosing: int, n_other: int, partners: tuple[int, ...] | None, *, is_paired: bool
    ) -> None:
        self._sizes = n_choosing, n_other
        self._is_paired = is_paired
        self._ways = _ways(n_choosing, n_other, partners)
        # Leaving out one of two runs leaves none to disagree.
        self._has_runs = all(min(len(way.measured), len(way.others)) > 2 for way in self._ways)
        self.n_chosen = self.n_ever = 0
        self.sums = [ExampleSums(), ExampleSums()]  # of the arm that chooses, and of the other
        self.cross = Cross(is_paired)
        self.clusters: tuple[ClusterAccumulator, ClusterAccumulator] | None = None

    def open(self, clusters: ClusterKeys | None) -> None:
        """Take the clusters of the examples of a shard, whose batches follow."""
        if clusters is not None:
            self.clusters = self.clusters or self._new_clusters()
            for own in self.clusters:
                own.open(clusters)

    def _new_clusters(self) -> tuple[ClusterAccumulator, ClusterAccumulator]:
        return ClusterAccumulator(self._sizes[0]), ClusterAccumulator(self._sizes[1])

    def update(self, choosing: Batch, other: Batch) -> None:
        """Add the same batch of both arms."""
        contested = choosing.contested
        votes = [batch.predictions[:, contested] for batch in (choosing, other)]
        n_classes = choosing.n_classes
        masks = [_is_high(votes[0][way.choose_on], n_classes) for way in self._ways]
        ever = np.flatnonzero(np.any(masks, axis=0)) if masks else np.zeros(0, dtype=np.int64)
        totals = [_Total(x[:, ever], n_classes, has_runs=self._has_runs) for x in votes]
        for way, mask in zip(self._ways, masks, strict=True):
            chosen = np.flatnonzero(mask[ever])
            self.n_chosen += len(chosen)
            for total, runs in zip(totals, (way.measured, way.others), strict=True):
                total.add(runs, chosen, way.n_drawn)
        self.n_ever += len(ever)
        values = [total.values(contested[ever], choosing.n_examples) for total in totals]
        for sums, of_arm in zip(self.sums, values, strict=True):
            sums.update(of_arm)
        if self.clusters is None:
            self.cross.update(values[0], values[1])
            return
        for own, of_arm in zip(self.clusters, values, strict=True):
            own.start(choosing)
            own.add({METRIC: of_arm})

    def merge(self, other: "CrossFittedSums") -> None:
        """Add other examples."""
        self.n_chosen += other.n_chosen
        self.n_ever += other.n_ever
        self.sums = [a + b for a, b in zip(self.sums, other.sums, strict=True)]
        self.cross.merge(other.cross)
        if other.clusters is not None:
            self.clusters = self.clusters or self._new_clusters()
            for own, further in zip(self.clusters, other.clusters, strict=True):
                own.merge(further)

    def result(self, *, by_arm: bool) -> CrossFitted:
        """Return the reduction from the baseline to the arm; `by_arm` if the arm chooses."""
        n_chosen = self.n_chosen / max(len(self._ways), 1)
        totals = [sums.total for sums in self.sums]
        before, after = totals[::-1] if by_arm else totals
        if before <= 0.0:
            return CrossFitted(None, n_chosen)
        reduction = 1 - after / before
        reason = self._reason(min(before, after))
        if reason is not None:
            return CrossFitted(reduction, n_chosen, note=reason)
        means = self._means()
        base, arm = means[::-1] if by_arm else means
        cross = None if self.clusters is not None else self.cross
        ratio = compared(METRIC, base, arm, cross=cross, is_paired=self._is_paired)
        if ratio.low is None or ratio.high is None:
            return CrossFitted(reduction, n_chosen, note=ratio.note)
        return CrossFitted(reduction, n_chosen, 1 - ratio.high, 1 - ratio.low, ratio.over)

    def _reason(self, least: float) -> Message | None:
        """Return why there is no interval; None if there is one."""
        n_runs = min(*self._sizes, *(2 * way.n_drawn for way in self._ways))
        if n_runs < RUNS_FOR_INTERVAL:
            return FEW_RUNS
        if self.n_ever < EXAMPLES_FOR_INTERVAL:
            return FEW_EXAMPLES
        if self.clusters is not None:
            residuals = self.clusters[0].residuals(METRIC)
            if residuals is None or np.count_nonzero(residuals.whole) < CLUSTERS_FOR_INTERVAL:
                return FEW_CLUSTERS
        return NO_ENTROPY if least <= 0.0 else None

    def _means(self) -> list[MeanOverExamples]:
        means = [sums.mean_over_examples(is_count=True) for sums in self.sums]
        if self.clusters is None:
            return means
        clustered = [
            own.result(METRIC, mean) for own, mean in zip(self.clusters, means, strict=True)
        ]
        return [mean for mean in clustered if isinstance(mean, MeanOverExamples)]


@dataclass
class HighEntropySums:
    """Sums of entropies over the examples that the baseline or an arm chooses.

    `partners` has, per run of the arm, the row of the baseline's run with the same seeds, or −1.
    """

    n_base: int
    n_arm: int
    partners: tuple[int, ...] | None = None
    is_paired: bool = False  # run r of both has the same seeds
    published: list[float] = field(default_factory=lambda: [0.0, 0.0])

    def __post_init__(self) -> None:
        self.by_baseline = CrossFittedSums(
            self.n_base, self.n_arm, self.partners, is_paired=self.is_paired
        )
        inverse = None
        if self.partners is not None:
            rows = {row: run for run, row in enumerate(self.partners)}
            inverse = tuple(rows.get(row, -1) for row in range(self.n_base))
        self.by_arm = CrossFittedSums(self.n_arm, self.n_base, inverse, is_paired=self.is_paired)

    def open(self, clusters: ClusterKeys | None) -> None:
        """Take the clusters of the examples of a shard, whose batches follow."""
        self.by_baseline.open(clusters)
        self.by_arm.open(clusters)

    def update(self, base: Batch, arm: Batch) -> None:
        """Add the same batch of both arms."""
        self.by_baseline.update(base, arm)
        self.by_arm.update(arm, base)
        high = _entropy(base) > HIGH_ENTROPY
        n_drawn = min(self.n_base, self.n_arm)
        self.published[0] += float(_entropy(base, n_drawn)[high].sum())
        self.published[1] += float(_entropy(arm, n_drawn)[high].sum())

    def merge(self, other: "HighEntropySums") -> None:
        """Add other examples."""
        self.by_baseline.merge(other.by_baseline)
        self.by_arm.merge(other.by_arm)
        self.published = [a + b for a, b in zip(self.published, other.published, strict=True)]

    def result(self) -> HighEntropy:
        """Return all reductions over all examples so far."""
        before, after = self.published
        return HighEntropy(
            **vars(self.by_baseline.result(by_arm=False)),
            as_published=1 - after / before if before > 0.0 else None,
            by_arm=self.by_arm.result(by_arm=True),
        )


def _is_high(votes: IntArray, n_classes: int) -> FloatArray:
    return np.asarray(entropies(agreement(votes, n_classes)) > HIGH_ENTROPY)


def _entropy(batch: Batch, n_drawn: int | None = None) -> FloatArray:
    """Label entropy of each example as `n_drawn` of the runs would show it; all if omitted."""
    shared = batch.contested_agreement
    if n_drawn is None or n_drawn >= batch.n_runs:
        return batch.over_contested(entropies(shared))
    return batch.over_contested(rarefied_entropy(shared, n_drawn).values)
