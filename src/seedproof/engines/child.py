"""Program of a worker process: runs a task on its items, watched by a guardian process.

The coordinator holds the other end of a pipe, the lifeline. When the coordinator ends or crashes,
the system kills the task with everything that it started, where it can do so by itself (Linux), and
otherwise a thread does; the guardian does it in any case, and again when the task ends.
"""

import faulthandler
import os
import pickle
import select
import signal
import struct
import sys
import threading
from dataclasses import replace
from typing import Any, BinaryIO

from seedproof.engines.base import Outcome
from seedproof.engines.serial import as_failure, as_picklable, attempt

LENGTH = struct.Struct("<Q")
GUARDIAN_SECONDS = 0.5


def main() -> None:
    """Read a task and items from standard input, write the outcome of each to standard output."""
    faulthandler.enable()
    channel_in, answers = os.dup(0), os.dup(1)
    lifeline = int(sys.argv[1])
    _end_with(lifeline)
    requests = os.fdopen(channel_in, "rb", buffering=0, closefd=False)
    request = pickle.loads(read_message(requests))  # noqa: S301 - from our own coordinator
    item: bytes | None = read_message(requests)
    _guard(lifeline, answers)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    # Prints go to standard error; standard output is for the outcome.
    os.dup2(2, 1)
    _enter(request)
    task = PackedTask(request["task"])
    with os.fdopen(answers, "wb") as channel:
        while item is not None:
            write_message(channel, _pickled(task(item)))
            item = None if request["is_fresh"] else _next_item(requests)
    sys.stdout.flush()


def _next_item(requests: BinaryIO) -> bytes | None:
    """Return the next item; None if the coordinator has no more."""
    try:
        return read_message(requests)
    except EOFError:
        return None


def _enter(request: dict[str, Any]) -> None:
    """Look for modules and files where the coordinator does."""
    if os.path.isdir(request["folder"]):  # noqa: PTH112 - before anything is loaded
        os.chdir(request["folder"])
    sys.path[:] = request["path"]
    sys.argv[:] = request["argv"]


class PackedTask:
    """A serialized task, loaded once for all its items."""

    def __init__(self, packed: bytes) -> None:
        self._packed = packed
        self._task: Any = None

    def __call__(self, packed_item: bytes, index: int = 0) -> Outcome[Any]:
        """Return the outcome of an item."""
        import cloudpickle

        try:
            if self._task is None:
                self._task = cloudpickle.loads(self._packed)
            item = cloudpickle.loads(packed_item)
        except Exception as error:  # noqa: BLE001 - whatever the user's modules raise
            return Outcome(index, failure=as_failure(error))
        return attempt(self._task, item, index)


def _pickled(outcome: Outcome[Any]) -> bytes:
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(as_picklable(outcome)))
    except Exception as error:  # noqa: BLE001 - whatever pickling the result raises
        failure = replace(as_failure(error), error=None)
        return pickle.dumps(Outcome(0, failure=failure))


def _end_with(lifeline: int) -> None:
    """Make this process and its children end with the coordinator, even without a guardian."""
    import fcntl

    os.set_inheritable(lifeline, False)  # noqa: FBT003 - it takes no keyword
    if not hasattr(fcntl, "F_SETSIG"):
        threading.Thread(target=_kill_after, args=(lifeline,), daemon=True).start()
        return
    # The end of the pipe sends SIGKILL to the whole group. Unlike a parent-death signal it does not
    # depend on the thread that started this process, and it reaches children, too.
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    if _hangs_up(lifeline, within=0):  # it ended before
        os.killpg(os.getpgrp(), signal.SIGKILL)


def _hangs_up(lifeline: int, within: float) -> bool:
    """Return whether the coordinator has ended, after some seconds at most."""
    line = select.poll()
    line.register(lifeline, 0)
    return bool(line.poll(1000 * within))


def _kill_after(lifeline: int) -> None:
    os.read(lifeline, 1)  # nothing is ever sent
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _guard(lifeline: int, answers: int) -> None:
    """Start the guardian, which ends with this process or the coordinator, and ends the rest."""
    worker = os.getpid()
    if os.fork() != 0:
        return
    # A separate process: a thread could not act while native code holds the interpreter.
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for channel in (0, 1, 2, answers):
            os.dup2(nowhere, channel)
        while os.getppid() == worker and not _hangs_up(lifeline, within=GUARDIAN_SECONDS):
            pass
        # The worker leads a session: this kills it, its children and the guardian.
        os.killpg(os.getpgrp(), signal.SIGKILL)
    finally:
        os._exit(0)


def read_message(channel: BinaryIO) -> bytes:
    """Read a message, which is preceded by its length."""
    (length,) = LENGTH.unpack(_read(channel, LENGTH.size))
    return _read(channel, length)


def _read(channel: BinaryIO, n_bytes: int) -> bytes:
    content = bytearray()
    while len(content) < n_bytes:
        more = channel.read(n_bytes - len(content))
        if not more:
            raise EOFError
        content += more
    return bytes(content)


def write_message(channel: BinaryIO, content: bytes) -> None:
    """Write a message, preceded by its length."""
    channel.write(LENGTH.pack(len(content)))
    channel.write(content)
    channel.flush()
