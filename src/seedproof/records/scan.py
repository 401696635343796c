"""One input table as a query: what it is called, which columns it has, how each is typed."""

import csv
import io
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from seedproof.errors import ColumnError, DtypeError, EmptyInputError, UnreadableError
from seedproof.records.columns import Roles

HEADER_BYTES = 4 * 2**20
PACKERS = {".gz": "gzip", ".zst": "zstd"}


@dataclass(frozen=True)
class Scan:
    """One input as DuckDB sees it."""

    title: str  # what to call it in messages
    sql: str  # the query for all its rows
    types: dict[str, str]  # duckDB's type of each column
    half: frozenset[str] = frozenset()  # its columns of half-precision floats
    path: Path | None = None  # the file; None for a table in memory
    n_rows: int | None = None  # how many rows it has, counted without DuckDB
    n_bytes: int = 0  # size of these rows

    def check_rows(self, n_read: int) -> None:
        """Accept as many rows as the input has."""
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
        """Choose how many rows to read at once."""
        row_bytes = self.n_bytes / max(1, self.n_rows or 0)
        return max(1, min(at_most, int(n_bytes / max(row_bytes, 1.0))))


def text_of(scan: Scan, column: str) -> str:
    """A column as text, in SQL."""
    kind, name = scan.types[column], quote_name(column)
    if _is_nested(kind):
        raise DtypeError(
            "The column {column!r} of {table} holds several values a row. Give one; "
            "multi-label predictions are not measured.",
            column=column,
            table=scan.title,
        )
    if kind in {"FLOAT", "DOUBLE"}:
        # pandas turns integers into floats as soon as one is missing. NaN is missing, too.
        whole = f"CASE WHEN {name} = trunc({name}) THEN TRY_CAST({name} AS BIGINT) END"
        found = f"coalesce(CAST({whole} AS VARCHAR), CAST({name} AS VARCHAR))"
        # Not isnan: DuckDB answers that from Parquet's statistics, which leave NaN out.
        return f"nullif({found}, 'nan')"
    if kind == "BOOLEAN":
        return f"CAST(CAST({name} AS INTEGER) AS VARCHAR)"
    return f"CAST({name} AS VARCHAR)"


def select(scan: Scan, roles: Roles, run_name: str, *, integer_ids: bool) -> str:
    """The query that gives one input's columns their short names and types."""
    run = quote_text(run_name) if roles.run is None else text_of(scan, roles.run)
    example = (
        f"CAST({quote_name(roles.example)} AS BIGINT)"
        if integer_ids
        else text_of(scan, roles.example)
    )
    parts = [f"{run} AS r", f"{example} AS e"]
    if roles.label is not None:
        parts.append(f"{text_of(scan, roles.label)} AS l")
    if roles.prediction is not None:
        parts.append(f"{text_of(scan, roles.prediction)} AS y")
    for index, column in enumerate(roles.probs):
        if _is_nested(scan.types[column]):
            raise DtypeError(
                "The column {column!r} of {table} holds several values a row. "
                "Give one probability, and a column for each class.",
                column=column,
                table=scan.title,
            )
        value = f"CAST({quote_name(column)} AS DOUBLE)"
        if roles.positive not in {None, roles.classes[index]}:
            value = f"1 - {value}"
        parts.append(f"CAST({value} AS FLOAT) AS p{index}")
    parts += [f"CAST({quote_name(name)} AS VARCHAR) AS x{i}" for i, name in enumerate(roles.extras)]
    return f"SELECT {', '.join(parts)} FROM ({scan.sql})"


def halves(schema: pa.Schema) -> frozenset[str]:
    """Columns of half-precision floats, which DuckDB does not know."""
    return frozenset(field.name for field in schema if pa.types.is_float16(field.type))


def _is_nested(kind: str) -> bool:
    return kind.startswith(("STRUCT", "MAP", "UNION")) or kind.endswith("]")


