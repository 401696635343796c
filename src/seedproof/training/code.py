"""Digests of the user's own files and definitions, to detect changes of the code."""

import ast
import dis
import inspect
import os
import sys
import sysconfig
import textwrap
import time
from collections.abc import Callable, Container, Iterator
from functools import cache, partial
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from seedproof.records.schema import digest

GLOBAL_LOOKUPS = {"LOAD_GLOBAL", "LOAD_NAME"}

# In place of the digest of a file that was saved after the run had loaded it.
EDITED = "edited while the run was on"
# Resolution of time stamps on some file systems: within it a change may go unnoticed.
COARSE_SECONDS = 2.0
# A file server's clock may be ahead by less. A later time is from before a clock was set back.
SKEW_SECONDS = 3600.0


def file_digest(path: Path) -> str:
    """Return the digest of a file; empty if it does not exist."""
    return digest(path.read_bytes()) if path.is_file() else ""


def loaded_files(root: Path, *, since: float) -> dict[str, str]:
    """Return digests of the user's own loaded files, by their path below a folder."""
    digests = {}
    folder = root.resolve()
    for _, path in own_modules(root):
        status, now = path.stat(), time.time()
        name = path.relative_to(folder).as_posix()
        if since < status.st_mtime < now + SKEW_SECONDS:
            digests[name] = EDITED
        elif now - status.st_mtime < COARSE_SECONDS:
            digests[name] = file_digest(path)
        else:
            as_of = (status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_size)
            digests[name] = _digest_as_of(path, as_of)
    return dict(sorted(digests.items()))


@cache
def _digest_as_of(path: Path, _as_of: tuple[int, ...]) -> str:
    """Return the digest of a file whose status would show if it were saved again."""
    return file_digest(path)


def own_modules(root: Path, *, except_for: Container[str] = ()) -> Iterator[tuple[str, Path]]:
    """Yield the user's own loaded modules: below a folder, and not of a library."""
    forms = (root.resolve(), root.absolute())
    # `join` adds a separator, except to the root of the file system.
    below, as_given = (os.path.join(form, "") for form in forms)  # noqa: PTH118 - pathlib drops it
    libraries, folders = _libraries(), dict[str, str]()
    for name, module in list(sys.modules.items()):
        if name == "__main__" or name in except_for or _of_libraries.get(name) is module:
            continue
        file = getattr(module, "__file__", None)
        if not isinstance(file, str):
            continue
        if file.startswith(libraries):  # cheap, and true for most modules
            _of_libraries[name] = module
            continue
        is_below = file.startswith((below, as_given))
        place = _place_now(file, folders) if is_below else _place(file)
        if place.startswith(below) and place.endswith(".py") and Path(place).is_file():
            yield name, Path(place)


# Known modules of libraries: there are thousands, and every run checks them.
_of_libraries: dict[str, ModuleType] = {}


@cache
def _libraries() -> tuple[str, ...]:
    """Return the prefixes of library paths, with links followed or not."""
    paths = [Path(place) for place in sysconfig.get_paths().values()]
    paths.append(Path(__file__).parents[1])
    return tuple({f"{form}{os.sep}" for path in paths for form in (path, path.resolve())})


@cache
def _place(file: str) -> str:
    """Return the real path of a file."""
    return os.path.realpath(file)


def _place_now(file: str, folders: dict[str, str]) -> str:
    """Return the real path now, as links may have changed; look up each folder once."""
    folder, name = os.path.split(file)
    if folder not in folders:
        folders[folder] = os.path.realpath(folder)
    place = os.path.join(folders[folder], name)  # noqa: PTH118 - half of pathlib's time, as below
    return os.path.realpath(place) if os.path.islink(place) else place  # noqa: PTH114 - of hundreds


def definitions(function: Callable[..., Any]) -> dict[str, str]:
    """Return digests of a function and of all that it uses from its own module, by name.

    For functions of a notebook or main program, whose file also changes for other reasons, such as
    more seeds. Arrays and other large objects of the module are ignored.
    """
    start = getattr(function, "__qualname__", None) or type(function).__name__
    home = getattr(_core(function), "__module__", None)
    waiting: list[tuple[str, Any]] = [(start, function)]
    digests: dict[str, str] = {}
    while waiting:
        name, thing = waiting.pop()
        if name in digests:
            continue
        digests[name] = digest(_text(thing).encode())
        for used, value in sorted(_needs(thing).items()):
            if _is_plain(value) or getattr(_core(value), "__module__", None) == home:
                waiting.append((used, value))
    return digests


