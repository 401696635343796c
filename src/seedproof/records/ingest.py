"""Bring tables in any order into a store: gathered by run, sorted by DuckDB, out of core.

Everything in a text file is read as text and typed afterwards, because a guess from a sample fails
late. Arrow batches go to `RunWriter`: DuckDB's own Parquet output chooses its own row groups.
"""

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from seedproof.errors import (
    ColumnError,
    DtypeError,
    EmptyInputError,
    NotFoundError,
    SeedproofError,
    StoreError,
    UnreadableError,
)
from seedproof.messages import Message
from seedproof.records.checks import HALF_SUM_TOLERANCE, SUM_TOLERANCE
from seedproof.records.columns import Columns, Roles
from seedproof.records.gathered import Gathered, Gatherer
from seedproof.records.location import Location, is_unicode
from seedproof.records.reading_errors import BUFFER_BYTES, reason_of
from seedproof.records.scans import (
    Scan,
    check_packed,
    halves,
    json_path,
    quote_name,
    quote_text,
    read_header,
    read_line_end,
    run_names,
    select,
)
from seedproof.records.sorted_rows import Phases, Precision, SortedRows
from seedproof.typing import ArrowStream

# What Python and the libraries take without holding any row: their code and what they keep.
LIBRARY_BYTES = 200 * 10**6
# DuckDB's share of the memory that is left; the rest is for what it does not count, for batches
# and for the writer.
DUCKDB_SHARE = 0.6
# With less than this it cannot sort at all.
LEAST_DUCKDB_BYTES = 50 * 10**6
# Rows that wait for being gathered by run take this part of the memory; twice that, as they are.
BUFFER_PART = 16
MOST_BUFFER_BYTES = 2**28
# What a thread of DuckDB should have, by its own documentation.
THREAD_BYTES = 125 * 10**6
# Rows that DuckDB hands over at once.
BATCH_ROWS = 20_000
TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
PARQUET_SUFFIXES = (".parquet", ".pq")
PACKED_SUFFIXES = (".gz", ".zst")
# Errors of the system that the next attempt may not meet.
PASSING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EMFILE)
INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}