def check_readable(path: Path) -> None:
    """Accept a file or folder that may be read, or is not there at all."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            with os.scandir(path):
                (path / os.pardir).stat()  # which takes the permission to enter it
        elif stat.S_ISREG(mode):  # to open a pipe would wait for its other end
            with path.open("rb"):
                pass
    except PermissionError as error:
        raise UnreadableError(
            "Permission denied: {path!r} may not be read by this user. Change its permissions, or "
            "those of its folder.",
            path=str(path),
            problem="permission",
        ) from error
    except (OSError, ValueError):
        return  # any other problem is reported where the file is read


@contextmanager
def unpacked(path: Path) -> Iterator[tuple[pa.NativeFile, pa.NativeFile]]:
    """Yield the file as a stream of its unpacked content, and as it is."""
    packer = PACKERS.get(path.suffix.lower())
    try:
        with pa.OSFile(str(path)) as file:
            if packer is None:
                yield file, file
            else:
                with pa.CompressedInputStream(file, packer) as stream:
                    yield stream, file
    except OSError as error:
        if packer is None or error.errno is not None:  # the system's error, not the packer's
            raise
        raise UnreadableError(
            "{file} cannot be unpacked: it is damaged, or not packed. Save it again.",
            file=path.name,
            problem="packing",
        ) from error


def read_header(path: Path) -> tuple[list[str], str]:
    """Column names of a text table, and what separates them."""
    with unpacked(path) as (stream, _):
        start = stream.read(HEADER_BYTES)
    try:
        # The cut may fall into the middle of a character.
        text = start.decode("utf-8-sig", errors="strict" if len(start) < HEADER_BYTES else "ignore")
    except UnicodeDecodeError as error:
        raise UnreadableError(
            "{file} is not UTF-8 text (byte {start}). Save it as UTF-8.",
            file=path.name,
            start=error.start,
            problem="encoding",
        ) from error
    if "\0" in text[:1000]:
        raise UnreadableError(
            "{file} is not a text table: it holds binary data. Save it as UTF-8 text.",
            file=path.name,
            problem="binary",
        )
    if not text.strip():
        raise EmptyInputError(
            "{file} is empty. Give a header line and one row a prediction.", file=path.name
        )
    separators = "\t" if ".tsv" in path.name.lower() else ",;\t|"
    headers = {sign: _first_row(text, sign) for sign in separators}
    separator = max(separators, key=lambda sign: len(headers[sign]))
    if not headers[separator]:
        raise UnreadableError(
            "{file} has no header: its first line is empty, or a quote in it never closes. "
            "Give the names of the columns in the first line.",
            file=path.name,
            problem="header",
        )
    # pandas writes its index under an empty name.
    return [name or f"column{i}" for i, name in enumerate(headers[separator])], separator


def read_line_end(path: Path, separator: str) -> str:
    """What ends the header of a text table, with backslashes.

    DuckDB would take the first line end of the file, even if it stands in a quoted name.
    """
    with unpacked(path) as (stream, _):
        text = stream.read(HEADER_BYTES).decode("utf-8-sig", errors="ignore")
    lines = io.StringIO(text, newline="")
    next(csv.reader(lines, delimiter=separator), None)
    header = text[: lines.tell()]
    return {"\r\n": r"\r\n", "\r": r"\r"}.get(header[len(header.rstrip("\r\n")) :], r"\n")


def csv_query(
    file: str, names: Sequence[str], *, separator: str, line_end: str, buffer_bytes: int
) -> str:
    """Write the query for all rows of a text table."""
    fields = ", ".join(f"{quote_text(name)}: 'VARCHAR'" for name in names)
    return (
        f"SELECT * FROM read_csv({file}, auto_detect=false, header=true, "
        f"delim={quote_text(separator)}, new_line='{line_end}', quote='\"', escape='\"', "
        f"hive_partitioning=false, buffer_size={buffer_bytes}, columns={{{fields}}})"
    )


def parquet_query(file: str) -> str:
    """Return the query for all rows of a Parquet file, whose name is given in SQL."""
    return f"SELECT * FROM read_parquet({file}, hive_partitioning=false)"


def table_query(name: str) -> str:
    """Return the query for all rows of a table of DuckDB."""
    return f"SELECT * FROM {name}"


def json_lines(file: str, *, object_bytes: int) -> str:
    """Write the lines of a JSONL file as a table function."""
    return (
        f"read_ndjson_objects({file}, hive_partitioning=false, maximum_object_size={object_bytes})"
    )


def json_keys_query(lines: str) -> str:
    """Return the query for all keys, each with whether a line that has it has a key twice."""
    return (
        "SELECT DISTINCT unnest(keys), len(keys) > len(list_distinct(keys)) "
        f"FROM (SELECT DISTINCT json_keys(json) AS keys FROM {lines})"
    )


def json_query(lines: str, names: Sequence[str]) -> str:
    """Write the query for all rows of a JSONL file."""
    # Each call parses the line again, so one call takes all keys: a long line needs a multiple of
    # its size.
    paths = ", ".join(quote_text(json_path(name)) for name in names)
    # Python writes a missing number as a bare NaN, which DuckDB would take for a text.
    values = ", ".join(
        f"CASE WHEN kinds[{i}] = 'DOUBLE' AND lower(left(texts[{i}], 5)) IN ('nan', '-nan') "
        f"THEN NULL ELSE texts[{i}] END AS {quote_name(name)}"
        for i, name in enumerate(names, start=1)
    )
    return (
        f"SELECT {values} FROM (SELECT json_extract_string(json, [{paths}]) AS texts, "
        f"json_type(json, [{paths}]) AS kinds FROM {lines})"
    )


def checked_keys(found: Sequence[tuple[str, bool]], file: str) -> list[str]:
    """Check the keys of a JSONL file."""
    names = sorted({name for name, _ in found})
    if any(doubled for _, doubled in found):
        raise ColumnError("{file} has a line with the same key twice. Rename one.", file=file)
    if not names:
        raise EmptyInputError("{file} has no rows. Give one JSON object per line.", file=file)
    for name in names:
        if '"' in name or not name:
            raise ColumnError(
                "{file} has the key {key!r}, which is empty or holds a quotation mark. Rename it.",
                file=file,
                key=name,
            )
    return names


def _first_row(text: str, separator: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
    except csv.Error:  # one field of more than 131,072 characters: this does not separate them
        return []


def run_names(paths: Sequence[Path | None]) -> list[str]:
    """Names of runs that are one table each."""
    found = [path for path in paths if path is not None]
    if len(found) < len(paths) or not found:
        return [str(index) for index in range(len(paths))]
    folders = [path.absolute().parent for path in found]
    above = Path(os.path.commonpath(folders))
    for names in (
        [path.name.split(".")[0] for path in found],
        [path.name for path in found],
        [folder.name for folder in folders],
        [folder.relative_to(above).as_posix() for folder in folders],
    ):
        if len(set(names)) == len(names):
            return names
    return [(path.absolute().relative_to(above)).as_posix() for path in found]


def quote_name(column: str) -> str:
    """A column's name in SQL."""
    return '"' + column.replace('"', '""') + '"'


def json_path(key: str) -> str:
    """Where a key of a JSON object is, for DuckDB."""
    return f'$."{key}"'


def quote_text(value: str) -> str:
    """A text in SQL."""
    return "'" + value.replace("'", "''") + "'"
