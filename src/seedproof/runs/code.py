"""Which code made a run: digests of the user's own files and definitions."""

import ast
import inspect
import sys
import sysconfig
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from seedproof.records.schema import digest

# What is said of a file that was saved after the run had loaded it: no digest is equal to it.
EDITED = "edited while the run was on"


def file_digest(path: Path) -> str:
    """Digest of one file; empty if it is gone."""
    return digest(path.read_bytes()) if path.is_file() else ""


def loaded_files(root: Path, *, since: float) -> dict[str, str]:
    """Digests of the user's own files that are loaded now, by their path below a folder.

    Args:
        root: The folder that the user's code is in.
        since: When they were loaded, at the earliest; what was saved later is another matter.

    Returns:
        A digest for each file.
    """
    root = root.resolve()
    libraries = {Path(place).resolve() for place in sysconfig.get_paths().values()}
    libraries.add(Path(__file__).resolve().parents[1])
    found = {}
    for module in list(sys.modules.values()):
        path = _own_file(module, root)
        if path is None or any(path.is_relative_to(place) for place in libraries):
            continue
        edited = path.stat().st_mtime > since
        found[path.relative_to(root).as_posix()] = EDITED if edited else file_digest(path)
    return dict(sorted(found.items()))


def _own_file(module: ModuleType, root: Path) -> Path | None:
    name = getattr(module, "__file__", None)
    if not isinstance(name, str) or not name.endswith(".py"):
        return None
    path = Path(name).resolve()
    return path if path.is_relative_to(root) and path.is_file() else None


def definitions(function: Callable[..., Any]) -> dict[str, str]:
    """Digests of a function and of whatever it needs from its own module, by name.

    For functions of a notebook or of the main program, where the whole file is no measure: to
    ask for more seeds is no change of the training.
    """
    return {name: _definition_digest(thing) for name, thing in _reached(function)}


def _reached(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    home = getattr(function, "__module__", None)
    waiting: list[tuple[str, Any]] = [(getattr(function, "__qualname__", "train"), function)]
    seen: set[str] = set()
    while waiting:
        name, thing = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        yield name, thing
        for part in _functions_of(thing):
            for used in sorted(_names_in(part.__code__)):
                found = part.__globals__.get(used)
                local = isinstance(found, type | FunctionType) and found.__module__ == home
                plain = isinstance(found, int | float | str | bytes | tuple)
                if local or plain:
                    waiting.append((used, found))


def _functions_of(thing: Any) -> list[FunctionType]:  # noqa: ANN401 - whatever a name stands for
    if isinstance(thing, FunctionType):
        return [thing]
    inside = vars(thing).values() if isinstance(thing, type) else ()
    return [part for part in inside if isinstance(part, FunctionType)]


def _names_in(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names_in(constant)
    return names


def _definition_digest(thing: Any) -> str:  # noqa: ANN401 - whatever a name stands for
    if isinstance(thing, type | FunctionType):
        try:
            source = textwrap.dedent(inspect.getsource(thing))
            # Comments and blank lines do not train anything.
            return digest(ast.dump(ast.parse(source)).encode())
        except (OSError, TypeError, SyntaxError):
            parts = [part.__code__.co_code for part in _functions_of(thing)]
            return digest(b"".join(parts))
    return digest(repr(thing).encode())
