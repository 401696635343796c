"""Targets of a training: a function, a function by name, or a script."""

import importlib
import os
import runpy
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from seedproof.errors import TargetError
from seedproof.training.code import definitions, file_digest, own_modules
from seedproof.training.run import Run

Train: TypeAlias = Callable[[Run], object]


@dataclass(frozen=True)
class FunctionTarget:
    """Function of a program or notebook."""

    function: Train

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TargetError(
                "A {type_name} is not a training function. Pass a function that takes a run, "
                "such as `def train(run): ...`.",
                type_name=type(self.function).__name__,
            )

    @property
    def name(self) -> str:
        """Name of the function, with its module unless that is the main program."""
        name = getattr(self.function, "__qualname__", type(self.function).__name__)
        module = getattr(self.function, "__module__", "__main__")
        return str(name) if module == "__main__" else f"{module}:{name}"

    @property
    def root(self) -> Path:
        """Folder of the outermost package, or the current folder for a main program."""
        module = getattr(self.function, "__module__", "__main__")
        file = getattr(sys.modules.get(module), "__file__", None)
        if module == "__main__" or file is None:
            return Path.cwd()
        depth = module.count(".") + (Path(file).name == "__init__.py")
        return Path(file).resolve().parents[depth]

    def code(self) -> Mapping[str, str]:
        """Return digests of the function, and of all that it uses from its own module."""
        return definitions(self.function)

    def __call__(self, run: Run) -> None:
        """Train under the seeds of a run."""
        self.function(run)


@dataclass(frozen=True)
class NamedTarget:
    """Function by name, such as "package.module:train"; the folder is searched first."""

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
                "There is no function {name!r}. Pass package.module:function; {folder} is searched "
                "first.",
                name=self.name,
                folder=self.folder,
            )

    @property
    def root(self) -> Path:
        """Folder that is searched first."""
        return Path(self.folder)

    def code(self) -> Mapping[str, str]:
        """Return the digest of the module's file; each run records its other files."""
        with importable(self.root):
            spec = find_spec(self.name.partition(":")[0])
        origin = Path(spec.origin).resolve() if spec is not None and spec.origin else None
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
    """Script with its arguments, in which `{seed}`, `{run}` and `{arm}` are filled in."""

    path: str
    arguments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not Path(self.path).is_file():
            raise TargetError(
                "{path!r} is not a file. Pass a script, or a function as package.module:train.",
                path=self.path,
            )

    @property
    def name(self) -> str:
        """Name of the file, without its folder."""
        return Path(self.path).name

    @property
    def root(self) -> Path:
        """Folder of the script."""
        return Path(self.path).resolve().parent

    def code(self) -> Mapping[str, str]:
        """Return the digest of the script."""
        return {self.name: file_digest(Path(self.path))}

    def __call__(self, run: Run) -> None:
        """Run the script as the main program."""
        arguments = list(self.arguments)
        for name, value in {"seed": str(run.seed), "run": run.name, "arm": run.arm}.items():
            arguments = [argument.replace(f"{{{name}}}", value) for argument in arguments]
        before, sys.argv = sys.argv, [self.path, *arguments]
        try:
            with importable(self.root):
                runpy.run_path(self.path, run_name="__main__")
        except SystemExit as end:
            if end.code not in {None, 0}:
                raise
        finally:
            sys.argv = before


# Something to train, which can be sent to another process: it has a name for records, the folder
# of its code, and digests of the code that is known before it runs.
Target: TypeAlias = FunctionTarget | NamedTarget | ScriptTarget


def as_target(train: Train | Target) -> Target:
    """Return a function as a target, and a target unchanged."""
    return train if isinstance(train, Target) else FunctionTarget(train)


def find_target(text: str, arguments: tuple[str, ...] = ()) -> Target:
    """Return the target that was named on the command line."""
    if text.endswith(".py") or os.sep in text or ":" not in text:
        return ScriptTarget(str(Path(text).absolute()), arguments)
    return NamedTarget(text, str(Path.cwd()))


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Search a folder first for modules."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        if str(folder) in sys.path:
            sys.path.remove(str(folder))


@contextmanager
def loaded_afresh(folder: Path) -> Iterator[None]:
    """Unload the modules of a folder that were loaded inside.

    Draws at import time belong to the run: with several runs per process, each must repeat them.
    """
    before = set(sys.modules)
    try:
        yield
    finally:
        for name, _ in list(own_modules(folder, except_for=before)):
            del sys.modules[name]
