"""What a training does to generators, threads and files: seen from outside, for a while."""

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
import rich.style  # noqa: F401 - when loaded, it draws from python's generator: not while we watch

from seedproof.doctor.observation import Observed, SeedCall
from seedproof.training.rng import SEEDING, UNSEEDED, capture
from seedproof.training.torch_import_hook import holding

if TYPE_CHECKING:
    from types import FrameType

# Calls that put a global generator back to where it was, and whose it is.
RESTORING = {
    "random.setstate": "python",
    "numpy.random.set_state": "numpy",
    "torch.set_rng_state": "torch",
    "torch.random.set_rng_state": "torch",
}
# A training that seeds at every step shows nothing new after this many.
MOST_CALLS = 1000
# How far down files are looked for, and how many: a data set is not to be walked. Trainers like
# to write to logs/version_0/checkpoints.
MOST_LEVELS, MOST_FILES = 4, 10_000
PACKAGE = str(Path(__file__).resolve().parents[1]) + os.sep
LIBRARIES = tuple(
    os.path.realpath(place) + os.sep
    for name, place in sysconfig.get_paths().items()
    if name in {"stdlib", "platstdlib", "purelib", "platlib"}
)


# A generator's state as text; the seed of torch's while it is not loaded.
State: TypeAlias = str | int


class _Before(NamedTuple):
    """How things were when a generator was seeded: the call's place, and two states."""

    place: int
    kind: str
    state: State
    start: State | None


class TrainingMonitor:
    """Watches one training in this process, and in those that it forks.

    Args:
        seen: Where everything is noted.
        root: The folder of the user's code: only what it does counts.
        notes: A file for what forked processes have to say.
    """

    def __init__(self, seen: Observed, *, root: Path, notes: Path) -> None:
        self._seen = seen
        self._root = str(Path(root).resolve())
        self._prefix = self._root.rstrip(os.sep) + os.sep
        self._notes = notes
        self._process = os.getpid()
        # Where each generator began; None once the training has seeded it.
        self._start: dict[str, State | None] = {}
        self._befores: list[_Before] = []

    @contextmanager
    def on(self) -> Iterator[None]:
        """Inside, it watches; afterwards, everything is as it was."""
        self._start = dict(_states())
        with ExitStack() as stack:
            for name, kind in SEEDING.items():
                _follow(stack, name, partial(self._seeds, name, kind))
            for name, kind in RESTORING.items():
                _follow(stack, name, partial(self._restores, kind))
            for name in UNSEEDED:
                _follow(stack, name, partial(self._makes, name))
            for owner in (threading.Thread, BaseProcess):
                _follow_attribute(stack, owner, "start", partial(self._note, self._seen.workers))
            _follow(stack, "torch.set_num_threads", partial(self._note, self._seen.thread_calls))
            try:
                yield
            finally:
                self._read_notes()

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Inside, global generators follow another stream: earlier draws do not count."""
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
        calls, state, start = self._seen.seed_calls, _states()[kind], self._start[kind]
        if isinstance(start, int):
            start = _seeded_torch(start)
        if len(calls) < MOST_CALLS:
            self._befores.append(_Before(len(calls), kind, state, start))
            is_late = start is not None and state != start
            calls.append(SeedCall(name, str(value), where, is_late))
        # From here on, the generator is where this call put it.
        self._start[kind] = None

    def _restores(self, kind: str, state: object, *_: object, **__: object) -> None:
        """What was seeded since the generator was in this state is undone."""
        wanted = _text(state) if self._befores else ""
        found = next((b for b in self._befores if (b.kind, b.state) == (kind, wanted)), None)
        if found is None:
            return
        calls = self._seen.seed_calls
        for one in self._befores:
            if one.kind == kind and one.place >= found.place:
                calls[one.place] = replace(calls[one.place], is_undone=True)
        self._start[kind] = found.start

    def _makes(self, name: str, *args: object, **options: object) -> None:
        where = self._user_line()
        if where is None:
            return
        value = _first(args, options)
        if value is None:
            self._note_unseeded(where)
        elif isinstance(value, int | np.integer) and len(self._seen.generators) < MOST_CALLS:
            self._seen.generators.append(SeedCall(name, str(value), where))

    def _note(self, lines: list[str], *_: object, **__: object) -> None:
        where = self._user_line()
        if where is not None and where not in lines:
            lines.append(where)

    def _note_unseeded(self, where: str) -> None:
        if where in self._seen.unseeded:
            return
        self._seen.unseeded.append(where)
        if os.getpid() != self._process:
            # What a worker of a data loader keeps in its memory, nobody will ever read.
            with suppress(OSError), self._notes.open("a", encoding="utf-8") as file:
                file.write(where + "\n")

    def _read_notes(self) -> None:
        if self._notes.is_file():
            noted = self._notes.read_text(encoding="utf-8").splitlines()
            self._seen.unseeded = list(dict.fromkeys([*self._seen.unseeded, *noted]))

    def _user_line(self) -> str | None:
        """File and line of the user's code that led here; None if ours did."""
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the way to look at callers
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