class Ingest:
    """Tables on their way into a store.

    Args:
        columns: What the user calls the columns.
        memory: Bytes that may be used; what does not fit goes to disk.
        scratch: An existing folder for what does not fit. Whatever is finished in it is not done
            again: it may be the folder of an earlier process that did not come to its end.
        alone: Whether a single run will do.
    """

    def __init__(
        self, *, columns: Columns, memory: int, scratch: Path, alone: bool = False
    ) -> None:
        self._columns = columns
        self._least_runs = 1 if alone else 2
        self._scratch = scratch
        self._rows = scratch / "rows"
        self._buffer_bytes = min(memory // BUFFER_PART, MOST_BUFFER_BYTES)
        self._tables = 0
        share = max(int((memory - LIBRARY_BYTES) * DUCKDB_SHARE), LEAST_DUCKDB_BYTES)
        self._db = duckdb.connect(
            config={
                "memory_limit": f"{share}B",
                "threads": max(1, min(os.cpu_count() or 1, share // THREAD_BYTES)),
                "temp_directory": str(scratch / "spill"),
                # Nothing is fetched from anywhere.
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                # What it has freed goes back at once; it would keep some 100 MB.
                "allocator_flush_threshold": "8MB",
                "allocator_bulk_deallocation_flush_threshold": "8MB",
                # We sort ourselves, and order costs memory.
                "preserve_insertion_order": False,
            }
        )
        # It can be asked how far it is, but nothing but the result belongs on stdout.
        self._db.execute("SET enable_progress_bar = true")
        self._db.execute("SET enable_progress_bar_print = false")

    def run(
        self,
        tables: Sequence[Path | ArrowStream],
        store: Location,
        *,
        progress: Phases | None = None,
    ) -> tuple[Message, ...]:
        """Write all runs of the tables into a store.

        Args:
            tables: One long table, or several; tables without a run column are one run each.
            store: Where the store is made; runs that are in it already are kept.
            progress: Told how far each phase is.

        Returns:
            Notes: what a person should know about how the tables were read.
        """
        with _translated_errors(tables), self._db:
            read = self._once("read.json", lambda: self._read(tables, progress))
            notes = []
            if read["both_given"]:
                notes.append(
                    Message(
                        "predictions-from-probabilities",
                        "Both probabilities and {column!r} were given: predictions are "
                        "taken from the probabilities, the most probable class of each row.",
                        column=self._columns.prediction,
                    )
                )
            pa.default_memory_pool().release_unused()
            rows = SortedRows(
                self._db,
                Gathered(**read["gathered"]),
                self._rows,
                _loaded_roles(read["roles"]),
                precision=Precision(**read["precision"]),
                least_runs=self._least_runs,
                progress=progress,
            )
            kept, dropped = self._once("extras.json", rows.constant_extras)
            if dropped:
                notes.append(
                    Message(
                        "columns-left-out",
                        "Not carried along, since runs differ in it: {columns!r}.",
                        columns=tuple(dropped),
                    )
                )
            rows.write(store, kept, [str(note) for note in notes])
        shutil.rmtree(self._rows)
        return tuple(notes)

    def _once(self, name: str, work: Callable[[], Any]) -> Any:  # noqa: ANN401 - plain data
        """What some work gives, as plain data; kept in a file for whoever goes on."""
        place = Location.of(self._scratch / name)
        if not place.is_file():
            place.create(json.dumps(work(), ensure_ascii=False).encode())
        return json.loads(place.read_bytes())

    def _read(
        self, tables: Sequence[Path | ArrowStream], progress: Phases | None
    ) -> dict[str, Any]:
        """Take all rows to disk, gathered by run; what was found on the way."""
        shutil.rmtree(self._rows, ignore_errors=True)
        self._rows.mkdir()
        before = [_state(table) for table in tables]
        scans = [self._scan(table, progress) for table in tables]
        roles = self._roles(scans)
        gathered = self._gather(scans, roles, progress)
        for table, state in zip(tables, before, strict=True):
            if _state(table) != state:
                raise UnreadableError(
                    "{table} was changed while it was read. Ingest it when it is complete.",
                    table=table,
                )
        any_half = any(scan.half for scan in scans)
        precision = Precision(
            half=bool(roles.probs) and all(scan.half.issuperset(roles.probs) for scan in scans),
            tolerance=HALF_SUM_TOLERANCE if any_half else SUM_TOLERANCE,
        )
        return {
            "both_given": self._are_both_given(scans, roles),
            "roles": vars(roles),
            "precision": vars(precision),
            "gathered": gathered.as_dict(),
        }

    def _scan(self, table: Path | ArrowStream, progress: Phases | None) -> Scan:
        if not isinstance(table, os.PathLike):
            return self._scan_stream(table)
        path = Path(table)
        if not path.is_file():
            what = "a folder without a study.json" if path.is_dir() else "not a file"
            raise NotFoundError(
                "{path!r} is {what}. Give a CSV, TSV, Parquet, JSONL or .npz file, or a store.",
                path=str(path),
                what=what,
            )
        if not is_unicode(str(path)):
            raise UnreadableError(
                "{path!r} is a name that is not UTF-8. Rename the file.", path=str(path)
            )
        suffixes = [suffix.lower() for suffix in path.suffixes]
        packed = bool(suffixes) and suffixes[-1] in PACKED_SUFFIXES
        kind = suffixes[-2] if packed and len(suffixes) > 1 else (suffixes or [""])[-1]
        if packed:
            check_packed(path, progress=None if progress is None else partial(progress, "checking"))
        if kind in TEXT_SUFFIXES:
            return self._scan_text(path)
        if kind in JSON_SUFFIXES:
            return self._scan_json(path)
        if kind in PARQUET_SUFFIXES:
            return self._scan_parquet(path)
        raise UnreadableError(
            "{file!r} has an ending that says no format. Known are .csv, .tsv, .parquet, "
            ".jsonl (the text ones also with .gz or .zst) and .npz: rename it.",
            file=path.name,
        )

    def _refuse_doubles(self, names: Sequence[str], title: str) -> None:
        """DuckDB renames a column that is there twice; we say which one it is."""
        if len({name.lower() for name in names}) < len(names):
            Roles.find(names, self._columns, table=title)

    def _scan_text(self, path: Path) -> Scan:
        header, separator = read_header(path)
        self._refuse_doubles(header, path.name)
        types = dict.fromkeys(header, "VARCHAR")
        fields = ", ".join(f"{quote_text(name)}: 'VARCHAR'" for name in header)
        sql = (
            f"SELECT * FROM read_csv({self._path(path)}, auto_detect=false, header=true, "
            f"delim={quote_text(separator)}, new_line='{read_line_end(path, separator)}', "
            f"quote='\"', escape='\"', hive_partitioning=false, "
            f"buffer_size={BUFFER_BYTES}, columns={{{fields}}})"
        )
        return Scan(path.name, sql, types, path=path)

    def _scan_json(self, path: Path) -> Scan:
        lines = f"read_ndjson_objects({self._path(path)}, hive_partitioning=false)"
        found = self._db.sql(
            "SELECT DISTINCT unnest(keys), len(keys) > len(list_distinct(keys)) "
            f"FROM (SELECT DISTINCT json_keys(json) AS keys FROM {lines})"
        ).fetchall()
        names = sorted({name for name, _ in found})
        if any(doubled for _, doubled in found):
            raise ColumnError(
                "{file} has a line with the same key twice. Rename one.", file=path.name
            )
        if not names:
            raise EmptyInputError(
                "{file} has no rows. Give one JSON object a line.", file=path.name
            )
        for name in names:
            if '"' in name or not name:
                raise ColumnError(
                    "{file} has the key {key!r}, which is empty or holds a quotation mark. "
                    "Rename it.",
                    file=path.name,
                    key=name,
                )
        # Each call parses the line again, so one call takes all keys.
        paths = ", ".join(quote_text(json_path(name)) for name in names)
        # Python writes a missing number as a bare NaN, which DuckDB would take for a text.
        values = ", ".join(
            f"CASE WHEN kinds[{i}] = 'DOUBLE' AND lower(left(texts[{i}], 5)) IN ('nan', '-nan') "
            f"THEN NULL ELSE texts[{i}] END AS {quote_name(name)}"
            for i, name in enumerate(names, start=1)
        )
        sql = (
            f"SELECT {values} FROM (SELECT json_extract_string(json, [{paths}]) AS texts, "
            f"json_type(json, [{paths}]) AS kinds FROM {lines})"
        )
        return Scan(path.name, sql, dict.fromkeys(names, "VARCHAR"), path=path)

    def _scan_parquet(self, path: Path) -> Scan:
        import pyarrow.parquet as pq

        schema = pq.read_schema(path)
        self._refuse_doubles(schema.names, path.name)
        half = halves(schema)
        sql = f"SELECT * FROM read_parquet({self._path(path)}, hive_partitioning=false)"
        return Scan(path.name, sql, self._types(sql), half=half, path=path)

    def _scan_stream(self, table: ArrowStream) -> Scan:
        schema = getattr(table, "schema", None)
        names = schema.names if isinstance(schema, pa.Schema) else getattr(table, "columns", ())
        texts = [name for name in names if isinstance(name, str)]
        self._refuse_doubles(texts, "The table")
        for name in texts:
            # Arrow hands names over as C does: cut there, and polars even ends the process.
            if "\0" in name:
                raise ColumnError(
                    "The table has the column {column!r}, which holds a NUL character. Rename it.",
                    column=name,
                )
        try:
            reader = pa.RecordBatchReader.from_stream(table)
        except (ValueError, TypeError, OverflowError) as error:  # whatever its library says
            raise UnreadableError(
                "The table cannot be read as Arrow ({reason}). Give each column one name "
                "and one type.",
                reason=reason_of(error),
            ) from error
        self._refuse_doubles(reader.schema.names, "The table")
        half = halves(reader.schema)
        if half:
            fields = [
                field.with_type(pa.float32()) if pa.types.is_float16(field.type) else field
                for field in reader.schema
            ]
            reader = reader.cast(pa.schema(fields))
        self._tables += 1
        name = f"stream_{self._tables}"
        self._db.register(name, reader)
        # A stream can be read once only.
        self._db.execute(f"CREATE TEMP TABLE held_{name} AS SELECT * FROM {name}")
        self._db.unregister(name)
        sql = f"SELECT * FROM held_{name}"
        return Scan("The table", sql, self._types(sql), half=half)

    def _types(self, sql: str) -> dict[str, str]:
        relation = self._db.sql(sql)
        return dict(zip(relation.columns, map(str, relation.types), strict=True))

    def _path(self, path: Path) -> str:
        """A file's name for DuckDB, which takes *, ? and [ for patterns."""
        if any(sign in str(path) for sign in "*?["):
            self._tables += 1
            known = (*TEXT_SUFFIXES, *JSON_SUFFIXES, *PARQUET_SUFFIXES, *PACKED_SUFFIXES)
            endings = "".join(suffix for suffix in path.suffixes if suffix.lower() in known)
            plain = self._scratch / f"input-{self._tables}{endings}"
            plain.symlink_to(path.absolute())
            path = plain
        return quote_text(str(path))

    def _roles(self, scans: Sequence[Scan]) -> Roles:
        found = [Roles.find(list(scan.types), self._columns, table=scan.title) for scan in scans]
        first = found[0]
        for scan, roles in zip(scans, found, strict=True):
            if (roles.run is None) != (first.run is None) or roles.classes != first.classes:
                raise ColumnError(
                    "{table} and {other_table} differ in their columns for runs or "
                    "classes. Give all files the same columns.",
                    table=scans[0].title,
                    other_table=scan.title,
                )
            if roles.label != first.label or roles.prediction != first.prediction:
                raise ColumnError(
                    "{table} and {other_table} do not both have labels or predictions. "
                    "Give all files the same columns.",
                    table=scans[0].title,
                    other_table=scan.title,
                )
        if first.run is None and len(scans) == 1 and self._least_runs > 1:
            raise ColumnError(
                "{table} has no column {column!r} that says which training a "
                "row is from. It has: {columns!r}. "
                "Name it with --run NAME, or give one file a run.",
                table=scans[0].title,
                column=self._columns.run,
                columns=tuple(list(scans[0].types)[:12]),
            )
        shared = [name for name in first.extras if all(name in roles.extras for roles in found)]
        return Roles(**(vars(first) | {"extras": tuple(shared)}))

    def _gather(self, scans: Sequence[Scan], roles: Roles, progress: Phases | None) -> Gathered:
        """Columns r run, e example, l label, y prediction or p0…, x0… extras, run by run."""
        names = run_names([scan.path for scan in scans])
        integer_ids = all(scan.types[roles.example] in INTEGERS for scan in scans)
        gatherer = Gatherer(self._rows, buffer_bytes=self._buffer_bytes)
        for index, (scan, name) in enumerate(zip(scans, names, strict=True)):
            query = select(scan, roles, name, integer_ids=integer_ids)
            with self._db.sql(query).to_arrow_reader(BATCH_ROWS) as reader:
                for batch in reader:
                    gatherer.add(batch)
                    if gatherer.too_many:  # refused below, whatever follows
                        return gatherer.close()
                    if progress is not None:
                        share = min(max(self._db.query_progress(), 0.0), 100.0)
                        progress("reading", int(100 * index + share), 100 * len(scans))
        if progress is not None:
            progress("reading", 100 * len(scans), 100 * len(scans))
        return gatherer.close()

    def _are_both_given(self, scans: Sequence[Scan], roles: Roles) -> bool:
        """Whether the tables hold predictions next to probabilities."""
        return bool(roles.probs) and all(self._columns.prediction in scan.types for scan in scans)


def _loaded_roles(saved: dict[str, Any]) -> Roles:
    # JSON has lists for tuples.
    tuples: dict[str, Any] = {name: tuple(saved[name]) for name in ("probs", "classes", "extras")}
    return Roles(**(saved | tuples))


def _state(table: Path | ArrowStream) -> tuple[int, int] | None:
    """What changes when somebody writes to a file."""
    if not isinstance(table, Path) or not table.is_file():
        return None
    found = table.stat()
    return found.st_size, found.st_mtime_ns


@contextmanager
def _translated_errors(tables: Sequence[Path | ArrowStream]) -> Iterator[None]:
    """Turn errors of DuckDB and Arrow into ours, and their interrupts into KeyboardInterrupt."""
    names = [table.name if isinstance(table, Path) else "the table" for table in tables[:3]]
    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError, UnicodeError) as error:
        if isinstance(error, SeedproofError):
            raise
        if _is_interrupt(error):
            raise KeyboardInterrupt from error
        raise _translated(error, tuple(names)) from error
    except RuntimeError as error:
        if _is_interrupt(error):
            raise KeyboardInterrupt from error
        raise


def _is_of(error: BaseException, kind: type[duckdb.Error], mark: str) -> bool:
    """Whether DuckDB raised an error of some kind.

    Arrow passes DuckDB's errors on as an OSError: its class is lost, and only the text has a mark.
    """
    if isinstance(error, duckdb.Error):
        return isinstance(error, kind)
    return isinstance(error, OSError | pa.ArrowException) and mark in str(error)


def _is_interrupt(error: Exception) -> bool:
    """Whether this is what DuckDB or Arrow make of Ctrl-C."""
    before: BaseException | None = error
    while before is not None:
        if isinstance(before, KeyboardInterrupt | pa.ArrowCancelled):
            return True
        before = before.__cause__ or before.__context__
    if _is_of(error, duckdb.InterruptException, "INTERRUPT Error: "):
        return True
    # DuckDB has no class for these.
    return any(text in str(error) for text in ("Query interrupted", "KeyboardInterrupt"))


def _is_out_of_memory(error: BaseException) -> bool:
    return _is_of(error, duckdb.OutOfMemoryException, "Out of Memory Error: ")


def may_pass(error: BaseException) -> bool:
    """Whether the same may succeed another time: with more memory, or room on the disk."""
    if error.__cause__ is not None and may_pass(error.__cause__):
        return True
    if isinstance(error, SeedproofError):
        return False
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in PASSING
    # DuckDB quotes what the system says, without its number.
    return _is_out_of_memory(error) or any(os.strerror(n) in str(error) for n in PASSING)


def _translated(error: Exception, tables: tuple[str, ...]) -> SeedproofError:
    if _is_of(error, duckdb.ConversionException, "Conversion Error: "):
        return DtypeError(
            "{tables}: {reason}. Probabilities must be numbers from 0 to 1; if the column "
            "is no probability, rename it or choose another --probs PREFIX.",
            tables=tables,
            reason=reason_of(error),
        )
    if _is_out_of_memory(error):
        return UnreadableError(
            "{tables} needs more memory than allowed. Raise {option}.",
            tables=tables,
            option="--memory",
        )
    if may_pass(error):
        return StoreError(
            "The system refused to go on with {tables}: {reason}. "
            "Make room, and do the same again.",
            tables=tables,
            reason=reason_of(error),
        )
    return UnreadableError(
        "{tables} cannot be read: {reason}. Look whether it is complete and of the format "
        "that its name says, or save it again.",
        tables=tables,
        reason=reason_of(error),
    )
