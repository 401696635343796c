"""Read a store: its runs, and their row groups side by side."""

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property

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
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.part_files import OR_REMAKE
from seedproof.records.probabilities import UNLABELED, TopProbs, most_probable_of_top
from seedproof.records.run_consistency import check_alike, label_conflict, largest_alike
from seedproof.records.run_reader import RunReader
from seedproof.records.schema import (
    EXTRA_PREFIX,
    Kind,
)
from seedproof.records.shards import (
    Shard,
    ShardSource,
    canonical_order,
    natural_order,
)
from seedproof.seeds import SeedPlan
from seedproof.typing import FloatArray, IntArray

# Runs that are named in a note; of more only the number is told.
MAX_NAMED = 5


class Store:
    """A folder of runs, on any filesystem.

    Args:
        location: The store's folder.
        skip_damaged: Whether to leave out what is damaged or does not fit, and say so in
            `left_out`, instead of refusing it. Runs that did not finish are told of in any case.
        known: Runs that were read before, by id: a committed run never changes.

    Raises:
        NotFoundError: There is no store.
        StoreError: It is not finished.
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
        """Whether a location holds a store, finished or not."""
        return (location / "study.json").is_file() or (location / MARK).is_file()

    @cached_property
    def runs(self) -> tuple[RunManifest, ...]:
        """Every committed run in the order of the plan, by arm.

        A folder without `run.json` is not a run. Runs that were never planned come last, in natural
        order.
        """
        folders = (self.location / "runs").folders()
        places = [place for place in folders if (place / "run.json").is_file()]
        found = [run for place in places if (run := self._load_run(place)) is not None]
        names = dict.fromkeys([*self._planned(), *natural_order([run.name for run in found])])
        rank = {name: i for i, name in enumerate(names)}
        return tuple(sorted(found, key=lambda run: (run.arm, rank[run.name], run.run_id)))

    def _planned(self) -> list[str]:
        """Names of the runs in the order in which they were planned, or ingested."""
        plan = self.study.plan or {}
        if "seeds" not in plan:
            return list(self.study.runs or ())
        return [run.name for run in SeedPlan(**plan["seeds"]).assignments()]

    @property
    def notes(self) -> tuple[Message, ...]:
        """What a person should know about how the runs came into the store."""
        texts = (note for run in self.runs for note in run.facts.get("notes", ()))
        return tuple(recorded(text) for text in dict.fromkeys(texts))

    def splits(self) -> tuple[str, ...]:
        """Names of the data splits that some run has predictions for."""
        paths = [part.path.split("/") for run in self.runs for part in run.parts]
        return tuple(sorted({split for kind, split, *_ in paths if kind == "predictions"}))

    def arms(self) -> tuple[str, ...]:
        """Names of the arms that have a finished run, as the study names them."""
        planned = list((self.study.plan or {}).get("arms", ()))
        found = {run.arm for run in self.runs if run.status == "finished"}
        return (*(arm for arm in planned if arm in found), *sorted(found.difference(planned)))

    def shards(
        self, *, arm: str | None = None, split: str | None = None, alone: bool = False
    ) -> "StoreShards":
        """The finished runs of one arm on one split, aligned."""
        readers, arm = self._readers(arm, split, alone=alone, may_differ=False)
        found = StoreShards(readers, self.study.rows_per_group)
        self.left_out += self._unfinished(arm)
        return found

    def apart(
        self, *, arm: str | None = None, split: str | None = None, alone: bool = False
    ) -> list["StoreShards"]:
        """The same runs, each as a source of its own: they may have different examples."""
        readers, arm = self._readers(arm, split, alone=alone, may_differ=True)
        found = [StoreShards([reader], self.study.rows_per_group) for reader in readers]
        self.left_out += self._unfinished(arm)
        return found

    def _readers(
        self, arm: str | None, split: str | None, *, alone: bool, may_differ: bool
    ) -> tuple[list[RunReader], str]:
        """Readers of the finished runs of one arm, and the arm."""
        if not self.arms():
            raise self.no_finished_run()
        arm = _only(arm, self.arms(), "arm", "--arm")
        split = _only(split, self.splits(), "split", "--split")
        chosen = [run for run in self.runs if run.arm == arm and run.status == "finished"]
        if len(chosen) < (1 if alone else 2):
            unfinished = "".join(f" {note}" for note in self._unfinished(arm))
            raise TooFewRunsError(
                "A flip needs two runs to disagree, but arm {arm!r} of study "
                "{study!r} has {n_runs} finished run(s). "
                "Give the predictions of at least 2 runs.{unfinished}",
                arm=arm,
                study=self.study.name,
                n_runs=len(chosen),
                unfinished=unfinished,
            )
        readers = [reader for run in chosen if (reader := self._open(run, split)) is not None]
        if self.skips_damaged and not may_differ:
            readers = self._fitting(readers)
        if len(readers) < (1 if alone else 2):
            raise TooFewRunsError(
                "Of the {n_runs} runs of arm {arm!r}, {n_readable} can be read. {left_out}",
                n_runs=len(chosen),
                arm=arm,
                n_readable=len(readers),
                left_out=" ".join(map(str, self.left_out)),
                notes=tuple(self.left_out),
            )
        return readers, arm

    def no_finished_run(self) -> TooFewRunsError:
        """What to raise where no run is finished."""
        folders = (self.location / "runs").folders()
        n_failed = sum((place / "failure.json").is_file() for place in folders)
        if not n_failed:
            return TooFewRunsError(
                "{location} has no finished run. Finish the study first.", location=self.location
            )
        runs = "1 run" if n_failed == 1 else f"{n_failed} runs"
        return TooFewRunsError(
            "{location} has no finished run: {runs} failed, and `seedproof status "
            "{location} --tracebacks` says why. Finish the study first.",
            location=self.location,
            runs=runs,
            n_failed=n_failed,
        )

    def _unfinished(self, arm: str) -> list[Message]:
        """Return a note on the runs that are planned for an arm and are not there, if any."""
        if self.study.runs and not self._n_unreadable:
            there = {run.name for run in self.runs}
            lost = [name for name in self.study.runs if name not in there]
            if lost:
                note = Message(
                    "ingested-runs-missing",
                    "{n_missing} of {n_planned} runs that were ingested {verb} missing: {listed}. "
                    "Restore the folder from a copy, or ingest again.",
                    n_missing=len(lost),
                    n_planned=len(self.study.runs),
                    verb="is" if len(lost) == 1 else "are",
                    listed=listed(lost),
                    runs=tuple(lost),
                )
                return [note]
        plan = self.study.plan or {}
        # Who cannot be read has no name here, and was told of already.
        if "seeds" not in plan or arm not in plan["arms"] or self._n_unreadable:
            return []
        names = [run.name for run in SeedPlan(**plan["seeds"]).assignments()]
        made = {run.name for run in self.runs if run.arm == arm}
        missing = [name for name in names if name not in made]
        if not missing:
            return []
        note = Message(
            "planned-runs-missing",
            "{n_missing} of {n_planned} planned runs{of_arm} {verb} not finished: {listed}. "
            "`seedproof status` says why.",
            n_missing=len(missing),
            n_planned=len(names),
            of_arm=f" of arm {arm!r}" if len(plan["arms"]) > 1 else "",
            verb="has" if len(missing) == 1 else "have",
            listed=listed(missing),
            arm=arm,
            runs=tuple(missing),
        )
        return [note]

    def _load_run(self, folder: Location) -> RunManifest | None:
        if folder.name in self._known:
            return self._known[folder.name]
        try:
            return _load_run(folder)
        except DamagedStoreError as error:
            self._leave_out(
                error, "The run in {folder} is left out. {why}", folder=f"runs/{folder.name}"
            )
            self._n_unreadable += 1
            return None

    def _open(self, run: RunManifest, split: str) -> RunReader | None:
        try:
            return RunReader(self.location, run, split)
        except DamagedStoreError as error:
            self._leave_out(error, "Run {run!r} is left out. {why}", run=run.name)
            return None

    def _fitting(self, readers: list[RunReader]) -> list[RunReader]:
        """The most runs that can be measured together; of equally many the first."""
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
    """Return an error as a note quotes it: paths below the store, no advice that was taken."""
    if store is None:
        return error
    fields = {name: _below(store, value) for name, value in error.fields.items()}
    return error.replace(**(fields | ({"or_else": OR_REMAKE} if "or_else" in fields else {})))


def _below(store: Location, value: object) -> object:
    """Return a field of an error in which locations are below the store's folder."""
    if isinstance(value, Location):
        return str(value).removeprefix(f"{store}/")
    if isinstance(value, Message):
        return value.replace(**{name: _below(store, one) for name, one in value.fields.items()})
    return value


