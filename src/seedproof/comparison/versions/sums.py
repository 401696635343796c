"""Sums over the examples of two versions: changes, tests, and the examples that change."""

from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.comparison.versions.clusters import ClusterTotals, needs_labels
from seedproof.comparison.versions.disagreement import Disagreement, directed_flips, flips
from seedproof.comparison.versions.groups import GroupMean, GroupSums
from seedproof.comparison.versions.result import (
    OWN_COLUMNS,
    GroupFigures,
    PermutationTest,
    VersionComparison,
)
from seedproof.measurement.clusters import ClusterKeys, cluster_hint
from seedproof.measurement.groups import Groups
from seedproof.messages import Message
from seedproof.metrics.batch import batches
from seedproof.metrics.card import Better
from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.records.arrow import texts_to_arrow, to_arrow, to_numpy
from seedproof.records.location import Location
from seedproof.records.probabilities import UNLABELED
from seedproof.records.schema import Kind
from seedproof.records.shards import Shard, ShardSource, canonical_order
from seedproof.stats.contrast import compared
from seedproof.stats.covariance import Cross
from seedproof.stats.effect import Effect, with_enough_runs
from seedproof.stats.intervals import PLAIN, WITHOUT_RUNS, Estimate, Level
from seedproof.stats.permutation_test import least_permutation_p_value, permutation_p_value
from seedproof.stats.vote_tests import (
    Discoveries,
    adjusted,
    discover,
    examine_votes,
    most_voted,
)
from seedproof.typing import BoolArray, FloatArray, IntArray

# Number of changed examples that are kept with the prediction of each run.
N_KEPT = 500
# Examples times runs of a batch, small enough for the processor's cache.
BATCH_VALUES = 2**17
# Index of the group that holds all examples.
WHOLE = 0
# How much better a version is, by what is known: the first of these that was measured.
QUALITIES = ("accuracy_change", "error_change", "quality_change", "mean_change")
UNAFFECTED = Message(
    "tests-without-clusters",
    "Intervals are over clusters of examples. The permutation test over runs and the tests of "
    "single examples do not depend on clusters.",
)


@dataclass(frozen=True, eq=False)
class VersionBatch:
    """Answers of both versions for a few examples: numbers, or indices into the common classes.

    Args:
        old: Answers of the old version, axes (runs, examples).
        new: Answers of the new version, axes (runs, examples).
        labels: Gold class, or target, of each example.
        codes: Index of the group of each example, axes (kinds of group, examples).
        cells: Place of its cluster among those of the group, the same axes; None without clusters.
        weights: Weight of each example; None if all count equally.
    """

    old: np.ndarray
    new: np.ndarray
    labels: np.ndarray | None
    codes: IntArray
    cells: IntArray | None = None
    weights: FloatArray | None = None


def shared_repeats(sources: Sequence[ShardSource]) -> str:
    """Return the unit of repetition that versions have in common: `runs` if they differ."""
    units = {source.repeats for source in sources}
    return units.pop() if len(units) == 1 else "runs"


