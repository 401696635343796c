"""Process engine: a fresh process per item, or workers that take several items."""

import os
import pickle
import select
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO, cast

from seedproof.engines.attempts import Attempt, Attempts, Request
from seedproof.engines.base import (
    THREAD_VARIABLES,
    Failure,
    Item,
    OnStart,
    Outcome,
    Result,
    Task,
    check_settings,
    n_cores,
)
from seedproof.engines.child import LENGTH, write_message
from seedproof.engines.serial import as_failure
from seedproof.errors import PlatformError
from seedproof.messages import Message

TICK_SECONDS = 0.2
ENDING_SECONDS = 0.01
# A finished task may still hang in a thread.
GRACE_SECONDS = 10.0
TAIL_BYTES = 2000
SOURCE = str(Path(__file__).parents[2])
BOOT = (
    f"import sys; sys.path.insert(0, {SOURCE!r}); from seedproof.engines.child import main; main()"
)
# As in this process: then modules of the current folder, and of PYTHONPATH, are not imported.
ISOLATION = ("-P",) * sys.flags.safe_path + ("-E",) * sys.flags.ignore_environment


@dataclass(frozen=True)
class ProcessEngine:
    """Runs each item in a process on this machine, by default in a fresh one.

    The processes end with this one, even if it crashes.

    Args:
        workers: Number of items at a time. If omitted, as the cores allow.
        retries: Number of retries after a crash of the process.
        timeout: Time limit per item, in seconds; no retry.
        threads: Threads per item.
        environment: Further environment variables.
        fresh: Whether each item gets its own process, which training needs: generators, memory,
            and the state of libraries. Otherwise workers take one item after another, and each
            loads the task once.
        ahead: If results are needed in order: how many items per worker may be finished or running,
            counted from the first unfinished one. If omitted, any number.
    """

    workers: int | None = None
    retries: int = 2
    timeout: float | None = None
    threads: int = 1
    environment: Mapping[str, str] = field(default_factory=dict)
    fresh: bool = True
    ahead: int | None = None

    def __post_init__(self) -> None:
        check_settings(
            workers=self.workers, retries=self.retries, timeout=self.timeout, threads=self.threads
        )
        check_system()

    def map(
        self, task: Task[Item, Result], items: Iterable[Item], *, on_start: OnStart | None = None
    ) -> Iterator[Outcome[Result]]:
        """Call the task with every item, `workers` at a time."""
        attempts = Attempts(task, items, self.retries)
        workers = self.workers or max(1, n_cores() // self.threads)
        ahead = None if self.ahead is None else self.ahead * workers
        running: list[_Child] = []
        idle: list[_Child] = []
        settled: list[Outcome[Any]] = []
        try:
            while True:
                # Workers get new items before the caller handles the outcomes.
                while len(running) < workers and (following := attempts.following(ahead)):
                    child = idle.pop() if idle else _Child(following.request, self)
                    running.append(child)
                    child.begin(following)
                    if on_start is not None:
                        on_start(following.index)
                yield from settled
                if not running:
                    return
                _wait_for_any(running)
                settled = []
                for child in [child for child in running if child.is_over()]:
                    running.remove(child)
                    settled += attempts.settled(child.attempt, child.outcome())
                    if child.is_reusable:
                        idle.append(child)
                    else:
                        child.release()
        finally:
            for child in (*running, *idle):
                child.release()


def check_system() -> None:
    """Refuse a system without forks, process groups or pipes that can be polled, as Windows is."""
    calls = {
        "os.fork": hasattr(os, "fork"),
        "os.killpg": hasattr(os, "killpg"),
        "select.poll": hasattr(select, "poll"),
        "fcntl": find_spec("fcntl") is not None,
    }
    missing = tuple(name for name, is_there in calls.items() if not is_there)
    if missing:
        raise PlatformError(
            "Work in processes needs {missing}, which {system} does not have. Use the engine "
            "'serial', or Linux, macOS or WSL.",
            missing=missing,
            system=sys.platform,
        )


def do_alone(attempt: Attempt, engine: ProcessEngine) -> Outcome[Any]:
    """Return the outcome of one attempt in a fresh process; engines call this on other machines."""
    child = _Child(attempt.request, engine)
    try:
        child.begin(attempt)
        while not child.is_over():
            _wait_for_any([child])
        return child.outcome()
    finally:
        child.release()


class _Child:
    """A process, and its current attempt."""

    attempt: Attempt

    def __init__(self, request: Request, engine: ProcessEngine) -> None:
        self._engine = engine
        self._stderr: IO[bytes] = TemporaryFile()  # noqa: SIM115 - closed by `release`
        threads = dict.fromkeys(THREAD_VARIABLES, str(engine.threads))
        # The process ends when the other end of this pipe is closed, which the system does if this
        # process crashes.
        inherited, lifeline = os.pipe()
        self._lifeline: int | None = lifeline
        self._process: subprocess.Popen[bytes] = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, *ISOLATION, "-c", BOOT, str(inherited)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=os.environ | threads | dict(engine.environment),
            start_new_session=True,
            pass_fds=(inherited,),
        )
        os.close(inherited)
        self._stdin = cast("BinaryIO", self._process.stdin)
        self._stdout = cast("BinaryIO", self._process.stdout)
        shared = {name: value for name, value in vars(request).items() if name != "item"}
        self._write(pickle.dumps(shared | {"is_fresh": engine.fresh}))

    def begin(self, attempt: Attempt) -> None:
        """Send an item to the process."""
        self.attempt = attempt
        self._began = time.monotonic()
        self._answered: float | None = None
        self._timed_out = False
        self._answer = bytearray()
        self._write(attempt.request.item)

    def _write(self, content: bytes) -> None:
        with suppress(BrokenPipeError):  # it crashed at once, which `is_over` notices
            write_message(self._stdin, content)

    @property
    def channel(self) -> IO[bytes] | None:
        """Pipe of the answer; None once it is read."""
        return None if self._answered is not None else self._stdout

    def read(self) -> None:
        """Read a part of the answer."""
        more = os.read(self._stdout.fileno(), 2**20)
        self._answer += more
        if not more or self._is_answered():
            self._answered = time.monotonic()

    def _is_answered(self) -> bool:
        if len(self._answer) < LENGTH.size:
            return False
        (length,) = LENGTH.unpack(self._answer[: LENGTH.size])
        return len(self._answer) >= LENGTH.size + int(length)

    def is_over(self) -> bool:
        """Return whether the attempt has ended; end it if it takes too long."""
        if not self._engine.fresh and self._is_answered():
            return True
        now = time.monotonic()
        if self._has_ended():
            return True
        if self._answered is not None:
            if now - self._answered > GRACE_SECONDS:
                self.kill()
        elif self._engine.timeout is not None and now - self._began > self._engine.timeout:
            self._timed_out = True
            self.kill()
        return self._process.returncode is not None

    def _has_ended(self) -> bool:
        """Return whether the process has ended; then kill what it has left behind."""
        if self._process.returncode is None and hasattr(os, "waitid"):
            options = os.WEXITED | os.WNOHANG | os.WNOWAIT
            with suppress(ChildProcessError):  # the program of the user has waited for it
                if os.waitid(os.P_PID, self._process.pid, options) is None:
                    return False
                # Until it is waited for, its number is not used again.
                self._kill_group()
        return self._process.poll() is not None

    def outcome(self) -> Outcome[Any]:
        """Return the outcome, after the end of the attempt."""
        while self.channel is not None and _ready([self], 0):
            self.read()
        index, attempts = self.attempt.index, self.attempt.number
        if self._is_answered():
            return replace(self._loaded_answer(), index=index, attempts=attempts)
        if self._timed_out:
            message = Message(
                "timeout", "It took longer than {seconds:g} s.", seconds=self._engine.timeout
            )
            failure = Failure("timeout", message)
        else:
            message = _ended(self._process.returncode, attempts)
            failure = Failure("killed", message, self._tail())
        return Outcome(index, failure=failure, attempts=attempts)

    @property
    def is_reusable(self) -> bool:
        """True if the process can take another item."""
        return not self._engine.fresh and self._is_answered() and not self._has_ended()

    def _loaded_answer(self) -> Outcome[Any]:
        try:
            answer: Outcome[Any] = pickle.loads(memoryview(self._answer)[LENGTH.size :])  # noqa: S301 - ours
        except Exception as error:  # noqa: BLE001 - whatever loading a user's object raises
            return Outcome(0, failure=as_failure(error))
        return answer

    def _tail(self) -> str:
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, size - TAIL_BYTES))
        return self._stderr.read().decode(errors="replace")

    def kill(self) -> None:
        """Kill the process and everything that it started."""
        if self._process.returncode is None:
            self._kill_group()
            self._process.wait()

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError, PermissionError):  # all of them have ended
            os.killpg(self._process.pid, signal.SIGKILL)

    def release(self) -> None:
        """Kill the process, and close its pipes."""
        self.kill()
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None
        for channel in (self._stdin, self._stdout, self._stderr):
            with suppress(BrokenPipeError):
                channel.close()


def _wait_for_any(children: list[_Child]) -> None:
    """Wait for an answer, but not long."""
    is_any_ending = any(child.channel is None for child in children)
    for child in _ready(children, ENDING_SECONDS if is_any_ending else TICK_SECONDS):
        child.read()


def _ready(children: list[_Child], seconds: float) -> list[_Child]:
    """Return the children whose pipe has data."""
    with selectors.DefaultSelector() as selector:
        for child in children:
            if child.channel is not None:
                selector.register(child.channel, selectors.EVENT_READ, child)
        return [key.data for key, _ in selector.select(seconds)]


def _ended(code: int, n_attempts: int) -> Message:
    """Describe how a process ended: by an exit code, or by a signal if `code` is negative."""
    repeated = ", at each of {n_attempts} attempts" if n_attempts > 1 else ""
    if code >= 0:
        template = f"Its process ended with exit code {{exit_code}}{repeated}."
        return Message("process-exit", template, exit_code=code, n_attempts=n_attempts)
    try:
        name, end = signal.Signals(-code).name, "{signal}"
    except ValueError:
        name, end = str(-code), "signal {signal}"
    template = f"Its process ended by {end}{repeated}."
    return Message("process-signal", template, signal=name, n_attempts=n_attempts)
