"""What runs in a fresh process: one task with one item, watched over by a guardian.

The coordinator holds the other end of standard input. When it goes, however it dies, the guardian
ends the task with everything that the task started. So nothing goes on unseen.
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
from seedproof.engines.serial import as_failure, attempt, for_travel

LENGTH = struct.Struct("<Q")
GUARDIAN_SECONDS = 0.5


def main() -> None:
    """Read a request from standard input, do it, write the outcome to standard output."""
    faulthandler.enable()
    lifeline, answers = os.dup(0), os.dup(1)
    with os.fdopen(lifeline, "rb", buffering=0, closefd=False) as requests:
        request = pickle.loads(read_message(requests))  # noqa: S301 - from our own coordinator
    _guard(lifeline, answers)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    # What is printed belongs with what is complained about; standard output is for the outcome.
    os.dup2(2, 1)
    outcome = _do(request)
    with os.fdopen(answers, "wb") as channel:
        write_message(channel, _pickled(outcome))
    sys.stdout.flush()


def _do(request: dict[str, Any]) -> Outcome[Any]:
    import cloudpickle

    if os.path.isdir(request["folder"]):  # noqa: PTH112 - before anything is loaded
        os.chdir(request["folder"])
    sys.path[:] = request["path"]
    sys.argv[:] = request["argv"]
    try:
        task = cloudpickle.loads(request["task"])
        item = cloudpickle.loads(request["item"])
    except Exception as error:  # noqa: BLE001 - whatever the user's modules raise
        return Outcome(0, failure=as_failure(error))
    return attempt(task, item)


def _pickled(outcome: Outcome[Any]) -> bytes:
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(for_travel(outcome)))
    except Exception as error:  # noqa: BLE001 - whatever pickling the result raises
        failure = replace(as_failure(error), error=None)
        return pickle.dumps(Outcome(0, failure=failure))


def _guard(lifeline: int, answers: int) -> None:
    """Make sure that this process ends when its coordinator does."""
    if not hasattr(os, "fork"):
        threading.Thread(target=_leave_with, args=(lifeline,), daemon=True).start()
        return
    worker = os.getpid()
    if os.fork() != 0:
        os.close(lifeline)
        return
    # A process of its own: a thread could not act while native code holds the interpreter.
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for channel in (0, 1, 2, answers):
            os.dup2(nowhere, channel)
        while os.getppid() == worker:
            ready, _, _ = select.select([lifeline], [], [], GUARDIAN_SECONDS)
            if ready and not os.read(lifeline, 1):
                break
        # The worker leads a session of its own: this ends it, what it started, and the guardian.
        os.killpg(os.getpgrp(), signal.SIGKILL)
    finally:
        os._exit(0)


def _leave_with(lifeline: int) -> None:
    while os.read(lifeline, 1):
        pass
    os._exit(1)


def read_message(channel: BinaryIO) -> bytes:
    """One message, with its length before it."""
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
    """One message, with its length before it."""
    channel.write(LENGTH.pack(len(content)))
    channel.write(content)
    channel.flush()