def _follow(stack: ExitStack, name: str, told: Callable[..., None]) -> None:
    """Tell of each call of a function, by its dotted name, before it is made."""
    owner, _, attribute = name.rpartition(".")

    def follow(_: object = None) -> None:
        _follow_attribute(stack, sys.modules[owner], attribute, told)

    if owner.startswith("torch"):
        stack.enter_context(holding(follow))
    else:
        follow()


def _follow_attribute(
    stack: ExitStack, owner: object, name: str, told: Callable[..., None]
) -> None:
    original = getattr(owner, name)

    @wraps(original)
    def followed(*args: Any, **options: Any) -> Any:  # noqa: ANN401 - passed on as they are
        told(*args, **options)
        return original(*args, **options)

    stack.enter_context(patch.object(owner, name, followed))


def _first(args: Iterable[object], options: dict[str, object]) -> object:
    """The seed among the arguments of a call; None without one."""
    return next(iter((*args, *options.values())), None)


def _states() -> dict[str, State]:
    states = capture().items()
    return {kind: state if isinstance(state, int) else _text(state) for kind, state in states}


def _seeded_torch(seed: int) -> str:
    """The state that a seed gives to torch."""
    import torch

    return _text(torch.Generator().manual_seed(seed).get_state())


def _text(state: object) -> str:
    """The state of a generator of python, numpy or torch, so that it can be compared."""
    return repr(_plain(state))


def _plain(state: Any) -> Any:  # noqa: ANN401 - the states of three libraries
    if hasattr(state, "numpy"):
        state = state.numpy()
    if isinstance(state, np.ndarray):
        return state.tobytes()
    return [_plain(part) for part in state] if isinstance(state, tuple | list) else state


def _is_library(path: str) -> bool:
    return path.startswith(LIBRARIES) or "site-packages" in path or "dist-packages" in path


def files_below(folders: Iterable[Path]) -> dict[str, tuple[float, int]]:
    """When each file was changed, and its size, by path; not what is hidden or compiled."""
    found: dict[str, tuple[float, int]] = {}
    for folder in dict.fromkeys(os.path.realpath(folder) for folder in folders):
        device = os.stat(folder).st_dev  # noqa: PTH116 - as below
        for place, inside, names in os.walk(folder):
            level = 1 + len(Path(place).relative_to(folder).parts)
            keep = [name for name in inside if _is_told(place, name, device)]
            inside[:] = sorted(keep) if level < MOST_LEVELS else []
            for name in sorted(names):
                path = os.path.join(place, name)  # noqa: PTH118 - thousands of times
                if name[0] != ".":
                    with suppress(OSError):  # it may be gone by now
                        facts = os.stat(path)  # noqa: PTH116 - same
                        found[path] = (facts.st_mtime, facts.st_size)
                if len(found) >= MOST_FILES:
                    return found
    return found


def _is_told(place: str, name: str, device: int) -> bool:
    """Whether a folder is of interest: not what is hidden, compiled, mounted or no real files."""
    if name[0] == "." or name == "__pycache__":
        return False
    with suppress(OSError):
        return os.stat(os.path.join(place, name)).st_dev == device  # noqa: PTH116, PTH118 - same
    return False
