"""Totals per cluster of examples that belong together.

Clusters are independent of each other, examples within a cluster are not. So the variance from
drawing examples comes from the totals of clusters instead of the values of examples.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from seedproof.metrics.block_statistic import Residuals
from seedproof.metrics.statistic import ExampleValues, MeanOverExamples, RootOfMean, Statistic
from seedproof.typing import BoolArray, FloatArray, IntArray

# More would hardly change Student's quantile or the precision of a variance, and their totals would
# no longer fit into the processor's cache.
MOST_CLUSTERS = 512
# Bits of the checksum of a cluster in its key. Above them is the number of its group.
KEY_BITS = 32
LEAST_BITS = 4
# With more, adding totals of the batch is faster than adding its values one by one.
FEW_EXAMPLES = 2048


def clustered(statistic: Statistic, residuals: Residuals) -> Statistic:
    """Return a mean over examples with the variances from drawing clusters."""
    match statistic:
        case RootOfMean():
            mean = clustered(statistic.mean, residuals)
            return replace(statistic, mean=mean) if isinstance(mean, MeanOverExamples) else mean
        case MeanOverExamples():
            drawn, has_runs = residuals.example_covariance(residuals), statistic.without is not None
            return replace(
                statistic,
                example_variance=drawn,
                # If no run is left out, all of the variance may be the noise of runs.
                interaction_variance=residuals.jackknife_covariance(residuals)
                if has_runs
                else drawn,
                clusters=residuals,
                # What judges and clusters have in common is not known: it is counted twice.
                judges=None
                if statistic.judges is None
                else replace(statistic.judges, interaction_variance=0.0),
            )
    return statistic


@dataclass(eq=False)
class Places:
    """Places of the clusters of some examples, an index that all quantities of a batch share."""

    of_examples: IntArray

    def __post_init__(self) -> None:
        self._listed: tuple[IntArray, Places] | None = None
        self._flat: dict[tuple[int, int], IntArray] = {}

    def __len__(self) -> int:
        return len(self.of_examples)

    def listed(self, examples: IntArray | None) -> "Places":
        """Return the places of the examples at these positions; of all if omitted."""
        if examples is None:
            return self
        if self._listed is None or self._listed[0] is not examples:
            self._listed = examples, Places(self.of_examples[examples])
        return self._listed[1]

    @cached_property
    def neighbors(self) -> "tuple[IntArray, Places] | None":
        """Positions where the cluster changes, and places there; None if most examples are one."""
        starts = _is_first(self.of_examples).nonzero()[0]
        return (starts, Places(self.of_examples[starts])) if 2 * len(starts) < len(self) else None

    def flat(self, shape: tuple[int, int]) -> IntArray:
        """Return the indices of all values in flat totals with the axes (rows, clusters)."""
        if shape not in self._flat:
            first = np.arange(shape[0])[:, np.newaxis] * shape[1]
            self._flat[shape] = (first + self.of_examples).ravel()
        return self._flat[shape]


class ClusterSums:
    """Totals of several quantities per cluster, in bounded memory.

    A key has the number of a group in its upper and the checksum of a cluster in its lower 32 bits.
    If there are too many clusters, those whose checksums have equal last bits are added up: valid
    as well, since they are independent, and intervals are hardly wider. The number of bits depends
    on the data alone, never on the order in which parts are merged.
    """

    def __init__(self, n_rows: int) -> None:
        self.keys: IntArray = np.zeros(0, dtype=np.int64)
        self.totals: dict[str, FloatArray] = {}  # axes (rows, clusters)
        self.denominators: dict[str, tuple[int, int]] = {}  # of the first row, and of all others
        self._n_rows = n_rows
        self._bits = KEY_BITS

    @property
    def is_exact(self) -> bool:
        """True if no clusters were added up."""
        return self._bits == KEY_BITS

    def places(self, keys: IntArray) -> IntArray:
        """Add clusters by their keys; return the place of each key."""
        self._include(_distinct(keys), KEY_BITS)
        short = self._shortened(keys)
        if self.is_exact or self.keys[-1] >> KEY_BITS:
            return np.searchsorted(self.keys, short)
        places = np.zeros(self.keys[-1] + 1, dtype=np.int64)  # faster than a search
        places[self.keys] = np.arange(len(self.keys))
        return places[short]

    def count(
        self, name: str, places: IntArray, n_rows: int = 1, weights: FloatArray | None = None
    ) -> None:
        """Add 1, or its weight, for each example to the first rows, at the place of its cluster."""
        self._rows(name)[:n_rows] += np.bincount(places, weights, minlength=len(self.keys))

    def add(
        self, name: str, values: IntArray | FloatArray, places: Places, *, first_row: int = 0
    ) -> None:
        """Add values with the axes (rows, examples)."""
        _add(self._rows(name)[first_row : first_row + len(values)], values, places)

    def add_values(self, name: str, values: ExampleValues, places: Places) -> None:
        """Add a quantity of the examples of a batch: from all runs, and without each."""
        values = values.weighted
        listed = places.listed(values.places)
        self.denominators[name] = values.whole_denominator, values.without_denominator
        self.add(name, values.whole[np.newaxis], listed)
        if values.without is not None:
            self.add(name, values.without, listed, first_row=1)

    def merge(self, other: "ClusterSums", groups: IntArray | None = None) -> None:
        """Add other examples, whose groups have the numbers `groups` here."""
        keys = other.keys
        if groups is not None:
            keys = (groups[keys >> KEY_BITS] << KEY_BITS) | (keys & (1 << KEY_BITS) - 1)
        self._include(_distinct(keys), other._bits)
        places = Places(np.searchsorted(self.keys, self._shortened(keys)))
        for name, totals in other.totals.items():
            _add(self._rows(name), totals, places)
        self.denominators |= other.denominators

    def residuals(self, name: str, sizes: str, group: int = 0) -> Residuals:
        """Return the residuals of a quantity, whose examples were counted under `sizes`."""
        first, last = np.searchsorted(self.keys, np.array([group, group + 1]) << KEY_BITS)
        counts = self._rows(sizes)[0, first:last]
        chosen = np.flatnonzero(counts)
        totals, counts = self._rows(name)[:, first:last][:, chosen], counts[chosen]
        whole_denominator, without_denominator = self.denominators.get(name, (1, 1))
        totals[0] /= whole_denominator
        totals[1:] /= max(without_denominator, 1)  # 0 if no run can be left out
        size = float(counts.sum())
        means = totals.sum(axis=1) / (size or 1.0)
        rest = totals - means[:, np.newaxis] * counts
        return Residuals(size, rest[0], rest[1:])

    def n_clusters(self, sizes: str, group: int = 0) -> int:
        """Return the number of clusters of a group that have an example."""
        return self.residuals(sizes, sizes, group).n_clusters

    def _rows(self, name: str) -> FloatArray:
        if name not in self.totals:
            self.totals[name] = np.zeros((self._n_rows, len(self.keys)))
        return self.totals[name]

    def _shortened(self, keys: IntArray) -> IntArray:
        kept = ~((1 << KEY_BITS) - (1 << self._bits))
        return keys & kept

    def _include(self, keys: IntArray, bits: int) -> None:
        """Make room for further clusters, whose keys have this many bits."""
        self._bits = min(self._bits, bits)
        while True:
            known = self._shortened(self.keys)
            union = _distinct(np.concatenate([known, self._shortened(keys)]))
            if len(union) <= MOST_CLUSTERS or self._bits == LEAST_BITS:
                break
            self._bits = min(self._bits - 1, MOST_CLUSTERS.bit_length() - 1)
        if len(union) == len(self.keys) and np.array_equal(union, self.keys):
            return
        places, before = Places(np.searchsorted(union, known)), self.totals
        self.keys, self.totals = union, {}
        for name, totals in before.items():
            _add(self._rows(name), totals, places)


def _distinct(keys: IntArray) -> IntArray:
    """Return sorted keys, each once: much faster than `np.unique`."""
    ordered = np.sort(keys)
    return np.asarray(ordered[_is_first(ordered)])


def _is_first(keys: IntArray) -> BoolArray:
    """Return where a key differs from the one before."""
    is_first = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    return is_first


def _add(rows: FloatArray, values: IntArray | FloatArray, places: Places) -> None:
    """Add values, axes (rows, examples), to the places of the examples' clusters in each row."""
    if len(values) > 1 and places.neighbors is not None:  # add up neighbors first
        starts, places = places.neighbors
        values = np.add.reduceat(values, starts, axis=1)
    weights = values.astype(np.float64, copy=False).ravel()
    flat = places.flat(rows.shape)
    if len(places) < FEW_EXAMPLES:
        np.add.at(rows.reshape(-1), flat, weights)
    else:
        rows += np.bincount(flat, weights, rows.size).reshape(rows.shape)