class VersionSums(ABC):
    """Sums over the examples of two versions, for one kind of answers."""

    distance: ClassVar[str]  # figure of how far the answers of two runs are apart
    spread: ClassVar[str]  # metric of how steady a version is
    own_columns: ClassVar[tuple[str, ...]]
    kind: str
    is_small: ClassVar[bool] = False  # few examples are usual
    better: Better = "neither"  # direction in which the mean of numbers is better

    def __init__(
        self,
        sources: tuple[ShardSource, ShardSource],
        classes: tuple[str, ...],
        slices: Sequence[str],
        clusters: str | None = None,
    ) -> None:
        # Keep names, not sources: sums are sent between processes, and sources may be large.
        self._runs = tuple(source.runs for source in sources)
        self._classes = classes
        self._n_runs = {"old": len(sources[0].runs), "new": len(sources[1].runs)}
        self._are_trials = all(source.settings.are_trials for source in sources)
        self._is_judged = self._are_trials or max(self._n_runs.values()) >= VERDICT_FROM
        self._is_labeled = any(source.n_labeled for source in sources)
        self._repeats = shared_repeats(sources)
        self._weights = sources[0].settings.weights
        self.groups = Groups(classes if self._is_labeled else (), slices)
        self.sums: dict[str, GroupSums] = defaultdict(GroupSums)
        self.clusters = clusters
        self.cells = ClusterTotals(self._n_runs)
        self.hints: list[Message] = []
        self.cross = Cross(is_paired=False)
        self.p_counts: Counter[int] = Counter()
        self.kept: list[pa.Table] = []  # a single table, after the first shard
        self.disagreements: FloatArray | IntArray = np.zeros(
            (sum(self._n_runs.values()),) * 2, dtype=np.int64
        )

    @abstractmethod
    def answers(self, old: Shard, new: Shard) -> list[np.ndarray]:
        """Return the answers of both versions, axes (runs, examples)."""

    @abstractmethod
    def gold(self, old: Shard, new: Shard) -> np.ndarray | None:
        """Return the right answers; None if there are none."""

    @abstractmethod
    def add(self, batch: VersionBatch) -> dict[str, np.ndarray]:
        """Add a batch; return columns with a value per example."""

    @abstractmethod
    def column(self, values: np.ndarray, name: str) -> pa.Array:
        """Return a column of the table of examples, such as `label`."""

    @property
    def largest(self) -> float | None:
        """The largest distance of two answers, if it is known."""
        return 1.0

    def update(self, old: Shard, new: Shard) -> pa.Table:
        """Add one shard of both versions; return one row per example."""
        answers, gold, extras = self.answers(old, new), self.gold(old, new), _extras(old, new)
        labels = None if gold is None or not self._classes else gold
        codes, cells = self.groups.codes(len(old), labels, extras), None
        joined, weights = replace(old, extras=extras), old.weights(self._weights)
        keys = ClusterKeys.of(joined, self.clusters)
        if keys is not None:
            cells = self.cells.open(keys.keys[keys.indices], codes, labels, weights)
        elif old.index == 0:
            hint = cluster_hint(joined)
            self.hints += [] if hint is None else [hint]
        columns: dict[str, list[np.ndarray]] = {}
        width = int(np.prod(answers[0].shape[2:]))  # values of an answer
        size = max(64, BATCH_VALUES // (width * sum(self._n_runs.values())))
        for start in range(0, len(old), size):
            rows = slice(start, start + size)
            batch = VersionBatch(
                answers[0][:, rows],
                answers[1][:, rows],
                None if gold is None else gold[rows],
                codes[:, rows],
                None if cells is None else cells[:, rows],
                None if weights is None else weights[rows],
            )
            for name, values in self.add(batch).items():
                columns.setdefault(name, []).append(values)
        arrays = {name: np.concatenate(values) for name, values in columns.items()}
        table = self._table(old.ids, gold, arrays, extras)
        self._keep(table, arrays["is_tested"], answers)
        return table

    def _table(
        self,
        ids: pa.Array,
        gold: np.ndarray | None,
        columns: Mapping[str, np.ndarray],
        extras: pa.Table | None,
    ) -> pa.Table:
        """Return one row per example of a shard."""
        table: dict[str, pa.Array | pa.ChunkedArray] = {"example": ids}
        known = columns if gold is None else {**columns, self.own_columns[1]: gold}
        for name in self.own_columns:
            if name in known:
                table[name] = self.column(known[name], name)
        if extras is not None:
            for name in extras.column_names:
                free = f"extra.{name}" if name in self.own_columns else name
                table[free] = extras.column(name)
        return pa.table(table)

    def _keep(self, table: pa.Table, is_tested: BoolArray, answers: list[np.ndarray]) -> None:
        """Keep the examples with the smallest p-values, with the answer of each run."""
        indices = np.flatnonzero(is_tested)
        chosen = indices[self._smallest(table.take(to_arrow(indices)))]
        rows = table.take(to_arrow(chosen))
        for name, runs in zip(self.own_columns[-2:], answers, strict=True):
            offsets = np.arange(len(chosen) + 1) * len(runs)
            by_run = self.by_run(runs[:, chosen])
            rows = rows.append_column(
                name, pa.ListArray.from_arrays(to_arrow(offsets, np.int32), by_run)
            )
        self.kept = [rows.combine_chunks()]

    def by_run(self, answers: np.ndarray) -> pa.Array:
        """Return answers, axes (runs, examples), as a column: all runs of each example in turn."""
        kind = np.float64 if answers.dtype.kind == "f" else np.int32
        return to_arrow(answers.T.ravel(), kind)

    def _smallest(self, table: pa.Table) -> IntArray:
        """Return the rows with the smallest p-values, at most `N_KEPT`; ties by distance and id."""
        keys = [("p_value", "ascending"), (self.distance, "descending"), ("example", "ascending")]
        return to_numpy(pc.sort_indices(table, sort_keys=keys)[:N_KEPT])

    def merge(self, other: "VersionSums") -> None:
        """Add the examples of the shards that follow."""
        places = self.groups.merge(other.groups)
        for name, sums in other.sums.items():
            self.sums[name].merge(sums, places)
        self.cells.merge(other.cells, places)
        self.hints += other.hints
        self.cross.merge(other.cross)
        self.p_counts += other.p_counts
        self.disagreements = self.disagreements + other.disagreements
        rows = pa.concat_tables([*self.kept, *other.kept])
        self.kept = [rows.take(to_arrow(self._smallest(rows))).combine_chunks()]

    def result(self, examples_file: Location, notes: tuple[Message, ...]) -> VersionComparison:
        """Return the result after all shards have been added."""
        n_old, n_new = self._n_runs.values()
        discoveries = discover(self.p_counts, n_old=n_old, n_new=n_new)
        if not self._is_judged:
            discoveries = replace(discoveries, n_found=0, threshold=None)
        # Always the same generator, so that the same predictions give the same bytes.
        p_value = permutation_p_value(self.disagreements, n_old, rng=np.random.default_rng(0))
        groups = list(self._group_figures())
        clusters = None if self.clusters is None else self.cells.described(self.clusters)
        unaffected = () if clusters is None else (UNAFFECTED,)
        return VersionComparison(
            old_runs=self._runs[0],
            new_runs=self._runs[1],
            classes=self._classes,
            whole=groups[WHOLE][1],
            by_class=tuple(figures for kind, figures in groups if kind == "class"),
            slices={
                column: tuple(figures for kind, figures in groups if kind == f"slice {column}")
                for column in self.groups.slices
            },
            permutation_test=PermutationTest(p_value, least_permutation_p_value(n_old, n_new)),
            discoveries=discoveries,
            unexplained=self._unexplained(discoveries),
            examples_file=examples_file,
            notes=(*notes, *self.groups.notes, *self.hints, *unaffected),
            steadiness=self._steadiness(),
            repeats=self._repeats,
            clusters=clusters,
            weights=self._weights,
            kind=self.kind,
            are_trials=self._are_trials,
            better=self.better,
            quality=self.quality,
        )

    @property
    def quality(self) -> str | None:
        """Figure of how much better the new version is, judged together with flips beyond noise."""
        qualities = [name for name in QUALITIES if name in self.sums]
        if self.kind == Kind.NUMBERS and self.better == "neither":
            qualities = [name for name in qualities if name != "mean_change"]
        return qualities[0] if qualities else None

    @property
    def _level(self) -> Level:
        """Level of each primary figure of all examples."""
        return PLAIN if self.quality is None else PLAIN.divided(2)

    def _level_of(self, figure: str, index: int) -> Level:
        is_primary = figure in {f"{self.distance}_beyond", self.quality}
        return self._level if is_primary and index == WHOLE else PLAIN

    def _group(self, name: str, index: int, n_examples: int) -> GroupMean:
        """Return the mean of a quantity over one group."""
        clusters = None if self.clusters is None else self.cells.of(name, index)
        return self.sums[name].group(
            index,
            n_examples,
            self._n_runs,
            clusters,
            largest=self.largest,
            is_small=self.is_small,
            are_trials=self._are_trials,
        )

    def _steadiness(self) -> Effect | None:
        """Return the effect on the flip rate, defined as in a comparison of arms."""
        names, cross = (f"{self.distance}_old", f"{self.distance}_new"), self.cross
        if any(name not in self.sums for name in names):
            return None
        old, new = (self._group(name, WHOLE, cross.n_examples).statistic(name) for name in names)
        effect = compared(
            self.spread,
            old,
            new,
            cross=cross,
            is_paired=False,
            level=self._level,  # that of the flip rate in a comparison of arms
            needs_runs=not self._are_trials,
        )
        return effect if self._are_trials else with_enough_runs(effect, min(self._n_runs.values()))

    def _group_figures(self) -> Iterator[tuple[str, GroupFigures]]:
        """Yield the kind and the figures of every group that has an example."""
        groups = self.groups
        n_groups = Counter(kind for kind, _, index in groups.listed() if groups.n_examples[index])
        for kind, name, index in groups.listed():
            n_examples, n_labeled = int(groups.n_examples[index]), int(groups.n_labeled[index])
            if not n_examples:
                continue
            figures = {
                figure: self._group(figure, index, n).estimate(
                    figure, self._level_of(figure, index)
                )
                for figure in self.sums
                if (n := n_labeled if needs_labels(figure) else n_examples)
            }
            flips_beyond = self._group(f"{self.distance}_beyond", index, n_examples)
            # The intervals of all groups of a kind hold simultaneously. A single example has none:
            # if all runs happened to agree, its width would be 0. Its exact test decides.
            beyond = (
                flips_beyond.difference(
                    self._level if index == WHOLE else PLAIN.divided(n_groups[kind])
                )
                if flips_beyond.n_drawn > 1
                else Estimate(flips_beyond.value)
            )
            is_above = beyond.low is not None and beyond.low > 0.0
            has_runs = self._are_trials or beyond.over not in WITHOUT_RUNS
            is_beyond = is_above and has_runs and self._is_judged
            yield kind, GroupFigures(name, n_examples, n_labeled, figures, beyond, is_beyond)

    def _unexplained(self, discoveries: Discoveries) -> pa.Table:
        """Return the examples that changed by more than noise, with their q-values."""
        kept, n_runs = pa.concat_tables(self.kept), self._n_runs
        q_values = adjusted(self.p_counts, n_old=n_runs["old"], n_new=n_runs["new"])
        threshold = -1.0 if discoveries.threshold is None else discoveries.threshold
        rows = kept.filter(pc.less_equal(kept.column("p_value"), to_arrow([threshold])[0]))
        row_values = [q_values[p_value] for p_value in rows.column("p_value").to_pylist()]
        position = rows.column_names.index("p_value") + 1
        return rows.add_column(position, "q_value", to_arrow(row_values, np.float64))


class ClassVersionSums(VersionSums):
    """Sums over predicted classes; `classes` are the union of those of both versions."""

    distance = spread = "flip_rate"
    own_columns: ClassVar[tuple[str, ...]] = OWN_COLUMNS
    kind = "classes"

    def __init__(
        self,
        sources: tuple[ShardSource, ShardSource],
        slices: Sequence[str],
        clusters: str | None = None,
    ) -> None:
        self._own_classes = tuple(source.classes for source in sources)
        names = {name for classes in self._own_classes for name in classes}
        super().__init__(sources, tuple(canonical_order(sorted(names))), slices, clusters)

    def answers(self, old: Shard, new: Shard) -> list[np.ndarray]:
        """Return predicted classes, as indices into the common classes."""
        return [
            self._as_common_classes(_predictions(shard, len(classes)), classes)
            for shard, classes in zip((old, new), self._own_classes, strict=True)
        ]

    def _as_common_classes(self, indices: IntArray, classes: tuple[str, ...]) -> IntArray:
        """Convert class indices of one version to indices into the common classes."""
        if classes == self._classes:
            return indices
        index_of = {name: i for i, name in enumerate(self._classes)}
        # Last, because the index of an unlabeled example is -1.
        common = [*(index_of[name] for name in classes), UNLABELED]
        return np.array(common, dtype=np.int32)[indices]

    def gold(self, old: Shard, new: Shard) -> IntArray | None:
        """Return the gold labels of the new version; of the old one if the new has none."""
        for shard, classes in zip((new, old), reversed(self._own_classes), strict=True):
            if shard.labels is not None:
                return self._as_common_classes(shard.labels, classes)
        return np.full(len(old), UNLABELED) if self._is_labeled else None

    def column(self, values: np.ndarray, name: str) -> pa.Array:
        """Return a column of the table of examples, with class names instead of indices."""
        names = texts_to_arrow(self._classes)
        if name == "label":
            return names.take(to_arrow(values, missing=values == UNLABELED))
        if name in {"old", "new"}:
            return names.take(to_arrow(values))
        return to_arrow(values, missing=np.isnan(values))

    def add(self, batch: VersionBatch) -> dict[str, np.ndarray]:
        """Add a batch; return columns with a value per example."""
        pooled = np.concatenate([batch.old, batch.new])
        # Where all runs of both versions agree nothing changes, so only the others are counted.
        contested = np.flatnonzero((pooled != pooled[0]).any(axis=0))
        old, new = batch.old[:, contested], batch.new[:, contested]
        counts = Disagreement.count(old, new)
        self.disagreements += counts.disagreements
        changes = flips(counts)
        self.cross.n_examples += batch.old.shape[1]
        if "flip_rate_old" in changes and "flip_rate_new" in changes:
            product = changes["flip_rate_old"].whole @ changes["flip_rate_new"].whole
            self.cross.products += float(product)
        members = self.groups.members(batch.codes[:, contested])
        for name, change in changes.items():
            self.sums[name].update(change, members)
        if batch.cells is not None:
            self.cells.add(changes, batch.cells[:, contested])
        tested = examine_votes(old, new, counts.agreement)
        self.p_counts += tested.counts
        columns = {
            "flip_rate": _filled(batch, contested, changes["flip_rate"].whole, 0.0),
            "p_value": _filled(batch, contested, tested.p_values, 1.0),
            "is_tested": _filled(batch, contested, tested.is_tested, fill=False),
        }
        for name, runs, n_other in (("old", old, counts.old), ("new", new, counts.new)):
            winner, votes = most_voted(runs, len(runs) - n_other.T.astype(np.int64))
            columns[name] = _filled(batch, contested, winner, pooled[0])
            columns[f"{name}_share"] = _filled(batch, contested, votes / len(runs), 1.0)
        if batch.labels is not None:
            columns |= self._add_labeled(batch, batch.labels, contested)
        return columns

    def _add_labeled(
        self, batch: VersionBatch, gold: IntArray, contested: IntArray
    ) -> dict[str, np.ndarray]:
        """Add the sums that need gold labels; return the share of correct runs per example."""
        is_known = gold != UNLABELED
        indices = contested[is_known[contested]]
        is_correct = [
            np.equal(runs[:, indices], gold[indices]).T for runs in (batch.old, batch.new)
        ]
        members = self.groups.members(batch.codes[:, indices])
        changes = directed_flips(*is_correct)
        for name, change in changes.items():
            self.sums[name].update(change, members)
        is_always_correct = is_known & (batch.old[0] == gold)
        is_always_correct[contested] = False
        counts = self.groups.count(batch.codes[:, is_always_correct])
        for name in ("accuracy_old", "accuracy_new"):
            self.sums[name].add_ones(counts)
            if batch.cells is not None:
                self.cells.add_ones(name, batch.cells[:, is_always_correct])
        if batch.cells is not None:
            self.cells.add(changes, batch.cells[:, indices])
        return {
            f"correct_share_{version}": np.where(is_known, (runs == gold).mean(axis=0), np.nan)
            for version, runs in (("old", batch.old), ("new", batch.new))
        }


def _predictions(shard: Shard, n_classes: int) -> IntArray:
    return np.concatenate([batch.predictions for batch in batches(shard, n_classes)], axis=1)


def _extras(old: Shard, new: Shard) -> pa.Table | None:
    """Return the further columns of both versions; of a name that both have, the new version's."""
    if old.extras is None or new.extras is None:
        return new.extras if old.extras is None else old.extras
    merged = new.extras
    for name in old.extras.column_names:
        if name not in merged.column_names:
            merged = merged.append_column(name, old.extras.column(name))
    return merged


def _filled(
    batch: VersionBatch, indices: IntArray, values: np.ndarray, fill: float | IntArray
) -> np.ndarray:
    """Return values of some examples, and `fill` for all other examples of a batch."""
    filled = np.empty(batch.old.shape[1], dtype=values.dtype)
    filled[:] = fill
    filled[indices] = values
    return filled
