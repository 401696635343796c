"""Read a store: its runs, and their row groups side by side."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from seedproof.errors import (
    DamagedStoreError,
    InputError,
    LabelConflictError,
    MissingExampleError,
    NotFoundError,
    OptionError,
    StoreError,
    TooFewRunsError,
)
from seedproof.records.checks import HALF_SUM_TOLERANCE
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.part_files import PartFiles
from seedproof.records.schema import (
    EXTRA_PREFIX,
    UNLABELED,
    Group,
    Kind,
    floats_from_binary,
    integers_from_binary,
    labels_digest,
)
from seedproof.records.shards import Shard, canonical_order
from seedproof.typing import FloatArray, IntArray

# Every page but the last of a row group has more rows than this.
ROWS_APART = 512


class Store:
    """A folder of runs, on any filesystem.

    Args:
        location: The store's folder.

    Raises:
        NotFoundError: There is no store.
    """

    def __init__(self, location: Location) -> None:
        self.location = location
        self.study = StudyManifest.load(location)

    @staticmethod
    def is_at(location: Location) -> bool:
        """Whether a location holds a store."""
        return (location / "study.json").is_file()

    @cached_property
    def runs(self) -> tuple[RunManifest, ...]:
        """Every committed run, by name; a folder without `run.json` is no run."""
        folders = (self.location / "runs").folders()
        found = [_load_run(place) for place in folders if (place / "run.json").is_file()]
        names = canonical_order(sorted({run.name for run in found}))
        rank = {name: i for i, name in enumerate(names)}
        return tuple(sorted(found, key=lambda run: (run.arm, rank[run.name], run.run_id)))

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
        """The finished runs of one arm on one split, aligned.

        Args:
            arm: Which arm; may be left out if there is only one.
            split: Which split; may be left out if there is only one.
            alone: Whether a single run will do.

        Returns:
            A source of shards.

        Raises:
            TooFewRunsError: Fewer finished runs than needed.
        """
        arm = _only(arm, self.arms(), "arm", "--arm")
        split = _only(split, self.splits(), "split", "--split")
        chosen = [run for run in self.runs if run.arm == arm and run.status == "finished"]
        if len(chosen) < (1 if alone else 2):
            raise TooFewRunsError(
                f"A flip needs two runs to disagree, but arm {arm!r} of study "
                f"{self.study.name!r} has {len(chosen)} finished run(s). "
                "Give the predictions of at least 2 runs."
            )
        readers = [RunReader(self.location, run, split) for run in chosen]
        return StoreShards(readers, self.study.rows_per_group)


def _load_run(folder: Location) -> RunManifest:
    run = RunManifest.load(folder)
    if run.run_id != folder.name:
        raise DamagedStoreError(
            f"{folder} holds the run {run.run_id!r}, which belongs into a folder of that name. "
            "Rename the folder, or remove it if it is a copy."
        )
    return run


def _only(given: str | None, known: Sequence[str], noun: str, option: str) -> str:
    if not known:
        raise TooFewRunsError(
            "The store has no finished run. Finish the study first."
            if noun == "arm"
            else "No finished run of the store has predictions. Log them with run.log_predictions."
        )
    if given is None and len(known) > 1:
        raise OptionError(
            f"The store has {len(known)} {noun}s ({', '.join(known)}). Choose one with {option}."
        )
    if given is not None and given not in known:
        raise OptionError(f"The store has no {noun} {given!r}. Known: {', '.join(known)}.")
    return known[0] if given is None else given


class RunReader:
    """The predictions of one committed run on one split.

    Args:
        store: The store's folder.
        run: The run's manifest.
        split: Name of the data split.

    Raises:
        DamagedStoreError: A file differs from what was committed.
    """

    def __init__(self, store: Location, run: RunManifest, split: str) -> None:
        self.store, self.run, self.split = store, run, split
        self._files = PartFiles(store, run, f"predictions/{split}/")
        if not self._files.facts:
            raise NotFoundError(f"Run {run.name!r} has no predictions for the split {split!r}.")
        self.kind = Kind(self._files.facts["kind"])
        self.classes = tuple(self._files.facts["classes"])
        self.groups = self._files.groups

    def read(self, group_idx: int, columns: Sequence[str]) -> pa.Table:
        """Some columns of one row group.

        Args:
            group_idx: Which row group, counted over all parts.
            columns: Names of the columns.

        Returns:
            Their rows.

        Raises:
            DamagedStoreError: A page's checksum differs, or its header lies.
        """
        rows = self._files.read(group_idx, columns)
        if not _is_as_written(rows, self.groups[group_idx], len(self.classes)):
            raise self._files.damaged(self._files.file_of(group_idx))
        return rows

    @cached_property
    def extras(self) -> tuple[str, ...]:
        """Columns carried along, by the user's own names."""
        names = self._files.columns()
        return tuple(n.removeprefix(EXTRA_PREFIX) for n in names if n.startswith(EXTRA_PREFIX))


