"""Read a store: its runs, and their row groups as shards."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seedproof.errors import (
    DamagedStoreError,
    InputError,
    OptionError,
    SeedproofError,
    StoreError,
    TooFewRunsError,
)
from seedproof.messages import Message, recorded
from seedproof.records.arrow import to_numpy
from seedproof.records.ingest_state import MARK
from seedproof.records.items import NO_ITEM, Relevance, sorted_items
from seedproof.records.levels import recorded_settings, refuse_levels_of_items
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.probabilities import UNLABELED, TopProbs, most_probable_of_top
from seedproof.records.run_reader import (
    OR_REMAKE,
    RunReader,
    check_alike,
    label_conflict,
    largest_alike,
)
from seedproof.records.schema import EXTRA_PREFIX, Kind, gold_of, relevance_of
from seedproof.records.shards import (
    Shard,
    ShardSource,
    all_classes,
    natural_order,
    of_repeats,
    reindexed,
)
from seedproof.records.text_records import recorded_answers
from seedproof.typing import FloatArray, IntArray

# Runs that are named in a note; of the others only the number is given.
MAX_NAMED = 5


class MissingRuns(NamedTuple):
    """Runs that should be in a store."""

    names: tuple[str, ...]
    n_planned: int
    was_ingested: bool = False

    def __str__(self) -> str:
        planned = "ingested" if self.was_ingested else "planned"
        verb = "is" if len(self.names) == 1 else "are"
        state = "missing" if self.was_ingested else "not finished"
        return (
            f"{len(self.names)} of {self.n_planned} {planned} runs {verb} {state}: "
            f"{listed(self.names)}."
        )


class Store:
    """A folder of runs, on any filesystem.

    With `skip_damaged`, what is damaged or does not fit is noted in `left_out` instead of raised.
    `known` are runs that were read before, by id: a committed run never changes.
    """

    def __init__(
        self,
        location: Location,
        *,
        skip_damaged: bool = False,
        known: Mapping[str, RunManifest] | None = None,
    ) -> None:
        self.location = location
        self.study = StudyManifest.load(location)
        self.left_out: list[Message] = []
        self.skips_damaged = skip_damaged
        self._n_unreadable = 0
        self._known = known or {}

    def again(self) -> "Store":
        """Return the same snapshot of the runs, with notes of its own."""
        known = self.runs
        other = copy(self)
        other.runs, other.left_out = known, list(self.left_out)
        return other

    @staticmethod
    def is_at(location: Location) -> bool:
        """Return whether a location holds a store, finished or not."""
        return (location / "study.json").is_file() or (location / MARK).is_file()

    @cached_property
    def runs(self) -> tuple[RunManifest, ...]:
        """Every committed run by arm, in the order of the plan; unplanned runs come last."""
        folders = (self.location / "runs").folders()
        places = [place for place in folders if (place / "run.json").is_file()]
        runs = [run for place in places if (run := self._load_run(place)) is not None]
        planned = self.study.planned_names() or self.study.runs
        names = dict.fromkeys([*planned, *natural_order([run.name for run in runs])])
        rank = {name: i for i, name in enumerate(names)}
        return tuple(sorted(runs, key=lambda run: (run.arm, rank[run.name], run.run_id)))

    @property
    def notes(self) -> tuple[Message, ...]:
        """Notes on how the runs came into the store."""
        texts = (note for run in self.runs for note in run.facts.get("notes", ()))
        return tuple(recorded(text) for text in dict.fromkeys(texts))

    def splits(self) -> tuple[str, ...]:
        """Return the names of the data splits that some run has predictions for."""
        paths = [part.path.split("/") for run in self.runs for part in run.parts]
        return tuple(sorted({split for kind, split, *_ in paths if kind == "predictions"}))

    def arms(self) -> tuple[str, ...]:
        """Return the names of the arms that have a finished run, in the order of the plan."""
        planned = self.study.planned.arms
        finished = {run.arm for run in self.runs if run.status == "finished"}
        return (*(arm for arm in planned if arm in finished), *sorted(finished.difference(planned)))

    def shards(
        self, *, arm: str | None = None, split: str | None = None, alone: bool = False
    ) -> "StoreShards":
        """Return the finished runs of one arm on one split, aligned."""
        readers = self._readers(arm, split, alone=alone, may_differ=False)
        return StoreShards(readers, self.study.rows_per_group)

    def apart(
        self, *, arm: str | None = None, split: str | None = None, alone: bool = False
    ) -> list["StoreShards"]:
        """Return the same runs as one source each: they may have different examples."""
        readers = self._readers(arm, split, alone=alone, may_differ=True)
        return [StoreShards([reader], self.study.rows_per_group) for reader in readers]

    def _readers(
        self, arm: str | None, split: str | None, *, alone: bool, may_differ: bool
    ) -> list[RunReader]:
        if not self.arms():
            raise self.no_finished_run()
        if arm in self.missing_arms():
            raise TooFewRunsError(
                "No run of arm {arm!r} is finished; `seedproof status {location} --tracebacks` "
                "shows why. Finish the study, or choose another arm: {known}.",
                arm=arm,
                location=self.location,
                known=self.arms(),
            )
        if not self.splits():
            raise self._no_predictions()
        arm = _only(arm, self.arms(), "arm", "--arm")
        split = _only(split, self.splits(), "split", "--split")
        chosen = [run for run in self.runs if run.arm == arm and run.status == "finished"]
        least_runs = 1 if alone else 2
        if len(chosen) < least_runs:
            raise TooFewRunsError(
                "Flips can be measured only with two or more runs, but arm {arm!r} of study "
                "{study!r} has {n_runs} finished run(s). "
                "Pass the predictions of at least 2 runs.{missing}",
                arm=arm,
                study=self.study.name,
                n_runs=len(chosen),
                missing="" if (missing := self.missing(arm)) is None else f" {missing}",
            )
        readers = self._opened(chosen, split)
        if self.skips_damaged and not may_differ:
            readers = self._fitting(readers)
        if len(readers) < least_runs:
            raise TooFewRunsError(
                "Of the {n_runs} runs of arm {arm!r}, {n_readable} can be read. {left_out}",
                n_runs=len(chosen),
                arm=arm,
                n_readable=len(readers),
                left_out=" ".join(map(str, self.left_out)),
                notes=tuple(self.left_out),
            )
        return readers

    def no_finished_run(self) -> TooFewRunsError:
        """Return the error for a store without a finished run."""
        folders = (self.location / "runs").folders()
        n_failed = sum((place / "failure.json").is_file() for place in folders)
        if not n_failed:
            return TooFewRunsError(
                "{location} has no finished run. Finish the study first.", location=self.location
            )
        return TooFewRunsError(
            "{location} has no finished run: {runs} failed, and `seedproof status "
            "{location} --tracebacks` shows why. Finish the study first.",
            location=self.location,
            runs="1 run" if n_failed == 1 else f"{n_failed} runs",
            n_failed=n_failed,
        )

    def _no_predictions(self) -> TooFewRunsError:
        """Return the error for a store whose runs logged no predictions, but perhaps scalars."""
        scalars = tuple(dict.fromkeys(name for run in self.runs for name in run.scalars))
        if not scalars:
            return TooFewRunsError(
                "No finished run of the store has predictions. Log them with run.log_predictions."
            )
        return TooFewRunsError(
            "No finished run of the store has predictions, only scalars: {scalars}. Name those to "
            "use with --metrics {first}, or pass the store to sp.measure_scalars or "
            "sp.compare_scalars in Python.",
            scalars=scalars,
            first=scalars[0],
        )

    def missing(self, arm: str) -> "MissingRuns | None":
        """Return the runs of an arm that are planned or ingested, and not there."""
        if self._n_unreadable:  # the name of an unreadable run is unknown, and it has a note
            return None
        there = {run.name for run in self.runs}
        lost = tuple(name for name in self.study.runs if name not in there)
        if lost:
            return MissingRuns(lost, len(self.study.runs), was_ingested=True)
        planned = self.study.planned_names() if arm in self.study.planned.arms else ()
        finished = {run.name for run in self.runs if run.arm == arm}
        names = tuple(name for name in planned if name not in finished)
        return MissingRuns(names, len(planned)) if names else None

    def missing_arms(self) -> tuple[str, ...]:
        """Return the planned arms without a finished run."""
        finished = set(self.arms())
        return tuple(arm for arm in self.study.planned.arms if arm not in finished)

    def _load_run(self, folder: Location) -> RunManifest | None:
        if folder.name in self._known:
            return self._known[folder.name]
        try:
            return load_run(folder)
        except DamagedStoreError as error:
            self._leave_out(
                error, "The run in {folder} is left out. {why}", folder=f"runs/{folder.name}"
            )
            self._n_unreadable += 1
            return None

    def _opened(self, runs: Sequence[RunManifest], split: str) -> list[RunReader]:
        readers: list[RunReader] = []
        for run in runs:
            if (reader := self._open(run, split)) is not None:
                # One object for all runs: there may be many names.
                if readers and reader.classes == readers[0].classes:
                    reader.classes = readers[0].classes
                readers.append(reader)
        return readers

    def _open(self, run: RunManifest, split: str) -> RunReader | None:
        try:
            return RunReader(self.location, run, split)
        except DamagedStoreError as error:
            self._leave_out(error, "Run {run!r} is left out. {why}", run=run.name)
            return None

    def _fitting(self, readers: list[RunReader]) -> list[RunReader]:
        """Return the largest group of runs that can be measured together."""
        alike = largest_alike(readers)
        for reader in readers:
            if reader not in alike:
                try:
                    check_alike(alike[0], reader)
                except InputError as error:
                    self._leave_out(error, "Run {run!r} is left out. {why}", run=reader.run.name)
        return alike

    def _leave_out(self, error: SeedproofError, template: str, **fields: str) -> None:
        if not self.skips_damaged:
            raise error
        why = as_reason(error, self.location)
        self.left_out.append(Message("run-left-out", template, why=why, **fields))


def as_reason(error: SeedproofError, store: Location | None) -> SeedproofError:
    """Return an error for a note: paths below the store, without the advice to skip it."""
    if store is None:
        return error
    fields = {name: _below(store, value) for name, value in error.fields.items()}
    return error.replace(**(fields | ({"or_else": OR_REMAKE} if "or_else" in fields else {})))


def _below(store: Location, value: object) -> object:
    """Return a field of an error in which locations are below the store's folder."""
    if isinstance(value, Location):
        return str(value).removeprefix(f"{store}/")
    if isinstance(value, Message):
        return value.replace(**{name: _below(store, v) for name, v in value.fields.items()})
    return value


