"""Inputs of any format as queries for DuckDB, each with the rows that it must give."""

import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from seedproof.errors import ColumnError, NotFoundError, UnreadableError
from seedproof.records.columns import Columns, Roles
from seedproof.records.location import is_unicode
from seedproof.records.reading_errors import BUFFER_BYTES, OBJECT_BYTES, reason_of
from seedproof.records.row_counts import (
    LineCounter,
    QuotedRowCounter,
    RowCount,
    RowCounter,
    count_rows,
)
from seedproof.records.scan import (
    Scan,
    check_readable,
    checked_keys,
    csv_query,
    halves,
    json_keys_query,
    json_lines,
    json_query,
    parquet_query,
    quote_text,
    read_header,
    read_line_end,
    table_query,
)
from seedproof.records.sort import Phases
from seedproof.typing import ArrowStream

if TYPE_CHECKING:
    import duckdb

TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
PARQUET_SUFFIXES = (".parquet", ".pq")
PACKED_SUFFIXES = (".gz", ".zst")


class Scanner:
    """Inputs on their way to DuckDB.

    Everything in a text file is read as text and typed afterwards, because a guess from a sample
    fails late.
    """

    def __init__(
        self,
        db: "duckdb.DuckDBPyConnection",
        *,
        columns: Columns,
        scratch: Path,
        row_bytes: int,
        progress: Phases | None = None,
    ) -> None:
        self._db = db
        self._columns = columns
        self._scratch = scratch
        self._row_bytes = row_bytes
        self._progress = progress
        self._tables = 0

    def scan(self, table: Path | ArrowStream) -> Scan:
        """Count the rows of one input, and choose how DuckDB reads it."""
        if not isinstance(table, os.PathLike):
            return self._scan_stream(table)
        path = Path(table)
        check_readable(path)
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

    def _count_rows(self, path: Path, counter: RowCounter) -> RowCount:
        progress = None
        # To unpack takes long; to count is fast.
        if self._progress is not None and path.suffix.lower() in PACKED_SUFFIXES:
            progress = partial(self._progress, "checking")
        return count_rows(path, counter, row_bytes=self._row_bytes, progress=progress)

    def _scan_text(self, path: Path) -> Scan:
        header, separator = read_header(path)
        self._refuse_doubles(header, path.name)
        count = self._count_rows(path, QuotedRowCounter(separator))
        sql = csv_query(
            self._path(path),
            header,
            separator=separator,
            line_end=read_line_end(path, separator),
            buffer_bytes=max(BUFFER_BYTES, count.buffer_bytes),
        )
        types = dict.fromkeys(header, "VARCHAR")
        return Scan(
            path.name, sql, types, path=path, n_rows=count.n_rows - 1, n_bytes=count.n_bytes
        )

    def _scan_json(self, path: Path) -> Scan:
        count = self._count_rows(path, LineCounter())
        lines = json_lines(self._path(path), object_bytes=max(OBJECT_BYTES, count.buffer_bytes))
        names = checked_keys(self._db.sql(json_keys_query(lines)).fetchall(), path.name)
        types = dict.fromkeys(names, "VARCHAR")
        sql = json_query(lines, names)
        return Scan(path.name, sql, types, path=path, n_rows=count.n_rows, n_bytes=count.n_bytes)

    def _scan_parquet(self, path: Path) -> Scan:
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            schema, facts = file.schema_arrow, file.metadata
        self._refuse_doubles(schema.names, path.name)
        half = halves(schema)
        sql = parquet_query(self._path(path))
        sizes = [facts.row_group(i).total_byte_size for i in range(facts.num_row_groups)]
        size = {"n_rows": facts.num_rows, "n_bytes": sum(sizes)}
        return Scan(path.name, sql, self._types(sql), half=half, path=path, **size)

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
        sizes: list[tuple[int, int]] = []
        self._db.register(name, _counted(reader, sizes))
        # A stream can be read once only.
        self._db.execute(f"CREATE TEMP TABLE held_{name} AS {table_query(name)}")
        self._db.unregister(name)
        sql = table_query(f"held_{name}")
        n_rows, n_bytes = (sum(column) for column in zip((0, 0), *sizes, strict=True))
        return Scan("The table", sql, self._types(sql), half=half, n_rows=n_rows, n_bytes=n_bytes)

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


def _counted(reader: pa.RecordBatchReader, sizes: list[tuple[int, int]]) -> pa.RecordBatchReader:
    """Return the same stream, which adds the rows and bytes of each batch to a list."""

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            sizes.append((len(batch), batch.nbytes))
            yield batch

    return pa.RecordBatchReader.from_batches(reader.schema, batches())