def _core(thing: Any) -> Any:  # noqa: ANN401 - whatever a name stands for
    """Return the function or class behind a partial, a decorator, a method or an object."""
    while True:
        if isinstance(thing, partial):
            thing = thing.func
        elif hasattr(thing, "__wrapped__"):
            thing = thing.__wrapped__
        elif isinstance(thing, MethodType):
            thing = thing.__func__
        else:
            break
    return thing if isinstance(thing, FunctionType | type) else type(thing)


def _needs(thing: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever a name stands for
    """Return what a definition refers to by name, as far as it can be determined."""
    core = _core(thing)
    names = _names_outside_bodies(core)
    if isinstance(core, FunctionType):
        cells = zip(core.__code__.co_freevars, core.__closure__ or (), strict=True)
        held = {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}
        scope = core.__globals__ | held
        names |= _names_in(core.__code__) | held.keys()
    else:
        scope = vars(sys.modules[core.__module__]) if core.__module__ in sys.modules else {}
        for method in vars(core).values():
            if isinstance(_core(method), FunctionType):
                names |= _names_in(_core(method).__code__)
    return {name: scope[name] for name in names if name in scope}


def _names_outside_bodies(core: Any) -> set[str]:  # noqa: ANN401 - a function or a class
    """Return names in decorators, defaults, base classes and class attributes."""
    tree = _tree(core)
    outside: set[str] = set()
    for definition in ast.walk(tree) if tree is not None else ():
        parts: list[ast.AST | None] = []
        if isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef):
            defaults = (*definition.args.defaults, *definition.args.kw_defaults)
            parts = [*definition.decorator_list, *defaults]
        elif isinstance(definition, ast.ClassDef):
            fields = [
                node for node in definition.body if isinstance(node, ast.Assign | ast.AnnAssign)
            ]
            parts = [*definition.decorator_list, *definition.bases, *definition.keywords, *fields]
        nodes = (node for part in parts if part is not None for node in ast.walk(part))
        outside |= {node.id for node in nodes if isinstance(node, ast.Name)}
    return outside


def _is_filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # its function is not defined yet
        return False


def _text(thing: Any) -> str:  # noqa: ANN401 - whatever a name stands for
    """Return a definition as text that changes only if its behavior may change."""
    if _is_plain(thing):
        return repr(thing)
    core = _core(thing)
    tree = _tree(core)
    if tree is not None:
        text = ast.dump(tree)
    elif isinstance(core, FunctionType):
        text = _code_text(core.__code__)
    else:
        methods = [value for value in vars(core).values() if isinstance(value, FunctionType)]
        text = " ".join(_code_text(method.__code__) for method in methods)
    held: dict[str, Any] = {}
    if isinstance(thing, partial):
        held = {str(place): value for place, value in enumerate(thing.args)} | thing.keywords
    elif core is type(thing):
        held = getattr(thing, "__dict__", {})
    return text + repr({name: value for name, value in held.items() if _is_plain(value)})


def _tree(core: Any) -> ast.Module | None:  # noqa: ANN401 - a function or a class
    """Return the syntax tree of a definition, without comments."""
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(core)))
    except (OSError, TypeError, SyntaxError):
        return None


def _code_text(code: CodeType) -> str:
    constants = [_code_text(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {constants}"


def _names_in(code: CodeType) -> set[str]:
    """Return global names that code looks up, including inner functions."""
    names = {step.argval for step in dis.get_instructions(code) if step.opname in GLOBAL_LOOKUPS}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names_in(constant)
    return names


def _is_plain(value: Any) -> bool:  # noqa: ANN401 - whatever a name stands for
    """Return whether `repr` shows the whole value: numbers, texts, and containers of them."""
    if isinstance(value, dict):
        return all(_is_plain(part) for pair in value.items() for part in pair)
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, int | float | complex | str | bytes)
