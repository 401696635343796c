"""Hidden folders for files that are not whole yet, and temporary folders.

Each holds a lock of the process that uses it. A folder whose lock is free was left by a
process that was killed, and the next one that needs such a folder removes it.
"""

import os
import re
import shutil
import stat
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from threading import RLock
from uuid import uuid4

from seedproof.errors import LockError
from seedproof.records.locks import LOCK_FILE, Lock, acquire, lock

DRAFT = re.compile(r"\.seedproof-[0-9a-f]{32}")
SCRATCH_PREFIX = "seedproof-"
SCRATCH = re.compile(rf"{SCRATCH_PREFIX}\w{{8}}")
# In a folder that cannot be locked, which is then not taken for what a killed process left.
NO_LOCK_FILE = "unlocked"
USER = os.getuid() if hasattr(os, "getuid") else 0  # on Windows all files have the owner 0


@contextmanager
def draft_in(parent: Path) -> Iterator[Path]:
    """Yield a new hidden folder, for files that are renamed into place when all are whole.

    Its content is removed at the end of the block, together with folders that killed processes
    left in `parent`.
    """
    remove_abandoned(parent, DRAFT)
    draft = parent / f".seedproof-{uuid4().hex}"
    draft.mkdir()
    hold: Lock | None = None
    try:
        hold = _held(draft)
        yield draft
    finally:
        _remove(draft, hold)


def make_temporary_folder() -> Path:
    """Return a new temporary folder; if this process is killed, the next one removes it."""
    key = os.getpid(), gettempdir()
    with _ROOTS_LOCK:
        root = _ROOTS.get(key)
        if root is None or not root.path.is_dir():
            root = _ROOTS[key] = _Root(*key)
        try:
            return Path(mkdtemp(dir=root.path))
        finally:
            root.remove_if_empty()


def remove_temporary_folder(folder: Path) -> None:
    """Remove a temporary folder of this process and its content."""
    with _ROOTS_LOCK:
        for (owner, _), root in list(_ROOTS.items()):
            # A forked process has a copy of its parent's, which it must not remove.
            if owner == os.getpid() and folder.parent == root.path:
                shutil.rmtree(folder, ignore_errors=True)
                root.remove_if_empty()


class _Root:
    """Folder of all temporary folders of a process, with its lock: each would take an open file."""

    def __init__(self, owner: int, parent: str) -> None:
        remove_abandoned(Path(parent), SCRATCH)
        self.key = owner, parent
        self.path = Path(mkdtemp(prefix=SCRATCH_PREFIX, dir=parent))
        # Also at the end of the process.
        self._remove = weakref.finalize(self, _remove_own, owner, self.path, _held(self.path))

    def remove_if_empty(self) -> None:
        """Remove the folder once no temporary folder is in it."""
        if all(path.name in {LOCK_FILE, NO_LOCK_FILE} for path in self.path.glob("*")):
            _ROOTS.pop(self.key, None)
            self._remove()


def _remove_own(owner: int, folder: Path, hold: Lock | None) -> None:
    if os.getpid() == owner:
        _remove(folder, hold)


class TemporaryFolder:
    """A temporary folder that is removed with the last object that refers to it."""

    def __init__(self) -> None:
        self.path = make_temporary_folder()
        weakref.finalize(self, remove_temporary_folder, self.path)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a temporary folder, which is removed at the end of the block."""
    folder = make_temporary_folder()
    try:
        yield folder
    finally:
        remove_temporary_folder(folder)


# By process and folder for temporary files: a forked one must not use the folder of its parent.
_ROOTS: dict[tuple[int, str], _Root] = {}
_ROOTS_LOCK = RLock()


def is_temporary(path: Path) -> bool:
    """Return whether a file is in a draft or a temporary folder, which only one process uses."""
    return any(DRAFT.fullmatch(name) or SCRATCH.fullmatch(name) for name in path.parts)


def remove_abandoned(parent: Path, pattern: re.Pattern[str]) -> None:
    """Remove the folders of this user whose names match and that no live process holds."""
    try:
        with os.scandir(parent) as entries:
            names = [entry.name for entry in entries if pattern.fullmatch(entry.name)]
    except OSError:  # reported where the folder is used
        return
    for name in names:
        with suppress(OSError, LockError):
            _remove_if_abandoned(parent / name)


def _remove_if_abandoned(folder: Path) -> None:
    state = folder.lstat()
    # Others may create links and folders of such names in a shared folder.
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != USER:
        return
    try:
        file = (folder / LOCK_FILE).open("r+b")
    except FileNotFoundError:
        if DRAFT.fullmatch(folder.name):
            # Fails if there is anything in it. A live process that is about to lock it makes it
            # again.
            folder.rmdir()
        return
    with file:
        if lock(file):
            shutil.rmtree(folder, ignore_errors=True)


def _held(folder: Path) -> Lock | None:
    """Lock a folder; None where the filesystem has no locks: then no other process removes it."""
    try:
        return acquire(folder / LOCK_FILE, seconds=1.0)
    except LockError:
        with suppress(OSError):
            (folder / LOCK_FILE).unlink()
        folder.mkdir(exist_ok=True)
        (folder / NO_LOCK_FILE).touch()
        return None


def _remove(folder: Path, hold: Lock | None) -> None:
    if hold is not None and os.name == "nt":  # it does not delete an open file
        hold.release()
    shutil.rmtree(folder, ignore_errors=True)
    if hold is not None:
        hold.release()
