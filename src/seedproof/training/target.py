"""What is trained: a function, a function by name, or a script."""

import importlib
import os
import runpy
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, TypeAlias

from seedproof.errors import TargetError
from seedproof.training.code import definitions, file_digest, own_modules
from seedproof.training.run import Run

Train: TypeAlias = Callable[[Run], object]


class Target(Protocol):
    """Something that trains, and that can travel to another process."""

    @property
    def name(self) -> str:
        """What it is called in records."""

    @property
    def root(self) -> Path:
        """The folder that its code is in."""

    def code(self) -> Mapping[str, str]:
        """Digests of what is known of its code before it runs."""

    def __call__(self, run: Run) -> None:
        """Train under the seeds of a run."""


@dataclass(frozen=True)
class FunctionTarget:
    """A function of a program or notebook.

    Args:
        function: Called with the run.
    """

    function: Train

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TargetError(
                "A {type_name} cannot be trained. Give a function that takes "
                "the run, such as `def train(run): ...`.",
                type_name=type(self.function).__name__,
            )

    @property
    def name(self) -> str:
        """The function's name, with its module unless that is the main program."""
        name = getattr(self.function, "__qualname__", type(self.function).__name__)
        module = getattr(self.function, "__module__", "__main__")
        return str(name) if module == "__main__" else f"{module}:{name}"

    @property
    def root(self) -> Path:
        """The folder of the module, or the current one for a main program."""
        return _root_of(getattr(self.function, "__module__", "__main__"))

    def code(self) -> Mapping[str, str]:
        """Digests of the function, and of what it needs from its own module."""
        return definitions(self.function)

    def __call__(self, run: Run) -> None:
        """Train under the seeds of a run."""
        self.function(run)


@dataclass(frozen=True)
class NamedTarget:
    """A function by name, loaded where it is trained.

    Args:
        name: Such as "package.module:train".
        folder: Where modules are looked for first.
    """

    name: str
    folder: str

    def __post_init__(self) -> None:
        module, _, function = self.name.partition(":")
        with importable(self.root):
            try:
                known = find_spec(module) is not None
            except (ModuleNotFoundError, ValueError):
                known = False
        if not known or not function.isidentifier():
            raise TargetError(
                "{name!r} is no function that can be found. Give package.module:function; "
                "{folder} is searched first.",
                name=self.name,
                folder=self.folder,
            )

    @property
    def root(self) -> Path:
        """Where modules are looked for first."""
        return Path(self.folder)

    def code(self) -> Mapping[str, str]:
        """Digest of the module's file; the other files of each run are recorded."""
        with importable(self.root):
            found = find_spec(self.name.partition(":")[0])
        origin = Path(found.origin).resolve() if found is not None and found.origin else None
        if origin is None or not origin.is_relative_to(self.root.resolve()):
            return {}
        return {origin.relative_to(self.root.resolve()).as_posix(): file_digest(origin)}

    def __call__(self, run: Run) -> None:
        """Train under the seeds of a run."""
        module, _, function = self.name.partition(":")
        with importable(self.root):
            train = getattr(importlib.import_module(module), function, None)
            if not callable(train):
                raise TargetError(
                    "The module {module!r} has no function {function!r}.",
                    module=module,
                    function=function,
                )
            train(run)


@dataclass(frozen=True)
class ScriptTarget:
    """A program that trains once; it need not know that it is repeated.

    Args:
        path: The script.
        arguments: Its own arguments; `{seed}`, `{run}` and `{arm}` are filled in.
    """

    path: str
    arguments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not Path(self.path).is_file():
            raise TargetError(
                "{path!r} is not a file. Give a script, or a function as package.module:train.",
                path=self.path,
            )

    @property
    def name(self) -> str:
        """The file's name: where it lies makes no difference."""
        return Path(self.path).name

    @property
    def root(self) -> Path:
        """The script's folder."""
        return Path(self.path).resolve().parent

    def code(self) -> Mapping[str, str]:
        """Digest of the script."""
        return {self.name: file_digest(Path(self.path))}

    def __call__(self, run: Run) -> None:
        """Run the script as the main program."""
        values = {"seed": str(run.seed), "run": run.name, "arm": run.arm}
        argv = [self.path, *(_filled(argument, values) for argument in self.arguments)]
        before = sys.argv
        sys.argv = argv
        try:
            with importable(self.root):
                runpy.run_path(self.path, run_name="__main__")
        except SystemExit as end:
            if end.code not in {None, 0}:
                raise
        finally:
            sys.argv = before


def _filled(argument: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        argument = argument.replace(f"{{{name}}}", value)
    return argument


def as_target(train: Train | Target) -> Target:
    """A function as a target; a target as it is."""
    if isinstance(train, ScriptTarget | NamedTarget | FunctionTarget):
        return train
    return FunctionTarget(train)


def find_target(text: str, arguments: tuple[str, ...] = ()) -> Target:
    """What somebody wrote on the command line, as a target."""
    if text.endswith(".py") or os.sep in text or ":" not in text:
        return ScriptTarget(str(Path(text).absolute()), arguments)
    return NamedTarget(text, str(Path.cwd()))


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Inside, modules of a folder can be imported, before all others."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        if str(folder) in sys.path:
            sys.path.remove(str(folder))


@contextmanager
def loaded_afresh(folder: Path) -> Iterator[None]:
    """Afterwards, modules of a folder that were loaded inside are forgotten.

    What a module draws while it is loaded belongs to the run. In a process that makes several
    runs, it must be drawn by each.
    """
    before = set(sys.modules)
    try:
        yield
    finally:
        for name, _ in list(own_modules(folder, besides=before)):
            del sys.modules[name]


def _root_of(module: str) -> Path:
    found = sys.modules.get(module)
    path = getattr(found, "__file__", None)
    if module == "__main__" or path is None:
        return Path.cwd()
    # The folder that the outermost package is in.
    return Path(path).resolve().parents[module.count(".") + (Path(path).name == "__init__.py")]
