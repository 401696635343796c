"""Which code made a run: digests of the user's own files and definitions."""

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

# What is said of a file that was saved after the run had loaded it: no digest is equal to it.
EDITED = "edited while the run was on"
# Some file systems count time in steps of two seconds: within one a file may change unnoticed.
COARSE_SECONDS = 2.0


def file_digest(path: Path) -> str:
    """Digest of one file; empty if it is gone."""
    return digest(path.read_bytes()) if path.is_file() else ""


def loaded_files(root: Path, *, since: float) -> dict[str, str]:
    """Digests of the user's own files that are loaded now, by their path below a folder."""
    found = {}
    folder = root.resolve()
    for _, path in own_modules(root):
        status = path.stat()
        name = path.relative_to(folder).as_posix()
        if status.st_mtime > since:
            found[name] = EDITED
        elif time.time() - status.st_mtime < COARSE_SECONDS:
            found[name] = file_digest(path)
        else:
            as_of = (status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_size)
            found[name] = _digest_as_of(path, as_of)
    return dict(sorted(found.items()))


@cache
def _digest_as_of(path: Path, _as_of: tuple[int, ...]) -> str:
    """Digest of a file that was saved so long ago that saving it again would show in its status."""
    return file_digest(path)


def own_modules(root: Path, *, besides: Container[str] = ()) -> Iterator[tuple[str, Path]]:
    """The user's own modules that are loaded now: below a folder, and in no library."""
    forms = (root.resolve(), root.absolute())
    # `join` ends them with a separator, also the root of all files.
    below, as_given = (os.path.join(form, "") for form in forms)  # noqa: PTH118 - pathlib drops it
    libraries, folders = _libraries(), dict[str, str]()
    for name, module in list(sys.modules.items()):
        if name == "__main__" or name in besides or _of_libraries.get(name) is module:
            continue
        file = getattr(module, "__file__", None)
        if not isinstance(file, str):
            continue
        # A glance at the text of its path tells most libraries.
        if file.startswith(libraries):
            _of_libraries[name] = module
            continue
        is_below = file.startswith((below, as_given))
        place = _place_now(file, folders) if is_below else _place(file)
        if place.startswith(below) and place.endswith(".py") and Path(place).is_file():
            yield name, Path(place)


# Thousands of modules are of libraries, and are asked after by every run.
_of_libraries: dict[str, ModuleType] = {}


@cache
def _libraries() -> tuple[str, ...]:
    """How paths of libraries begin, links followed or not."""
    paths = [Path(place) for place in sysconfig.get_paths().values()]
    paths.append(Path(__file__).parents[1])
    return tuple({f"{form}{os.sep}" for path in paths for form in (path, path.resolve())})


@cache
def _place(file: str) -> str:
    """Where a file is, links followed."""
    return os.path.realpath(file)


def _place_now(file: str, folders: dict[str, str]) -> str:
    """The same where a link may have come to lead elsewhere; each folder is looked up once."""
    folder, name = os.path.split(file)
    if folder not in folders:
        folders[folder] = os.path.realpath(folder)
    place = os.path.join(folders[folder], name)  # noqa: PTH118 - half of pathlib's time, as below
    return os.path.realpath(place) if os.path.islink(place) else place  # noqa: PTH114 - of hundreds


def definitions(function: Callable[..., Any]) -> dict[str, str]:
    """Digests of a function and of whatever it needs from its own module, by name.

    For functions of a notebook or of the main program, where the whole file is no measure: to
    ask for more seeds is no change of the training. Arrays and other large objects that a module
    holds are not looked into.
    """
    start = getattr(function, "__qualname__", None) or type(function).__name__
    home = getattr(_core(function), "__module__", None)
    waiting: list[tuple[str, Any]] = [(start, function)]
    found: dict[str, str] = {}
    while waiting:
        name, thing = waiting.pop()
        if name in found:
            continue
        found[name] = digest(_text(thing).encode())
        for used, value in sorted(_needs(thing).items()):
            if _is_plain(value) or getattr(_core(value), "__module__", None) == home:
                waiting.append((used, value))
    return found


def _core(thing: Any) -> Any:  # noqa: ANN401 - whatever a name stands for
    """The function or class behind a partial, a decorated function, a method or an object."""
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
    """What a definition refers to by name, as far as it can be told."""
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
    """Names in decorators, defaults, base classes and class attributes."""
    tree = _tree(core)
    found: set[str] = set()
    for definition in ast.walk(tree) if tree is not None else ():
        parts: list[ast.AST] = []
        if isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef):
            given = definition.args
            parts = [*definition.decorator_list, *given.defaults]
            parts += [one for one in given.kw_defaults if one is not None]
        elif isinstance(definition, ast.ClassDef):
            parts = [*definition.decorator_list, *definition.bases, *definition.keywords]
            parts += [one for one in definition.body if isinstance(one, ast.Assign | ast.AnnAssign)]
        names = [node for part in parts for node in ast.walk(part) if isinstance(node, ast.Name)]
        found |= {node.id for node in names}
    return found


def _is_filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # of a function that is not defined yet
        return False


def _text(thing: Any) -> str:  # noqa: ANN401 - whatever a name stands for
    """A definition as text that changes only if what it does may change."""
    if _is_plain(thing):
        return repr(thing)
    core = _core(thing)
    tree = _tree(core)
    if tree is not None:
        text = ast.dump(tree)
    elif isinstance(core, FunctionType):
        text = _code_text(core.__code__)
    else:
        methods = [one for one in vars(core).values() if isinstance(one, FunctionType)]
        text = " ".join(_code_text(method.__code__) for method in methods)
    held: dict[str, Any] = {}
    if isinstance(thing, partial):
        held = {str(place): value for place, value in enumerate(thing.args)} | thing.keywords
    elif core is type(thing):
        held = getattr(thing, "__dict__", {})
    return text + repr({name: value for name, value in held.items() if _is_plain(value)})


def _tree(core: Any) -> ast.Module | None:  # noqa: ANN401 - a function or a class
    """The definition without comments and blank lines, which do not train anything."""
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(core)))
    except (OSError, TypeError, SyntaxError):
        return None


def _code_text(code: CodeType) -> str:
    constants = [_code_text(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {constants}"


def _names_in(code: CodeType) -> set[str]:
    """Global names that code looks up, also in functions inside."""
    names = {step.argval for step in dis.get_instructions(code) if step.opname in GLOBAL_LOOKUPS}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names_in(constant)
    return names


def _is_plain(value: Any) -> bool:  # noqa: ANN401 - whatever a name stands for
    """Whether a value is told by its text: numbers, texts, and lists or mappings of them."""
    if isinstance(value, dict):
        return all(_is_plain(one) for pair in value.items() for one in pair)
    if isinstance(value, list | tuple):
        return all(_is_plain(one) for one in value)
    return value is None or isinstance(value, int | float | complex | str | bytes)
