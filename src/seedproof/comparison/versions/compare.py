"""Two versions of a model, each retrained a few times: what changes that the seed does not explain?

One pass over the examples of both. Memory grows with runs, classes and slices, never with examples.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.comparison.arm_alignment import ArmAlignment
from seedproof.comparison.versions.disagreement import Disagreement, directed_flips, flips
from seedproof.comparison.versions.estimates import GroupSums
from seedproof.comparison.versions.groups import Groups
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
# Rows times runs of a chunk: it stays in the processor's cache.
CHUNK_VALUES = 2**17
# The first group holds all examples.
WHOLE = 0
ACCURACIES = ("accuracy_old", "accuracy_new")


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
    """What a new version changes, beside what another seed changes."""
    if len(old.runs) == len(new.runs) == 1:
        raise TooFewRunsError(
            "Both versions have one run, so nothing tells what another seed would change. "
            "Train at least one of them again: 2 runs, better 5.",
            n_runs=1,
        )
    aligned = ArmAlignment(("the old version", "the new version"), (old, new))
    task = CompareVersions(aligned, tuple(slices))
    whole = task.empty()
    with ExampleWriter(examples_file) as writer:
        parts = map_shards(task, aligned.n_shards, engine=engine, progress=progress)
        for part, rows in parts:
            whole.merge(part)
            writer.write(rows)
    return whole.result(examples_file, notes)


@dataclass(frozen=True, eq=False)
class CompareVersions:
    """Compares one shard of two versions; frozen, so that it can travel to another process."""

    aligned: ArmAlignment
    slices: tuple[str, ...]

    def empty(self) -> "VersionTally":
        """A tally without examples."""
        old, new = self.aligned.sources
        names = {*old.classes, *new.classes}
        return VersionTally((old, new), tuple(canonical_order(sorted(names))), self.slices)

    def __call__(self, index: int) -> tuple["VersionTally", pa.Table]:
        """Partial results of shard `index`, and one row for each of its examples."""
        tally, first = self.empty(), self.aligned.shard(index)
        return tally, tally.update(first, self.aligned.match(1, first))


@dataclass(frozen=True, eq=False)
class _Chunk:
    """A few examples, as the runs of both versions see them; classes are those of both."""

    old: IntArray
    new: IntArray
    labels: IntArray | None
    codes: IntArray


class VersionTally:
    """What is known of two versions after some shards.

    Args:
        sources: The old and the new version.
        classes: Names of the classes of both.
        slices: Columns to slice by.
    """

    def __init__(
        self,
        sources: tuple[ShardSource, ShardSource],
        classes: tuple[str, ...],
        slices: Sequence[str],
    ) -> None:
        # Names alone: a tally travels, and sources may be large.
        self._runs = tuple(source.runs for source in sources)
        self._own_classes = tuple(source.classes for source in sources)
        self._classes = classes
        self._n_runs = {"old": len(sources[0].runs), "new": len(sources[1].runs)}
        self._is_labeled = any(source.n_labeled for source in sources)
        self.groups = Groups(classes if self._is_labeled else (), slices)
        self.sums: dict[str, GroupSums] = {}
        self.cross = Cross(is_paired=False)
        self.p_counts: Counter[int] = Counter()
        self.kept: list[pa.Table] = []  # one, after the first shard
        self.disagreements: IntArray = np.zeros((sum(self._n_runs.values()),) * 2, dtype=np.int64)

    def update(self, old: Shard, new: Shard) -> pa.Table:
        """Add one shard of both versions; returns one row for each of its examples."""
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
        found = {name: np.concatenate(values) for name, values in columns.items()}
        table = self._table(old.ids, labels, found, extras)
        self._keep(table, found["is_tested"], predictions)
        return table

    def _common(self, indices: IntArray, classes: tuple[str, ...]) -> IntArray:
        """Class indices of one version as indices into the classes of both."""
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
        """Add the figures of a chunk; returns what is said of each example."""
        pooled = np.concatenate([chunk.old, chunk.new])
        contested = np.flatnonzero((pooled != pooled[0]).any(axis=0))
        old, new = chunk.old[:, contested], chunk.new[:, contested]
        opponents = Disagreement.count(old, new)
        self.disagreements += opponents.disagreements
        changes = flips(opponents)
        self.cross.n_examples += chunk.old.shape[1]
        if "flip_rate_old" in changes and "flip_rate_new" in changes:
            both = changes["flip_rate_old"].whole @ changes["flip_rate_new"].whole
            self.cross.products += float(both)
        members = self.groups.members(chunk.codes[:, contested])
        for name, change in changes.items():
            self.sums.setdefault(name, GroupSums()).update(change, members)
        tested = examine_votes(old, new, opponents.agreement)
        self.p_counts += tested.counts
        of_examples = {
            "flip_rate": _filled(chunk, contested, changes["flip_rate"].whole, 0.0),
            "p_value": _filled(chunk, contested, tested.p_values, 1.0),
            "is_tested": _filled(chunk, contested, tested.is_tested, fill=False),
        }
        for name, runs, against in (("old", old, opponents.old), ("new", new, opponents.new)):
            winner, votes = most_voted(runs, len(runs) - against.T.astype(np.int64))
            of_examples[name] = _filled(chunk, contested, winner, pooled[0])
            of_examples[f"{name}_share"] = _filled(chunk, contested, votes / len(runs), 1.0)
        if chunk.labels is not None:
            of_examples |= self._add_labeled(chunk, chunk.labels, contested)
        return of_examples

    def _add_labeled(
        self, chunk: _Chunk, gold: IntArray, contested: IntArray
    ) -> dict[str, np.ndarray]:
        """Add what needs the gold label; returns the share of right runs of each example."""
        is_known = gold != UNLABELED
        places = contested[is_known[contested]]
        right = [np.equal(runs[:, places], gold[places]).T for runs in (chunk.old, chunk.new)]
        members = self.groups.members(chunk.codes[:, places])
        for name, change in directed_flips(*right).items():
            self.sums.setdefault(name, GroupSums()).update(change, members)
        all_right = is_known & (chunk.old[0] == gold)
        all_right[contested] = False
        counts = self.groups.count(chunk.codes[:, all_right])
        for name in ACCURACIES:
            self.sums[name].add_ones(counts)
        return {
            f"correct_share_{side}": np.where(is_known, (runs == gold).mean(axis=0), np.nan)
            for side, runs in (("old", chunk.old), ("new", chunk.new))
        }

    def _table(
        self,
        ids: pa.Array,
        labels: IntArray | None,
        columns: Mapping[str, np.ndarray],
        extras: pa.Table | None,
    ) -> pa.Table:
        """One row for each example of a shard, with class names instead of indices."""
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
        """Remember the examples with the smallest p-values, with what each run said of them."""
        indices = np.flatnonzero(is_tested)
        chosen = indices[_smallest(table.take(to_arrow(indices)))]
        rows = table.take(to_arrow(chosen))
        for side, runs in zip(("old", "new"), predictions, strict=True):
            ends = np.arange(len(chosen) + 1) * len(runs)
            flat = to_arrow(runs[:, chosen].T.ravel(), np.int32)
            votes = pa.ListArray.from_arrays(to_arrow(ends, np.int32), flat)
            rows = rows.append_column(f"{side}_predictions", votes)
        self.kept = [rows.combine_chunks()]

    def merge(self, other: "VersionTally") -> None:
        """Add the examples of the shards that follow."""
        places = self.groups.merge(other.groups)
        for name, sums in other.sums.items():
            self.sums.setdefault(name, GroupSums()).merge(sums, places)
        self.cross.merge(other.cross)
        self.p_counts += other.p_counts
        self.disagreements += other.disagreements
        rows = pa.concat_tables([*self.kept, *other.kept])
        self.kept = [rows.take(to_arrow(_smallest(rows))).combine_chunks()]

    def result(self, examples_file: Location, notes: tuple[Message, ...]) -> VersionComparison:
        """Everything, once all shards were added."""
        found = discover(self.p_counts, n_old=self._n_runs["old"], n_new=self._n_runs["new"])
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
            exchange=self._exchange(),
            discoveries=found,
            unexplained=self._unexplained(found, pa.concat_tables(self.kept)),
            examples_file=examples_file,
            notes=(*notes, *self.groups.notes),
            steadiness=self._steadiness(),
        )

    def _steadiness(self) -> Effect | None:
        """Return what the new version changes in the flip rate, as comparing arms would."""
        names = ("flip_rate_old", "flip_rate_new")
        if any(name not in self.sums for name in names):
            return None
        n_examples = self.cross.n_examples
        old, new = (
            self.sums[name].group(WHOLE, n_examples, self._n_runs).statistic(name) for name in names
        )
        cross = self.cross
        return compared("flip_rate", old, new, cross=cross, is_paired=False, tail=TAIL)

    def _exchange(self) -> Exchange:
        n_old, n_new = self._n_runs.values()
        # Its own generator: the same predictions give the same bytes.
        rng = np.random.default_rng(0)
        p_value = exchange_p_value(self.disagreements, n_old, rng=rng)
        return Exchange(p_value, least_exchange_p_value(n_old, n_new))

    def _parts(self) -> Iterator[tuple[str, GroupFigures]]:
        """Every group that has an example, with its figures."""
        groups = self.groups
        sizes = Counter(kind for kind, _, index in groups.listed() if groups.n_examples[index])
        for kind, name, index in groups.listed():
            n_examples, n_labeled = int(groups.n_examples[index]), int(groups.n_labeled[index])
            if not n_examples:
                continue
            figures = {}
            for figure, sums in self.sums.items():
                n = n_examples if figure.startswith("flip_rate") else n_labeled
                if not n:
                    continue
                figures[figure] = sums.group(index, n, self._n_runs).estimate(figure)
            mean = self.sums["flip_rate_beyond"].group(index, n_examples, self._n_runs)
            # All groups of a kind hold together. One example on which runs happen to be of one mind
            # has no width at all; its exact test says what it is worth.
            beyond = mean.difference(TAIL / sizes[kind]) if n_examples > 1 else Estimate(mean.value)
            is_beyond = beyond.over != "examples" and beyond.low is not None and beyond.low > 0.0
            yield kind, GroupFigures(name, n_examples, n_labeled, figures, beyond, is_beyond)

    def _unexplained(self, found: Discoveries, kept: pa.Table) -> pa.Table:
        n_runs = self._n_runs
        rates = adjusted(self.p_counts, n_old=n_runs["old"], n_new=n_runs["new"])
        least = -1.0 if found.threshold is None else found.threshold
        rows = kept.filter(pc.less_equal(kept.column("p_value"), to_arrow([least])[0]))
        q_values = [rates[p_value] for p_value in rows.column("p_value").to_pylist()]
        place = rows.column_names.index("p_value") + 1
        return rows.add_column(place, "q_value", to_arrow(q_values, np.float64))


def _predictions(shard: Shard, n_classes: int) -> IntArray:
    return np.concatenate([batch.predictions for batch in batches(shard, n_classes)], axis=1)


def _extras(old: Shard, new: Shard) -> pa.Table | None:
    """Further columns of both versions; the new one's where both have one of a name."""
    if old.extras is None or new.extras is None:
        return new.extras if old.extras is None else old.extras
    merged = new.extras
    for name in old.extras.column_names:
        if name not in merged.column_names:
            merged = merged.append_column(name, old.extras.column(name))
    return merged


def _filled(
    chunk: _Chunk,
    places: IntArray,
    values: np.ndarray,
    fill: float | IntArray,
) -> np.ndarray:
    """Values of some examples, and `fill` for all others of a chunk."""
    whole = np.empty(chunk.old.shape[1], dtype=values.dtype)
    whole[:] = fill
    whole[places] = values
    return whole


def _smallest(table: pa.Table) -> IntArray:
    """Which rows have the smallest p-values, at most `N_KEPT`; then most flips, then ids."""
    keys = [("p_value", "ascending"), ("flip_rate", "descending"), ("example", "ascending")]
    return to_numpy(pc.sort_indices(table, sort_keys=keys)[:N_KEPT])
