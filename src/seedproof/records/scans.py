"""One input table as a query: what it is called, which columns it has, how each is typed."""

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from seedproof.errors import DtypeError, EmptyInputError, UnreadableError
from seedproof.records.columns import Roles
from seedproof.typing import Progress

HEADER_BYTES = 4 * 2**20
PACKERS = {".gz": "gzip", ".zst": "zstd"}


@dataclass(frozen=True)
class Scan:
    """One input as DuckDB sees it.

    Args:
        title: What to call it in messages.
        sql: The query for all its rows.
        types: DuckDB's type of each column.
        half: Its columns of half-precision floats.
        path: The file; None for a table in memory.
    """

    title: str
    sql: str
    types: dict[str, str]
    half: frozenset[str] = frozenset()
    path: Path | None = None


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


def check_packed(path: Path, *, progress: Progress | None = None) -> None:
    """Accept a packed file that unpacks to its end: DuckDB passes over checksums and cut ends.

    Args:
        path: A file whose name says how it is packed.
        progress: Told how many of its bytes are read.

    Raises:
        UnreadableError: It is damaged, incomplete or not packed.
    """
    size = path.stat().st_size
    with _unpacked(path) as (stream, file):
        while stream.read(HEADER_BYTES):
            if progress is not None:
                progress(file.tell(), size)


@contextmanager
def _unpacked(path: Path) -> Iterator[tuple[pa.NativeFile, pa.NativeFile]]:
    """The file as a stream of what it holds, and as it is."""
    packer = PACKERS.get(path.suffix.lower())
    try:
        with pa.OSFile(str(path)) as file:
            if packer is None:
                yield file, file
            else:
                with pa.CompressedInputStream(file, packer) as stream:
                    yield stream, file
    except OSError as error:
        raise UnreadableError(
            "{file} cannot be unpacked: it is damaged, or not packed. Save it again.",
            file=path.name,
            problem="packing",
        ) from error


def read_header(path: Path) -> tuple[list[str], str]:
    """Column names of a text table, and what separates them."""
    with _unpacked(path) as (stream, _):
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
    with _unpacked(path) as (stream, _):
        text = stream.read(HEADER_BYTES).decode("utf-8-sig", errors="ignore")
    lines = io.StringIO(text, newline="")
    next(csv.reader(lines, delimiter=separator), None)
    header = text[: lines.tell()]
    return {"\r\n": r"\r\n", "\r": r"\r"}.get(header[len(header.rstrip("\r\n")) :], r"\n")


def _first_row(text: str, separator: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
    except csv.Error:  # one field of more than 131,072 characters: this does not separate them
        return []


def run_names(paths: Sequence[Path | None]) -> list[str]:
    """Names of runs that are one table each.

    Args:
        paths: The files; None for a table in memory.

    Returns:
        The files' names without endings, or with them, or their folders' names: whatever first
        tells all of them apart. Their positions if nothing does.
    """
    found = [path for path in paths if path is not None]
    if len(found) == len(paths):
        for names in (
            [path.name.split(".")[0] for path in found],
            [path.name for path in found],
            [path.absolute().parent.name for path in found],
        ):
            if len(set(names)) == len(names):
                return names
    return [str(index) for index in range(len(paths))]


def quote_name(column: str) -> str:
    """A column's name in SQL."""
    return '"' + column.replace('"', '""') + '"'


def json_path(key: str) -> str:
    """Where a key of a JSON object is, for DuckDB."""
    return f'$."{key}"'


def quote_text(value: str) -> str:
    """A text in SQL."""
    return "'" + value.replace("'", "''") + "'"
