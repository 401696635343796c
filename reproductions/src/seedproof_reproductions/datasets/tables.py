"""CSV files as rows, checked for their columns."""

import csv
import lzma
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from seedproof.errors import ColumnError, EmptyInputError, UnreadableError


def open_text(path: Path) -> IO[str]:
    """A text file, packed by xz or not.

    Args:
        path: The file.

    Returns:
        An open file.
    """
    if path.suffix == ".xz":
        return lzma.open(path, "rt", encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")


def read_table(path: Path, *, columns: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a CSV file that has a header.

    Args:
        path: The file; `.xz` is unpacked.
        columns: What it must have.

    Returns:
        A mapping from column to text for each row.

    Raises:
        ColumnError: A column is missing.
        EmptyInputError: There are no rows.
        UnreadableError: It is no CSV file in UTF-8.
    """
    try:
        with open_text(path) as file:
            reader = csv.DictReader(file)
            missing = [name for name in columns if name not in (reader.fieldnames or ())]
            if missing:
                raise ColumnError(
                    f"{path} has no column {missing[0]!r}. It needs {', '.join(columns)}, and has "
                    f"{', '.join(reader.fieldnames or ())}."
                )
            rows = list(reader)
    except (UnicodeDecodeError, csv.Error, lzma.LZMAError, EOFError) as error:
        raise UnreadableError(f"{path} is no CSV file in UTF-8 ({error}).") from error
    if not rows:
        raise EmptyInputError(f"{path} has a header and no rows.")
    short = next((i for i, row in enumerate(rows) if any(row[c] is None for c in columns)), None)
    if short is not None:
        raise UnreadableError(f"Row {short + 1} of {path} has fewer fields than the header.")
    return rows


def read_bare_table(path: Path, *, n_columns: int) -> list[list[str]]:
    """The rows of a CSV file without a header.

    Args:
        path: The file.
        n_columns: How many fields each row must have.

    Returns:
        A list of texts for each row.

    Raises:
        UnreadableError: A row has another number of fields.
    """
    with open_text(path) as file:
        rows = list(csv.reader(file))
    wrong = next((i for i, row in enumerate(rows) if len(row) != n_columns), None)
    if wrong is not None:
        raise UnreadableError(
            f"Row {wrong + 1} of {path} has {len(rows[wrong])} fields. Each must have {n_columns}."
        )
    return rows
