"""Marker file of an unfinished ingest: its inputs, and the command that resumes it."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seedproof.errors import StoreError
from seedproof.records.columns import Columns
from seedproof.records.location import Location

MARK = "ingest.json"
# Working folder inside the store, deleted at the end.
WORKING = "ingest"
# Version of its content; other versions are not resumed.
FORMAT = 2


@dataclass(frozen=True)
class IngestPlan:
    """Tables that become a store."""

    tables: tuple[Path, ...]  # paths as they were given
    store: Path  # the store's folder, as it was given
    columns: Columns  # what the columns of the tables are called

    @property
    def command(self) -> str:
        """Command line of the ingest."""
        words = ["seedproof", "ingest", *map(str, self.tables), "--out", str(self.store)]
        for name, value in self.columns.changed().items():
            words += [f"--{name}", value]
        return shlex.join(words)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, equal for equal files with equal options."""
        states = [(str(table.absolute()), table.stat()) for table in self.tables]
        inputs = [
            {"path": path, "size": state.st_size, "changed": state.st_mtime_ns}
            for path, state in states
        ]
        return {"format": FORMAT, "inputs": inputs, "columns": vars(self.columns)}

    def write(self) -> None:
        """Mark the store as unfinished, before anything else is in it."""
        content = self.as_dict() | {"command": self.command}
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        (Location.of(self.store) / MARK).commit(text.encode())

    def check(self) -> None:
        """Raise an error if the marker was left by another ingest."""
        place = Location.of(self.store) / MARK
        left, now = _content(place), self.as_dict()
        if {name: left.get(name) for name in now} == now:
            return
        then = [entry.get("path") for entry in left.get("inputs", ())]
        if left.get("format") == FORMAT and then == [entry["path"] for entry in now["inputs"]]:
            pairs = zip(now["inputs"], left["inputs"], strict=True)
            changed = [entry["path"] for entry, before in pairs if entry != before]
            if changed:
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
            command=left.get("command"),
        )


def refuse_unfinished(store: Location) -> None:
    """Raise an error if a store is not finished."""
    place = store / MARK
    if place.is_file():
        raise StoreError(
            "{store} is not finished: its ingest was interrupted, or is still running. "
            "Finish it with: {command}",
            store=store,
            command=_content(place).get("command"),
        )


def _content(place: Location) -> dict[str, Any]:
    try:
        return dict(json.loads(place.read_bytes()))
    except ValueError as error:
        raise StoreError(
            "{path} is damaged. Delete the store, and ingest again.", path=place
        ) from error
