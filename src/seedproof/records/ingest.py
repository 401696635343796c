"""Write tables in any order into a store: grouped by run, sorted by DuckDB, out of core.

Arrow batches go to `RunWriter`, because DuckDB's Parquet output chooses its own row groups.
"""

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TypeVar

import duckdb
import pyarrow as pa

from seedproof.errors import (
    ColumnError,
    DtypeError,
    SeedproofError,
    StoreError,
    UnreadableError,
)
from seedproof.messages import Message
from seedproof.records.checks import HALF_SUM_TOLERANCE, SUM_TOLERANCE
from seedproof.records.ingest_state import read_state
from seedproof.records.item_ingest import ItemIngest
from seedproof.records.item_tables import have_items
from seedproof.records.levels import explaining_trials_of_classes
from seedproof.records.location import Location, is_file_name
from seedproof.records.memory_limit import data_bytes
from seedproof.records.partition import Partition, PartitionWriter
from seedproof.records.roles import Roles
from seedproof.records.scan import Scan, Scanner
from seedproof.records.sort import Phases, SortedRows
from seedproof.records.tables import (
    TableOptions,
    are_both_given,
    common_roles,
    named_classes,
    notes_on_dropped_columns,
    notes_on_roles,
    state_of,
    with_both_classes,
)
from seedproof.records.text_answers import missing_note
from seedproof.records.text_files import reason_of, unreadable
from seedproof.records.trec import is_trec_run, read_trec_run
from seedproof.typing import ArrowStream

# DuckDB's share of the remaining memory; the rest is for memory that it does not count, for
# batches and for the writer.
DUCKDB_SHARE = 0.6
# The buffer of rows to be grouped by run takes this part of the memory, and the same for a copy.
BUFFER_PART = 16
MOST_BUFFER_BYTES = 2**28
# Memory per thread, by DuckDB's documentation.
THREAD_BYTES = 125 * 10**6
# Rows per batch from DuckDB.
BATCH_ROWS = 20_000
# Errors of the system that may not occur again.
TRANSIENT = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EMFILE)
_T = TypeVar("_T", "GatheredTables", "FurtherColumns")

INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}


@dataclass(frozen=True)
class Precision:
    """Precision of the probabilities of all tables."""

    half: bool
    tolerance: float  # of their sum


@dataclass(frozen=True)
class GatheredTables:
    """Tables whose rows are on disk, grouped by run."""

    both_given: bool  # there are predictions in addition to probabilities
    roles: Roles
    precision: Precision
    gathered: Partition
    wide: tuple[str, ...] = ()  # columns that were one run each

    def __post_init__(self) -> None:
        if not all(map(is_file_name, self.gathered.files)):
            raise ValueError("a name of a file is a path")


@dataclass(frozen=True)
class FurtherColumns:
    """Columns that have no role: indices of those that are equal in all runs, names of others."""

    kept: Sequence[int]
    dropped: Sequence[str]


