"""Observe what a training does to generators, threads and files."""

import os
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial, wraps
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from unittest.mock import patch

import numpy as np
import rich.style  # noqa: F401 - draws from python's generator when it is loaded

from seedproof.doctor.observation import Observed, SeedCall
from seedproof.training.rng import SEEDING, UNSEEDED, capture
from seedproof.training.torch_import_hook import holding

if TYPE_CHECKING:
    from types import FrameType

# Calls that restore a global generator.
RESTORING = {
    "random.setstate": "python",
    "numpy.random.set_state": "numpy",
    "torch.set_rng_state": "torch",
    "torch.random.set_rng_state": "torch",
}
# More calls show nothing new.
MOST_CALLS = 1000
# Limits of the search for files, for folders with data sets. Trainers write to
# logs/version_0/checkpoints.
MOST_LEVELS, MOST_FILES = 4, 10_000
PACKAGE = str(Path(__file__).resolve().parents[1]) + os.sep
LIBRARIES = tuple(
    os.path.realpath(place) + os.sep
    for name, place in sysconfig.get_paths().items()
    if name in {"stdlib", "platstdlib", "purelib", "platlib"}
)

# State of a generator as text; for torch its seed while it is not loaded.
State: TypeAlias = str | int


class _Before(NamedTuple):
    """State before a seed call: the call's position, and two states of its generator."""

    position: int
    kind: str
    state: State
    start: State | None


class TrainingMonitor:
    """Observer of one training, in this process and in those that it forks, which write notes.

    Only calls from code below the root count.
    """

    def __init__(self, observed: Observed, *, root: Path, notes: Path) -> None:
        self._observed = observed
        self._root = str(Path(root).resolve())
        self._prefix = self._root.rstrip(os.sep) + os.sep
        self._notes = notes
        self._process = os.getpid()
        # Initial state of each generator; None once the training has seeded it.
        self._start: dict[str, State | None] = {}
        self._befores: list[_Before] = []

    @contextmanager
    def on(self) -> Iterator[None]:
        """Observe the training inside."""
        self._start = dict(_states())
        with ExitStack() as stack:
            for name, kind in SEEDING.items():
                _follow(stack, name, partial(self._seeds, name, kind))
            for name, kind in RESTORING.items():
                _follow(stack, name, partial(self._restores, kind))
            for name in UNSEEDED:
                _follow(stack, name, partial(self._makes, name))
            for owner in (threading.Thread, BaseProcess):
                _follow_attribute(
                    stack, owner, "start", partial(self._note, self._observed.workers)
                )
            _follow(
                stack, "torch.set_num_threads", partial(self._note, self._observed.thread_calls)
            )
            try:
                yield
            finally:
                self._read_notes()

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Ignore earlier draws: inside, global generators follow another stream."""
        before, self._start = self._start, dict(_states())
        try:
            yield
        finally:
            self._start = before

    def _seeds(self, name: str, kind: str, *args: object, **options: object) -> None:
        where = self._user_line()
        if where is None:
            return
        value = _first(args, options)
        if value is None:
            self._note_unseeded(where)
            return
        calls, state, start = self._observed.seed_calls, _states()[kind], self._start[kind]
        if isinstance(start, int):
            start = _seeded_torch(start)
        if len(calls) < MOST_CALLS:
            self._befores.append(_Before(len(calls), kind, state, start))
            is_late = start is not None and state != start
            calls.append(SeedCall(name, str(value), where, is_late))
        # From here on, the generator follows this call.
        self._start[kind] = None

    def _restores(self, kind: str, state: object, *_: object, **__: object) -> None:
        """Mark calls as undone that seeded the generator since it was in this state."""
        restored = _text(state) if self._befores else ""
        before = next((b for b in self._befores if (b.kind, b.state) == (kind, restored)), None)
        if before is None:
            return
        calls = self._observed.seed_calls
        for later in self._befores:
            if later.kind == kind and later.position >= before.position:
                calls[later.position] = replace(calls[later.position], is_undone=True)
        self._start[kind] = before.start

    def _makes(self, name: str, *args: object, **options: object) -> None:
        where = self._user_line()
        if where is None:
            return
        value = _first(args, options)
        if value is None:
            self._note_unseeded(where)
        elif isinstance(value, int | np.integer) and len(self._observed.generators) < MOST_CALLS:
            self._observed.generators.append(SeedCall(name, str(value), where))

    def _note(self, lines: list[str], *_: object, **__: object) -> None:
        where = self._user_line()
        if where is not None and where not in lines:
            lines.append(where)

    def _note_unseeded(self, where: str) -> None:
        if where in self._observed.unseeded:
            return
        self._observed.unseeded.append(where)
        if os.getpid() != self._process:
            # The memory of a forked process, such as a data loader, is lost.
            with suppress(OSError), self._notes.open("a", encoding="utf-8") as file:
                file.write(where + "\n")

    def _read_notes(self) -> None:
        if self._notes.is_file():
            noted = self._notes.read_text(encoding="utf-8").splitlines()
            self._observed.unseeded = list(dict.fromkeys([*self._observed.unseeded, *noted]))

    def _user_line(self) -> str | None:
        """Return file and line of the user's code that led here; None if ours did."""
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the only way to see callers
        while frame is not None:
            path = frame.f_code.co_filename
            if path != __file__ and not path.startswith("<"):
                path = os.path.realpath(path)
                if path.startswith(PACKAGE):
                    return None
                if path.startswith(self._prefix) and not _is_library(path):
                    return f"{os.path.relpath(path, self._root)}:{frame.f_lineno}"
            frame = frame.f_back
        return None


