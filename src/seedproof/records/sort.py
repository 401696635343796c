"""Write partitioned rows as the runs of a store: checked, sorted out of core, aligned."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.errors import (
    ColumnError,
    DamagedStoreError,
    EmptyInputError,
    LabelConflictError,
    MissingExampleError,
    MissingValueError,
    StoreError,
    TooFewRunsError,
)
from seedproof.records.arrow import to_numpy
from seedproof.records.class_names import find_classes
from seedproof.records.durability import Syncs
from seedproof.records.levels import Repeat, settings_of, split_repeats
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.normalize import joined_names
from seedproof.records.partition import Partition
from seedproof.records.probabilities import UNLABELED
from seedproof.records.roles import Roles
from seedproof.records.run_reader import RunReader
from seedproof.records.schema import Gold, Kind, Layout, Values, digest
from seedproof.records.shards import MAX_RUNS, natural_order
from seedproof.records.tables import TableOptions
from seedproof.records.text_tables import text_columns_of
from seedproof.records.writer import RunWriter
from seedproof.typing import IntArray

if TYPE_CHECKING:
    import duckdb

# Split of all tables.
SPLIT = "all"


class Phases(Protocol):
    """Progress of an ingest."""

    def __call__(self, phase: str, done: int, total: int) -> None:
        """Report progress of a phase: checking, reading, sorting or writing."""


class SortedRows:
    """Writes a partition into a store, sorted.

    Its columns are r (run), e (example), l (label), y (prediction) or p0, p1, … (probabilities),
    or t (target) and v (number), or g (reference) or c (mark), a (text) and q (meaning), and x0,
    x1, … (extras). `half` keeps probabilities in half precision.
    """

    def __init__(
        self,
        db: "duckdb.DuckDBPyConnection",
        gathered: Partition,
        folder: Path,
        roles: Roles,
        options: TableOptions,
        *,
        half: bool,
        tolerance: float,
        progress: Phases | None = None,
    ) -> None:
        self._may_differ = options.may_differ
        self._db = db
        self._gathered = gathered
        self._folder = folder
        self._roles = roles
        self._half, self._tolerance = half, tolerance
        self._progress = progress
        self._n_rows = self._count_rows()
        runs = check_runs(gathered.names["r"], roles, options)
        self._levels = [level for level, _ in roles.levels]
        # Each run as it is in the partition, with its name at each level.
        self._repeats: dict[str, Repeat] = {run: (run,) for run in runs}
        if self._levels:
            self._levels, self._repeats = split_repeats(runs, self._levels)
            settings_of(self._levels, list(self._repeats.values()))  # refuses incomplete levels
        self._index = {name: index for index, name in enumerate(gathered.names["r"])}
        self._text_ids = not gathered.integer_ids
        self._classes: tuple[str, ...] = ()
        spelling: dict[str, int] = {}
        if roles.value is not None:
            self._kind = Kind.NUMBERS
        elif roles.answer is not None:
            self._kind = Kind.TEXTS
        else:
            self._kind = Kind.PROBS if roles.probs else Kind.LABELS
            self._classes, spelling = find_classes(
                gathered.names, self._n_rows, roles.classes, options.classes
            )
        self.notes = joined_names(spelling) + joined_names(gathered.joined, "examples")
        # Missing values have the index -1, which is the last entry.
        self._class_of = {
            column: np.array([*(spelling[name] for name in names), UNLABELED], dtype=np.int32)
            for column, names in gathered.names.items()
            if column != "r"
        }

    @property
    def _gold(self) -> list[str]:
        """The column of gold labels, targets or references, if there is one."""
        return [name for name in ("l", "t", "g") if name in self._gathered.schema]

    def _first_row(self, sql: str, *parameters: object) -> tuple[object, ...]:
        # A result that is not read to its end would block the connection.
        rows = self._db.execute(sql, parameters).fetchall()
        return tuple(rows[0]) if rows else ()

    def _count_rows(self) -> int:
        n_rows = self._gathered.n_rows
        if not n_rows:
            raise EmptyInputError("The table has no rows. Write one row for each run and example.")
        for name, column in (
            ("r", self._roles.run),
            ("e", self._roles.example),
            ("y", self._roles.prediction),
        ):
            if count := self._gathered.missing[name]:
                raise MissingValueError(
                    "The column {column!r} is empty in {n_missing:,} of {n_rows:,} rows. "
                    "Fill it in, or remove these rows.",
                    column=column,
                    n_missing=count,
                    n_rows=n_rows,
                )
        return n_rows

    def constant_extras(self) -> tuple[list[int], list[str]]:
        """Return indices of further columns that are equal in all runs, and names of the others."""
        names = self._roles.extras
        if not names:
            return [], []
        # Digests, because DuckDB cannot spill counts of distinct texts to disk.
        numbers = range(len(names))
        digests = [f"CASE WHEN x{i} IS NOT NULL THEN hash(x{i}) END AS h{i}" for i in numbers]
        differ = [f"min(h{i}) < max(h{i}) AS d{i}" for i in numbers]
        any_differ = [f"coalesce(bool_or(d{i}), false)" for i in numbers]
        with self._reading("gathered", ["e", *(f"x{i}" for i in numbers)]):
            differs = self._first_row(
                f"SELECT {', '.join(any_differ)} FROM (SELECT {', '.join(differ)} "
                f"FROM (SELECT e, {', '.join(digests)} FROM gathered) GROUP BY e)"
            )
        kept = [i for i in numbers if not differs[i]]
        return kept, [names[i] for i in numbers if differs[i]]

    def write(self, store: Location, extras: Sequence[int], notes: Sequence[str] = ()) -> None:
        """Write every run that does not exist yet, then `study.json`."""
        layout = Layout(
            self._kind,
            self._classes,
            text_ids=self._text_ids,
            extras=tuple((self._roles.extras[index], pa.string()) for index in extras),
            half=self._half,
            double=self._gathered.double,
            by_meaning=self._roles.equivalent is not None,
            judged=self._roles.correct is not None,
        )
        store.make_folder()
        # Runs are forced to the disk while others are sorted, before the commit of the store.
        quick = replace(store, is_durable=False)
        first: list[tuple[int, int, str, str]] = []
        done = 0
        with Syncs() as syncs:
            for name, repeat in self._repeats.items():
                # Facts about examples are kept once, with the first run.
                carried = () if first else extras
                groups = self._written(quick, name)
                if groups is None:
                    facts: dict[str, object] = {"notes": list(notes)} if notes else {}
                    if self._levels:
                        facts["levels"] = dict(zip(self._levels, repeat, strict=True))
                    run = RunManifest(run_id=run_id_of(name), name="/".join(repeat), facts=facts)
                    groups = self._write_run(quick, name, run, layout, extras=carried, done=done)
                if store.is_durable:
                    syncs.add(_paths(store, name))
                first = first or groups
                if groups != first and not self._may_differ:
                    self._explain_difference()
                done += self._gathered.rows[self._index[name]]
                self._report("sorting", done)
                self._report("writing", done)
            if store.is_durable:
                syncs.add([Path(store.path) / "runs", Path(store.path)])
        if not (store / "study.json").is_file():
            runs = ["/".join(repeat) for repeat in self._repeats.values()]
            StudyManifest("ingested", layout.rows_per_group, runs=runs).write(store)

    def _report(self, phase: str, done: int) -> None:
        if self._progress is not None:
            self._progress(phase, done, self._n_rows)

    def _written(self, store: Location, name: str) -> list[tuple[int, int, str, str]] | None:
        """Return the row groups of a run that an earlier process has committed.

        A power failure may have left it incomplete, so it is read as a whole.
        """
        folder = store / "runs" / run_id_of(name)
        if (folder / "run.json").is_file():
            try:
                run = RunManifest.load(folder)
            except DamagedStoreError:
                run = None
            if run is not None and all(part.is_intact(folder) for part in run.parts):
                return [group.examples for group in RunReader(store, run, SPLIT).groups]
        if folder.is_folder():
            folder.files.delete_dir(folder.path)
        return None

    def _write_run(
        self,
        store: Location,
        name: str,
        run: RunManifest,
        layout: Layout,
        *,
        extras: Sequence[int],
        done: int,
    ) -> list[tuple[int, int, str, str]]:
        """Write a run, given by its name in the partition, and return its row groups."""
        writer = RunWriter(
            store,
            run,
            layout if extras else replace(layout, extras=()),
            rows_per_group=layout.rows_per_group,
            split=SPLIT,
            tolerance=self._tolerance,
        )
        n_written = 0
        with self._sorted(name, extras, layout, done) as reader, writer:
            for batch in reader:
                ids, gold, values, further = self._unpack(batch, run.name, extras)
                writer.write(ids, gold, values, further)
                n_written += len(ids)
                self._report("writing", done + n_written)
            n_read = self._gathered.rows[self._index[name]]
            if n_written != n_read:  # so the run is not committed
                raise StoreError(
                    "Run {run!r} has {n_read:,} rows, but sorting gave {n_written:,}. Try again, "
                    "and report it as a bug if it happens twice.",
                    run=run.name,
                    n_read=n_read,
                    n_written=n_written,
                )
        return [group.examples for group in writer.groups]

    @contextmanager
    def _sorted(
        self, name: str, extras: Sequence[int], layout: Layout, done: int
    ) -> Iterator[pa.RecordBatchReader]:
        """Yield a reader of the rows of a run, sorted by example."""
        values = [f"p{i}" for i in range(len(self._roles.probs))] or ["y"]
        if not self._kind.has_classes:
            values = [name for name in ("v", "a", "q", "c") if name in self._gathered.schema]
        further = [f"x{index}" for index in extras]
        columns = [*self._gold, *values, *further]
        example = "e" if self._text_ids else "CAST(e AS BIGINT)"
        query = f"SELECT {', '.join([f'{example} AS e', *columns])} FROM one_run ORDER BY {example}"
        with self._reading("one_run", ["e", *columns], name, done):
            reader = self._db.sql(query).to_arrow_reader(max(1024, layout.rows_per_group // 4))
            with reader:
                yield reader

    @contextmanager
    def _reading(
        self, table: str, columns: Sequence[str], name: str | None = None, done: int = 0
    ) -> Iterator[None]:
        """Register rows of the partition as a table of DuckDB, which can be read once."""
        run_idx = None if name is None else self._index[name]
        batches = self._gathered.batches(self._folder, columns, run_idx)
        first = next(batches)

        def counted() -> Iterator[pa.RecordBatch]:
            n_read = done
            for batch in chain([first], batches):
                n_read += len(batch)
                if name is not None:
                    self._report("sorting", n_read)
                yield batch

        self._db.register(table, pa.RecordBatchReader.from_batches(first.schema, counted()))
        try:
            yield
        finally:
            self._db.unregister(table)

    def _unpack(
        self, batch: pa.RecordBatch, run: str, extras: Sequence[int]
    ) -> tuple[pa.Array, Gold, Values, list[pa.Array]]:
        ids, further = batch.column("e"), [batch.column(f"x{index}") for index in extras]
        if self._kind is Kind.TEXTS:
            return ids, *text_columns_of(batch, self._roles), further
        if self._kind is Kind.NUMBERS:
            numbers = to_numpy(batch.column("v"), missing=np.nan)
            targets = np.full(len(batch), np.nan)
            if self._gold:
                targets = to_numpy(batch.column("t"), missing=np.nan)
            return ids, targets, numbers, further
        labels: IntArray = np.full(len(batch), UNLABELED, dtype=np.int32)
        if self._roles.label:
            labels = self._indices("l", batch)
        if self._kind is Kind.LABELS:
            return ids, labels, self._indices("y", batch), further
        probs = np.empty((len(batch), len(self._roles.probs)), dtype=np.float32)
        for index, name in enumerate(self._roles.probs):
            column = batch.column(f"p{index}")
            if column.null_count:
                row = pc.index(column.is_null(), value=True).as_py()
                raise MissingValueError(
                    "Example {example!r} of run {run!r} has no value in {column!r}. Fill it in, or "
                    "remove the example from every run.",
                    example=ids[row].as_py(),
                    run=run,
                    column=name,
                )
            probs[:, index] = to_numpy(column)
        return ids, labels, probs, further

    def _indices(self, column: str, batch: pa.RecordBatch) -> IntArray:
        """Return the class index of each name; unlabeled where it is missing."""
        positions = to_numpy(batch.column(column))
        return np.asarray(self._class_of[column][positions])

    def _load_facts(self) -> None:
        """Create the table `facts` of runs, examples and labels by name."""
        names = self._gathered.names
        runs = ["/".join(self._repeats[name]) for name in names["r"]]
        label = {"l": "l_names[l + 1]", "t": "CAST(t AS VARCHAR)", "g": "g"}
        with self._reading("gathered", ["e", *self._gold]):
            gold = label[self._gold[0]] if self._gold else "NULL"
            self._db.execute(
                f"CREATE TEMP TABLE facts AS SELECT r_names[r + 1] AS r, e, {gold} AS l "
                "FROM gathered, (SELECT ?::VARCHAR[] AS r_names, ?::VARCHAR[] AS l_names)",
                [runs, names["l"]],
            )

    def _explain_difference(self) -> NoReturn:
        """Raise an error that names the missing example, or the label that differs."""
        self._load_facts()
        lacking = self._first_row(
            "SELECT r, total - n, total FROM (SELECT r, count(*) AS n "
            "FROM (SELECT DISTINCT r, e FROM facts) GROUP BY r), "
            "(SELECT count(*) AS total FROM (SELECT DISTINCT e FROM facts)) "
            "WHERE n < total ORDER BY n, r LIMIT 1"
        )
        if lacking:
            run, n_missing, total = lacking
            (example,) = self._first_row(
                "SELECT min(e) FROM (SELECT e FROM facts EXCEPT SELECT e FROM facts WHERE r = ?)",
                run,
            )
            raise MissingExampleError(
                "Run {run!r} is missing {n_missing:,} of {n_examples:,} examples, such as "
                "{example!r}. Give every run the same examples, or drop those missing from some "
                "runs with --common-examples (common_examples=True in Python).",
                run=run,
                n_missing=n_missing,
                n_examples=total,
                example=example,
            )
        # An empty text is a label, NULL is not.
        example, label, other_label = self._first_row(
            "SELECT e, min(l), max(l) FROM facts GROUP BY e "
            "HAVING min(l) < max(l) OR count(l) NOT IN (0, count(*)) ORDER BY e LIMIT 1"
        )
        is_missing = label == other_label
        raise LabelConflictError(
            "Example {example!r} has the {noun} {label!r} in one run and {another} in another. "
            "An example has one right answer: give the same {noun}s in every run.",
            noun=self._kind.gold,
            example=example,
            label=label,
            another="none" if is_missing else repr(other_label),
            other_label=None if is_missing else other_label,
        )


def check_runs(names: Sequence[str], roles: Roles, options: TableOptions) -> list[str]:
    """Return the runs in order, unless they are too many or too few."""
    if len(names) > MAX_RUNS:
        raise ColumnError(
            "There are more than {at_most:,} runs, the most that are measured together. If "
            "{column!r} is not the column of the runs, pass the right one with --run.",
            column=roles.run,
            at_most=MAX_RUNS,
        )
    runs = list(options.names or natural_order(list(names)))
    if len(runs) < options.least_runs:
        raise TooFewRunsError(
            "Flips can be measured only with two or more runs, but there is only one: {run!r}. "
            "Pass the predictions of at least 2 runs.",
            run=runs[0],
        )
    return runs


def _paths(store: Location, name: str) -> list[Path]:
    """Return the files and folders of a run."""
    folder = Path(store.path) / "runs" / run_id_of(name)
    return [folder, *folder.rglob("*")]


def run_id_of(name: str) -> str:
    """Return the id of a run of a table."""
    return digest(name.encode())
