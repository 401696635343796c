"""Files with one JSON object per line."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from seedproof.errors import UnreadableError
from seedproof.records.decoding import LOG_BYTES, DecodingError, parse_log_object

_T = TypeVar("_T")


def decoded_lines(path: Path, decode_row: Callable[[dict[str, Any]], _T]) -> Iterator[_T]:
    """Yield the rows of a file, one per line.

    Args:
        path: The file.
        decode_row: Returns the row of an object, or raises a DecodingError.

    Yields:
        The row of each line that is not empty.

    Raises:
        UnreadableError: A line is not a JSON object, or not a row; the message names it.
    """
    with path.open("rb") as file:
        number = 0
        while line := file.readline(LOG_BYTES + 1):
            number += 1
            if not line.strip():
                continue
            try:
                row = decode_row(parse_log_object(line))
            except DecodingError as error:
                raise UnreadableError(
                    "{file} cannot be read: line {line} is wrong: {reason}.",
                    file=path.name,
                    line=number,
                    reason=str(error),
                ) from error
            yield row
