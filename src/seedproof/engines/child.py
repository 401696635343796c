"""Program of a worker process: runs a task on its items, watched by a guardian process.

The coordinator holds the other end of standard input. When the coordinator ends or crashes, the
guardian kills the task with everything that it started.
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
    lifeline, answers = os.dup(0), os.dup(1)
    requests = os.fdopen(lifeline, "rb", buffering=0, closefd=False)
    request = pickle.loads(read_message(requests))  # noqa: S301 - from our own coordinator
    item: bytes | None = read_message(requests)
    _guard(lifeline, answers, is_fresh=request["is_fresh"])
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


def _guard(lifeline: int, answers: int, *, is_fresh: bool) -> None:
    """Make this process end with its coordinator."""
    if not hasattr(os, "fork"):
        if is_fresh:  # other processes read their items there, and notice its end
            threading.Thread(target=_leave_with, args=(lifeline,), daemon=True).start()
        return
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
        # Only the end of the line is for the guardian, its content is for the worker.
        line = select.poll()
        line.register(lifeline, 0)
        while os.getppid() == worker and not line.poll(1000 * GUARDIAN_SECONDS):
            pass
        # The worker leads a session: this kills it, its children and the guardian.
        os.killpg(os.getpgrp(), signal.SIGKILL)
    finally:
        os._exit(0)


def _leave_with(lifeline: int) -> None:
    while os.read(lifeline, 1):
        pass
    os._exit(1)


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
