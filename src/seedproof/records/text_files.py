"""Tables in files before their rows are read: format, header, packing, and reasons for failure."""

import csv
import io
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from seedproof.errors import EmptyInputError, UnreadableError
from seedproof.messages import Message, recorded

TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
PARQUET_SUFFIXES = (".parquet", ".pq")
PACKERS = {".gz": "gzip", ".zst": "zstd"}
KNOWN_SUFFIXES = (*TEXT_SUFFIXES, *JSON_SUFFIXES, *PARQUET_SUFFIXES, *PACKERS)
HEADER_BYTES = 4 * 2**20
# Bytes of text that DuckDB reads at a time; its default of 32 MB is too much for a small share.
BUFFER_BYTES = 8 * 10**6
_MEGABYTES = BUFFER_BYTES // 10**6

OPEN_QUOTE = "open-quote", "line {line} has a quote that does not close"
_LINE = re.compile(r"CSV Error on Line: (\d+)")
# Beginning of DuckDB's second line, code of the reason, and our wording. DuckDB and Arrow have
# neither error codes nor fields for damage in a table, only texts.
_IN_A_LINE = (
    (
        "Expected Number of Columns",
        "other-number-of-fields",
        "line {line} has more or fewer fields than the header",
    ),
    ("Value with unterminated quote", *OPEN_QUOTE),
    ("Invalid unicode", "no-utf-8", "line {line} is not UTF-8"),
    ("Maximum line size", "long-line", "line {line} is longer than {megabytes} MB"),
)


def suffix_of(path: Path) -> tuple[str, bool]:
    """Return the suffix that shows the format of a file, and whether the file is packed."""
    suffixes = ["", *(suffix.lower() for suffix in path.suffixes)]
    is_packed = suffixes[-1] in PACKERS
    return suffixes[-2 if is_packed else -1], is_packed


def reason_of(error: Exception) -> Message:
    """Return the reason why DuckDB or Arrow cannot read a table."""
    first, *others = str(error).strip().split("\n")
    if (match := _LINE.search(first)) is not None:
        line = int(match[1])
        for beginning, code, template in _IN_A_LINE:
            if any(other.startswith(beginning) for other in others):
                return Message(code, template, line=line, megabytes=_MEGABYTES)
        return Message("invalid-line", "line {line} is not valid", line=line)
    if "CSV Parser state machine" in first:
        return Message("mixed-line-ends", "its line ends are mixed, or its quotes do not match")
    if "Parallel CSV Reader" in first:
        return Message("long-line", "a line is longer than {megabytes} MB", megabytes=_MEGABYTES)
    return recorded(
        first.removeprefix("Conversion Error: ").removeprefix("Invalid Input Error: ").rstrip(".")
    )


def unreadable(tables: tuple[str, ...], reason: Message) -> UnreadableError:
    """Return the error for tables that cannot be read, given by file names."""
    return UnreadableError(
        "{tables} cannot be read: {reason}. Check that it is complete and matches its file "
        "extension, or save it again.",
        tables=tables,
        reason=reason,
    )


def check_readable(path: Path) -> None:
    """Raise an error if a path may not be read, or leads to a pipe or device."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            with os.scandir(path):
                (path / os.pardir).stat()  # needs the permission to enter the folder
        elif stat.S_ISREG(mode):
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
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        # A pipe can be read once only, and opening it may wait forever.
        raise UnreadableError(
            "{path!r} is neither a file nor a folder, but a pipe or a device. Write the table to a "
            "file first.",
            path=str(path),
            problem="special",
        )


@contextmanager
def unpacked(path: Path) -> Iterator[tuple[pa.NativeFile, pa.NativeFile]]:
    """Yield a file as a stream of its unpacked content, and as it is."""
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
    """Return the column names of a text table, and the separator of its cells."""
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
            "{file} is empty. Write a header line and one row per prediction.", file=path.name
        )
    separators = "\t" if ".tsv" in path.name.lower() else ",;\t|"
    headers = {sign: _first_row(text, sign) for sign in separators}
    separator = max(separators, key=lambda sign: len(headers[sign]))
    if not headers[separator]:
        raise UnreadableError(
            "{file} has no header: its first line is empty, or a quote in it never closes. "
            "Write the names of the columns in the first line.",
            file=path.name,
            problem="header",
        )
    # pandas writes its index under an empty name.
    return [name or f"column{i}" for i, name in enumerate(headers[separator])], separator


def _first_row(text: str, separator: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
    except csv.Error:  # one field of more than 131,072 characters: the wrong separator
        return []


def read_line_end(path: Path, separator: str) -> str:
    """Return the escaped line end of the header of a text table.

    DuckDB would take the first line end of the file, even one in a quoted name.
    """
    with unpacked(path) as (stream, _):
        text = stream.read(HEADER_BYTES).decode("utf-8-sig", errors="ignore")
    lines = io.StringIO(text, newline="")
    next(csv.reader(lines, delimiter=separator), None)
    header = text[: lines.tell()]
    return {"\r\n": r"\r\n", "\r": r"\r"}.get(header[len(header.rstrip("\r\n")) :], r"\n")


def run_names(paths: Sequence[Path | None]) -> list[str]:
    """Return names for runs that are one table each: file names, or folders if these are equal."""
    files = [path for path in paths if path is not None]
    if len(files) < len(paths) or not files:
        return [str(index) for index in range(len(paths))]
    folders = [path.absolute().parent for path in files]
    above = Path(os.path.commonpath(folders))
    for names in (
        [path.name.split(".")[0] for path in files],
        [path.name for path in files],
        [folder.name for folder in folders],
        [folder.relative_to(above).as_posix() for folder in folders],
    ):
        if len(set(names)) == len(names):
            return names
    return [path.absolute().relative_to(above).as_posix() for path in files]
