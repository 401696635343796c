"""From a table in any order to the runs of a store: checked, sorted out of core, aligned."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.errors import (
    ClassesError,
    ColumnError,
    DtypeError,
    EmptyInputError,
    LabelConflictError,
    MissingExampleError,
    MissingValueError,
    StoreError,
    TooFewRunsError,
    UnknownLabelError,
)
from seedproof.records.arrow import to_numpy
from seedproof.records.checks import SUM_TOLERANCE
from seedproof.records.columns import Roles
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.normalize import index_names, unique_names
from seedproof.records.partition import MAX_NAMES, Partition
from seedproof.records.probabilities import UNLABELED
from seedproof.records.run_reader import RunReader
from seedproof.records.schema import Kind, Layout, Values, digest
from seedproof.records.shards import canonical_order, natural_order
from seedproof.records.writer import RunWriter
from seedproof.typing import IntArray

if TYPE_CHECKING:
    import duckdb

MAX_CLASSES = MAX_RUNS = MAX_NAMES
# So many different numbers between 0 and 1 are probabilities, however rounded.
MOST_ROUND = 10
# The split that tables are about.
SPLIT = "all"
NUMBER_TEXT = re.compile(r"^-?\d*\.?\d+(e[+-]?\d+)?$", re.IGNORECASE)
WHOLE_TEXT = re.compile(r"^(-?\d+)(\.0*)?$")


class Phases(Protocol):
    """Called as rows come in, so that somebody can watch."""

    def __call__(self, phase: str, done: int, total: int) -> None:
        """Say that a phase (checking, reading, sorting, writing) has done `done` of `total`."""


@dataclass(frozen=True)
class StoredPrecision:
    """How exact the tables' probabilities are."""

    half: bool = False  # whether all of them have half precision, and are kept in it
    tolerance: float = SUM_TOLERANCE  # how far from one the probabilities of a row may sum to


