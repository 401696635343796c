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
# What files must look like, by data set.
LAYOUTS = read_toml(__package__, "notes.toml")["layouts"]


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


def own_file(path: str, *, title: str, layout: str = "own") -> Path:
    """Return a file that may not be redistributed, so that only its user can have it."""
    file = local_file(path)
    if file is None:
        raise NotFoundError(
            "{title} may not be redistributed, and {path} is not below the folder that "
            "{variable} names. Put your own copy there: {layout}.",
            title=title,
            path=path,
            variable=FOLDER_VARIABLE,
            layout=LAYOUTS[layout],
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


class Tabs(csv.excel_tab):
    """Fields between tabs, which are never quoted."""

    quoting = csv.QUOTE_NONE


def read_table(
    file: Path,
    *,
    columns: Sequence[str],
    has_header: bool = True,
    dialect: type[csv.Dialect] = csv.excel,
) -> list[dict[str, str]]:
    """Read the rows of a CSV file; `.xz` is unpacked.

    A file without a header has these columns and no others, in their order.
    """
    try:
        with _open_text(file) as lines:
            reader = csv.DictReader(lines, None if has_header else columns, dialect=dialect)
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
        raise EmptyInputError("{file} has no rows.", file=file)
    for place, row in enumerate(rows, start=1):
        # Further fields of a row have the key None.
        if any(row[name] is None for name in columns) or (None in row and not has_header):
            raise UnreadableError(
                "Row {row} of {file} does not have the fields {columns}.",
                row=place,
                file=file,
                columns=tuple(columns),
            )
    return rows


def _open_text(file: Path) -> IO[str]:
    if file.suffix == ".xz":
        return lzma.open(file, "rt", encoding="utf-8", newline="")
    return file.open(encoding="utf-8", newline="")
