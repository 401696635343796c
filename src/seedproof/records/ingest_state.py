"""The mark of a store that is being made from tables: what it is made of, and how to go on."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from seedproof.errors import StoreError
from seedproof.records.columns import Columns
from seedproof.records.location import Location

MARK = "ingest.json"
# The working folder inside the store, which is removed at the end.
WORKING = "ingest"
# What is in it; another version is not taken up.
FORMAT = 2


@dataclass(frozen=True)
class IngestPlan:
    """Which tables become a store."""

    tables: tuple[Path, ...]  # paths as they were given
    store: Path  # the store's folder, as it was given
    columns: Columns  # what the columns of the tables are called

    @property
    def command(self) -> str:
        """What to type for it."""
        words = ["seedproof", "ingest", *map(str, self.tables), "--out", str(self.store)]
        usual = vars(Columns())
        for name, value in vars(self.columns).items():
            if value != usual[name]:
                words += [f"--{name}", value]
        return shlex.join(words)

    def as_dict(self) -> dict[str, Any]:
        """Plain data: equal for equal files with equal options."""
        inputs = []
        for table in self.tables:
            found = table.stat()
            path = str(table.absolute())
            inputs.append({"path": path, "size": found.st_size, "changed": found.st_mtime_ns})
        return {"format": FORMAT, "inputs": inputs, "columns": vars(self.columns)}

    def write(self) -> None:
        """Mark the store as unfinished, before anything else is in it."""
        content = self.as_dict() | {"command": self.command}
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        (Location.of(self.store) / MARK).create(text.encode())

    def check(self) -> None:
        """Accept a mark that this very plan has left."""
        place = Location.of(self.store) / MARK
        left, now = _content(place), self.as_dict()
        if {name: left.get(name) for name in now} == now:
            return
        then = [entry.get("path") for entry in left.get("inputs", ())]
        if left.get("format") == FORMAT and then == [entry["path"] for entry in now["inputs"]]:
            changed = [
                entry["path"]
                for entry, before in zip(now["inputs"], left["inputs"], strict=True)
                if entry != before
            ]
            if changed:
                raise StoreError(
                    "{table} has changed since it began to be ingested into {store}. "
                    "Two versions are never mixed: remove {store}, and ingest anew.",
                    table=changed[0],
                    store=self.store,
                )
        raise StoreError(
            "{store} is the unfinished store of another command: {command}. "
            "Finish that one, remove the folder, or choose another --out.",
            store=self.store,
            command=left.get("command"),
        )


def refuse_unfinished(store: Location) -> None:
    """Accept a store that is finished, or no store."""
    place = store / MARK
    if place.is_file():
        raise StoreError(
            "{store} is not finished: its ingest was stopped, or goes on. "
            "Finish it with: {command}",
            store=store,
            command=_content(place).get("command"),
        )


def _content(place: Location) -> dict[str, Any]:
    try:
        return dict(json.loads(place.read_bytes()))
    except ValueError as error:
        raise StoreError(
            "{path} is not what was written there. Remove the store, and ingest anew.", path=place
        ) from error


def lock(file: BinaryIO) -> bool:
    """Lock a file until it is closed; False if another process holds it."""
    try:
        import fcntl
    except ModuleNotFoundError:  # not on Windows
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a filesystem without locks
        return True
    return True
