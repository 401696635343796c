"""Files with one JSON object per line."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from seedproof.errors import UnreadableError
from seedproof.records.decoding import DecodingError, parse_json


def read_lines(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a file, one per line.

    Args:
        path: The file.

    Yields:
        The object of each line that is not empty.

    Raises:
        UnreadableError: A line is not a JSON object; the message names it.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = parse_json(line, allow_nan=True)
            except DecodingError as error:
                raise _unreadable(path, number, str(error)) from error
            if not isinstance(row, Mapping):
                raise _unreadable(path, number, "not an object")
            yield row


def _unreadable(path: Path, number: int, reason: str) -> UnreadableError:
    return UnreadableError(
        "{file} cannot be read: line {line} is {reason}.",
        file=path.name,
        line=number,
        reason=reason,
    )