def _is_as_written(rows: pa.Table, group: Group, n_classes: int) -> bool:
    """Whether rows can be what was committed.

    Checksums cover what is in a page, not its header, which says how much that is and how it is
    encoded. A header that lies garbles the whole page, so that a few of its rows tell.
    """
    if len(rows) != group.rows:
        return False
    fine = True
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        match name:
            case "label":
                labels = column.fill_null(UNLABELED).to_numpy()
                fine &= labels_digest(labels) == group.labels_digest
            case "prediction" | "top_classes":
                is_plain = name == "prediction"
                indices = column.to_numpy() if is_plain else integers_from_binary(column)
                fine &= bool(indices.min() >= 0 and indices.max() < n_classes)
            case "probs" | "top_probs":
                values = floats_from_binary(column)
                few = np.concatenate([values[::ROWS_APART], values[-1:]]).astype(np.float64)
                sums = few.sum(axis=1)
                least = 1.0 if name == "probs" else 0.0
                # False for NaN. What was committed may stray by the tolerance of half precision.
                fine &= bool(few.min() >= 0.0 and np.all(sums <= 1.0 + 2 * HALF_SUM_TOLERANCE))
                fine &= bool(np.all(sums >= least - 2 * HALF_SUM_TOLERANCE))
    return fine


class StoreShards:
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
        self._check_alike(rows_per_group)
        lists = {reader.classes for reader in self._readers}
        self._same_classes = len(lists) == 1
        self.classes = first.classes
        if not self._same_classes:
            self.classes = tuple(canonical_order(sorted({name for one in lists for name in one})))

    def _check_alike(self, rows_per_group: int | None) -> None:
        first = self._readers[0]
        rows_per_group = rows_per_group or first.groups[0].rows
        for reader in self._readers[1:]:
            names = f"runs {first.run.name!r} and {reader.run.name!r}"
            if reader.kind is not first.kind:
                raise InputError(f"The {names} hold {first.kind} and {reader.kind}: log one kind.")
            if reader.kind is not Kind.LABELS and reader.classes != first.classes:
                raise InputError(f"The {names} have different classes: log the same ones.")
            if [g[:1] + g[2:3] for g in reader.groups] != [g[:1] + g[2:3] for g in first.groups]:
                raise MissingExampleError(
                    f"The {names} hold different examples. Log the same ids in every run."
                )
            # Digests are of indices: with other classes, names are compared when they are read.
            alike = reader.classes == first.classes
            if any(
                mine.n_labeled != theirs.n_labeled
                or (alike and mine.labels_digest != theirs.labels_digest)
                for mine, theirs in zip(first.groups, reader.groups, strict=True)
            ):
                raise _conflict(first, reader)
        if any(group.rows != rows_per_group for group in first.groups[:-1]):
            raise StoreError("The row groups of the store are uneven. Write it with RunWriter.")

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

    @property
    def rows_per_shard(self) -> int:
        """Examples in every shard but the last."""
        return self._readers[0].groups[0].rows

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
        if self.kind is Kind.PROBS:
            probs = self._probs(index, len(ids))
            return Shard(index, ids, labels, probs=probs, predictions=None, extras=carried)
        predictions = np.stack([self._predictions(reader, index) for reader in self._readers])
        return Shard(index, ids, labels, probs=None, predictions=predictions, extras=carried)

    def _probs(self, index: int, n_rows: int) -> FloatArray:
        """One array of all runs; what Parquet needed to read a run is freed before the next."""
        whole = np.empty((len(self._readers), n_rows, len(self.classes)), dtype=np.float32)
        for values, reader in zip(whole, self._readers, strict=True):
            values[:] = floats_from_binary(reader.read(index, ["probs"]).column("probs"))
        return whole

    def _predictions(self, reader: RunReader, index: int) -> IntArray:
        if self.kind is Kind.TOP:
            table = reader.read(index, ["top_classes", "top_probs"])
            best = floats_from_binary(table.column("top_probs")).argmax(axis=1)
            classes = integers_from_binary(table.column("top_classes"))
            return np.take_along_axis(classes, best[:, None], axis=1)[:, 0]
        column = reader.read(index, ["prediction"]).column("prediction")
        return self._common(column.to_numpy(), reader)

    def _labels(self, facts: pa.Table, reader: RunReader) -> IntArray:
        column = facts.column("label").fill_null(UNLABELED)
        return self._common(column.to_numpy(), reader)

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
                raise _conflict(self._readers[0], reader)


def _conflict(first: RunReader, second: RunReader) -> LabelConflictError:
    return LabelConflictError(
        f"The runs {first.run.name!r} and {second.run.name!r} have different gold labels. "
        "An example has one right answer: log the same labels in every run."
    )
