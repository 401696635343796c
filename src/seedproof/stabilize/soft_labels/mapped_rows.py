"""Sums and counts by row in one file on disk, with snapshots that survive a kill.

The file is a page of whole numbers (the header), the counts, and the sums, all little-endian. One
header number is a mark. It is set, and on disk, before anything changes, and cleared only when
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
from seedproof.records.locks import lock

# A page of its own, so that the header and the rows are flushed separately.
HEADER_BYTES = 4096
# "seedprf" and the version of the layout.
MAGIC = int.from_bytes(b"seedprf\x01", "little", signed=True)
COPY_BYTES = 2**24
# Values of the mark: all is on disk; complete but not on disk; in the middle of a change.
FLUSHED, CHANGED, CHANGING = 0, 1, 2
# Why a file is refused, as worded in messages.
REFUSALS = {
    "half-written": (
        "is being changed by another process, or by one that was killed during a change. "
        "Load the state of a checkpoint, or delete the file."
    ),
    "in-use": "is being changed by another process. Give each training its own path.",
    "not-empty": (
        "contains data of an earlier training. Load the state of its checkpoint to continue, call "
        "clear() to start again, or pass another path."
    ),
}


class MappedRows:
    """Arrays of sums and counts, mapped to a file that is created if it does not exist.

    Snapshots are written next to it. An UnreadableError means that the file has another format or
    size.
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
        # Flushes and unlocks: when it is called, garbage-collected, or Python ends.
        self._lock: weakref.finalize[..., MappedRows] | None = None
        # The snapshot that equals the current rows, and the last that was made or loaded.
        self._snapshot: tuple[int, int] | None = None
        self._last_number: int | None = None

    @property
    def mark(self) -> int:
        """The state of the file: `FLUSHED`, `CHANGED` or `CHANGING`."""
        return int(self._header[3])

    def check_readable(self) -> None:
        """Raise a RunError if a change may be incomplete."""
        if self.mark == CHANGING or (self.mark == CHANGED and self._lock is None):
            raise self._refusal("half-written")

    def _refusal(self, reason: str) -> RunError:
        return RunError(f"{{path}} {REFUSALS[reason]}", path=self.path, reason=reason)

    @contextmanager
    def changing(self, *, replace_all: bool = False) -> Iterator[None]:
        """Allow changes of rows; `replace_all` means all of them, whatever the file contains.

        A RunError means that the file contains earlier data, or that another process has it.
        """
        if self._lock is None:
            self._acquire(replace_all=replace_all)
        elif not replace_all:
            self.check_readable()
        self._snapshot = None
        was_flushed = self.mark == FLUSHED
        self._header[3] = CHANGING
        if was_flushed:
            self._bytes.flush()
        # If this raises, the mark stays: the change may be incomplete.
        yield
        self._header[3] = CHANGED

    def _acquire(self, *, replace_all: bool) -> None:
        file = self.path.open("r+b")
        reason = None
        if not lock(file):
            reason = "in-use"
        elif not replace_all and self.mark != FLUSHED:
            reason = "half-written"
        elif not replace_all and self.counts.any():
            reason = "not-empty"
        if reason is not None:
            file.close()
            raise self._refusal(reason)
        self._lock = weakref.finalize(self, _release, self._bytes, file, os.getpid())

    def flush(self) -> None:
        """Write all changes to disk, and mark the file as flushed."""
        if self._lock is not None:
            _flush(self._bytes)

    def clear(self) -> None:
        """Reset all rows, whatever the file contains; snapshots stay."""
        with self.changing(replace_all=True):
            self._rows[:] = 0
        self.flush()

    def close(self) -> None:
        """Flush and unlock the file."""
        if self._lock is not None:
            self._lock()
            self._lock = None

    # ---------------------------------------------------------------------------------- snapshots

    def snapshot(self) -> tuple[int, int]:
        """Copy the rows to a file that never changes; return its number and checksum.

        The previous snapshot is kept: if the process is killed before the checkpoint that names
        the new one is saved, the previous one is needed.
        """
        self.check_readable()
        if self._snapshot is not None:
            return self._snapshot
        existing = self._snapshots()
        number = 1 + max([int(self._header[4]), *existing])
        before = max(existing, default=None) if self._last_number is None else self._last_number
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
        if self._lock is not None:  # a reader must not delete the writer's snapshots
            self._header[4] = number
            for old in {*existing} - {before}:
                self._snapshot_path(old).unlink(missing_ok=True)
        self._snapshot, self._last_number = (number, checksum), number
        return self._snapshot

    def restore(self, number: int, checksum: int) -> None:
        """Restore a snapshot, whatever the file contains.

        It raises a NotFoundError if the snapshot no longer exists, a DamagedStoreError if its
        checksum differs.
        """
        source = self._snapshot_path(number)
        if not source.is_file():
            raise NotFoundError(
                "The checkpoint needs {path}, which does not exist. The last two snapshots are "
                "kept: {snapshots!s}. Load a later checkpoint.",
                path=source,
                snapshots=sorted(self._snapshots()),
            )
        with self.changing(replace_all=True):
            actual = self._copy_from(source)
            if actual != checksum:
                raise DamagedStoreError(
                    "{path} is not the file that the checkpoint was saved with: its checksum is "
                    "{actual}, not {checksum}. Load another checkpoint.",
                    path=source,
                    actual=actual,
                    checksum=checksum,
                )
        self.flush()
        self._snapshot, self._last_number = (number, checksum), number

    def _copy_from(self, source: Path) -> int:
        """Copy the rows from a file; return its checksum."""
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
        """Return the numbers of the existing snapshots."""
        prefix = f"{self.path.name}."
        names = [path.name for path in self.path.parent.iterdir() if path.name.startswith(prefix)]
        endings = [name.removeprefix(prefix) for name in names]
        return [int(ending) for ending in endings if len(ending) >= 6 and ending.isdecimal()]


def _flush(mapped: np.memmap[Any, np.dtype[np.uint8]]) -> None:
    """Write a file to disk and mark it as flushed, unless a change is incomplete."""
    header = mapped[:HEADER_BYTES].view("<i8")
    if header[3] == CHANGED:
        mapped.flush()
        header[3] = FLUSHED
        mapped.flush()


def _release(mapped: np.memmap[Any, np.dtype[np.uint8]], lock: BinaryIO, owner: int) -> None:
    # A forked process, such as a data loader, has a copy of this but does not own the file.
    if os.getpid() == owner:
        _flush(mapped)
    lock.close()


def _create(path: Path, numbers: tuple[int, ...], n_bytes: int) -> None:
    """Create a complete file of zeros after its header."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.unfinished")
    with unfinished.open("wb") as file:
        file.write(np.array(numbers, dtype="<i8").tobytes())
        file.truncate(n_bytes)
        file.flush()
        os.fsync(file.fileno())
    try:
        # Never overwrite a file that another process has created meanwhile and may be using.
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
            "{path} is not a file of a running mean. Pass another path.", path=path
        )
    if tuple(header) != numbers or path.stat().st_size != n_bytes:
        raise UnreadableError(
            "{path} has {n_stored} examples and {n_stored_classes} classes, but {n_examples} and "
            "{n_classes} were requested. Pass another path, or delete the file.",
            path=path,
            n_stored=int(header[1]),
            n_stored_classes=int(header[2]),
            n_examples=numbers[1],
            n_classes=numbers[2],
        )
