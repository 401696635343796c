"""Clusters of examples in each group: totals of the changes between two versions."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from seedproof.comparison.versions.disagreement import Change
from seedproof.measurement.clusters import EXAMPLES, LABELED, Clusters
from seedproof.metrics.block_statistic import Residuals
from seedproof.metrics.clusters import KEY_BITS, ClusterSums, Places
from seedproof.records.probabilities import UNLABELED
from seedproof.typing import FloatArray, IntArray


def needs_labels(figure: str) -> bool:
    """Return whether a figure is a mean over labeled examples only."""
    return figure.startswith(("accuracy", "negative", "positive", "directed"))


class ClusterTotals:
    """Totals of changes per cluster, over all examples and in each group.

    The rows of a quantity are its value from all runs, and then the fields of `Change`.
    """

    def __init__(self, n_runs: Mapping[str, int]) -> None:
        n_old, n_new = n_runs["old"], n_runs["new"]
        self._first = {"old": 1, "new": 1 + n_old, "swapped": 1 + n_old + n_new}
        n_rows = 1 + n_old + n_new + max(n_old, n_new)
        self.whole, self.groups = ClusterSums(n_rows), ClusterSums(n_rows)

    def open(
        self,
        keys: IntArray,
        codes: IntArray,
        labels: IntArray | None,
        weights: FloatArray | None = None,
    ) -> IntArray:
        """Count the examples of a shard; return the places of their clusters, axes as `codes`."""
        is_labeled = slice(0) if labels is None else labels != UNLABELED
        is_member = codes[1:] >= 0
        places = np.full(codes.shape, -1)
        places[0] = self.whole.places(keys)
        places[1:][is_member] = self.groups.places(((codes[1:] << KEY_BITS) | keys)[is_member])
        self._count(EXAMPLES, places, weights=weights)
        self._count(LABELED, places[:, is_labeled])
        return places

    def _count(
        self, name: str, places: IntArray, n_rows: int = 1, weights: FloatArray | None = None
    ) -> None:
        is_member = places[1:] >= 0
        of_groups = None
        if weights is not None:
            of_groups = np.broadcast_to(weights, is_member.shape)[is_member]
        self.whole.count(name, places[0], n_rows, weights)
        self.groups.count(name, places[1:][is_member], n_rows, of_groups)

    def add(self, changes: Mapping[str, Change], places: IntArray) -> None:
        """Add changes of examples, given the places of their clusters: (kinds, examples)."""
        for kind, of_kind in enumerate(places):
            sums, is_member = self.groups if kind else self.whole, of_kind >= 0
            listed = Places(of_kind[is_member])
            for name, change in changes.items():
                sums.add(name, change.whole[np.newaxis, is_member], listed)
                for part, first_row in self._first.items():
                    values = getattr(change, part if part == "swapped" else f"without_{part}")
                    if values is not None:
                        sums.add(name, values[is_member].T, listed, first_row=first_row)

    def add_ones(self, name: str, places: IntArray) -> None:
        """Add examples whose quantity is 1 with and without any run."""
        self._count(name, places, self._first["swapped"])

    def merge(self, other: "ClusterTotals", places: IntArray) -> None:
        """Add other examples, whose groups have the indices `places` here."""
        self.whole.merge(other.whole)
        self.groups.merge(other.groups, places)

    def of(self, name: str, group: int) -> dict[str, Residuals]:
        """Return the residuals of a quantity in one group, by the runs that are left out."""
        sums = self.groups if group else self.whole
        residuals = sums.residuals(name, LABELED if needs_labels(name) else EXAMPLES, group)
        rows = np.split(residuals.without, [first - 1 for first in self._first.values()][1:])
        return {
            part: replace(residuals, without=without)
            for part, without in zip(self._first, rows, strict=True)
        }

    def described(self, column: str) -> Clusters:
        """Return the number of clusters of all examples."""
        return Clusters(column, self.whole.n_clusters(EXAMPLES), self.whole.is_exact)
