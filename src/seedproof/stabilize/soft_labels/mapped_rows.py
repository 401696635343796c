"""Sums and counts by row in one file on disk, with snapshots that survive a kill.

The file is a page of whole numbers, the counts, and the sums, all little-endian. One of the numbers
in front is a mark: it is set, and on disk, before anything changes, and taken away only after
everything is on disk. So a file whose mark is set is being changed, or its process was killed.
"""

import os
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from seedproof.errors import DamagedStoreError, NotFoundError, RunError, UnreadableError
from seedproof.records.ingest_state import lock

# A page, so that what is flushed first shares none with what is flushed later.
HEADER_BYTES = 4096
# Says what the file is: "seedprf" and the version of its layout.
MAGIC = int.from_bytes(b"seedprf\x01", "little", signed=True)
COPY_BYTES = 2**24
# Values of the mark: all is on disk; changed, each change whole; in the middle of a change.
FLUSHED, CHANGED, CHANGING = 0, 1, 2
# Why a file is refused, as it is worded in messages.
REFUSALS = {
    "half-written": (
        "is being changed by another process, or was left in the middle of a change by one that "
        "was killed. Load the state of a checkpoint, or delete it."
    ),
    "in-use": "is being changed by another process. Give each training its own path.",
    "not-empty": (
        "holds what an earlier training has left. Load the state of its checkpoint to go on, call "
        "clear() to begin anew, or give another path."
    ),
}


