"""Locks: one holder at a time, however it ends, and plain words where there are none."""

import errno
import fcntl
import gc
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from seedproof.errors import LockError
from seedproof.records import locks
from seedproof.records.location import Location
from seedproof.records.locks import acquire, claim, is_held, is_locked, plan_locked

HOLD = """
import sys
from pathlib import Path
from seedproof.records.locks import acquire

lock = acquire(Path(sys.argv[1]))
print(lock is not None, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path):
    """Return the path of a lock file that does not exist yet."""
    return tmp_path / "folder" / "claim"


@pytest.fixture
def holder(path):
    """Start another process that holds the lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"True\n"
    yield process
    process.kill()
    process.communicate()


def test_lock_has_one_holder(path):
    """Also within a process."""
    assert not is_held(path)
    with acquire(path) as lock:
        assert lock.path == path
        assert is_held(path)
        assert acquire(path, seconds=0) is None
    assert not is_held(path)
    acquire(path).release()


def test_lock_ends_with_a_killed_process(path, holder):
    assert acquire(path, seconds=0) is None
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait(10)

    assert acquire(path, seconds=5) is not None


def test_lock_is_awaited(path, holder):
    """Up to a number of seconds."""
    began = time.monotonic()
    assert acquire(path, seconds=0.2) is None
    assert time.monotonic() - began >= 0.2
    timer = threading.Timer(0.2, holder.kill)
    timer.start()

    lock = acquire(path, seconds=30)

    timer.join()
    assert lock is not None


def test_lock_ends_with_its_object(path):
    """A loop that forgets a run does not block it."""
    lock = acquire(path)
    assert is_held(path)
    del lock
    gc.collect()

    assert not is_held(path)


def test_forked_process_does_not_unlock_for_its_parent(path):
    """It has the same open file."""
    lock = acquire(path)
    child = os.fork()
    if child == 0:
        lock.release()
        os._exit(0)
    os.waitpid(child, 0)

    assert is_held(path)
    lock.release()
    assert not is_held(path)


def test_deleted_lock_is_not_mistaken_for_a_new_one(path, monkeypatch):
    """Its holder deletes the file between the opening and the lock of another process."""
    holder = acquire(path)
    system_lock = locks._lock

    def delete_first(number):
        monkeypatch.setattr(locks, "_lock", system_lock)
        holder.release(delete=True)
        system_lock(number)

    monkeypatch.setattr(locks, "_lock", delete_first)
    lock = acquire(path, seconds=5)

    assert lock is not None
    assert is_held(path)


def nfs(number, kind):
    """Lock like the client of NFS: an exclusive lock needs a file that is open for writing."""
    mode = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE
    if (kind & fcntl.LOCK_EX and mode == os.O_RDONLY) or (
        kind & fcntl.LOCK_SH and mode == os.O_WRONLY
    ):
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    return FLOCK(number, kind)


FLOCK = fcntl.flock


def test_locks_hold_on_network_filesystems(path, monkeypatch):
    """An exclusive lock on a file that is open for reading is refused there."""
    monkeypatch.setattr(fcntl, "flock", nfs)

    with acquire(path):
        assert is_held(path)
        assert acquire(path, seconds=0) is None
    assert not is_held(path)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_filesystem_without_locks_is_named(path, monkeypatch, number):
    """A lock is never taken as granted; readers continue."""

    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)

    with pytest.raises(LockError) as refused:
        acquire(path)

    assert refused.value.fields["path"] == str(path)
    assert refused.value.fields["reason"].fields["errno"] == number
    assert not is_held(path)


def test_lock_that_cannot_be_written_is_named(tmp_path):
    """Here, part of the path is a file."""
    (tmp_path / "file").touch()

    with pytest.raises(LockError) as refused:
        acquire(tmp_path / "file" / "claim")

    assert refused.value.fields["reason"].code == "file-in-path"


def test_plan_that_stays_locked_is_named(tmp_path, monkeypatch):
    """A stopped process does not block others without a word."""
    monkeypatch.setattr(locks, "PLAN_SECONDS", 0.1)
    store = Location.of(tmp_path)

    with claim(store), pytest.raises(LockError) as refused, plan_locked(store):
        pass

    assert refused.value.fields == {"path": str(store), "seconds": 0.1}
    assert not is_locked(store)
