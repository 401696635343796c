"""From a table in any order to the runs of a store: checked, sorted out of core, aligned."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.errors import (
    ClassesError,
    DtypeError,
    EmptyInputError,
    LabelConflictError,
    MissingExampleError,
    MissingValueError,
    TooFewRunsError,
    UnknownLabelError,
)
from seedproof.records.checks import HALF_SUM_TOLERANCE, SUM_TOLERANCE
from seedproof.records.columns import Roles
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.schema import UNLABELED, Kind, Layout, Values, digest
from seedproof.records.shards import canonical_order, is_integer
from seedproof.records.writer import RunWriter
from seedproof.typing import IntArray, Progress

if TYPE_CHECKING:
    import duckdb

MAX_CLASSES = 100_000
NUMBER_TEXT = re.compile(r"^-?\d*\.?\d+(e[+-]?\d+)?$", re.IGNORECASE)
WHOLE_TEXT = re.compile(r"^(-?\d+)(\.0*)?$")
INTEGER_TEXT = "0|-?[1-9][0-9]{0,17}"


class SortedRows:
    """DuckDB's table `rows` on its sorted way into a store.

    Its columns are r (run), e (example), l (label), y (prediction) or p0, p1, … (probabilities),
    and x0, x1, … (extras).

    Args:
        db: The database that holds `rows`.
        roles: What the user's columns are.
        half: Whether probabilities have half precision.
        least_runs: How many runs there must be.
    """

    def __init__(
        self,
        db: "duckdb.DuckDBPyConnection",
        roles: Roles,
        *,
        half: bool,
        least_runs: int = 2,
    ) -> None:
        self._least_runs = least_runs
        self._db = db
        self._roles = roles
        self._tolerance = HALF_SUM_TOLERANCE if half else SUM_TOLERANCE
        self._n_rows = self._count_rows()
        self._runs = self._find_runs()
        self._text_ids = self._find_id_type()
        self._kind = Kind.PROBS if roles.probs else Kind.LABELS
        self._classes, self._spelling = self._find_classes()

    def _one(self, sql: str, *parameters: object) -> tuple[object, ...]:
        # A result that is not read to its end would block the connection.
        found = self._db.execute(sql, parameters).fetchall()
        return tuple(found[0]) if found else ()

    def _count_rows(self) -> int:
        n_rows, no_run, no_id, no_value = self._db.execute(
            "SELECT count(*), count(*) - count(r), count(*) - count(e), "
            f"count(*) - {'count(y)' if self._roles.prediction else 'count(*)'} FROM rows"
        ).fetchone() or (0, 0, 0, 0)
        if not n_rows:
            raise EmptyInputError("The table has no rows. Give one row for each run and example.")
        for count, column in (
            (no_run, self._roles.run),
            (no_id, self._roles.example),
            (no_value, self._roles.prediction),
        ):
            if count:
                raise MissingValueError(
                    f"The column {column!r} is empty in {count:,} of {n_rows:,} rows. "
                    "Fill it in, or remove these rows."
                )
        return int(n_rows)

    def _find_runs(self) -> list[str]:
        found = self._db.execute("SELECT DISTINCT r FROM rows").fetchall()
        runs = canonical_order([name for (name,) in found])
        if len(runs) < self._least_runs:
            raise TooFewRunsError(
                f"A flip needs two runs to disagree, but there is only run {runs[0]!r}. "
                "Give the predictions of at least 2 trainings."
            )
        return runs

    def _find_id_type(self) -> bool:
        if self._db.sql("SELECT e FROM rows").types[0] == "BIGINT":
            return False
        (integers,) = self._one(
            f"SELECT bool_and(regexp_full_match(e, '{INTEGER_TEXT}')) FROM rows"
        )
        return not integers

    def _find_classes(self) -> tuple[tuple[str, ...], dict[str, int]]:
        """Class names, and the index of each way in which labels and predictions spell them."""
        sources = [
            c for c, used in (("l", self._roles.label), ("y", self._roles.prediction)) if used
        ]
        found: dict[str, list[str]] = {"l": [], "y": []}
        for column in sources:
            rows = self._db.execute(
                f"SELECT DISTINCT {column} FROM rows WHERE {column} IS NOT NULL "
                f"LIMIT {MAX_CLASSES + 1}"
            ).fetchall()
            found[column] = [name for (name,) in rows]
        _refuse_regression(found["y"], self._n_rows)
        spelled = {*found["l"], *found["y"]}
        if len(spelled) > MAX_CLASSES:
            raise ClassesError(
                f"There are more than {MAX_CLASSES:,} different predictions. Multi-label and "
                "regression outputs are not measured; map free text to answers first."
            )
        whole = _spellings(spelled)
        classes = self._roles.classes or tuple(canonical_order(sorted(set(whole.values()))))
        place = {name: i for i, name in enumerate(classes)}
        spelling = {name: place.get(name, place.get(whole[name])) for name in spelled}
        unknown = sorted(name for name, index in spelling.items() if index is None)
        if unknown:
            shown = ", ".join(classes[:5]) + (", …" if len(classes) > 5 else "")
            raise UnknownLabelError(
                f"The label {unknown[0]!r} is none of the {len(classes)} classes ({shown}). "
                "Labels must be spelled like the classes in the column names."
            )
        known = {name: index for name, index in spelling.items() if index is not None}
        labels, predicted = ({known[n] for n in found[c]} for c in "ly")
        if labels and predicted and labels.isdisjoint(predicted):
            raise UnknownLabelError(
                f"No label is ever predicted: labels such as {min(found['l'])!r}, predictions such "
                f"as {min(found['y'])!r}. Write both in the same way."
            )
        return classes, known

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
        found = self._one(
            f"SELECT {', '.join(any_differ)} FROM (SELECT {', '.join(differ)} "
            f"FROM (SELECT e, {', '.join(digests)} FROM rows) GROUP BY e)"
        )
        kept = [index for index, differs in enumerate(found) if not differs]
        return kept, [name for name, differs in zip(names, found, strict=True) if differs]

    def write(self, store: Location, extras: Sequence[int], progress: Progress | None) -> None:
        """Write every run into a new store.

        Args:
            store: Where the store is made.
            extras: Which further columns to carry along.
            progress: Told how many rows are written.
        """
        layout = Layout(
            self._kind,
            self._classes,
            text_ids=self._text_ids,
            extras=tuple((self._roles.extras[index], pa.string()) for index in extras),
        )
        store.make_folder()
        StudyManifest("ingested", layout.rows_per_group).write(store)
        with self._sorted(extras, layout) as reader:
            alike = self._write_runs(store, layout, reader, extras, progress)
        # DuckDB answers no question while the reader is open.
        if not alike:
            self._explain_difference()

    def _write_runs(
        self,
        store: Location,
        layout: Layout,
        reader: pa.RecordBatchReader,
        extras: Sequence[int],
        progress: Progress | None,
    ) -> bool:
        """Whether all runs hold the same examples and labels; stops at the first that does not."""
        bare = Layout(self._kind, self._classes, text_ids=self._text_ids)
        first: list[tuple[int, int, str, str]] = []
        done = 0
        for name, batches in self._by_run(reader):
            # What belongs to the example is kept once, with the first run.
            is_first = not first
            run = RunManifest(run_id=digest(name.encode()), name=name)
            writer = RunWriter(
                store,
                run,
                layout if is_first else bare,
                rows_per_group=layout.rows_per_group,
                tolerance=self._tolerance,
            )
            with writer:
                for batch in batches:
                    ids, labels, values, further = self._unpack(batch, extras if is_first else ())
                    writer.write(ids, labels, values, further)
                    done += len(ids)
                    if progress is not None:
                        progress(done, self._n_rows)
            if is_first:
                first = [group.examples for group in writer.groups]
            elif [group.examples for group in writer.groups] != first:
                return False
        return True

    def _sorted(self, extras: Sequence[int], layout: Layout) -> pa.RecordBatchReader:
        integer_runs = all(is_integer(name) for name in self._runs)
        values = [f"p{i}" for i in range(len(self._roles.probs))] or ["y"]
        labels = ["l"] if self._roles.label else []
        further = [f"x{index}" for index in extras]
        example = "e" if self._text_ids else "CAST(e AS BIGINT) AS e"
        order = "CAST(r AS BIGINT)" if integer_runs else "r"
        query = (
            f"SELECT r, {', '.join([example, *labels, *values, *further])} FROM rows "
            f"ORDER BY {order}, {'e' if self._text_ids else 'CAST(e AS BIGINT)'}"
        )
        return self._db.sql(query).to_arrow_reader(max(1024, layout.rows_per_group // 4))

    def _by_run(
        self, reader: pa.RecordBatchReader
    ) -> Iterator[tuple[str, Iterator[pa.RecordBatch]]]:
        pieces = self._pieces(reader)
        piece = next(pieces, None)
        while piece is not None:
            name = piece.column("r")[0].as_py()

            def of_this_run(name: str = name) -> Iterator[pa.RecordBatch]:
                nonlocal piece
                while piece is not None and piece.column("r")[0].as_py() == name:
                    yield piece
                    piece = next(pieces, None)

            yield name, of_this_run()

    @staticmethod
    def _pieces(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        """Batches cut where one run ends and the next begins."""
        for batch in reader:
            runs = batch.column("r")
            changes = pc.not_equal(runs[1:], runs[:-1]).to_numpy(zero_copy_only=False)
            bounds = [0, *(np.flatnonzero(changes) + 1).tolist(), len(batch)]
            for start, stop in pairwise(bounds):
                if stop > start:
                    yield batch.slice(start, stop - start)

    def _unpack(
        self, batch: pa.RecordBatch, extras: Sequence[int]
    ) -> tuple[pa.Array, IntArray, Values, list[pa.Array]]:
        ids = batch.column("e")
        labels: IntArray = np.full(len(batch), UNLABELED, dtype=np.int32)
        if self._roles.label:
            labels = self._indices(batch.column("l"))
        further = [batch.column(f"x{index}") for index in extras]
        if self._kind is Kind.LABELS:
            return ids, labels, self._indices(batch.column("y")), further
        probs = np.empty((len(batch), len(self._roles.probs)), dtype=np.float32)
        for index, name in enumerate(self._roles.probs):
            column = batch.column(f"p{index}")
            if column.null_count:
                row = pc.index(column.is_null(), value=True).as_py()
                raise MissingValueError(
                    f"Example {ids[row].as_py()!r} of run {batch.column('r')[row].as_py()!r} has "
                    f"no value in {name!r}. Fill it in, or leave the example out of every run."
                )
            probs[:, index] = column.to_numpy(zero_copy_only=False)
        return ids, labels, probs, further

    def _indices(self, column: pa.Array) -> IntArray:
        """Class index of each name; unlabeled where it is missing."""
        encoded = column.dictionary_encode()
        table = [self._spelling[name] for name in encoded.dictionary.to_pylist()]
        positions = encoded.indices.fill_null(len(table)).to_numpy(zero_copy_only=False)
        return np.asarray(np.array([*table, UNLABELED], dtype=np.int32)[positions])

    def _explain_difference(self) -> NoReturn:
        """Say which example is missing where, or which label differs."""
        lacking = self._one(
            "SELECT r, total - n, total FROM (SELECT r, count(*) AS n "
            "FROM (SELECT DISTINCT r, e FROM rows) GROUP BY r), "
            "(SELECT count(*) AS total FROM (SELECT DISTINCT e FROM rows)) "
            "WHERE n < total ORDER BY n, r LIMIT 1"
        )
        if lacking:
            run, n_missing, total = lacking
            (example,) = self._one(
                "SELECT min(e) FROM (SELECT e FROM rows EXCEPT SELECT e FROM rows WHERE r = ?)", run
            )
            raise MissingExampleError(
                f"Run {run!r} lacks {n_missing} of {total} examples, such as {example!r}. "
                "Give every run the same examples."
            )
        # An empty text is a label, unlike nothing.
        example, one, other = self._one(
            "SELECT e, min(l), max(l) FROM rows GROUP BY e "
            "HAVING min(l) < max(l) OR count(l) NOT IN (0, count(*)) ORDER BY e LIMIT 1"
        )
        another = "none" if one == other else repr(other)
        raise LabelConflictError(
            f"Example {example!r} has the label {one!r} in one run and {another} in another. "
            "An example has one right answer: give the same labels in every run."
        )


def _refuse_regression(predictions: Sequence[str], n_rows: int) -> None:
    """Numbers that hardly ever repeat are no classes."""
    if len(predictions) <= n_rows / 2 or all(WHOLE_TEXT.match(name) for name in predictions):
        return
    if all(NUMBER_TEXT.match(name) for name in predictions):
        raise DtypeError(
            f"Predictions such as {predictions[0]!r} are numbers that hardly ever repeat: that is "
            "regression, which is not measured. Give predicted classes, or one probability a class."
        )


def _spellings(names: set[str]) -> dict[str, str]:
    """Class of each name: where all are numbers, "1" and "1.0" are one class."""
    numeric = all(WHOLE_TEXT.match(name) for name in names)
    return {name: WHOLE_TEXT.sub(r"\1", name) if numeric else name for name in names}