class MappedRows:
    """A file of sums and counts, as arrays.

    Args:
        path: The file; it and its folder are made if there are none. Snapshots lie beside it.
        n_examples: How many rows.
        n_classes: How many sums a row has.

    Raises:
        UnreadableError: The file is something else, or has other rows.
    """

    def __init__(self, path: str | os.PathLike[str], *, n_examples: int, n_classes: int) -> None:
        self.path = Path(path)
        shape = (n_examples, n_classes)
        n_bytes = HEADER_BYTES + 8 * n_examples * (1 + n_classes)
        if not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            _create(self.path, (MAGIC, *shape), n_bytes)
        _check(self.path, (MAGIC, *shape), n_bytes)
        self._bytes = np.memmap(self.path, dtype=np.uint8, mode="r+", shape=(n_bytes,))
        plain = np.asarray(self._bytes)
        self._header: npt.NDArray[np.int64] = plain[:HEADER_BYTES].view("<i8")
        rows = plain[HEADER_BYTES:]
        self.counts: npt.NDArray[np.int64] = rows[: 8 * n_examples].view("<i8")
        self.sums: npt.NDArray[np.float64] = rows[8 * n_examples :].view("<f8").reshape(shape)
        self._rows = rows
        # Flushes, and lets go of the lock: when it is called, forgotten, or Python ends.
        self._lock: weakref.finalize[..., MappedRows] | None = None
        # The snapshot that equals the rows as they are now, and the last that was made or loaded.
        self._snapshot: tuple[int, int] | None = None
        self._last_number: int | None = None

    @property
    def mark(self) -> int:
        """What the file says of itself."""
        return int(self._header[3])

    def check_readable(self) -> None:
        """Refuse what may be half written.

        Raises:
            RunError: Another process changes it, or was killed while it did.
        """
        if self.mark == CHANGING or (self.mark == CHANGED and self._lock is None):
            raise self._refusal("half-written")

    def _refusal(self, reason: str) -> RunError:
        return RunError(f"{{path}} {REFUSALS[reason]}", path=self.path, reason=reason)

    @contextmanager
    def changing(self, *, anew: bool = False) -> Iterator[None]:
        """Inside, rows may change.

        Args:
            anew: Whether all of them will be replaced, so that nothing depends on what is there.

        Yields:
            Nothing.

        Raises:
            RunError: The file holds what another training has left, or another process has it.
        """
        if self._lock is None:
            self._take(anew=anew)
        elif not anew:
            self.check_readable()
        self._snapshot = None
        was_flushed = self.mark == FLUSHED
        self._header[3] = CHANGING
        if was_flushed:
            self._bytes.flush()
        # If this raises the mark stays: half of the change may be there.
        yield
        self._header[3] = CHANGED

    def _take(self, *, anew: bool) -> None:
        """Lock the file, unless somebody else has it, or something of value is in it."""
        file = self.path.open("rb")
        reason = None
        if not lock(file):
            reason = "in-use"
        elif not anew and self.mark != FLUSHED:
            reason = "half-written"
        elif not anew and self.counts.any():
            reason = "not-empty"
        if reason is not None:
            file.close()
            raise self._refusal(reason)
        self._lock = weakref.finalize(self, _let_go, self._bytes, file, os.getpid())

    def flush(self) -> None:
        """Bring everything to disk, and say so in the file."""
        if self._lock is not None:
            _flush(self._bytes)

    def clear(self) -> None:
        """Begin anew, whatever the file holds; snapshots stay."""
        with self.changing(anew=True):
            self._rows[:] = 0
        self.flush()

    def close(self) -> None:
        """Bring everything to disk and let others have the file."""
        if self._lock is not None:
            self._lock()
            self._lock = None

    # ---------------------------------------------------------------------------------- snapshots

    def snapshot(self) -> tuple[int, int]:
        """Copy the rows to a file of their own, which never changes any more.

        The one before is kept as well: if the process is killed before the checkpoint that names
        the new one is saved, it is the one that counts.

        Returns:
            Its number, and the checksum of its bytes.
        """
        self.check_readable()
        if self._snapshot is not None:
            return self._snapshot
        there = self._snapshots()
        number = 1 + max([int(self._header[4]), *there])
        before = max(there, default=None) if self._last_number is None else self._last_number
        unfinished = self._snapshot_path(number).with_suffix(".unfinished")
        checksum = 0
        with unfinished.open("wb") as file:
            for begin in range(0, len(self._rows), COPY_BYTES):
                piece = self._rows[begin : begin + COPY_BYTES].tobytes()
                checksum = zlib.crc32(piece, checksum)
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self._snapshot_path(number))
        if self._lock is not None:  # who only reads takes nothing away from who writes
            self._header[4] = number
            for old in {*there} - {before}:
                self._snapshot_path(old).unlink(missing_ok=True)
        self._snapshot, self._last_number = (number, checksum), number
        return self._snapshot

    def restore(self, number: int, checksum: int) -> None:
        """Let the rows be those of a snapshot, whatever the file holds.

        Args:
            number: That of the snapshot.
            checksum: That of its bytes.

        Raises:
            NotFoundError: There is no such snapshot any more.
            DamagedStoreError: Its bytes are others.
        """
        source = self._snapshot_path(number)
        if not source.is_file():
            raise NotFoundError(
                "The checkpoint needs {path}, which does not exist. The last two are kept, "
                "and here are: {snapshots!s}. Load a later checkpoint.",
                path=source,
                snapshots=sorted(self._snapshots()),
            )
        with self.changing(anew=True):
            actual = self._copy_from(source)
            if actual != checksum:
                raise DamagedStoreError(
                    "{path} is not the file that the checkpoint was saved with: checksum "
                    "{actual}, and not {checksum}. Load another checkpoint.",
                    path=source,
                    actual=actual,
                    checksum=checksum,
                )
        self.flush()
        self._snapshot, self._last_number = (number, checksum), number

    def _copy_from(self, source: Path) -> int:
        """Take the rows from a file; the checksum of what was there."""
        checksum = 0
        with source.open("rb") as file:
            for begin in range(0, len(self._rows), COPY_BYTES):
                piece = file.read(min(COPY_BYTES, len(self._rows) - begin))
                checksum = zlib.crc32(piece, checksum)
                self._rows[begin : begin + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
        return checksum

    def _snapshot_path(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number:06d}")

    def _snapshots(self) -> list[int]:
        """Numbers of the snapshots that exist."""
        prefix = f"{self.path.name}."
        names = [one.name for one in self.path.parent.iterdir() if one.name.startswith(prefix)]
        endings = [name.removeprefix(prefix) for name in names]
        return [int(ending) for ending in endings if len(ending) >= 6 and ending.isdecimal()]


def _flush(mapped: np.memmap[Any, np.dtype[np.uint8]]) -> None:
    """Bring a file to disk, and say so in it, unless it is in the middle of a change."""
    header = mapped[:HEADER_BYTES].view("<i8")
    if header[3] == CHANGED:
        mapped.flush()
        header[3] = FLUSHED
        mapped.flush()


def _let_go(mapped: np.memmap[Any, np.dtype[np.uint8]], lock: BinaryIO, owner: int) -> None:
    # A forked process, such as one that loads data, has a copy of this, and not the file.
    if os.getpid() == owner:
        _flush(mapped)
    lock.close()


def _create(path: Path, numbers: tuple[int, ...], n_bytes: int) -> None:
    """A file of zeros behind its header; one that is there is whole."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.unfinished")
    with unfinished.open("wb") as file:
        file.write(np.array(numbers, dtype="<i8").tobytes())
        file.truncate(n_bytes)
        file.flush()
        os.fsync(file.fileno())
    try:
        # Never over one that another process has made in the meantime, and may be using.
        path.hardlink_to(unfinished)
    except FileExistsError:
        unfinished.unlink()
    except OSError:  # a filesystem without links
        unfinished.replace(path)
    else:
        unfinished.unlink()


def _check(path: Path, numbers: tuple[int, ...], n_bytes: int) -> None:
    with path.open("rb") as file:
        header = np.frombuffer(file.read(24).ljust(24, b"\0"), dtype="<i8")
    if header[0] != MAGIC or path.stat().st_size < HEADER_BYTES:
        raise UnreadableError(
            "{path} is not a file of a running mean. Give another path.", path=path
        )
    if tuple(header) != numbers or path.stat().st_size != n_bytes:
        raise UnreadableError(
            "{path} holds {n_stored} examples and {n_stored_classes} classes, and {n_examples} and "
            "{n_classes} are asked for. Give another path, or delete the file.",
            path=path,
            n_stored=int(header[1]),
            n_stored_classes=int(header[2]),
            n_examples=numbers[1],
            n_classes=numbers[2],
        )
