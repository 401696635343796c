"""Force files and folders to the disk, so that a commit survives a power failure.

A commit is durable if its steps reach the disk in this order, as databases do it: the files that it
refers to, the folders that name them, the new file itself, and after the renaming its folder.
"""

import errno
import os
import sys
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Self

SYNC_THREADS = 8
# The filesystem cannot do it; then it has no weaker guarantee than without the call.
UNSUPPORTED = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
# Some systems do not open folders.
UNSUPPORTED_FOR_FOLDERS = UNSUPPORTED | {errno.EACCES, errno.EPERM, errno.EBADF, errno.EISDIR}

# Of `renameat2` on Linux and `renamex_np` on macOS.
AT_FDCWD, RENAME_EXCHANGE, RENAME_SWAP = -100, 2, 2


def sync(path: Path) -> None:
    """Force the content of a file, or the names in a folder, to the disk."""
    is_folder = path.is_dir()
    if is_folder and sys.platform == "win32":  # its filesystems write names in order
        return
    try:
        number = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
        try:
            _flush(number)
        finally:
            os.close(number)
    except OSError as error:
        if error.errno not in (UNSUPPORTED_FOR_FOLDERS if is_folder else UNSUPPORTED):
            raise


def _flush(number: int) -> None:
    try:
        import fcntl
    except ModuleNotFoundError:  # Windows
        os.fsync(number)
        return
    if hasattr(fcntl, "F_FULLFSYNC"):  # on macOS, `fsync` leaves the data in the cache of the disk
        with suppress(OSError):
            fcntl.fcntl(number, fcntl.F_FULLFSYNC)
            return
    os.fsync(number)


def sync_before(folder: Path, files: Iterable[Path], root: Path) -> None:
    """Force to the disk what a new file in `folder` refers to: files, and names below `root`."""
    files = list(files)
    if not files and folder == root:
        return
    folders = {root, folder, *folder.parents, *(place for file in files for place in file.parents)}
    below = [place for place in folders if place.is_relative_to(root)]
    with Syncs() as syncs:
        syncs.add([*files, *sorted(below, key=lambda place: len(place.parts), reverse=True)])


class Syncs:
    """Forces files and folders to the disk in the background; at the end of the block all are.

    Several at a time: a filesystem writes what waits for it together.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(SYNC_THREADS)
        self._pending: list[Future[None]] = []

    def add(self, paths: Iterable[Path]) -> None:
        """Force some more to the disk, in any order."""
        self._pending += [self._pool.submit(sync, path) for path in paths]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._pool.shutdown(cancel_futures=kind is not None)
        if kind is None:
            for sync_of_path in self._pending:
                sync_of_path.result()


def make_folder(folder: Path) -> None:
    """Create a folder and those above it, and force the names of the new ones to the disk."""
    new = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in new:
        sync(place.parent)


def exchange(first: Path, second: Path) -> bool:
    """Swap the names of two folders in one step; False where the system cannot do that."""
    import ctypes

    names = os.fsencode(first), os.fsencode(second)
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            return bool(library.renamex_np(*names, RENAME_SWAP) == 0)
        here = ctypes.c_int(AT_FDCWD)
        return bool(library.renameat2(here, names[0], here, names[1], RENAME_EXCHANGE) == 0)
    except (AttributeError, OSError, TypeError):  # Windows, and C libraries without the call
        return False
