"""Two versions that give lists or sets: how far they are apart, and which examples changed.

The distance of two runs on an example is the Jaccard distance of their sets, or of the first items
of their lists.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seedproof.comparison.versions.disagreement import Disagreement, distances, means
from seedproof.comparison.versions.result import ITEM_COLUMNS
from seedproof.comparison.versions.sums import VersionBatch, VersionSums
from seedproof.measurement.items import item_names
from seedproof.metrics.items.batch import ItemBatch
from seedproof.metrics.items.overlap import jaccard_distances_of
from seedproof.metrics.items.relevance import RankedGains, set_f1
from seedproof.records.arrow import to_arrow
from seedproof.records.items import NO_ITEM
from seedproof.records.schema import Kind
from seedproof.records.shards import Shard, ShardSource, canonical_order, reindexed
from seedproof.stats.distance_tests import examine_distances
from seedproof.typing import FloatArray, IntArray


class ItemVersionSums(VersionSums):
    """Sums over the lists or sets of two versions; items are those of both."""

    distance, spread = "distance", "jaccard_distance"
    own_columns = ITEM_COLUMNS
    is_small = True
    better = "higher"  # of the quality

    def __init__(
        self,
        sources: tuple[ShardSource, ShardSource],
        slices: Sequence[str],
        clusters: str | None = None,
    ) -> None:
        super().__init__(sources, (), slices, clusters)
        self.kind = str(sources[0].kind)
        self._depth = sources[0].settings.depth if sources[0].kind is Kind.RANKINGS else None
        self._own_names = tuple(source.classes for source in sources)
        names = {name for of_source in self._own_names for name in of_source}
        self._names = tuple(canonical_order(sorted(names)))
        # Qualities are means over all examples.
        self._has_quality = any(source.n_labeled == source.n_examples for source in sources)

    def answers(self, old: Shard, new: Shard) -> list[IntArray]:
        """Return the items of both versions, as places in the names of both."""
        several = [
            reindexed(np.asarray(shard.items), names, self._names)
            for shard, names in zip((old, new), self._own_names, strict=True)
        ]
        width = max(items.shape[2] for items in several)
        return [_widened(items, width) for items in several]

    def gold(self, old: Shard, new: Shard) -> IntArray | None:
        """Return the right items of the new version; of the old one if the new has none."""
        for shard, names in zip((new, old), reversed(self._own_names), strict=True):
            if shard.relevance is not None:
                return reindexed(shard.relevance.items, names, self._names)
        return None

    def column(self, values: np.ndarray, name: str) -> pa.Array:
        """Return a column of the table of examples."""
        if name == "right_items":
            return item_names(values, self._names)
        return to_arrow(values, missing=np.isnan(values))

    def by_run(self, answers: np.ndarray) -> pa.Array:
        """Return the items of all runs of each example in turn, by their names."""
        items = answers.transpose(1, 0, 2).reshape(-1, answers.shape[2])
        return item_names(items, self._names)

    def add(self, batch: VersionBatch) -> dict[str, np.ndarray]:
        """Add a batch; return columns with a value per example."""
        n_old, items = (
            len(batch.old),
            ItemBatch(np.concatenate([batch.old, batch.new]), depth=self._depth),
        )
        apart = np.stack([jaccard_distances_of(items, run) for run in range(items.n_runs)])
        shape = items.n_runs, items.n_examples
        counts = Disagreement.of_distances(shape, n_old, apart.__getitem__)
        self.disagreements = self.disagreements + counts.disagreements
        changes = distances(counts, self.distance)
        self.cross.n_examples += items.n_examples
        if f"{self.distance}_old" in changes and f"{self.distance}_new" in changes:
            within = [changes[f"{self.distance}_{version}"].whole for version in ("old", "new")]
            self.cross.products += float(within[0] @ within[1])
        if self._has_quality and batch.labels is not None:
            old, new = (self._quality(x, batch.labels).T for x in (batch.old, batch.new))
            changes |= means(old, new, "quality")
        members = self.groups.members(batch.codes)
        for name, change in changes.items():
            self.sums[name].update(change, members)
        if batch.cells is not None:
            self.cells.add(changes, batch.cells)
        tested = examine_distances(apart, n_old)
        self.p_counts += tested.counts
        columns = {name: changes[name].whole for name in self.own_columns if name in changes}
        return {**columns, "p_value": tested.p_values, "is_tested": tested.is_tested}

    def _quality(self, items: IntArray, right: IntArray) -> FloatArray:
        """NDCG of lists, or F1 of sets, of each run and example."""
        if self._depth is None:
            return set_f1(items, right)
        return RankedGains(items, right).ndcg(self._depth)


def _widened(items: IntArray, width: int) -> IntArray:
    missing = width - items.shape[2]
    return np.pad(items, ((0, 0), (0, 0), (0, missing)), constant_values=NO_ITEM)
