"""Readers of further file formats, each an entry point of the group `seedproof.readers`.

The entry point is a module or an object with two functions:

    def recognizes(path: pathlib.Path) -> bool: ...
    def read(path: pathlib.Path): ...  # a table of any library that speaks Arrow

`recognizes` checks the name or the first bytes, and is quick. `read` returns a table as
`seedproof measure` takes it: columns run, example, label, prediction or p_<class>, or value and
target, and further columns.
"""

import warnings
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol

from seedproof.errors import SeedproofError, UnreadableError, first_line
from seedproof.typing import ArrowStream

GROUP = "seedproof.readers"
TABLE_SUFFIXES = frozenset(
    {
        *(".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".json", ".parquet", ".pq", ".npz"),
        *(".run", ".trec"),
    }
)


class Reader(Protocol):
    """A file format."""

    def recognizes(self, path: Path) -> bool:
        """Return whether a file is of this format."""

    def read(self, path: Path) -> ArrowStream:
        """Read the rows of a file."""


def reader_of(path: Path) -> str | None:
    """Return the name of the installed reader that recognizes a file; None if none does."""
    return next((name for name, reader in _installed().items() if _recognizes(reader, path)), None)


def _recognizes(reader: Reader, path: Path) -> bool:
    try:
        return reader.recognizes(path)
    except Exception as error:  # noqa: BLE001 - another package must not break every command
        warnings.warn(f"A reader failed on {path.name!r}: {first_line(error)}.", stacklevel=2)
        return False


def read_with(name: str, path: Path) -> ArrowStream:
    """Read a file with an installed reader."""
    try:
        return _installed()[name].read(path)
    except SeedproofError:
        raise
    except Exception as error:
        raise UnreadableError(
            "{file} cannot be read as {format}: {reason}.",
            file=path.name,
            format=name,
            reason=first_line(error),
        ) from error


@cache
def _installed() -> dict[str, Reader]:
    """Load the readers of all installed packages, by name; skip those that fail to load."""
    readers: dict[str, Reader] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            readers[point.name] = point.load()
        except Exception as error:  # noqa: BLE001 - another package must not break every command
            reason = f"{type(error).__name__}: {first_line(error)}"
            warnings.warn(f"The reader {point.name!r} is skipped: {reason}.", stacklevel=2)
    return readers
