"""Marker file of an unfinished ingest: its inputs, and the command that resumes it."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from seedproof.errors import StoreError
from seedproof.records.columns import Columns
from seedproof.records.decoding import DecodingError, decode, read_json
from seedproof.records.items import MOST_KEPT
from seedproof.records.location import Location

MARK = "ingest.json"
# Working folder inside the store, deleted at the end.
WORKING = "ingest"
# Version of its content; other versions are not resumed.
FORMAT = 2

_T = TypeVar("_T")


@dataclass(frozen=True)
class _Input:
    """A table as it was when its ingest began."""

    path: str
    size: int
    changed: int  # time of its last change, in nanoseconds


@dataclass(frozen=True)
class _Mark:
    """Content of the marker file."""

    command: str
    format: int = 0
    inputs: tuple[_Input, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    keep: int = MOST_KEPT


@dataclass(frozen=True)
class IngestPlan:
    """Tables that become a store."""

    tables: tuple[Path, ...]  # paths as they were given
    store: Path  # the store's folder, as it was given
    columns: Columns  # what the columns of the tables are called
    relevant: Path | None = None  # a table with right items
    keep: int = MOST_KEPT  # items of a ranked list

    @property
    def command(self) -> str:
        """Command line of the ingest."""
        words = ["seedproof", "ingest", *map(str, self.tables), "--out", str(self.store)]
        for name, value in self.columns.changed().items():
            words += [f"--{name}", value]
        if self.relevant is not None:
            words += ["--relevant", str(self.relevant)]
        if self.keep != MOST_KEPT:
            words += ["--keep", str(self.keep)]
        return shlex.join(words)

    def mark(self) -> _Mark:
        """Return the content of the marker, equal for equal files with equal options."""
        tables = [*self.tables, *([] if self.relevant is None else [self.relevant])]
        states = [(str(table.absolute()), table.stat()) for table in tables]
        inputs = [_Input(path, state.st_size, state.st_mtime_ns) for path, state in states]
        return _Mark(self.command, FORMAT, tuple(inputs), dict(vars(self.columns)), self.keep)

    def write(self) -> None:
        """Mark the store as unfinished, before anything else is in it."""
        text = json.dumps(asdict(self.mark()), indent=1, ensure_ascii=False) + "\n"
        (Location.of(self.store) / MARK).commit(text.encode())

    def check(self) -> None:
        """Raise an error if the marker was left by another ingest."""
        left, now = read_state(_Mark, Location.of(self.store) / MARK), self.mark()
        # The same tables may be named by another path.
        if replace(left, command=now.command) == now:
            return
        changed = [
            new.path for new, old in zip(now.inputs, left.inputs, strict=False) if new != old
        ]
        is_same = [entry.path for entry in left.inputs] == [entry.path for entry in now.inputs]
        if left.format == FORMAT and is_same and changed:
            raise StoreError(
                "{table} has changed since its ingest into {store} began. "
                "Delete {store}, and ingest again.",
                table=changed[0],
                store=self.store,
            )
        raise StoreError(
            "{store} is the unfinished store of another command: {command}. "
            "Finish that one, delete the folder, or choose another --out.",
            store=self.store,
            command=left.command,
        )


def refuse_unfinished(store: Location) -> None:
    """Raise an error if a store is not finished."""
    place = store / MARK
    if place.is_file():
        raise StoreError(
            "{store} is not finished: its ingest was interrupted, or is still running. "
            "Finish it with: {command}",
            store=store,
            command=read_state(_Mark, place).command,
        )


def read_state(kind: type[_T], place: Location, *, is_own: bool = False) -> _T:
    """Return a file that an ingest has left; its own files may have any size."""
    try:
        return decode(kind, read_json(place, is_own=is_own), allow_unknown=True)
    except DecodingError as error:
        raise StoreError(
            "{path} is damaged: {problem}. Delete the store, and ingest again.",
            path=place,
            problem=str(error),
            field=error.field,
        ) from error
