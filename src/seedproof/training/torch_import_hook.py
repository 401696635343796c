"""Actions on torch that wait until a training loads it, which takes seconds."""

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
    """Return torch if it is loaded."""
    return sys.modules.get("torch")


def seconds_of_loading() -> float:
    """Return how long it took to load torch since an action has waited for it."""
    return _seconds


def is_torch_loading() -> bool:
    """Return whether torch is being loaded, which must not be interrupted."""
    return _is_loading


def once_loaded(act: Act) -> None:
    """Call a function with torch as soon as it is loaded, after those that wait already."""
    if act not in _waiting:
        _waiting.append(act)
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


@contextmanager
def holding(act: Act) -> Iterator[None]:
    """Call a function with torch now if it is loaded, or as soon as it is loaded inside."""
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
    """Finder that leaves torch to the others, and calls what waits after it is loaded."""

    def __init__(self) -> None:
        self._is_searching = False

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "torch" or self._is_searching:  # others may call all finders
            return None
        self._is_searching = True
        try:
            spec = self._find_by_others(name, path, target)
        finally:
            self._is_searching = False
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

        # The loader stays the same object, as it may have further methods.
        spec.loader.exec_module = load_and_act  # type: ignore[method-assign] # of this one loader
        return spec

    def _find_by_others(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        finders = [
            getattr(finder, "find_spec", None) for finder in sys.meta_path if finder is not self
        ]
        specs = (
            find(name, path, target) for find in finders if find is not None
        )  # old ones lack it
        return next((spec for spec in specs if spec is not None), None)
