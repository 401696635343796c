"""Two versions of a model, each retrained a few times: changes that the seed does not explain.

One pass over the examples of both. Memory grows with runs, classes and slices, never with examples.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.comparison.arm_alignment import ArmAlignment
from seedproof.comparison.versions.disagreement import Disagreement, directed_flips, flips
from seedproof.comparison.versions.groups import Groups, GroupSums
from seedproof.comparison.versions.result import (
    OWN_COLUMNS,
    Exchange,
    GroupFigures,
    VersionComparison,
)
from seedproof.engines import Engine
from seedproof.errors import TooFewRunsError
from seedproof.measurement.accumulators import batches
from seedproof.measurement.engines import map_shards
from seedproof.measurement.examples import ExampleWriter
from seedproof.messages import Message
from seedproof.records.arrow import texts_to_arrow, to_arrow, to_numpy
from seedproof.records.location import Location
from seedproof.records.probabilities import UNLABELED
from seedproof.records.shards import Shard, ShardSource, canonical_order
from seedproof.stats.contrast import compared
from seedproof.stats.covariance import Cross
from seedproof.stats.effect import Effect
from seedproof.stats.intervals import TAIL, Estimate
from seedproof.stats.permutation_test import exchange_p_value, least_exchange_p_value
from seedproof.stats.vote_tests import (
    Discoveries,
    adjusted,
    discover,
    examine_votes,
    most_voted,
)
from seedproof.typing import BoolArray, IntArray, Progress

N_KEPT = 500
# Rows times runs of a chunk, small enough for the processor's cache.
CHUNK_VALUES = 2**17
# The first group holds all examples.
WHOLE = 0


def compare_versions(
    old: ShardSource,
    new: ShardSource,
    examples_file: Location,
    *,
    slices: Sequence[str] = (),
    engine: Engine | None = None,
    progress: Progress | None = None,
    notes: tuple[Message, ...] = (),
) -> VersionComparison:
    """Compare a new version with the old one, next to what another seed changes."""
    if len(old.runs) == len(new.runs) == 1:
        raise TooFewRunsError(
            "Both versions have a single run, so the effect of another seed is unknown. "
            "Train at least one of them again: 2 runs, better 5.",
            n_runs=1,
        )
    alignment = ArmAlignment(("the old version", "the new version"), (old, new))
    task = CompareVersions(alignment, tuple(slices))
    whole = task.empty()
    with ExampleWriter(examples_file) as writer:
        parts = map_shards(task, alignment.n_shards, engine=engine, progress=progress)
        for part, rows in parts:
            whole.merge(part)
            writer.write(rows)
    return whole.result(examples_file, notes)


@dataclass(frozen=True, eq=False)
class CompareVersions:
    """Compare one shard of two versions; frozen, so that it can be sent to another process."""

    alignment: ArmAlignment
    slices: tuple[str, ...]

    def empty(self) -> "VersionSums":
        """Return sums without examples."""
        old, new = self.alignment.sources
        names = {*old.classes, *new.classes}
        return VersionSums((old, new), tuple(canonical_order(sorted(names))), self.slices)

    def __call__(self, index: int) -> tuple["VersionSums", pa.Table]:
        """Return the sums of shard `index`, and one row per example."""
        sums, first = self.empty(), self.alignment.shard(index)
        return sums, sums.update(first, self.alignment.match(1, first))


@dataclass(frozen=True, eq=False)
class _Chunk:
    """Predictions of both versions for a few examples, as indices into the classes of both."""

    old: IntArray
    new: IntArray
    labels: IntArray | None
    codes: IntArray


class VersionSums:
    """Sums over the examples of two versions; `classes` are those of both."""

    def __init__(
        self,
        sources: tuple[ShardSource, ShardSource],
        classes: tuple[str, ...],
        slices: Sequence[str],
    ) -> None:
        # Names only: sums are sent between processes, and sources may be large.
        self._runs = tuple(source.runs for source in sources)
        self._own_classes = tuple(source.classes for source in sources)
        self._classes = classes
        self._n_runs = {"old": len(sources[0].runs), "new": len(sources[1].runs)}
        self._is_labeled = any(source.n_labeled for source in sources)
        self.groups = Groups(classes if self._is_labeled else (), slices)
        self.sums: dict[str, GroupSums] = defaultdict(GroupSums)
        self.cross = Cross(is_paired=False)
        self.p_counts: Counter[int] = Counter()
        self.kept: list[pa.Table] = []  # a single table, after the first shard
        self.disagreements: IntArray = np.zeros((sum(self._n_runs.values()),) * 2, dtype=np.int64)

    def update(self, old: Shard, new: Shard) -> pa.Table:
        """Add one shard of both versions; return one row per example."""
        predictions = [
            self._common(_predictions(shard, len(classes)), classes)
            for shard, classes in zip((old, new), self._own_classes, strict=True)
        ]
        labels = self._labels(old, new)
        extras = _extras(old, new)
        codes = self.groups.codes(len(old), labels, extras)
        columns: dict[str, list[np.ndarray]] = {}
        size = max(64, CHUNK_VALUES // sum(self._n_runs.values()))
        for start in range(0, len(old), size):
            rows = slice(start, start + size)
            gold = None if labels is None else labels[rows]
            chunk = _Chunk(predictions[0][:, rows], predictions[1][:, rows], gold, codes[:, rows])
            for name, values in self._add(chunk).items():
                columns.setdefault(name, []).append(values)
        whole = {name: np.concatenate(values) for name, values in columns.items()}
        table = self._table(old.ids, labels, whole, extras)
        self._keep(table, whole["is_tested"], predictions)
        return table

    def _common(self, indices: IntArray, classes: tuple[str, ...]) -> IntArray:
        """Return class indices of one version as indices into the classes of both."""
        if classes == self._classes:
            return indices
        place = {name: i for i, name in enumerate(self._classes)}
        known = [*(place[name] for name in classes), UNLABELED]
        return np.array(known, dtype=np.int32)[indices]

    def _labels(self, old: Shard, new: Shard) -> IntArray | None:
        for shard, classes in zip((new, old), reversed(self._own_classes), strict=True):
            if shard.labels is not None:
                return self._common(shard.labels, classes)
        return None

    def _add(self, chunk: _Chunk) -> dict[str, np.ndarray]:
        """Add a chunk; return columns with a value per example."""
        pooled = np.concatenate([chunk.old, chunk.new])
        contested = np.flatnonzero((pooled != pooled[0]).any(axis=0))
        old, new = chunk.old[:, contested], chunk.new[:, contested]
        counts = Disagreement.count(old, new)
        self.disagreements += counts.disagreements
        changes = flips(counts)
        self.cross.n_examples += chunk.old.shape[1]
        if "flip_rate_old" in changes and "flip_rate_new" in changes:
            both = changes["flip_rate_old"].whole @ changes["flip_rate_new"].whole
            self.cross.products += float(both)
        members = self.groups.members(chunk.codes[:, contested])
        for name, change in changes.items():
            self.sums[name].update(change, members)
        tested = examine_votes(old, new, counts.agreement)
        self.p_counts += tested.counts
        of_examples = {
            "flip_rate": _filled(chunk, contested, changes["flip_rate"].whole, 0.0),
            "p_value": _filled(chunk, contested, tested.p_values, 1.0),
            "is_tested": _filled(chunk, contested, tested.is_tested, fill=False),
        }
        for name, runs, against in (("old", old, counts.old), ("new", new, counts.new)):
            winner, votes = most_voted(runs, len(runs) - against.T.astype(np.int64))
            of_examples[name] = _filled(chunk, contested, winner, pooled[0])
            of_examples[f"{name}_share"] = _filled(chunk, contested, votes / len(runs), 1.0)
        if chunk.labels is not None:
            of_examples |= self._add_labeled(chunk, chunk.labels, contested)
        return of_examples

    def _add_labeled(
        self, chunk: _Chunk, gold: IntArray, contested: IntArray
    ) -> dict[str, np.ndarray]:
        """Add what needs gold labels; return the share of correct runs per example."""
        is_known = gold != UNLABELED
        places = contested[is_known[contested]]
        right = [np.equal(runs[:, places], gold[places]).T for runs in (chunk.old, chunk.new)]
        members = self.groups.members(chunk.codes[:, places])
        for name, change in directed_flips(*right).items():
            self.sums[name].update(change, members)
        all_right = is_known & (chunk.old[0] == gold)
        all_right[contested] = False
        counts = self.groups.count(chunk.codes[:, all_right])
        for name in ("accuracy_old", "accuracy_new"):
            self.sums[name].add_ones(counts)
        return {
            f"correct_share_{version}": np.where(is_known, (runs == gold).mean(axis=0), np.nan)
            for version, runs in (("old", chunk.old), ("new", chunk.new))
        }

    def _table(
        self,
        ids: pa.Array,
        labels: IntArray | None,
        columns: Mapping[str, np.ndarray],
        extras: pa.Table | None,
    ) -> pa.Table:
        """Return one row per example of a shard, with class names instead of indices."""
        names = texts_to_arrow(self._classes)
        table: dict[str, pa.Array | pa.ChunkedArray] = {"example": ids}
        if self._is_labeled:
            gold = np.full(len(ids), UNLABELED) if labels is None else labels
            table["label"] = names.take(to_arrow(gold, missing=gold == UNLABELED))
        for name in OWN_COLUMNS:
            if name in {"old", "new"}:
                table[name] = names.take(to_arrow(columns[name]))
            elif name in columns:
                values = columns[name]
                table[name] = to_arrow(values, missing=np.isnan(values))
        if extras is not None:
            for name in extras.column_names:
                free = f"extra.{name}" if name in OWN_COLUMNS else name
                table[free] = extras.column(name)
        return pa.table(table)

    def _keep(self, table: pa.Table, is_tested: BoolArray, predictions: list[IntArray]) -> None:
        """Keep the examples with the smallest p-values, with the prediction of each run."""
        indices = np.flatnonzero(is_tested)
        chosen = indices[_smallest(table.take(to_arrow(indices)))]
        rows = table.take(to_arrow(chosen))
        for version, runs in zip(("old", "new"), predictions, strict=True):
            ends = np.arange(len(chosen) + 1) * len(runs)
            flat = to_arrow(runs[:, chosen].T.ravel(), np.int32)
            votes = pa.ListArray.from_arrays(to_arrow(ends, np.int32), flat)
            rows = rows.append_column(f"{version}_predictions", votes)
        self.kept = [rows.combine_chunks()]

    def merge(self, other: "VersionSums") -> None:
        """Add the examples of the shards that follow."""
        places = self.groups.merge(other.groups)
        for name, sums in other.sums.items():
            self.sums[name].merge(sums, places)
        self.cross.merge(other.cross)
        self.p_counts += other.p_counts
        self.disagreements += other.disagreements
        rows = pa.concat_tables([*self.kept, *other.kept])
        self.kept = [rows.take(to_arrow(_smallest(rows))).combine_chunks()]

    def result(self, examples_file: Location, notes: tuple[Message, ...]) -> VersionComparison:
        """Return the result, once all shards were added."""
        n_old, n_new = self._n_runs.values()
        discoveries = discover(self.p_counts, n_old=n_old, n_new=n_new)
        # Its own generator: the same predictions give the same bytes.
        p_value = exchange_p_value(self.disagreements, n_old, rng=np.random.default_rng(0))
        parts = list(self._parts())
        return VersionComparison(
            old_runs=self._runs[0],
            new_runs=self._runs[1],
            classes=self._classes,
            whole=parts[0][1],
            by_class=tuple(part for kind, part in parts if kind == "class"),
            slices={
                column: tuple(part for kind, part in parts if kind == f"slice {column}")
                for column in self.groups.slices
            },
            exchange=Exchange(p_value, least_exchange_p_value(n_old, n_new)),
            discoveries=discoveries,
            unexplained=self._unexplained(discoveries),
            examples_file=examples_file,
            notes=(*notes, *self.groups.notes),
            steadiness=self._steadiness(),
        )

    def _steadiness(self) -> Effect | None:
        """Return the effect on the flip rate, as a comparison of arms has it."""
        names, cross = ("flip_rate_old", "flip_rate_new"), self.cross
        if any(name not in self.sums for name in names):
            return None
        old, new = (
            self.sums[name].group(WHOLE, cross.n_examples, self._n_runs).statistic(name)
            for name in names
        )
        return compared("flip_rate", old, new, cross=cross, is_paired=False, tail=TAIL)

    def _parts(self) -> Iterator[tuple[str, GroupFigures]]:
        """Yield the kind and the figures of every group that has an example."""
        groups = self.groups
        sizes = Counter(kind for kind, _, index in groups.listed() if groups.n_examples[index])
        for kind, name, index in groups.listed():
            n_examples, n_labeled = int(groups.n_examples[index]), int(groups.n_labeled[index])
            if not n_examples:
                continue
            figures = {
                figure: sums.group(index, n, self._n_runs).estimate(figure)
                for figure, sums in self.sums.items()
                if (n := n_examples if figure.startswith("flip_rate") else n_labeled)
            }
            mean = self.sums["flip_rate_beyond"].group(index, n_examples, self._n_runs)
            # The intervals of all groups of a kind hold together. One example on which all runs
            # happen to agree would have no width at all; only its exact test counts.
            beyond = mean.difference(TAIL / sizes[kind]) if n_examples > 1 else Estimate(mean.value)
            is_beyond = beyond.over != "examples" and beyond.low is not None and beyond.low > 0.0
            yield kind, GroupFigures(name, n_examples, n_labeled, figures, beyond, is_beyond)

    def _unexplained(self, discoveries: Discoveries) -> pa.Table:
        kept, n_runs = pa.concat_tables(self.kept), self._n_runs
        q_values = adjusted(self.p_counts, n_old=n_runs["old"], n_new=n_runs["new"])
        least = -1.0 if discoveries.threshold is None else discoveries.threshold
        rows = kept.filter(pc.less_equal(kept.column("p_value"), to_arrow([least])[0]))
        own = [q_values[p_value] for p_value in rows.column("p_value").to_pylist()]
        place = rows.column_names.index("p_value") + 1
        return rows.add_column(place, "q_value", to_arrow(own, np.float64))


def _predictions(shard: Shard, n_classes: int) -> IntArray:
    return np.concatenate([batch.predictions for batch in batches(shard, n_classes)], axis=1)


def _extras(old: Shard, new: Shard) -> pa.Table | None:
    """Further columns of both versions; those of the new one where both have the name."""
    if old.extras is None or new.extras is None:
        return new.extras if old.extras is None else old.extras
    merged = new.extras
    for name in old.extras.column_names:
        if name not in merged.column_names:
            merged = merged.append_column(name, old.extras.column(name))
    return merged


def _filled(
    chunk: _Chunk, places: IntArray, values: np.ndarray, fill: float | IntArray
) -> np.ndarray:
    """Return values of some examples, and `fill` for all others of a chunk."""
    whole = np.empty(chunk.old.shape[1], dtype=values.dtype)
    whole[:] = fill
    whole[places] = values
    return whole


def _smallest(table: pa.Table) -> IntArray:
    """Rows with the smallest p-values, at most `N_KEPT`; ties by most flips, then by id."""
    keys = [("p_value", "ascending"), ("flip_rate", "descending"), ("example", "ascending")]
    return to_numpy(pc.sort_indices(table, sort_keys=keys)[:N_KEPT])
