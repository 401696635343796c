"""Two versions that give numbers: how far they are apart, and which examples changed.

The distance of two runs on an example is the absolute difference of their numbers. Between versions
less within them it is the energy distance, as flips beyond noise are for classes.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from seedproof.comparison.versions.disagreement import Change, Disagreement, distances, means
from seedproof.comparison.versions.result import NUMBER_COLUMNS
from seedproof.comparison.versions.sums import VersionBatch, VersionSums
from seedproof.metrics.numbers.levels import Tree, run_names
from seedproof.records.arrow import to_arrow
from seedproof.records.schema import Kind
from seedproof.records.shards import Shard, ShardSource, WrappedShards
from seedproof.stats.rank_tests import examine_numbers
from seedproof.typing import FloatArray


class MeansOfRuns(WrappedShards):
    """Runs that have several trials or judges, each with the mean of its numbers."""

    def __init__(self, source: ShardSource) -> None:
        super().__init__(source)
        self._tree = Tree.of(source.settings, len(source.runs))
        self.runs = run_names(source.settings, source.runs)
        self.settings = replace(source.settings, levels=None)

    def shard(self, index: int) -> Shard:
        """Read one shard, with one number per run and example."""
        shard = self.source.shard(index)
        return replace(shard, numbers=self._tree.numbers(np.asarray(shard.numbers))[0])


class NumberVersionSums(VersionSums):
    """Sums over the numbers of two versions."""

    distance, spread = "difference", "mean_difference"
    own_columns = NUMBER_COLUMNS
    kind = str(Kind.NUMBERS)
    is_small = True

    def __init__(
        self,
        sources: tuple[ShardSource, ShardSource],
        slices: Sequence[str],
        clusters: str | None = None,
    ) -> None:
        super().__init__(sources, (), slices, clusters)
        # Errors are means over all examples.
        self._has_targets = any(source.n_labeled == source.n_examples for source in sources)
        self._n_other = np.zeros(2, dtype=np.int64)  # batches of each version with other than 0, 1
        self._n_beyond_shares = 0  # batches with a number below 0 or above 1
        self.better = "neither" if self._is_labeled else sources[0].settings.better

    @property
    def largest(self) -> float | None:
        """The largest difference: 1 if a version has only 0 and 1, and the other shares."""
        return None if self._n_beyond_shares or self._n_other.all() else 1.0

    def answers(self, old: Shard, new: Shard) -> list[FloatArray]:
        """Return the numbers of both versions."""
        return [np.asarray(shard.numbers, dtype=np.float64) for shard in (old, new)]

    def gold(self, old: Shard, new: Shard) -> FloatArray | None:
        """Return the targets of the new version; of the old one if the new has none."""
        return old.targets if new.targets is None else new.targets

    def column(self, values: np.ndarray, name: str) -> pa.Array:
        """Return a column of the table of examples."""
        del name
        return to_arrow(values, missing=np.isnan(values))

    def merge(self, other: "VersionSums") -> None:
        """Add the examples of the shards that follow."""
        super().merge(other)
        if isinstance(other, NumberVersionSums):
            self._n_other += other._n_other  # noqa: SLF001 - the same class
            self._n_beyond_shares += other._n_beyond_shares  # noqa: SLF001 - the same class

    def add(self, batch: VersionBatch) -> dict[str, np.ndarray]:
        """Add a batch; return columns with a value per example."""
        old, new = batch.old, batch.new
        self._n_other += [not np.isin(numbers, (0.0, 1.0)).all() for numbers in (old, new)]
        self._n_beyond_shares += any(x.min() < 0.0 or x.max() > 1.0 for x in (old, new))
        weights = batch.weights
        counts = Disagreement.of_numbers(old, new, weights)
        self.disagreements = self.disagreements + counts.disagreements
        changes = distances(counts, self.distance)
        self.cross.n_examples += old.shape[1]
        if f"{self.distance}_old" in changes and f"{self.distance}_new" in changes:
            within = [
                changes[f"{self.distance}_{version}"].scaled(weights).whole
                for version in ("old", "new")
            ]
            self.cross.products += float(within[0] @ within[1])
            if weights is not None:
                self.cross.add_weights(weights, within[0], within[1])
        changes |= means(old.T, new.T, "mean")
        if self._has_targets and batch.labels is not None:
            errors = [np.abs(numbers - batch.labels).T for numbers in (old, new)]
            changes |= means(errors[0], errors[1], "error")
        self._add_changes(changes, batch)
        tested = examine_numbers(old, new)
        self.p_counts += tested.counts
        return {
            "mean_old": old.mean(axis=0),
            "mean_new": new.mean(axis=0),
            self.distance: changes[self.distance].whole,
            "p_value": tested.p_values,
            "is_tested": tested.is_tested,
        }

    def _add_changes(self, changes: dict[str, Change], batch: VersionBatch) -> None:
        members = self.groups.members(batch.codes)
        for name, change in changes.items():
            self.sums[name].update(change, members, batch.weights)
        if batch.cells is not None:
            scaled = {name: change.scaled(batch.weights) for name, change in changes.items()}
            self.cells.add(scaled, batch.cells)
