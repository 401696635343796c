"""The measuring pass over ranked lists and sets."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import ClassVar, TypeVar

import numpy as np
import pyarrow as pa

from seedproof.measurement.accumulators import Accumulators, GroupResults
from seedproof.measurement.clusters import ClusterKeys
from seedproof.measurement.examples import ExampleRows
from seedproof.measurement.group_metrics import GroupMetrics
from seedproof.measurement.number_groups import FamilyGroups
from seedproof.messages import Message
from seedproof.metrics.accumulator import Accumulator, Detail
from seedproof.metrics.card import card_name
from seedproof.metrics.items import RANKING_FAMILIES, SET_FAMILIES
from seedproof.metrics.items.batch import ItemBatch, item_batches
from seedproof.metrics.items.exposure import Exposure
from seedproof.metrics.items.family import Catalog, ItemFamily, catalog_of
from seedproof.metrics.items.labels import LabelFlips
from seedproof.metrics.items.rankings import RankingOverlap
from seedproof.metrics.items.runs import ItemEquality
from seedproof.metrics.items.sets import SetOverlap
from seedproof.metrics.statistic import VERDICT_FROM, Statistic
from seedproof.predictions.checks import Check
from seedproof.predictions.item_checks import item_checks_of
from seedproof.records.arrow import to_arrow
from seedproof.records.items import NO_ITEM
from seedproof.records.schema import Kind
from seedproof.records.shards import Shard, ShardSource
from seedproof.stats.intervals import PLAIN, Estimate, estimate
from seedproof.typing import IntArray

FAMILIES: Mapping[Kind, tuple[type[ItemFamily], ...]] = {
    Kind.RANKINGS: RANKING_FAMILIES,
    Kind.SETS: SET_FAMILIES,
}
# Every report begins with them.
ALWAYS: tuple[type[ItemFamily], ...] = (RankingOverlap, SetOverlap, LabelFlips, ItemEquality)
FamilyT = TypeVar("FamilyT", bound=ItemFamily)


class ItemGroups(FamilyGroups[ItemBatch]):
    """Distance and quality of the lists or sets of each slice."""

    def __init__(self, source: ShardSource, catalog: Catalog, slices: Sequence[str]) -> None:
        super().__init__(len(source.runs), slices)
        is_ranking, depth = source.kind is Kind.RANKINGS, catalog.depth
        overlap, quality, *_ = FAMILIES[source.kind]
        self.judged = f"jaccard_distance@{depth}" if is_ranking else "jaccard_distance"
        self.reported = (self.judged,)
        self._catalog, self._types = catalog, [overlap]
        if source.n_labeled:
            self._types.append(quality)
            self.reported = (f"ndcg@{depth}" if is_ranking else "micro_f1", self.judged)

    def families(self) -> Sequence[Accumulator[ItemBatch]]:
        """Return empty families."""
        return [family(self.n_runs, self._catalog) for family in self._types]

    def batches(
        self, shard: Shard, chosen: IntArray, blocks: IntArray | None
    ) -> Iterator[ItemBatch]:
        """Yield some of the examples of a shard."""
        blocks = None if blocks is None else blocks[chosen]
        return item_batches(shard.rows(chosen), None, blocks, self._catalog.depth)


class ItemAccumulators(Accumulators[ItemBatch]):
    """Partial results of every requested metric of lists or sets that the data allows."""

    keys: ClassVar[tuple[str, ...]] = ("jaccard_distance", "first_item_flips", "set_flips")

    def __init__(
        self,
        source: ShardSource,
        requested: Collection[str] | None = None,
        slices: Sequence[str] = (),
    ) -> None:
        n_runs, names = len(source.runs), {card_name(name) for name in requested or ()}
        depth = source.settings.depth
        self._depth = depth if source.kind is Kind.RANKINGS else None
        self._names = source.classes
        catalog = catalog_of(source.classes, depth)
        families = [
            family(n_runs, catalog)
            for family in FAMILIES[source.kind]
            if (source.n_labeled or "labels" not in family.needs)
            and family.least_runs <= n_runs
            and (requested is None or family in ALWAYS or not names.isdisjoint(family.figures))
        ]
        super().__init__(n_runs, families)
        self.slices = ItemGroups(source, catalog, slices) if slices else None

    def family(self, kind: type[FamilyT]) -> FamilyT | None:
        """Return the family of a type; None if it is not measured."""
        return next((family for family in self.families if isinstance(family, kind)), None)

    def open_groups(
        self, shard: Shard, clusters: ClusterKeys | None, blocks: IntArray | None = None
    ) -> None:
        """Add a whole shard to its slices."""
        if self.slices is not None:
            self.slices.add(shard, clusters, blocks)

    def add_to_groups(self, batch: ItemBatch) -> None:
        """Do nothing: the whole shard was added."""

    def merge(self, other: Accumulators[ItemBatch]) -> None:
        """Add the examples of another part."""
        super().merge(other)
        if isinstance(other, ItemAccumulators) and self.slices and other.slices:
            self.slices.merge(other.slices)

    def group_metrics(self, metrics: Mapping[str, Estimate]) -> GroupResults:
        """Return the metrics of each label of a set, and of each value of a slice."""
        slices = {} if self.slices is None else self.slices.result(metrics[self.slices.judged])
        labels = tuple(self._labels(metrics["label_flips"])) if "label_flips" in metrics else ()
        return labels, slices

    def _labels(self, overall: Estimate) -> Iterator[GroupMetrics]:
        """Yield the labels with intervals that hold for all of them together."""
        flips, has_clusters = self.family(LabelFlips), self.clusters is not None
        if flips is None:
            return
        given = flips.given().tolist()
        for label in given:
            statistic = flips.share(slice(label, label + 1), is_clustered=has_clusters)
            share = estimate(statistic, PLAIN.divided(len(given)))
            is_above = share.low is not None and share.low > overall.value
            yield GroupMetrics(
                flips.catalog.labels[label],
                statistic.n_examples,
                0,
                {"label_flips": share},
                is_less_stable=is_above and self._n_runs >= VERDICT_FROM,
            )

    def class_names(self, source: ShardSource) -> tuple[str, ...]:
        """Return the labels of sets, and the listed items of lists: there may be millions."""
        if source.kind is Kind.SETS:
            return catalog_of(source.classes, source.settings.depth).labels
        exposure = self.family(Exposure)
        listed = [] if exposure is None else exposure.listed().tolist()
        return tuple(source.classes[item] for item in listed)

    def result(self) -> dict[str, Statistic]:
        """Return every metric over all examples so far, in display order."""
        results, flips = super().result(), self.family(LabelFlips)
        if "label_flips" in results and flips is not None and self.clusters is not None:
            results["label_flips"] = flips.share(slice(None), is_clustered=True)
        return results

    def batches(
        self, shard: Shard, blocks: IntArray | None, n_rows: int | None = None
    ) -> Iterator[ItemBatch]:
        """Yield a shard in pieces."""
        return item_batches(shard, n_rows, blocks, self._depth)

    def rows(self, shard: Shard, columns: Detail, classes: tuple[str, ...]) -> ExampleRows:
        """Return the examples of a shard with their columns."""
        return ExampleRows(shard.ids, None, shard.extras, columns, classes)

    def with_answers(self, rows: pa.Table, shard: Shard) -> pa.Table:
        """Add the items of each run, and the right ones, by their names."""
        items = np.asarray(shard.items).transpose(1, 0, 2)
        n_runs = items.shape[1]
        by_run = item_names(items.reshape(-1, items.shape[2]), self._names)
        rows = rows.append_column("items_by_run", pa.FixedSizeListArray.from_arrays(by_run, n_runs))
        if shard.relevance is None:
            return rows
        right, is_known = shard.relevance.items, shard.relevance.is_known
        return rows.append_column("right_items", item_names(right, self._names, ~is_known))

    @property
    def notes(self) -> tuple[Message, ...]:
        """Remarks on figures that are left out."""
        exposure, flips = self.family(Exposure), self.family(LabelFlips)
        notes = []
        if exposure is not None and not exposure.is_kept:
            notes.append(
                Message(
                    "too-many-items",
                    "There are {n_items:,} items; with {n_runs} runs, their exposure is given for "
                    "up to {at_most:,}.",
                    n_items=exposure.catalog.n_items,
                    n_runs=self._n_runs,
                    at_most=exposure.most_items,
                )
            )
        if flips is not None and not flips.is_kept:
            notes.append(
                Message(
                    "too-many-labels",
                    "There are {n_labels:,} labels; figures per label are given for up to "
                    "{at_most:,}.",
                    n_labels=len(flips.catalog.labels),
                    at_most=flips.most_labels,
                )
            )
        return tuple(notes)

    def checks(self, source: ShardSource) -> Iterator[Check]:
        """Yield the findings about the input."""
        equality = self.family(ItemEquality)
        return iter(()) if equality is None else item_checks_of(source, equality.run_sums())


def item_names(
    items: IntArray, names: Sequence[str], missing: np.ndarray | None = None
) -> pa.Array:
    """Return rows of items as lists of their names."""
    is_item = items != NO_ITEM
    ends = np.concatenate([[0], np.cumsum(is_item.sum(axis=1))])
    used, places = np.unique(items[is_item], return_inverse=True)
    texts = pa.array([names[item] for item in used.tolist()], pa.string())
    mask = None if missing is None else to_arrow(missing)
    return pa.ListArray.from_arrays(
        to_arrow(ends, np.int32), texts.take(to_arrow(places)), mask=mask
    )