def listed(names: Sequence[str]) -> str:
    """Return the names of runs, or of the first few and the number of the others."""
    first = ", ".join(map(repr, names[:MAX_NAMED]))
    return first if len(names) <= MAX_NAMED else f"{first} and {len(names) - MAX_NAMED} more"


def load_run(folder: Location) -> RunManifest:
    """Load the committed run in a folder, which must have its name."""
    run = RunManifest.load(folder)
    if run.run_id != folder.name:
        raise DamagedStoreError(
            "{folder} does not match its run id {run_id!r}. Rename the folder, or delete it if it "
            "is a copy.",
            folder=folder,
            run_id=run.run_id,
        )
    return run


def _only(given: str | None, known: Sequence[str], noun: str, option: str) -> str:
    if given is None and len(known) > 1:
        raise OptionError(
            "The store has {n_known} {noun}s ({known}). Choose one with {option}.",
            n_known=len(known),
            noun=noun,
            known=tuple(known),
            option=option,
        )
    if given is not None and given not in known:
        raise OptionError(
            "The store has no {noun} {given!r}. Known: {known}.",
            noun=noun,
            given=given,
            known=tuple(known),
        )
    return known[0] if given is None else given


class StoreShards(ShardSource):
    """Aligned runs of a store, as shards."""

    def __init__(self, readers: Sequence[RunReader], rows_per_group: int | None) -> None:
        self._readers = list(readers)
        first = self._readers[0]
        for reader in self._readers[1:]:
            check_alike(first, reader)
        self.runs = tuple(reader.run.name for reader in self._readers)
        self.kind, self.extras = first.kind, first.extras
        self.location, self.split = first.store, first.split
        self.manifests = tuple(reader.run for reader in self._readers)
        if not self.kind.has_classes:
            by_meaning = any("equivalent" in reader.value_columns for reader in self._readers)
            self.settings = replace(
                recorded_settings(self.manifests, self.kind), by_meaning=by_meaning
            )
            refuse_levels_of_items(self.kind, self.settings)
        self.predictions_only = False
        self.n_examples = sum(group.rows for group in first.groups)
        self.n_labeled = sum(self.counts(index)[1] for index in range(self.n_shards))
        self.rows_per_shard = first.groups[0].rows
        rows_per_group = rows_per_group or self.rows_per_shard
        if any(group.rows != rows_per_group for group in first.groups[:-1]):
            raise StoreError(
                "The row groups of the store are uneven. Write it with RunWriter.",
                rows_per_group=rows_per_group,
            )
        self.classes = all_classes([reader.classes for reader in self._readers])
        for reader in self._readers:
            if reader.classes == self.classes:
                reader.classes = self.classes  # one object, so that `reindexed` is quick

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return len(self._readers[0].groups)

    def counts(self, index: int) -> tuple[int, int]:
        """Return the rows and labeled rows of row group `index`, from its footer."""
        group = self._readers[0].groups[index]
        are_judged = ["correct" in reader.value_columns for reader in self._readers]
        if not any(are_judged):
            return group.rows, group.n_labeled
        if not all(are_judged):
            return group.rows, 0
        try:
            columns = [reader.read(index, ["correct"]) for reader in self._readers]
        except DamagedStoreError:
            return group.rows, 0  # reported where the answers are read
        is_known = [to_numpy(rows.column("correct").is_valid()) for rows in columns]
        return group.rows, int(np.count_nonzero(np.all(is_known, axis=0)))

    def ids(self, index: int) -> pa.Array:
        """Return the ids of row group `index`, without any prediction."""
        return pa.concat_arrays(self._readers[0].read(index, ["example"]).column("example").chunks)

    def further_column(self, index: int, column: str) -> tuple[pa.Array, pa.ChunkedArray]:
        """Return the ids of row group `index`, and a further column, without any prediction."""
        facts = self._readers[0].read(index, ["example", EXTRA_PREFIX + column])
        return pa.concat_arrays(facts.column("example").chunks), facts.column(EXTRA_PREFIX + column)

    def shard(self, index: int) -> Shard:
        """Read row group `index` of every run."""
        first = self._readers[0]
        extras = [EXTRA_PREFIX + name for name in first.extras]
        facts = first.read(index, ["example", *first.gold_columns, *extras])
        shard = Shard(
            index,
            pa.concat_arrays(facts.column("example").chunks),
            labels=None,
            probs=None,
            predictions=None,
            extras=facts.select(extras).rename_columns(list(first.extras)) if extras else None,
        )
        if self.kind is Kind.NUMBERS:
            targets = gold_of(facts.column("target")) if self.n_labeled else None
            return replace(shard, numbers=self._numbers(index, len(shard)), targets=targets)
        if self.kind.has_items:
            relevance = self._relevance(facts) if self.n_labeled else None
            return replace(shard, items=self._items(index, len(shard)), relevance=relevance)
        if self.kind is Kind.TEXTS:
            of_runs = [reader.read(index, reader.value_columns) for reader in self._readers]
            texts = recorded_answers(facts.column("reference"), of_runs)
            return shard.with_texts(texts, self.settings, is_labeled=self.n_labeled > 0)
        if self.n_labeled:
            shard = replace(shard, labels=self._labels(index, facts))
        if self.kind is Kind.PROBS and not self.predictions_only:
            return replace(shard, probs=self._probs(index, len(shard)))
        if self.kind is Kind.TOP and not self.predictions_only:
            tops = zip(*(reader.top(index) for reader in self._readers), strict=True)
            top = TopProbs(*map(np.stack, tops))
            return replace(shard, predictions=most_probable_of_top(*top), top=top)
        predictions = [
            reindexed(reader.predictions(index), reader.classes, self.classes)
            for reader in self._readers
        ]
        return replace(shard, predictions=np.stack(predictions))

    def predictions_alone(self) -> "StoreShards":
        """Return the same runs with predicted classes only, which take the fewest bytes."""
        narrowed = copy(self)
        narrowed.predictions_only = True
        return narrowed

    def in_full(self) -> "StoreShards":
        """Return the same runs with their probabilities."""
        full = copy(self)
        full.predictions_only = False
        return full

    def some_runs(self, order: Sequence[int]) -> "StoreShards":
        """Return the runs at these positions, in this order; no other is read."""
        some, readers = copy(self), [self._readers[position] for position in order]
        some._readers = readers  # noqa: SLF001 - of the same class
        some.runs = tuple(reader.run.name for reader in readers)
        some.manifests = tuple(reader.run for reader in readers)
        some.settings = of_repeats(self.settings, order)
        some.n_labeled = sum(some.counts(index)[1] for index in range(some.n_shards))
        return some

    def _numbers(self, index: int, n_rows: int) -> FloatArray:
        numbers = np.empty((len(self._readers), n_rows))
        for run_numbers, reader in zip(numbers, self._readers, strict=True):
            run_numbers[:] = reader.numbers(index)
        return numbers

    def _items(self, index: int, n_rows: int) -> IntArray:
        width = max(reader.n_top for reader in self._readers)
        items = np.full((len(self._readers), n_rows, width), NO_ITEM, dtype=np.int32)
        for of_run, reader in zip(items, self._readers, strict=True):
            of_run[:, : reader.n_top] = self._renumbered(reader.items(index), reader)
        return items

    def _renumbered(self, items: IntArray, reader: RunReader) -> IntArray:
        """Return the items of a run by their places among those of all runs."""
        renumbered = reindexed(items, reader.classes, self.classes)
        is_sorted = renumbered is items or self.kind is Kind.RANKINGS
        return renumbered if is_sorted else sorted_items(renumbered)

    def _relevance(self, facts: pa.Table) -> Relevance:
        first, right = self._readers[0], relevance_of(facts)
        return replace(right, items=reindexed(right.items, first.classes, self.classes))

    def _probs(self, index: int, n_rows: int) -> FloatArray:
        # One array for all runs: Parquet's buffers of a run are freed before the next is read.
        probs = np.empty((len(self._readers), n_rows, len(self.classes)), dtype=np.float32)
        for run_probs, reader in zip(probs, self._readers, strict=True):
            run_probs[:] = reader.probs(index)
        return probs

    def _labels(self, index: int, facts: pa.Table) -> IntArray:
        first, *others = self._readers

        def labels_of(rows: pa.Table, reader: RunReader) -> IntArray:
            labels = to_numpy(rows.column("label"), missing=UNLABELED)
            return reindexed(labels, reader.classes, self.classes)

        labels = labels_of(facts, first)
        # Runs with the same classes were compared by their digests.
        for reader in others if any(r.classes != first.classes for r in others) else ():
            if not np.array_equal(labels_of(reader.read(index, ["label"]), reader), labels):
                raise label_conflict(first, reader)
        return labels
