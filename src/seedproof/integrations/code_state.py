"""A digest of the code of a project, to recognize whether it changed between two test runs."""

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

# Content of larger files is not read: size and time of change stand for it.
MOST_BYTES = 2**20
SECONDS = 60
PACKAGES = (".dist-info", ".egg-info")
DIFF = "--no-ext-diff", "--no-textconv", "--binary", "--ignore-submodules=none"
# Git shows that a submodule was edited, and not how.
EDITED_SUBMODULE = re.compile(rb"^\+Subproject commit [0-9a-f]+-dirty$", re.MULTILINE)


def code_state(folder: Path, *, leave_out: Sequence[Path] = ()) -> str | None:
    """Return a digest of the code around a folder; None if it is not known.

    It covers the files of the Git repository as they are on disk, committed or not, except for what
    Git ignores; the names and versions of installed packages; and the version of Python.

    Args:
        folder: A folder of the repository.
        leave_out: Files that do not count, such as records.

    Returns:
        16 hexadecimal digits. None outside of a repository, and if Git cannot compare all files.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as name:
    ...     print(code_state(Path(name)))
    None
    """
    try:
        top = Path(os.fsdecode(_git(folder, "rev-parse", "--show-toplevel").removesuffix(b"\n")))
        if _is_ignored(folder):
            return None
        files = ["--", ".", *(part for file in leave_out for part in _excluded(file, top))]
        tracked = _git(top, "ls-files", "--stage", "-z", *files)
        edits = _git(top, "diff", *DIFF, *files)
        new = _git(top, "ls-files", "--others", "--exclude-standard", "-z", *files)
    except (OSError, subprocess.SubprocessError):
        return None
    # Git does not look into a clone inside of the repository.
    if EDITED_SUBMODULE.search(edits) or any(name.endswith(b"/") for name in new.split(b"\0")):
        return None
    state = hashlib.sha256()
    for part in (tracked, edits, *_contents(top, new), *_environment()):
        state.update(hashlib.sha256(part).digest())
    return state.hexdigest()[:16]


def _git(folder: Path, *arguments: str) -> bytes:
    command = ["git", "-c", "core.quotePath=false", *arguments]
    return subprocess.run(  # noqa: S603 - arguments are ours, or a folder after `--`
        command, cwd=folder, capture_output=True, check=True, timeout=SECONDS
    ).stdout


def _is_ignored(folder: Path) -> bool:
    """Return whether Git ignores a folder, so that it would not notice changes in it."""
    command = ["git", "check-ignore", "--quiet", "."]
    code = subprocess.run(  # noqa: S603 - no argument comes from outside
        command, cwd=folder, capture_output=True, check=False, timeout=SECONDS
    ).returncode
    return code == 0


def _excluded(file: Path, top: Path) -> list[str]:
    """Return the argument that leaves out a file; none if it is not in the repository."""
    place = file.resolve()
    if not place.is_relative_to(top.resolve()):
        return []
    return [f":(exclude,literal){place.relative_to(top.resolve()).as_posix()}"]


def _contents(top: Path, names: bytes) -> Iterator[bytes]:
    """Yield the names and contents of files that Git does not track, except for bytecode."""
    for name in sorted(filter(None, names.split(b"\0"))):
        path = top / os.fsdecode(name)
        if "__pycache__" in path.parts or path.suffix == ".pyc":
            continue
        yield name
        try:
            status = path.stat()
            if not path.is_file() or status.st_size > MOST_BYTES:
                yield f"{status.st_size} {status.st_mtime_ns}".encode()
            else:
                yield path.read_bytes()
        except OSError as error:  # deleted meanwhile, or not readable
            yield repr(error.errno).encode()


def _environment() -> Iterator[bytes]:
    """Yield the version of Python, and the names and versions of installed packages."""
    yield sys.version.encode()
    names: set[str] = set()
    for folder in filter(os.path.isdir, sys.path):
        names.update(path.name for path in Path(folder).iterdir() if path.suffix in PACKAGES)
    yield "\n".join(sorted(names)).encode()
