"""Functions that run in processes of their own."""

import os
from collections.abc import Callable
from pathlib import Path

HIDE_TORCH = """
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name == "torch" else find(name, *rest)
"""


def hide_torch(folder: Path, *, program: str = "") -> dict[str, str]:
    """Return variables with which Python starts without torch, and with a program.

    The program is written to a new folder.
    """
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(HIDE_TORCH + program, encoding="utf-8")
    paths = filter(None, (str(folder), os.environ.get("PYTHONPATH")))
    return {"PYTHONPATH": os.pathsep.join(paths)}


def at_once(*actions: Callable[[], object]) -> list[int]:
    """Call functions in child processes, all released by one pipe; return their exit codes."""
    gate, opener = os.pipe()
    children = []
    for action in actions:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.close(opener)
                os.read(gate, 1)
                action()
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    os.close(gate)
    os.close(opener)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