def listed(names: Sequence[str]) -> str:
    """Names of some runs, or of the first few and how many more there are."""
    found = ", ".join(map(repr, names[:MAX_NAMED]))
    return found if len(names) <= MAX_NAMED else f"{found} and {len(names) - MAX_NAMED} more"


def _load_run(folder: Location) -> RunManifest:
    run = RunManifest.load(folder)
    if run.run_id != folder.name:
        raise DamagedStoreError(
            "{folder} holds the run {run_id!r}, which belongs into a folder of that name. "
            "Rename the folder, or remove it if it is a copy.",
            folder=folder,
            run_id=run.run_id,
        )
    return run


def _only(given: str | None, known: Sequence[str], noun: str, option: str) -> str:
    if not known:
        raise TooFewRunsError(
            "No finished run of the store has predictions. Log them with run.log_predictions."
        )
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
    """Aligned runs of a store, as shards.

    Args:
        readers: The runs.
        rows_per_group: Rows of every group but the last; None if the first run tells.

    Raises:
        MissingExampleError: The runs do not hold the same examples.
        LabelConflictError: The runs do not have the same gold labels.
    """

    def __init__(self, readers: Sequence[RunReader], rows_per_group: int | None) -> None:
        self._readers = list(readers)
        first = self._readers[0]
        self.runs = tuple(reader.run.name for reader in self._readers)
        self.kind = first.kind
        self.predictions_only = False
        for reader in self._readers[1:]:
            check_alike(first, reader)
        rows_per_group = rows_per_group or first.groups[0].rows
        if any(group.rows != rows_per_group for group in first.groups[:-1]):
            raise StoreError(
                "The row groups of the store are uneven. Write it with RunWriter.",
                rows_per_group=rows_per_group,
            )
        self.rows_per_shard = first.groups[0].rows
        lists = {reader.classes for reader in self._readers}
        self._same_classes = len(lists) == 1
        self.classes = first.classes
        if not self._same_classes:
            self.classes = tuple(canonical_order(sorted({name for one in lists for name in one})))

    @cached_property
    def n_examples(self) -> int:
        """Examples in all shards together."""
        return sum(group.rows for group in self._readers[0].groups)

    @cached_property
    def n_labeled(self) -> int:
        """How many of them have a gold label."""
        return sum(group.n_labeled for group in self._readers[0].groups)

    @property
    def n_shards(self) -> int:
        """How many shards there are."""
        return len(self._readers[0].groups)

    def counts(self, index: int) -> tuple[int, int]:
        """Rows and labeled rows of row group `index`, as its footer says."""
        group = self._readers[0].groups[index]
        return group.rows, group.n_labeled

    @property
    def extras(self) -> tuple[str, ...]:
        """Names of the further columns."""
        return self._readers[0].extras

    @property
    def location(self) -> Location:
        """The store's folder."""
        return self._readers[0].store

    @property
    def split(self) -> str:
        """The data split that was predicted."""
        return self._readers[0].split

    @property
    def manifests(self) -> tuple[RunManifest, ...]:
        """What each run was made under: seeds, versions, times."""
        return tuple(reader.run for reader in self._readers)

    def shard(self, index: int) -> Shard:
        """Row group `index` of every run."""
        first = self._readers[0]
        extras = [EXTRA_PREFIX + name for name in first.extras]
        facts = first.read(index, ["example", "label", *extras])
        ids = pa.concat_arrays(facts.column("example").chunks)
        labels = self._labels(facts, first) if self.n_labeled else None
        if not self._same_classes and labels is not None:
            self._compare_labels(index, labels)
        carried = facts.select(extras).rename_columns(list(first.extras)) if extras else None
        top = None
        if self.kind is Kind.PROBS and not self.predictions_only:
            probs = self._probs(index, len(ids))
            return Shard(index, ids, labels, probs=probs, predictions=None, extras=carried)
        if self.kind is Kind.TOP and not self.predictions_only:
            top = self._top(index)
            predictions = most_probable_of_top(*top)
        else:
            predictions = np.stack(
                [self._common(reader.predictions(index), reader) for reader in self._readers]
            )
        return Shard(index, ids, labels, None, predictions, extras=carried, top=top)

    def predictions_alone(self) -> "StoreShards":
        """The same runs with no more than their predicted classes, which take the fewest bytes."""
        narrowed = copy(self)
        narrowed.predictions_only = True
        return narrowed

    def _probs(self, index: int, n_rows: int) -> FloatArray:
        """One array of all runs; what Parquet needed to read a run is freed before the next."""
        whole = np.empty((len(self._readers), n_rows, len(self.classes)), dtype=np.float32)
        for values, reader in zip(whole, self._readers, strict=True):
            values[:] = reader.probs(index)
        return whole

    def _top(self, index: int) -> TopProbs:
        found = [reader.top(index) for reader in self._readers]
        return TopProbs(*(np.stack(values) for values in zip(*found, strict=True)))

    def _labels(self, facts: pa.Table, reader: RunReader) -> IntArray:
        return self._common(to_numpy(facts.column("label"), missing=UNLABELED), reader)

    def _common(self, indices: IntArray, reader: RunReader) -> IntArray:
        """Class indices of one run as indices into the classes of all runs."""
        if self._same_classes:
            return indices
        place = {name: i for i, name in enumerate(self.classes)}
        table = np.array([*(place[name] for name in reader.classes), UNLABELED], dtype=np.int32)
        return table[indices]

    def _compare_labels(self, index: int, labels: IntArray) -> None:
        for reader in self._readers[1:]:
            if not np.array_equal(self._labels(reader.read(index, ["label"]), reader), labels):
                raise label_conflict(self._readers[0], reader)