class SortedRows:
    """Gathered rows on their sorted way into a store.

    Their columns are r (run), e (example), l (label), y (prediction) or p0, p1, … (probabilities),
    and x0, x1, … (extras).
    """

    def __init__(
        self,
        db: "duckdb.DuckDBPyConnection",
        gathered: Partition,
        folder: Path,
        roles: Roles,
        *,
        precision: "StoredPrecision",
        least_runs: int = 2,
        classes: Sequence[str] | None = None,
        may_differ: bool = False,
        order: Sequence[str] = (),
        progress: Phases | None = None,
    ) -> None:
        self._may_differ = may_differ
        self._db = db
        self._gathered = gathered
        self._folder = folder
        self._roles = roles
        self._precision = precision
        self._progress = progress
        self._n_rows = self._count_rows()
        runs = list(order) or natural_order(list(gathered.names["r"]))
        self._runs = check_runs(runs, roles, least_runs=least_runs)
        self._text_ids = not gathered.integer_ids
        self._kind = Kind.PROBS if roles.probs else Kind.LABELS
        self._classes, spelling = find_classes(gathered.names, self._n_rows, roles.classes, classes)
        # What is missing has the index -1, and so the last entry.
        self._class_of = {
            column: np.array([*(spelling[name] for name in names), UNLABELED], dtype=np.int32)
            for column, names in gathered.names.items()
            if column != "r"
        }

    def _one(self, sql: str, *parameters: object) -> tuple[object, ...]:
        # A result that is not read to its end would block the connection.
        found = self._db.execute(sql, parameters).fetchall()
        return tuple(found[0]) if found else ()

    def _count_rows(self) -> int:
        n_rows = self._gathered.n_rows
        if not n_rows:
            raise EmptyInputError("The table has no rows. Give one row for each run and example.")
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
        """Which further columns say the same in all runs of an example, and which do not."""
        names = self._roles.extras
        if not names:
            return [], []
        # Digests, because DuckDB cannot spill counts of distinct texts to disk.
        digests = [
            f"CASE WHEN x{i} IS NOT NULL THEN hash(x{i}) END AS h{i}" for i in range(len(names))
        ]
        differ = [f"min(h{i}) < max(h{i}) AS d{i}" for i in range(len(names))]
        any_differ = [f"coalesce(bool_or(d{i}), false)" for i in range(len(names))]
        columns = ["e", *(f"x{i}" for i in range(len(names)))]
        with self._reading("gathered", columns):
            found = self._one(
                f"SELECT {', '.join(any_differ)} FROM (SELECT {', '.join(differ)} "
                f"FROM (SELECT e, {', '.join(digests)} FROM gathered) GROUP BY e)"
            )
        kept = [index for index, differs in enumerate(found) if not differs]
        return kept, [name for name, differs in zip(names, found, strict=True) if differs]

    def write(self, store: Location, extras: Sequence[int], notes: Sequence[str] = ()) -> None:
        """Write every run that is not there yet, then `study.json`."""
        layout = Layout(
            self._kind,
            self._classes,
            text_ids=self._text_ids,
            extras=tuple((self._roles.extras[index], pa.string()) for index in extras),
            half=self._precision.half,
        )
        store.make_folder()
        first: list[tuple[int, int, str, str]] = []
        done = 0
        for name in self._runs:
            # What belongs to the example is kept once, with the first run.
            carried = () if first else extras
            groups = self._written(store, name)
            if groups is None:
                facts = {"notes": list(notes)} if notes else {}
                run = RunManifest(run_id=_run_id(name), name=name, facts=facts)
                groups = self._write_run(store, run, layout, extras=carried, done=done)
            first = first or groups
            if groups != first and not self._may_differ:
                self._explain_difference()
            done += self._gathered.rows[self._index(name)]
            self._tell("sorting", done)
            self._tell("writing", done)
        if not (store / "study.json").is_file():
            StudyManifest("ingested", layout.rows_per_group, runs=list(self._runs)).write(store)

    def _index(self, name: str) -> int:
        return self._gathered.names["r"].index(name)

    def _tell(self, phase: str, done: int) -> None:
        if self._progress is not None:
            self._progress(phase, done, self._n_rows)

    def _written(self, store: Location, name: str) -> list[tuple[int, int, str, str]] | None:
        """The row groups of a run that an earlier process has committed."""
        folder = store / "runs" / _run_id(name)
        if (folder / "run.json").is_file():
            reader = RunReader(store, RunManifest.load(folder), SPLIT)
            return [group.examples for group in reader.groups]
        if folder.is_folder():
            folder.files.delete_dir(folder.path)
        return None

    def _write_run(
        self, store: Location, run: RunManifest, layout: Layout, *, extras: Sequence[int], done: int
    ) -> list[tuple[int, int, str, str]]:
        """The row groups of a run, written now."""
        writer = RunWriter(
            store,
            run,
            layout if extras else replace(layout, extras=()),
            rows_per_group=layout.rows_per_group,
            split=SPLIT,
            tolerance=self._precision.tolerance,
        )
        n_written = 0
        with self._sorted(run.name, extras, layout, done) as reader, writer:
            for batch in reader:
                ids, labels, values, further = self._unpack(batch, run.name, extras)
                writer.write(ids, labels, values, further)
                n_written += len(ids)
                self._tell("writing", done + n_written)
            self._check_sorted(run.name, n_written)
        return [group.examples for group in writer.groups]

    def _check_sorted(self, name: str, n_written: int) -> None:
        """Accept as many sorted rows of a run as were read; the run is not committed otherwise."""
        n_read = self._gathered.rows[self._index(name)]
        if n_written != n_read:
            raise StoreError(
                "Run {run!r} has {n_read:,} rows, but sorting gave {n_written:,}. Do the same "
                "again, and report it as a bug if it happens twice.",
                run=name,
                n_read=n_read,
                n_written=n_written,
            )

    @contextmanager
    def _sorted(
        self, name: str, extras: Sequence[int], layout: Layout, done: int
    ) -> Iterator[pa.RecordBatchReader]:
        """The rows of a run by example."""
        labels = ["l"] if self._roles.label else []
        values = [f"p{i}" for i in range(len(self._roles.probs))] or ["y"]
        further = [f"x{index}" for index in extras]
        columns = [*labels, *values, *further]
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
        """Inside, DuckDB has a table of gathered rows, which it can read once."""
        run_idx = None if name is None else self._index(name)
        batches = self._gathered.batches(self._folder, columns, run_idx)
        first = next(batches)

        def counted() -> Iterator[pa.RecordBatch]:
            n_read = done
            for batch in chain([first], batches):
                n_read += len(batch)
                if name is not None:
                    self._tell("sorting", n_read)
                yield batch

        self._db.register(table, pa.RecordBatchReader.from_batches(first.schema, counted()))
        try:
            yield
        finally:
            self._db.unregister(table)

    def _unpack(
        self, batch: pa.RecordBatch, run: str, extras: Sequence[int]
    ) -> tuple[pa.Array, IntArray, Values, list[pa.Array]]:
        ids = batch.column("e")
        labels: IntArray = np.full(len(batch), UNLABELED, dtype=np.int32)
        if self._roles.label:
            labels = self._indices("l", batch)
        further = [batch.column(f"x{index}") for index in extras]
        if self._kind is Kind.LABELS:
            return ids, labels, self._indices("y", batch), further
        probs = np.empty((len(batch), len(self._roles.probs)), dtype=np.float32)
        for index, name in enumerate(self._roles.probs):
            column = batch.column(f"p{index}")
            if column.null_count:
                row = pc.index(column.is_null(), value=True).as_py()
                raise MissingValueError(
                    "Example {example!r} of run {run!r} has "
                    "no value in {column!r}. Fill it in, or leave the example out of every run.",
                    example=ids[row].as_py(),
                    run=run,
                    column=name,
                )
            probs[:, index] = to_numpy(column)
        return ids, labels, probs, further

    def _indices(self, column: str, batch: pa.RecordBatch) -> IntArray:
        """Class index of each name; unlabeled where it is missing."""
        positions = to_numpy(batch.column(column))
        return np.asarray(self._class_of[column][positions])

    def _load_facts(self) -> None:
        """Make the table `facts` of runs, examples and labels by name."""
        labels = ["l"] if self._roles.label else []
        names = self._gathered.names
        with self._reading("gathered", ["e", *labels]):
            label = "l_names[l + 1]" if labels else "NULL"
            self._db.execute(
                f"CREATE TEMP TABLE facts AS SELECT r_names[r + 1] AS r, e, {label} AS l "
                "FROM gathered, (SELECT ?::VARCHAR[] AS r_names, ?::VARCHAR[] AS l_names)",
                [names["r"], names["l"]],
            )

    def _explain_difference(self) -> NoReturn:
        """Say which example is missing where, or which label differs."""
        self._load_facts()
        lacking = self._one(
            "SELECT r, total - n, total FROM (SELECT r, count(*) AS n "
            "FROM (SELECT DISTINCT r, e FROM facts) GROUP BY r), "
            "(SELECT count(*) AS total FROM (SELECT DISTINCT e FROM facts)) "
            "WHERE n < total ORDER BY n, r LIMIT 1"
        )
        if lacking:
            run, n_missing, total = lacking
            (example,) = self._one(
                "SELECT min(e) FROM (SELECT e FROM facts EXCEPT SELECT e FROM facts WHERE r = ?)",
                run,
            )
            raise MissingExampleError(
                "Run {run!r} lacks {n_missing} of {n_examples} examples, such as {example!r}. "
                "Give every run the same examples, or drop those that some run lacks with "
                "--common-examples (common_examples=True in Python).",
                run=run,
                n_missing=n_missing,
                n_examples=total,
                example=example,
            )
        # An empty text is a label, unlike nothing.
        example, one, other = self._one(
            "SELECT e, min(l), max(l) FROM facts GROUP BY e "
            "HAVING min(l) < max(l) OR count(l) NOT IN (0, count(*)) ORDER BY e LIMIT 1"
        )
        another = "none" if one == other else repr(other)
        raise LabelConflictError(
            "Example {example!r} has the label {label!r} in one run and {another} in another. "
            "An example has one right answer: give the same labels in every run.",
            example=example,
            label=one,
            another=another,
            other_label=None if one == other else other,
        )


