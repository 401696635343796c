"""Functions that run in processes of their own."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

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


@dataclass(frozen=True)
class Finished:
    """Result of a command, with its memory and processor time."""

    code: int
    out: str
    err: str
    peak_bytes: int
    cpu_seconds: float


# `ru_maxrss` would include the memory of the parent before the command was loaded.
_MEASURED = """
import atexit, os, sys, time
from pathlib import Path

def write(path=Path(sys.argv.pop(1))):
    status = Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    path.write_text(f"{1024 * int(peak.split()[1])} {time.process_time()}")

atexit.register(write)
from seedproof.cli.main import main
main()
"""


def finished(*arguments: object, folder: Path, timeout: float = 60) -> Finished:
    """Call the command line in a process of its own; Linux only."""
    with TemporaryDirectory() as scratch:
        figures = Path(scratch) / "figures"
        done = subprocess.run(
            [sys.executable, "-c", _MEASURED, str(figures), *map(str, arguments)],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        peak, seconds = figures.read_text(encoding="utf-8").split()
    return Finished(done.returncode, done.stdout, done.stderr, int(peak), float(seconds))
