"""Exclusive locks on files, which end with the process that holds them.

They are advisory locks of the system: `flock` on POSIX systems, a locked byte on Windows. Network
filesystems grant an exclusive lock only on a file that is open for writing.
"""

import errno
import os
import sys
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from seedproof.errors import LockError
from seedproof.messages import problem_of
from seedproof.records.location import Location

# File in a run's folder for its training, and in a store for its plan or its ingest.
LOCK_FILE = "claim"
HELD_ELSEWHERE = {errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK}
# Programs that look at a lock hold it for some microseconds.
LOOKING_SECONDS = 0.05
RETRY_SECONDS = 0.01
# The plan of a store is locked while it is read and written.
PLAN_SECONDS = 120.0
# Windows forbids reading a locked byte, so it is one that no file has.
FAR_BYTE = 2**31 - 2


class Lock:
    """An exclusive lock on a file, until `release`, or the end of this object or the process."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self._end = weakref.finalize(self, _unlock_and_close, file, os.getpid())
        self._end.atexit = False

    def release(self, *, delete: bool = False) -> None:
        """Release the lock; with `delete`, delete the file first."""
        if delete and self._end.alive:
            with suppress(OSError):
                self.path.unlink()
        self._end()
        if delete and sys.platform == "win32":  # it does not delete an open file
            with suppress(OSError):
                self.path.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()


def _unlock_and_close(file: BinaryIO, owner: int) -> None:
    # Closing is not enough: processes that were forked meanwhile hold the file as well. They must
    # not unlock it for its owner.
    if os.getpid() == owner:
        with suppress(OSError):
            _unlock(file.fileno())
    file.close()


def acquire(path: Path, *, seconds: float = LOOKING_SECONDS) -> Lock | None:
    """Lock a file, which is created if needed; None if another process holds it for `seconds`."""
    end = time.monotonic() + seconds
    while True:
        file = _opened(path)
        try:
            has_lock = lock(file)
        except BaseException:
            file.close()
            raise
        if has_lock and _is_at(file, path):
            return Lock(path, file)
        file.close()
        if time.monotonic() >= end:
            return None
        time.sleep(RETRY_SECONDS)


def _opened(path: Path) -> BinaryIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return open(path, "r+b", opener=_created)
    except OSError as error:
        raise LockError(
            "{path} cannot be locked: {reason}. Check the permissions, or use another store.",
            path=str(path),
            reason=problem_of(error),
        ) from error


def _created(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT, 0o666)


def _is_at(file: BinaryIO, path: Path) -> bool:
    """Return whether a file still has its name: its last holder may have deleted it."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def lock(file: BinaryIO) -> bool:
    """Lock a file that is open for writing, until it is closed; False if it is held elsewhere."""
    try:
        _lock(file.fileno())
    except OSError as error:
        if error.errno in HELD_ELSEWHERE:
            return False
        raise LockError(
            "The filesystem of {path} has no locks ({reason}). Two processes could write the same "
            "files: use a store on another filesystem, or mount this one with locks.",
            path=str(file.name),
            reason=problem_of(error),
        ) from error
    return True


def is_held(path: Path) -> bool:
    """Return whether some process holds the lock on a file; False where there are no locks."""
    try:
        file = path.open(_LOOKING_MODE)
    except OSError:
        return False
    with file:
        try:
            _look(file.fileno())
        except OSError as error:
            return error.errno in HELD_ELSEWHERE
    return False


def claim(folder: Location, *, seconds: float = LOOKING_SECONDS) -> Lock | None:
    """Lock a folder with the file `claim` in it; None if another process holds it."""
    return acquire(_file_of(folder), seconds=seconds)


def _file_of(folder: Location) -> Path:
    place = folder / LOCK_FILE
    place.check_links()
    return Path(place.path)


@contextmanager
def locked(folder: Location) -> Iterator[bool]:
    """Hold an exclusive lock on a run; yield whether it was acquired.

    The lock ends with its process. Object stores have no locks: two coordinators may train the same
    run there, and one of the two equal results is kept.
    """
    if not folder.is_local:
        yield True
        return
    lock = claim(folder)
    if lock is None:
        yield False
        return
    with lock:
        yield True


@contextmanager
def plan_locked(store: Location) -> Iterator[None]:
    """Hold an exclusive lock on the plan of a store, to read and replace it.

    Object stores have no locks, so an update may be lost there.
    """
    if not store.is_local:
        yield
        return
    lock = claim(store, seconds=PLAN_SECONDS)
    if lock is None:
        raise LockError(
            "Another process has locked the plan of {path} for {seconds:g} s. Wait until it ends, "
            "or stop it.",
            path=str(store),
            seconds=PLAN_SECONDS,
        )
    with lock:
        yield


def is_locked(folder: Location) -> bool:
    """Return whether some process is training this run."""
    return folder.is_local and is_held(_file_of(folder))


try:
    import fcntl
except ModuleNotFoundError:  # Windows
    import msvcrt

    _LOOKING_MODE = "r+b"

    def _locking(number: int, mode: int) -> None:
        place = os.lseek(number, 0, os.SEEK_CUR)
        os.lseek(number, FAR_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(number, mode, 1)  # type: ignore[attr-defined,unused-ignore]
        finally:
            os.lseek(number, place, os.SEEK_SET)

    def _lock(number: int) -> None:
        _locking(number, msvcrt.LK_NBLCK)  # type: ignore[attr-defined,unused-ignore]

    def _unlock(number: int) -> None:
        _locking(number, msvcrt.LK_UNLCK)  # type: ignore[attr-defined,unused-ignore]

    def _look(number: int) -> None:
        _lock(number)
        _unlock(number)

else:
    # A reader of the study may lack the permission to write.
    _LOOKING_MODE = "rb"

    def _lock(number: int) -> None:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(number: int) -> None:
        fcntl.flock(number, fcntl.LOCK_UN)

    def _look(number: int) -> None:
        # Shared, so that two readers do not mistake each other for a training.
        fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