def _follow(stack: ExitStack, name: str, listener: Callable[..., None]) -> None:
    """Notify a listener before each call of a function, given by its dotted name."""
    owner, _, attribute = name.rpartition(".")

    def follow(_: object = None) -> None:
        _follow_attribute(stack, sys.modules[owner], attribute, listener)

    if owner.startswith("torch"):
        stack.enter_context(holding(follow))
    else:
        follow()


def _follow_attribute(
    stack: ExitStack, owner: object, name: str, listener: Callable[..., None]
) -> None:
    original = getattr(owner, name)

    @wraps(original)
    def followed(*args: Any, **options: Any) -> Any:  # noqa: ANN401 - passed on as they are
        listener(*args, **options)
        return original(*args, **options)

    stack.enter_context(patch.object(owner, name, followed))


def _first(args: Iterable[object], options: dict[str, object]) -> object:
    """Return the seed among the arguments of a call; None if there is none."""
    return next(iter((*args, *options.values())), None)


def _states() -> dict[str, State]:
    states = capture().items()
    return {kind: state if isinstance(state, int) else _text(state) for kind, state in states}


def _seeded_torch(seed: int) -> str:
    """Return torch's state after seeding."""
    import torch

    return _text(torch.Generator().manual_seed(seed).get_state())


def _text(state: object) -> str:
    """Return the state of a generator of python, numpy or torch as text, for comparison."""
    return repr(_as_builtin(state))


def _as_builtin(state: Any) -> Any:  # noqa: ANN401 - the states of three libraries
    if hasattr(state, "numpy"):
        state = state.numpy()
    if isinstance(state, np.ndarray):
        return state.tobytes()
    return [_as_builtin(part) for part in state] if isinstance(state, tuple | list) else state


def _is_library(path: str) -> bool:
    return path.startswith(LIBRARIES) or "site-packages" in path or "dist-packages" in path


def files_below(folders: Iterable[Path]) -> dict[str, tuple[float, int]]:
    """Return time stamp and size of each file by path, except hidden and compiled ones."""
    stamps: dict[str, tuple[float, int]] = {}
    for folder in dict.fromkeys(os.path.realpath(folder) for folder in folders):
        device = os.stat(folder).st_dev  # noqa: PTH116 - as below
        for place, inside, names in os.walk(folder):
            level = 1 + len(Path(place).relative_to(folder).parts)
            keep = [name for name in inside if _is_searched(place, name, device)]
            inside[:] = sorted(keep) if level < MOST_LEVELS else []
            for name in sorted(names):
                path = os.path.join(place, name)  # noqa: PTH118 - thousands of times
                if name[0] != ".":
                    with suppress(OSError):  # it may be deleted by now
                        facts = os.stat(path)  # noqa: PTH116 - same
                        stamps[path] = (facts.st_mtime, facts.st_size)
                if len(stamps) >= MOST_FILES:
                    return stamps
    return stamps


def _is_searched(place: str, name: str, device: int) -> bool:
    """Return whether to search a folder: not hidden, compiled or on another device."""
    if name[0] == "." or name == "__pycache__":
        return False
    with suppress(OSError):
        return os.stat(os.path.join(place, name)).st_dev == device  # noqa: PTH116, PTH118 - same
    return False