def check_runs(runs: list[str], roles: Roles, *, least_runs: int) -> list[str]:
    """Accept the names of as many runs as there can be."""
    if len(runs) > MAX_RUNS:
        raise ColumnError(
            "The column {column!r} has more than {at_most:,} different values, so "
            "it does not say which training a row is from. Name the one that does with --run.",
            column=roles.run,
            at_most=MAX_RUNS,
        )
    if len(runs) < least_runs:
        raise TooFewRunsError(
            "A flip needs two runs to disagree, but there is only run {run!r}. "
            "Give the predictions of at least 2 trainings.",
            run=runs[0],
        )
    return runs


def find_classes(
    found: Mapping[str, Sequence[str]],
    n_rows: int,
    of_columns: tuple[str, ...],
    named: Sequence[str] | None,
) -> tuple[tuple[str, ...], dict[str, int]]:
    """Class names, and the index of each way in which labels and predictions spell them.

    Labels are `found["l"]`, predictions `found["y"]`; `of_columns` are the classes of probability
    columns, `named` those that the user gave.
    """
    _refuse_regression(found["y"], n_rows)
    spelled = {*found["l"], *found["y"]}
    if len(spelled) > MAX_CLASSES:
        raise ClassesError(
            "There are more than {at_most:,} different predictions. Multi-label and "
            "regression outputs are not measured; map free text to answers first.",
            at_most=MAX_CLASSES,
        )
    whole, known_classes = _spellings(spelled), of_columns
    if named is not None:
        names = unique_names(named, len(named), "class", ClassesError)
        by_index = index_names(names)
        whole = {name: by_index.get(one, one) for name, one in whole.items()}
        known_classes = known_classes or tuple(canonical_order(sorted(names)))
    classes = known_classes or tuple(canonical_order(sorted(set(whole.values()))))
    place = {name: i for i, name in enumerate(classes)}
    spelling = {name: place.get(name, place.get(whole[name])) for name in spelled}
    unknown = sorted(name for name, index in spelling.items() if index is None)
    if unknown:
        shown = ", ".join(classes[:5]) + (", …" if len(classes) > 5 else "")
        raise UnknownLabelError(
            "The label {label!r} is none of the {n_classes} classes ({shown}). "
            "Labels must be spelled like the classes in the column names.",
            label=unknown[0],
            n_classes=len(classes),
            shown=shown,
        )
    known = {name: index for name, index in spelling.items() if index is not None}
    labels, predicted = ({known[n] for n in found[c]} for c in "ly")
    if labels and predicted and labels.isdisjoint(predicted):
        raise UnknownLabelError(
            "No label is ever predicted: labels such as {label!r}, predictions such "
            "as {prediction!r}. Write both in the same way.",
            label=min(found["l"]),
            prediction=min(found["y"]),
        )
    return classes, known


