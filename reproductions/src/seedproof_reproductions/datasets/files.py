"""Files of data sets: the user's own copies below `SEEDPROOF_DATA`, or fetched once and checked."""

import csv
import hashlib
import lzma
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from seedproof._optional import require
from seedproof.errors import ColumnError, EmptyInputError, NotFoundError, UnreadableError
from seedproof_reproductions.packaged import read_toml

FOLDER_VARIABLE = "SEEDPROOF_DATA"


def sources() -> Mapping[str, Mapping[str, str]]:
    """Return the `url` and `digest` of every public file, by its path below the data folder."""
    return read_toml(__package__, "sources.toml")


def data_folder() -> Path | None:
    """Return the folder with the user's own copies, or None if `SEEDPROOF_DATA` is not set."""
    name = os.environ.get(FOLDER_VARIABLE, "")
    if not name:
        return None
    if not Path(name).is_dir():
        raise NotFoundError(
            "{variable} is {name!r}, which is not a folder. Name the folder with the data "
            "sets, or unset it to fetch them.",
            variable=FOLDER_VARIABLE,
            name=name,
        )
    return Path(name)


def local_file(path: str) -> Path | None:
    """Return a file of the user's own copies, or None if there is none."""
    folder = data_folder()
    return None if folder is None or not (folder / path).is_file() else folder / path


def own_file(path: str, *, title: str, layout: str) -> Path:
    """Return a file that may not be redistributed, so that only its user can have it."""
    file = local_file(path)
    if file is None:
        raise NotFoundError(
            "{title} may not be redistributed, and {path} is not below the folder that "
            "{variable} names. Put your own copy there: {layout}.",
            title=title,
            path=path,
            variable=FOLDER_VARIABLE,
            layout=layout,
        )
    return file


def public_file(path: str) -> Path:
    """Return the user's own copy of a public file; if there is none, fetch it once and check it."""
    own = local_file(path)
    if own is not None:
        return own
    require("pooch", extra="papers", feature="Fetching a data set")
    import pooch

    url, digest = sources()[path]["url"], sources()[path]["digest"]
    folder, _, name = path.rpartition("/")
    target = pooch.os_cache("seedproof") / folder
    try:
        return Path(pooch.retrieve(url, known_hash=digest, fname=name, path=target))
    except (OSError, ValueError) as error:
        raise NotFoundError(
            "{url} could not be fetched ({reason}). Fetch it "
            "yourself, and put it at {path} below the folder that {variable} names.",
            url=url,
            reason=str(error).splitlines()[0],
            path=path,
            variable=FOLDER_VARIABLE,
        ) from error


def digest_notes(file: Path, path: str) -> tuple[str, ...]:
    """Return a note if a file is not the published one; none if its bytes are the same."""
    kind, _, published = sources()[path]["digest"].partition(":")
    with file.open("rb") as content:
        if hashlib.file_digest(content, kind).hexdigest() == published:
            return ()
    note = (
        f"Caution: {file} is not the published file: its {kind} digest differs. The results are "
        "about your own data."
    )
    return (note,)


def read_table(file: Path, *, columns: Sequence[str]) -> list[dict[str, str]]:
    """Read the rows of a CSV file that has a header; `.xz` is unpacked."""
    try:
        with _open_text(file) as lines:
            reader = csv.DictReader(lines)
            missing = [name for name in columns if name not in (reader.fieldnames or ())]
            if missing:
                raise ColumnError(
                    "{file} has no column {column!r}. It needs {columns}, and has {listed}.",
                    file=file,
                    column=missing[0],
                    columns=tuple(columns),
                    listed=", ".join(reader.fieldnames or ()),
                )
            rows = list(reader)
    except (UnicodeDecodeError, csv.Error, lzma.LZMAError, EOFError) as error:
        raise UnreadableError(
            "{file} is not a CSV file in UTF-8 ({reason}).", file=file, reason=str(error)
        ) from error
    if not rows:
        raise EmptyInputError("{file} has a header and no rows.", file=file)
    short = next((i for i, row in enumerate(rows) if any(row[c] is None for c in columns)), None)
    if short is not None:
        raise UnreadableError(
            "Row {row} of {file} has fewer fields than the header.", row=short + 1, file=file
        )
    return rows


class _Tabs(csv.excel_tab):
    quoting = csv.QUOTE_NONE


def read_bare_table(file: Path, *, n_columns: int, separator: str = ",") -> list[list[str]]:
    """Read the rows of a file without a header, which must have the same number of fields each.

    Fields of a table with tabs are never quoted.
    """
    dialect = csv.excel if separator == "," else _Tabs
    with _open_text(file) as lines:
        rows = list(csv.reader(lines, dialect))
    wrong = next((i for i, row in enumerate(rows) if len(row) != n_columns), None)
    if wrong is not None:
        raise UnreadableError(
            "Row {row} of {file} has {n_fields} fields. Each must have {n_columns}.",
            row=wrong + 1,
            file=file,
            n_fields=len(rows[wrong]),
            n_columns=n_columns,
        )
    return rows


def _open_text(file: Path) -> IO[str]:
    if file.suffix == ".xz":
        return lzma.open(file, "rt", encoding="utf-8", newline="")
    return file.open(encoding="utf-8", newline="")
