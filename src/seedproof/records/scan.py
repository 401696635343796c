"""Inputs of any format as queries for DuckDB, each with the number of rows that it must give."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from seedproof.errors import (
    ColumnError,
    DtypeError,
    EmptyInputError,
    NotFoundError,
    UnreadableError,
)
from seedproof.records.columns import check_names
from seedproof.records.location import is_unicode
from seedproof.records.roles import Roles
from seedproof.records.row_counts import (
    LineCounter,
    QuotedRowCounter,
    RowCount,
    RowCounter,
    count_rows,
)
from seedproof.records.sort import Phases
from seedproof.records.tables import names_of
from seedproof.records.text_files import (
    BUFFER_BYTES,
    JSON_SUFFIXES,
    KNOWN_SUFFIXES,
    PARQUET_SUFFIXES,
    TEXT_SUFFIXES,
    check_readable,
    read_header,
    read_line_end,
    reason_of,
    suffix_of,
)
from seedproof.typing import ArrowStream

if TYPE_CHECKING:
    import duckdb

# DuckDB's default limit for an object of JSON.
OBJECT_BYTES = 16 * 2**20


@dataclass(frozen=True)
class Scan:
    """One input as DuckDB sees it."""

    title: str  # its name in messages
    sql: str  # query for all rows
    types: dict[str, str]  # DuckDB's type of each column
    half: frozenset[str] = frozenset()  # columns of half-precision floats
    path: Path | None = None  # None for a table in memory
    n_rows: int | None = None  # counted without DuckDB
    n_bytes: int = 0

    def check_rows(self, n_read: int) -> None:
        """Raise an error if rows were lost."""
        if self.n_rows is not None and n_read != self.n_rows:
            raise UnreadableError(
                "{file} has {n_rows:,} rows, but {n_read:,} were read. Look for unclosed quotes "
                "and mixed line ends, and save it again.",
                file=self.title,
                n_rows=self.n_rows,
                n_read=n_read,
                problem="rows",
            )

    def batch_rows(self, *, at_most: int, n_bytes: int) -> int:
        """Return how many rows to read at once."""
        row_bytes = self.n_bytes / max(1, self.n_rows or 0)
        return max(1, min(at_most, int(n_bytes / max(row_bytes, 1.0))))

    def text_of(self, column: str) -> str:
        """Return a column as text, in SQL."""
        kind, name = self.types[column], quote_name(column)
        self._check_single(
            column,
            "a list of labels per row is measured as a set, with --set NAME, or "
            "columns=sp.Columns(set=…) in Python.",
        )
        if kind in {"FLOAT", "DOUBLE"}:
            # pandas turns integers into floats as soon as one is missing. NaN is missing, too.
            whole = f"CASE WHEN {name} = trunc({name}) THEN TRY_CAST({name} AS BIGINT) END"
            text = f"coalesce(CAST({whole} AS VARCHAR), CAST({name} AS VARCHAR))"
            # Not isnan: DuckDB answers that from Parquet's statistics, which omit NaN.
            return f"nullif({text}, 'nan')"
        if kind == "BOOLEAN":
            return f"CAST(CAST({name} AS INTEGER) AS VARCHAR)"
        return f"CAST({name} AS VARCHAR)"

    def number_of(self, column: str) -> str:
        """Return a column as numbers, in SQL; null where it is empty."""
        kind, name = self.types[column], quote_name(column)
        self._check_single(column, "several numbers per row are not measured.")
        if kind != "VARCHAR":
            return f"CAST({name} AS DOUBLE)"
        return (
            f"CASE lower(trim({name})) WHEN '' THEN NULL WHEN 'na' THEN NULL WHEN 'null' THEN NULL "
            f"WHEN 'true' THEN 1 WHEN 'false' THEN 0 ELSE CAST({name} AS DOUBLE) END"
        )

    def answer_of(self, column: str) -> str:
        """Return a column of free texts as it is, in SQL."""
        is_plain = self.types[column] == "BOOLEAN"
        return f"CAST({quote_name(column)} AS VARCHAR)" if is_plain else self.text_of(column)

    def reference_of(self, column: str) -> str:
        """Return a column of right texts, of which lists are JSON, in SQL."""
        is_list = self.types[column].endswith("]")
        return (
            f"CAST(to_json({quote_name(column)}) AS VARCHAR)" if is_list else self.answer_of(column)
        )

    def _run_of(self, roles: Roles, run_name: str) -> str:
        """Return the run of each row, in SQL; null where any of its levels is."""
        if roles.run is None:
            return quote_text(run_name)
        if len(roles.levels) < 2:
            return self.text_of(roles.run)
        texts = [f"replace({self.text_of(name)}, chr(31), ' ')" for _, name in roles.levels]
        return " || chr(31) || ".join(texts)

    def _check_single(self, column: str, remark: str) -> None:
        kind = self.types[column]
        if kind.startswith(("STRUCT", "MAP", "UNION")) or kind.endswith("]"):
            raise DtypeError(
                "The column {column!r} of {table} holds several values per row. Keep one; {remark}",
                column=column,
                table=self.title,
                remark=remark,
            )

    def select(self, roles: Roles, run_name: str, *, integer_ids: bool) -> str:
        """Return the query that gives the columns short names and types."""
        name = quote_name(roles.example)
        example = f"CAST({name} AS BIGINT)" if integer_ids else self.text_of(roles.example)
        parts = [f"{self._run_of(roles, run_name)} AS r", f"{example} AS e"]
        columns = (
            (roles.value, self.number_of, "v"),
            (roles.target, self.number_of, "t"),
            (roles.answer, self.answer_of, "a"),
            (roles.equivalent, self.answer_of, "q"),
            (roles.correct, self.number_of, "c"),
            (None if roles.correct else roles.reference, self.reference_of, "g"),
            (roles.label, self.text_of, "l"),
            (roles.prediction, self.text_of, "y"),
        )
        parts += [f"{typed(column)} AS {short}" for column, typed, short in columns if column]
        for index, column in enumerate(roles.probs):
            self._check_single(column, "probabilities need one column per class.")
            value = f"CAST({quote_name(column)} AS DOUBLE)"
            if roles.positive not in {None, roles.classes[index]}:
                value = f"1 - {value}"
            parts.append(f"CAST({value} AS FLOAT) AS p{index}")
        parts += [
            f"CAST({quote_name(name)} AS VARCHAR) AS x{i}" for i, name in enumerate(roles.extras)
        ]
        return f"SELECT {', '.join(parts)} FROM ({self.sql})"

    def long_form(self, roles: Roles, *, may_differ: bool = False) -> tuple["Scan", Roles]:
        """Return a table with one column per run as one with one row per run and example."""
        if not roles.wide:
            return self, roles
        run, answer = f"name of {roles.wide[0]} …", f"{roles.wide[0]} …"
        are_numbers, are_texts = roles.value is not None, roles.answer is not None
        kept = replace(roles, wide=(), value=None, answer=None).names
        columns = ", ".join(quote_name(name) for name in roles.wide)
        typed = self.number_of if are_numbers else self.answer_of if are_texts else self.text_of
        texts = [f"{typed(name)} AS {quote_name(name)}" for name in roles.wide]
        inner = ", ".join([*map(quote_name, kept), *texts])
        sql = (
            f"SELECT * FROM (SELECT {inner} FROM ({self.sql})) "
            f"UNPIVOT INCLUDE NULLS ({quote_name(answer)} FOR {quote_name(run)} IN ({columns}))"
        )
        n_rows = None if self.n_rows is None else self.n_rows * len(roles.wide)
        if may_differ and not are_texts:  # an empty text is an answer
            sql, n_rows = f"SELECT * FROM ({sql}) WHERE {quote_name(answer)} IS NOT NULL", None
        types = {name: self.types[name] for name in kept}
        types |= {run: "VARCHAR", answer: "DOUBLE" if are_numbers else "VARCHAR"}
        long = replace(self, sql=sql, types=types, half=frozenset(), n_rows=n_rows)
        if are_numbers:
            return long, replace(roles, run=run, value=answer, wide=())
        if are_texts:
            return long, replace(roles, run=run, answer=answer, wide=())
        return long, replace(roles, run=run, prediction=answer, wide=())


class Scanner:
    """Turns inputs into scans.

    Everything in a text file is read as text and typed afterwards, because a guess from a sample
    fails late.
    """

    def __init__(
        self,
        db: "duckdb.DuckDBPyConnection",
        *,
        scratch: Path,
        row_bytes: int,
        progress: Phases | None = None,
    ) -> None:
        self._db = db
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
            raise NotFoundError(
                "{path!r} is {what}. Pass a CSV, TSV, Parquet, JSONL or .npz file, or a store.",
                path=str(path),
                what="a folder without a study.json" if path.is_dir() else "not a file",
            )
        if not is_unicode(str(path)):
            raise UnreadableError("The file name {path!r} is not UTF-8. Rename it.", path=str(path))
        suffix, _ = suffix_of(path)
        if suffix in TEXT_SUFFIXES:
            return self._scan_text(path)
        if suffix in JSON_SUFFIXES:
            return self._scan_json(path)
        if suffix in PARQUET_SUFFIXES:
            return self._scan_parquet(path)
        raise UnreadableError(
            "{file!r} has an unrecognized file extension. Known are .csv, .tsv, .parquet, "
            ".jsonl (the text formats also with .gz or .zst) and .npz: rename it.",
            file=path.name,
        )

    def _count_rows(self, path: Path, counter: RowCounter) -> RowCount:
        progress = None
        # Unpacking takes long; counting is fast.
        if self._progress is not None and suffix_of(path)[1]:
            progress = partial(self._progress, "checking")
        return count_rows(path, counter, row_bytes=self._row_bytes, progress=progress)

    def _scan_text(self, path: Path) -> Scan:
        header, separator = read_header(path)
        check_names(header, path.name)
        count = self._count_rows(path, QuotedRowCounter(separator))
        fields = ", ".join(f"{quote_text(name)}: 'VARCHAR'" for name in header)
        sql = (
            f"SELECT * FROM read_csv({self._path(path)}, auto_detect=false, header=true, "
            f"delim={quote_text(separator)}, new_line='{read_line_end(path, separator)}', "
            "quote='\"', escape='\"', hive_partitioning=false, "
            f"buffer_size={max(BUFFER_BYTES, count.buffer_bytes)}, columns={{{fields}}})"
        )
        types = dict.fromkeys(header, "VARCHAR")
        n_rows = count.n_rows - 1
        return Scan(path.name, sql, types, path=path, n_rows=n_rows, n_bytes=count.n_bytes)

    def _scan_json(self, path: Path) -> Scan:
        count = self._count_rows(path, LineCounter())
        lines = (
            f"read_ndjson_objects({self._path(path)}, hive_partitioning=false, "
            f"maximum_object_size={max(OBJECT_BYTES, count.buffer_bytes)})"
        )
        # All keys, each with whether a line that has it has a key twice.
        keys = self._db.sql(
            "SELECT DISTINCT unnest(keys), len(keys) > len(list_distinct(keys)) "
            f"FROM (SELECT DISTINCT json_keys(json) AS keys FROM {lines})"
        ).fetchall()
        names = _checked_keys(keys, path.name)
        # Each call parses the line again, so one call takes all keys: a long line needs a multiple
        # of its size.
        paths = ", ".join(quote_text(f'$."{name}"') for name in names)
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
        types = dict.fromkeys(names, "VARCHAR")
        return Scan(path.name, sql, types, path=path, n_rows=count.n_rows, n_bytes=count.n_bytes)

    def _scan_parquet(self, path: Path) -> Scan:
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            schema, facts = file.schema_arrow, file.metadata
        check_names(schema.names, path.name)
        sql = f"SELECT * FROM read_parquet({self._path(path)}, hive_partitioning=false)"
        sizes = [facts.row_group(i).total_byte_size for i in range(facts.num_row_groups)]
        size = {"n_rows": facts.num_rows, "n_bytes": sum(sizes)}
        return Scan(path.name, sql, self._types(sql), half=_halves(schema), path=path, **size)

    def _scan_stream(self, table: ArrowStream) -> Scan:
        texts = [name for name in names_of(table) if isinstance(name, str)]
        check_names(texts, "The table")
        for name in texts:
            # Arrow hands names over as C strings: they are cut there, and polars even aborts.
            if "\0" in name:
                raise ColumnError(
                    "The table has the column {column!r}, which holds a NUL character. Rename it.",
                    column=name,
                )
        try:
            reader = pa.RecordBatchReader.from_stream(table)
        except (ValueError, TypeError, OverflowError) as error:  # depends on the table's library
            raise UnreadableError(
                "The table cannot be read as Arrow ({reason}). Give each column one name "
                "and one type.",
                reason=reason_of(error),
            ) from error
        check_names(reader.schema.names, "The table")
        half = _halves(reader.schema)
        if half:
            fields = [
                field.with_type(pa.float32()) if field.name in half else field
                for field in reader.schema
            ]
            reader = reader.cast(pa.schema(fields))
        self._tables += 1
        name = f"stream_{self._tables}"
        sizes: list[tuple[int, int]] = []
        self._db.register(name, _counted(reader, sizes))
        # A stream can be read only once.
        self._db.execute(f"CREATE TEMP TABLE held_{name} AS SELECT * FROM {name}")
        self._db.unregister(name)
        sql = f"SELECT * FROM held_{name}"
        n_rows, n_bytes = (sum(column) for column in zip((0, 0), *sizes, strict=True))
        return Scan("The table", sql, self._types(sql), half=half, n_rows=n_rows, n_bytes=n_bytes)

    def _types(self, sql: str) -> dict[str, str]:
        relation = self._db.sql(sql)
        return dict(zip(relation.columns, map(str, relation.types), strict=True))

    def _path(self, path: Path) -> str:
        """Return a file name in SQL; DuckDB takes *, ? and [ for patterns."""
        if any(sign in str(path) for sign in "*?["):
            self._tables += 1
            suffixes = "".join(s for s in path.suffixes if s.lower() in KNOWN_SUFFIXES)
            link = self._scratch / f"input-{self._tables}{suffixes}"
            link.symlink_to(path.absolute())
            path = link
        return quote_text(str(path))


def _halves(schema: pa.Schema) -> frozenset[str]:
    """Return the columns of half-precision floats, which DuckDB does not have."""
    return frozenset(field.name for field in schema if pa.types.is_float16(field.type))


def _checked_keys(keys: Sequence[tuple[str, bool]], file: str) -> list[str]:
    names = sorted({name for name, _ in keys})
    if any(doubled for _, doubled in keys):
        raise ColumnError("{file} has a line with the same key twice. Rename one.", file=file)
    if not names:
        raise EmptyInputError("{file} has no rows. Write one JSON object per line.", file=file)
    for name in names:
        if '"' in name or not name:
            raise ColumnError(
                "{file} has the key {key!r}, which is empty or holds a quotation mark. Rename it.",
                file=file,
                key=name,
            )
    return names


def _counted(reader: pa.RecordBatchReader, sizes: list[tuple[int, int]]) -> pa.RecordBatchReader:
    """Return the same stream, which adds the rows and bytes of each batch to a list."""

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            sizes.append((len(batch), batch.nbytes))
            yield batch

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def quote_name(column: str) -> str:
    """Return a column name in SQL."""
    return '"' + column.replace('"', '""') + '"'


def quote_text(value: str) -> str:
    """Return a text in SQL."""
    return "'" + value.replace("'", "''") + "'"
