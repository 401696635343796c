"""Logs of evaluation tools, recognized by their content and read without the tools.

A reader is a module with `recognizes(path, start)`, which gets the first bytes of a file,
`resembles(path)`, which knows files by their names, and `read(paths)`, which returns a `Log`.
"""

import glob
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from seedproof.errors import OptionError, UnreadableError
from seedproof.logs import inspect, lm_eval, promptfoo
from seedproof.logs.hydra import Sweep, sweep_in
from seedproof.logs.samples import Log
from seedproof.logs.wandb import tracked_runs_in
from seedproof.records.location import check_inside
from seedproof.records.text_files import check_readable

READERS: Mapping[str, ModuleType] = {
    reader.TOOL: reader for reader in (inspect, lm_eval, promptfoo)
}
SUFFIXES = frozenset({".eval", ".json", ".jsonl"})
# A log is recognized within its first bytes; the first sample may have a long text.
START_BYTES = 2**20


class LogFiles(NamedTuple):
    """Files of a log, and the tool that wrote them."""

    tool: str
    files: tuple[Path, ...]

    def read(self) -> Log:
        """Read the samples."""
        log: Log = READERS[self.tool].read(self.files)
        return log


def log_files(paths: Sequence[str], tool: str | None = None) -> LogFiles | None:
    """Return the files of a log among files, folders and patterns.

    Args:
        paths: Files, folders and patterns.
        tool: Name of the tool that wrote them; recognized by content if omitted.

    Returns:
        The files; None if a path holds no log.

    Raises:
        OptionError: The tool is unknown.
        UnreadableError: The named tool wrote none of the files.
    """
    if tool is not None and tool not in READERS:
        raise OptionError(
            "The tool {tool!r} is unknown. Pass one of: {known}.",
            option="tool",
            tool=tool,
            known=tuple(READERS),
        )
    places = [place for path in paths for place in _places(path)]
    for name, reader in READERS.items():
        if tool not in {None, name}:
            continue
        of_places = [_recognized(place, reader) for place in places]
        if of_places and all(of_places):
            return LogFiles(name, tuple(dict.fromkeys(f for files in of_places for f in files)))
    if tool is not None:
        raise UnreadableError("{path!r} holds no log of {tool}.", path=paths[0], tool=tool)
    return None


def runs_in(folder: Path, suffixes: frozenset[str]) -> Sweep | None:
    """Return the jobs of Hydra or the runs of W&B in a folder, if there are any.

    Args:
        folder: The folder, or one above it.
        suffixes: Suffixes of tables.

    Returns:
        Jobs that wrote a table; None if there are none.
    """
    return sweep_in(folder, suffixes) or tracked_runs_in(folder)


def _places(path: str) -> list[Path]:
    """Return a file or folder, or those that match a pattern."""
    if glob.has_magic(path) and not Path(path).exists():
        return sorted(map(Path, glob.glob(path, recursive=True)))  # noqa: PTH207 - absolute, too
    return [Path(path)]


def _recognized(path: Path, reader: ModuleType) -> list[Path]:
    """Return the files of a path that are logs of a reader.

    Next to logs, files of their names are logs, too: one that is empty or damaged is refused by the
    reader, and not left out.
    """
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    files = [file for file in files if file.suffix in SUFFIXES and file.is_file()]
    recognized = {file for file in files if reader.recognizes(file, _start(file))}
    if path.is_dir():
        if not recognized:
            return []
        for file in files:  # also those that a reader finds next to a log
            check_inside(path, file)
    return [file for file in files if file in recognized or reader.resembles(file)]


def _start(file: Path) -> bytes:
    check_readable(file)
    with file.open("rb") as stream:
        return stream.read(START_BYTES)