def _run_id(name: str) -> str:
    return digest(name.encode())


def _refuse_regression(predictions: Sequence[str], n_rows: int) -> None:
    """Refuse numbers that hardly ever repeat, and probabilities: they are not classes."""
    if len(predictions) > MOST_ROUND and all(NUMBER_TEXT.match(name) for name in predictions):
        numbers = [float(name) for name in predictions]
        if min(numbers) >= 0 and max(numbers) <= 1:
            raise DtypeError(
                "Predictions such as {prediction!r} look like probabilities. Name the class that "
                "they are the probability of: --positive CLASS, or positive= in Python.",
                prediction=predictions[0],
                option="positive",
            )
    if len(predictions) <= n_rows / 2 or all(WHOLE_TEXT.match(name) for name in predictions):
        return
    if all(NUMBER_TEXT.match(name) for name in predictions):
        raise DtypeError(
            "Predictions such as {prediction!r} are numbers that hardly ever repeat: that is "
            "regression, which is not measured. "
            "Give predicted classes, or one probability a class.",
            prediction=predictions[0],
        )


def _spellings(names: set[str]) -> dict[str, str]:
    """Class of each name: where all are numbers, "1" and "1.0" are one class."""
    numeric = all(WHOLE_TEXT.match(name) for name in names)
    return {name: WHOLE_TEXT.sub(r"\1", name) if numeric else name for name in names}
