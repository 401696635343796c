"""Torch, loaded by whoever trains with it: it takes seconds, and many trainings do without.

What is to hold in it meanwhile waits until it is loaded.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TypeAlias

Act: TypeAlias = Callable[[ModuleType], None]

_waiting: list[Act] = []
_seconds = 0.0
_is_loading = False


def loaded_torch() -> ModuleType | None:
    """Torch, if somebody has loaded it."""
    return sys.modules.get("torch")


def seconds_of_loading() -> float:
    """How long it took to load torch, if that happened after it was waited for."""
    return _seconds


def is_torch_loading() -> bool:
    """Whether that goes on right now: whoever interrupts it leaves half of a library."""
    return _is_loading


def once_loaded(act: Act) -> None:
    """Have something done to torch as soon as it is loaded, after what waits already."""
    if act not in _waiting:
        _waiting.append(act)
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


@contextmanager
def holding(act: Act) -> Iterator[None]:
    """Inside, something is done to torch: now, if it is loaded, or as soon as it is."""
    torch = loaded_torch()
    if torch is None:
        once_loaded(act)
    else:
        act(torch)
    try:
        yield
    finally:
        if torch is None:
            _waiting.remove(act)


class _Finder(MetaPathFinder):
    """Finds torch as the other finders do, and has what waits done after it is loaded."""

    def __init__(self) -> None:
        self._is_asked = False

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "torch" or self._is_asked:  # the others may ask all finders in their turn
            return None
        self._is_asked = True
        try:
            spec = _found_by_others(self, name, path, target)
        finally:
            self._is_asked = False
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def load_and_act(module: ModuleType) -> None:
            global _seconds, _is_loading  # noqa: PLW0603 - a process loads it once
            start = time.perf_counter()
            _is_loading = True
            try:
                load(module)
                _seconds = time.perf_counter() - start
                for act in _waiting:
                    act(module)
            finally:
                _is_loading = False

        # Its loader stays what it is, for those who ask it for more than to load.
        spec.loader.exec_module = load_and_act  # type: ignore[method-assign] # of this one loader
        return spec


def _found_by_others(
    finder: MetaPathFinder, name: str, path: Sequence[str] | None, target: ModuleType | None
) -> ModuleSpec | None:
    for other in sys.meta_path:
        find = getattr(other, "find_spec", None)  # old ones have none
        if other is finder or find is None:
            continue
        spec: ModuleSpec | None = find(name, path, target)
        if spec is not None:
            return spec
    return None
