"""Power failures, simulated: folders as a disk may hold them after a crash at any moment.

`record` watches a folder while a program writes to it. A moment is any call of the program that
opens, renames or deletes a file, or that forces something to the disk. For each moment there are
several disks, as a filesystem may write names and content in any order until it is forced to:

- `lost`: nothing but what was forced to the disk; other files are absent, or empty.
- `names`: all names, but only the content that was forced; other files are empty.
- `torn`: all names; other files have the first half of their content.
- `content`: only the names that were forced, with all of the content.
- `killed`: everything, as after a kill of the process.
"""

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from seedproof.records import durability

KINDS = ("lost", "names", "torn", "content", "killed")
# Calls of Python before which a moment is noted.
EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link"}

# A file is its content, a folder maps names to the keys of files and folders.
Key = tuple[int, int]
Tree = dict[str, "bytes | None"]  # content by path; None for a folder


@dataclass
class Disk:
    """Files and names that were forced to the disk, and those that the program sees."""

    root: Path
    forced_content: dict[Key, bytes] = field(default_factory=dict)
    forced_names: dict[Key, dict[str, Key]] = field(default_factory=dict)
    content: dict[Key, bytes] = field(default_factory=dict)
    names: dict[Key, dict[str, Key]] = field(default_factory=dict)
    # Open files keep their inodes from being used again.
    opened: dict[Key, int] = field(default_factory=dict)

    def look(self) -> None:
        """Read the folder as the program sees it."""
        self.names.clear()
        self.content.clear()
        self._look_at(self.root)

    def _look_at(self, path: Path) -> Key:
        key = self._key(path)
        if path.is_dir():
            self.names[key] = {place.name: self._look_at(place) for place in path.iterdir()}
        else:
            self.content[key] = path.read_bytes()
        return key

    def _key(self, path: Path) -> Key:
        status = path.stat()
        key = (status.st_dev, status.st_ino)
        if key not in self.opened:
            self.opened[key] = os.open(path, os.O_RDONLY)
        return key

    def force(self, path: Path) -> None:
        """Note that a file or folder was forced to the disk."""
        if not path.is_relative_to(self.root):
            return
        key = self._key(path)
        if path.is_dir():
            self.forced_names[key] = {place.name: self._key(place) for place in path.iterdir()}
        else:
            self.forced_content[key] = path.read_bytes()

    def after(self, kind: str) -> Tree:
        """Return the content of the disk after a power failure."""
        tree: Tree = {}
        self._add(self._key(self.root), "", kind, tree)
        return tree

    def _add(self, key: Key, path: str, kind: str, tree: Tree) -> None:
        names = self.forced_names if kind in {"lost", "content"} else self.names
        if key not in self.content and (key in self.names or key in self.forced_names):
            tree[path] = None
            for name, inside in names.get(key, {}).items():
                self._add(inside, f"{path}/{name}", kind, tree)
            return
        now = self.content.get(key)
        if now is None:  # deleted, but its folder was not forced
            now = self.forced_content.get(key, b"")
        unforced = {"content": now, "killed": now, "torn": now[: len(now) // 2]}.get(kind, b"")
        tree[path] = now if kind == "killed" else self.forced_content.get(key, unforced)

    def close(self) -> None:
        """Close the open files."""
        for number in self.opened.values():
            os.close(number)


@dataclass(frozen=True)
class Moment:
    """A moment of a program, with the disks that a power failure may leave."""

    place: int
    cause: str
    disks: dict[str, Tree]
    committed: frozenset[str]  # files whose commit has returned


class _Hook:
    """Hook for the events of Python; it cannot be removed, so it is used again."""

    listener: Callable[[str], None] | None = None

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in EVENTS and self.listener is not None:
            listener, self.listener = self.listener, None
            try:
                listener(f"{event} {arguments[0]}")
            finally:
                self.listener = listener


_HOOK: list[_Hook] = []


class LateExecutor:
    """An executor that works as late as it may, in this thread: moments follow each other."""

    def __init__(self, _: int) -> None:
        self._work: list[tuple[Future[None], Callable[[], None]]] = []

    def submit(self, function: Callable[[Path], None], path: Path) -> "Future[None]":
        """Note some work."""
        future: Future[None] = Future()
        self._work.append((future, partial(function, path)))
        return future

    def shutdown(self, *, cancel_futures: bool) -> None:
        """Do all of it."""
        for future, work in () if cancel_futures else self._work:
            future.set_result(work())


@contextmanager
def record(root: Path) -> Iterator[list[Moment]]:
    """Watch a folder; afterwards the list has every moment at which something had changed."""
    if not _HOOK:
        _HOOK.append(_Hook())
        sys.addaudithook(_HOOK[0])
    hook, disk, moments = _HOOK[0], Disk(root), list[Moment]()
    committed: set[str] = set()
    sync = durability.sync

    def note(cause: str) -> None:
        disk.look()
        disks = {kind: disk.after(kind) for kind in KINDS}
        if not moments or disks != moments[-1].disks or committed != moments[-1].committed:
            moments.append(Moment(len(moments), cause, disks, frozenset(committed)))

    def synced(path: Path) -> None:
        listener, hook.listener = hook.listener, None
        try:
            note(f"before sync {path}")
            sync(path)
            disk.force(path)
            note(f"sync {path}")
        finally:
            hook.listener = listener

    def noted_commit(place, *given, **named):
        result = commit(place, *given, **named)
        if place.is_durable:
            committed.add(place.path)
        return result

    from seedproof.records.location import Location

    commit = Location.commit
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        stack.callback(disk.close)
        disk.force(root)
        patch.setattr(durability, "sync", synced)
        patch.setattr(durability, "ThreadPoolExecutor", LateExecutor)
        for module in list(sys.modules.values()):
            if getattr(module, "sync", None) is sync:
                patch.setattr(module, "sync", synced)
        patch.setattr(Location, "commit", noted_commit)
        hook.listener = note
        try:
            yield moments
            note("end")
        finally:
            hook.listener = None


def restore(tree: Tree, root: Path) -> None:
    """Write a disk to a folder."""
    for path, content in tree.items():
        place = root / path.lstrip("/")
        if content is None:
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.write_bytes(content)