class Ingest:
    """Writes tables into a store.

    `scratch` is an existing folder for what does not fit into memory. Steps that an earlier,
    interrupted process finished in it are not repeated. If `is_durable`, that holds after a power
    failure, too.
    """

    def __init__(
        self,
        options: TableOptions,
        *,
        scratch: Path,
        progress: Phases | None = None,
        is_durable: bool = False,
    ) -> None:
        self._is_durable = is_durable
        self._options = options
        self._scratch = scratch
        self._progress = progress
        self._rows = scratch / "rows"
        memory = options.memory
        self._buffer_bytes = min(memory // BUFFER_PART, MOST_BUFFER_BYTES)
        share = data_bytes(memory, DUCKDB_SHARE)
        self._db = duckdb.connect(
            config={
                "memory_limit": f"{share}B",
                "threads": max(1, min(os.cpu_count() or 1, share // THREAD_BYTES)),
                "temp_directory": str(scratch / "spill"),
                # No downloads.
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                # Return freed memory at once; by default it keeps some 100 MB.
                "allocator_flush_threshold": "8MB",
                "allocator_bulk_deallocation_flush_threshold": "8MB",
                # We sort ourselves, and order costs memory.
                "preserve_insertion_order": False,
            }
        )
        # DuckDB holds a row twice: in its input buffer, and parsed.
        self._row_bytes = share // 2
        # Progress can be queried, but is not printed.
        self._db.execute("SET enable_progress_bar = true")
        self._db.execute("SET enable_progress_bar_print = false")

    def run(self, tables: Sequence[Path | ArrowStream], store: Location) -> tuple[Message, ...]:
        """Write all runs of the tables into a store."""
        store = replace(store, is_durable=self._is_durable)
        tables = [read_trec_run(table) if is_trec_run(table) else table for table in tables]
        with _translated_errors(tables), self._db:
            if have_items(tables, self._options.columns):
                scanner = self._scanner()
                scans = [scanner.scan(table) for table in tables]
                return ItemIngest(self._db, scans, self._options, self._progress).write(store)
            read = self._once(
                "read.json", GatheredTables, lambda: self._read(tables), inside="rows"
            )
            notes = notes_on_roles(
                self._options.columns, wide=read.wide, both_given=read.both_given
            )
            pa.default_memory_pool().release_unused()
            rows = SortedRows(
                self._db,
                read.gathered,
                self._rows,
                read.roles,
                self._options,
                half=read.precision.half,
                tolerance=read.precision.tolerance,
                progress=self._progress,
            )
            notes += rows.notes
            extras = FurtherColumns((), ())
            if read.roles.extras:
                extras = self._once(
                    "extras.json", FurtherColumns, lambda: FurtherColumns(*rows.constant_extras())
                )
            notes += notes_on_dropped_columns(extras.dropped)
            if n_missing := read.gathered.missing["a"]:
                notes.append(missing_note(n_missing, read.gathered.n_rows))
            trial = self._options.columns.trial
            with explaining_trials_of_classes(trial, is_varying=trial in extras.dropped):
                rows.write(store, extras.kept, [str(note) for note in notes])
        shutil.rmtree(self._rows)
        return tuple(notes)

    def _once(self, name: str, kind: type[_T], work: Callable[[], _T], *, inside: str = "") -> _T:
        """Return the result of some work; a file keeps it for a resumed ingest.

        It refers to the files in the folder `inside`, if there is one.
        """
        scratch = replace(Location.of(self._scratch), is_durable=self._is_durable)
        place = scratch / name
        if not place.is_file():
            content = json.dumps(asdict(work()), ensure_ascii=False).encode()
            files = (scratch / inside).files_inside() if inside else ()
            place.commit(content, files=files, root=scratch.parent if inside else None)
        return read_state(kind, place, is_own=True)

    def _read(self, tables: Sequence[Path | ArrowStream]) -> GatheredTables:
        """Write all rows to disk, grouped by run, and describe them."""
        columns, classes = self._options.columns, self._options.classes
        shutil.rmtree(self._rows, ignore_errors=True)
        self._rows.mkdir()
        before = [state_of(table) for table in tables]
        scanner = self._scanner()
        scans = [scanner.scan(table) for table in tables]
        roles = common_roles([(scan.title, list(scan.types)) for scan in scans], self._options)
        both_given = are_both_given(roles, columns, [list(scan.types) for scan in scans])
        wide = roles.wide
        shaped = [scan.long_form(roles, may_differ=self._options.may_differ) for scan in scans]
        scans, roles = [scan for scan, _ in shaped], shaped[0][1]
        if roles.positive is not None:
            roles = with_both_classes(roles, self._labels(scans, roles), classes)
        roles = named_classes(roles, classes)
        if self._options.names is not None and roles.run is not None:
            raise ColumnError(
                "The runs are already named, but {table} has a column {column!r} for them. "
                "Remove one.",
                table=scans[0].title,
                column=roles.run,
            )
        gathered = self._gather(scans, roles)
        for table, state in zip(tables, before, strict=True):
            if state_of(table) != state:
                raise UnreadableError(
                    "{table} was changed while it was read. Ingest it when it is complete.",
                    table=table,
                )
        any_half = any(scan.half for scan in scans)
        all_half = bool(roles.probs) and all(scan.half.issuperset(roles.probs) for scan in scans)
        tolerance = HALF_SUM_TOLERANCE if any_half else SUM_TOLERANCE
        return GatheredTables(
            both_given=both_given,
            wide=wide,
            roles=roles,
            precision=Precision(all_half, tolerance),
            gathered=gathered,
        )

    def _scanner(self) -> Scanner:
        return Scanner(
            self._db, scratch=self._scratch, row_bytes=self._row_bytes, progress=self._progress
        )

    def _labels(self, scans: Sequence[Scan], roles: Roles) -> list[str]:
        """Return the gold classes that occur, or the first few of many."""
        labels: set[str] = set()
        for scan in scans if roles.label is not None else ():
            label = scan.text_of(str(roles.label))
            sql = f"SELECT DISTINCT {label} AS l FROM ({scan.sql}) WHERE l IS NOT NULL LIMIT 10"
            labels |= {row[0] for row in self._db.sql(sql).fetchall()}
        return sorted(labels)

    def _gather(self, scans: Sequence[Scan], roles: Roles) -> Partition:
        """Write the columns of `SortedRows`."""
        names = self._options.run_names([scan.path for scan in scans])
        integer_ids = all(scan.types[roles.example] in INTEGERS for scan in scans)
        writer = PartitionWriter(self._rows, buffer_bytes=self._buffer_bytes)
        for index, (scan, name) in enumerate(zip(scans, names, strict=True)):
            query = scan.select(roles, name, integer_ids=integer_ids)
            n_before = writer.partition.n_rows
            batch_rows = scan.batch_rows(at_most=BATCH_ROWS, n_bytes=self._buffer_bytes)
            with self._db.sql(query).to_arrow_reader(batch_rows) as reader:
                for batch in reader:
                    writer.add(batch)
                    if writer.too_many:  # an error in any case
                        return writer.close()
                    if self._progress is not None:
                        share = min(max(self._db.query_progress(), 0.0), 100.0)
                        self._progress("reading", int(100 * index + share), 100 * len(scans))
            scan.check_rows(writer.partition.n_rows - n_before)
        if self._progress is not None:
            self._progress("reading", 100 * len(scans), 100 * len(scans))
        return writer.close()


@contextmanager
def _translated_errors(tables: Sequence[Path | ArrowStream]) -> Iterator[None]:
    """Translate errors of DuckDB and Arrow, and their interrupts into KeyboardInterrupt."""
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
    """Return whether DuckDB raised an error of some kind.

    Arrow passes DuckDB's errors on as an OSError, in which only the text shows the kind.
    """
    if isinstance(error, duckdb.Error):
        return isinstance(error, kind)
    return isinstance(error, OSError | pa.ArrowException) and mark in str(error)


def _is_interrupt(error: Exception) -> bool:
    """Return whether DuckDB or Arrow were stopped by Ctrl-C."""
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
    """Return whether a retry may succeed: with more memory, or space on the disk."""
    if error.__cause__ is not None and may_pass(error.__cause__):
        return True
    if isinstance(error, SeedproofError):
        return False
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in TRANSIENT
    # DuckDB quotes the system's message, without its number.
    return _is_out_of_memory(error) or any(os.strerror(n) in str(error) for n in TRANSIENT)


def _translated(error: Exception, tables: tuple[str, ...]) -> SeedproofError:
    if _is_of(error, duckdb.ConversionException, "Conversion Error: "):
        return DtypeError(
            "{tables}: {reason}. Probabilities must be numbers from 0 to 1, and values must be "
            "numbers; if the column is not one of them, rename it or choose another --probs PREFIX "
            "or --value NAME.",
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
            "The system cannot continue with {tables}: {reason}. Free some space and run the same "
            "command again.",
            tables=tables,
            reason=reason_of(error),
        )
    return unreadable(tables, reason_of(error))
