"""Ranked lists in the format of TREC: run files, and the right documents of each query."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pyarrow as pa

from seedproof.errors import EmptyInputError, UnreadableError
from seedproof.records.arrow import texts_to_arrow
from seedproof.records.text_files import suffix_of, unpacked
from seedproof.typing import ArrowStream

# Endings of files that may be in this format.
SUFFIXES = (".run", ".trec", ".res", ".qrels", ".qrel", ".txt", "")
# query Q0 document rank score name; and query 0 document grade.
N_RUN_FIELDS, N_QRELS_FIELDS = 6, 4
HEAD_BYTES = 2**16


def is_trec_run(table: Path | ArrowStream) -> TypeGuard[Path]:
    """Return whether a table is a file with a run of TREC, by its first line."""
    fields = _first_fields(table) if isinstance(table, Path) else []
    return len(fields) == N_RUN_FIELDS and _are_numbers(fields[3:5])


def is_qrels(path: Path) -> bool:
    """Return whether a file has right documents in the format of TREC, by its first line."""
    fields = _first_fields(path)
    return len(fields) == N_QRELS_FIELDS and _are_numbers(fields[3:])


def read_trec_run(path: Path) -> pa.Table:
    """Read a run as a table; the order is that of the scores, as in trec_eval."""
    rows = list(_rows(path, N_RUN_FIELDS))
    names = {"example": 0, "item": 2, "score": 4}
    return pa.table(
        {name: texts_to_arrow([row[place] for row in rows]) for name, place in names.items()}
    )


def read_qrels(path: Path) -> pa.Table:
    """Read right documents as a table."""
    rows = list(_rows(path, N_QRELS_FIELDS))
    names = {"example": 0, "item": 2, "grade": 3}
    return pa.table(
        {name: texts_to_arrow([row[place] for row in rows]) for name, place in names.items()}
    )


def _first_fields(path: Path) -> list[str]:
    if suffix_of(path)[0] not in SUFFIXES or not path.is_file():
        return []
    try:
        with unpacked(path) as (stream, _):
            head = bytes(stream.read(HEAD_BYTES))
        lines = head.decode(errors="replace").lstrip("\ufeff").splitlines()
    except (UnreadableError, OSError):
        return []  # reported where the file is read
    return lines[0].split() if lines else []


def _are_numbers(fields: list[str]) -> bool:
    try:
        return bool([float(field) for field in fields])
    except ValueError:
        return False


def _rows(path: Path, n_fields: int) -> Iterator[list[str]]:
    with unpacked(path) as (stream, _):
        content = bytes(stream.read())
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise UnreadableError("{file} is not UTF-8. Save it again.", file=path.name) from error
    n_rows = 0
    for number, line in enumerate(lines, start=1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != n_fields:
            raise UnreadableError(
                "Line {line} of {file} has {n_fields} fields, and the first line has {n_first}. "
                "Remove it, or save the file again.",
                line=number,
                file=path.name,
                n_fields=len(fields),
                n_first=n_fields,
            )
        n_rows += 1
        yield fields
    if not n_rows:
        raise EmptyInputError("{table} has no rows.", table=path.name)
