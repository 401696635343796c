"""Runs that W&B left on disk: a folder per run, with its configuration and the tables it logged.

The `.wandb` file of a run is a log of LevelDB: a header of 7 bytes, then blocks of 32 KiB with
parts of records. A record is a message of Protocol Buffers, of which a few fields are read here.
"""

import struct
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from seedproof.errors import NotFoundError, UnreadableError
from seedproof.logs.hydra import Job, Sweep, is_seed
from seedproof.logs.samples import arm_names
from seedproof.logs.split_tables import column_of, read_cells
from seedproof.messages import Message
from seedproof.records.decoding import DecodingError, parse_log
from seedproof.records.location import check_inside
from seedproof.records.shards import natural_order

TOOL = "wandb"
TABLE_SUFFIX = ".table.json"
# Of several keys, the one whose tables are read.
USUAL = "predictions"
HEADER, BLOCK_BYTES = struct.pack("<4sHB", b":W&B", 0xBEE1, 0), 2**15
# Kinds of parts: a whole record, or its first, middle and last part.
WHOLE, FIRST, LAST = 1, 2, 4
# Fields of messages, by number.
SUMMARY, CONFIG, RUN, EXIT = 3, 5, 17, 18
RUN_ID, RUN_CONFIG, RUN_GROUP, RUN_NAME, RUN_START = 1, 4, 6, 8, 17
UPDATE, KEY, NESTED_KEY, VALUE = 1, 1, 2, 16


@dataclass
class RunFile:
    """Content of the `.wandb` file of a run."""

    name: str = ""
    group: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    exit_code: int | None = None  # None while the run goes on, or if it was killed
    start: int = 0  # in seconds since 1970

    @property
    def merit(self) -> tuple[bool, int]:
        """Rank among the folders of a run that was resumed: finished ones first, then by time."""
        return self.exit_code == 0, self.start


@dataclass(frozen=True)
class TrackedRun(Job):
    """A run of W&B."""

    name: str
    group: str  # with the settings that differ between the runs of a group
    tables: Mapping[str, Path]  # by the key that they were logged with; none of unfinished runs

    @property
    def arm(self) -> str:
        """The group, and settings that differ."""
        return self.group

    @property
    def run(self) -> str:
        """The seed; the name of the run if there is none."""
        return "-".join(self.overrides.values()) or self.name

    def file(self, name: str) -> Path:
        """Return the place of a table."""
        return self.tables.get(name, self.folder / "files" / f"{name}{TABLE_SUFFIX}")


def tracked_runs_in(folder: Path) -> Sweep | None:
    """Return the runs of W&B in a folder, if there are any.

    Args:
        folder: The folder `wandb` of a project, one above it, or the folder of a run.

    Returns:
        The runs; None if there are none.

    Raises:
        NotFoundError: The runs logged no table, or tables with several keys other than
            `predictions`.
    """
    files = sorted(folder.rglob("run-*.wandb")) if folder.is_dir() else []
    # `latest-run` is a link to one of the others.
    for file in files:
        check_inside(folder, file)
    places = dict.fromkeys(file.resolve() for file in files)
    if not places:
        return None
    # A resumed run has the same id in a further folder.
    attempts: dict[str, list[tuple[Path, RunFile]]] = defaultdict(list)
    for place in natural_order(list(map(str, places))):
        attempts[Path(place).name].append((Path(place).parent, read_run(Path(place))))
    best = {name: max(runs, key=lambda run: run[1].merit) for name, runs in attempts.items()}
    folders = [place for place, _ in best.values()]
    read = [run for _, run in best.values()]
    configs = [dict(_flat(run.config)) for run in read]
    settings = [
        {name: value for name, value in config.items() if not is_seed(name)} for config in configs
    ]
    arms = arm_names([run.group for run in read], [TOOL] * len(read), settings)
    runs = [
        TrackedRun(
            place,
            {name: str(value) for name, value in config.items() if is_seed(name)},
            run.name or place.name,
            arm.strip(),
            _tables(place, run.summary) if run.exit_code == 0 else {},
        )
        for place, run, config, arm in zip(folders, read, configs, arms, strict=True)
    ]
    keys = Counter(key for run in runs for key in run.tables)
    if not keys:
        raise NotFoundError(
            "None of the {n_runs} runs of W&B in {path!r} finished and logged a table. Log the "
            "predictions of each run with `run.log({{'predictions': wandb.Table(...)}})`.",
            n_runs=len(runs),
            path=str(folder),
        )
    if len(keys) > 1 and USUAL not in keys:
        raise NotFoundError(
            "The {n_runs} runs of W&B in {path!r} logged {listed}. Log the table to measure with "
            "the key {usual!r}, or pass the files of one key, one per run.",
            n_runs=len(runs),
            path=str(folder),
            listed=", ".join(f"{key} ({count})" for key, count in sorted(keys.items())),
            usual=USUAL,
        )
    return Sweep(USUAL if USUAL in keys else next(iter(keys)), runs, notes=_unread(attempts, best))


def _unread(
    attempts: Mapping[str, Sequence[tuple[Path, RunFile]]],
    best: Mapping[str, tuple[Path, RunFile]],
) -> tuple[Message, ...]:
    """Return a note for each run that has several folders: which of them counts."""
    return tuple(
        Message(
            "log-chosen",
            "Of {n_logs} folders of the run {run!r}, {folder} is read, and not {others}: the last "
            "that finished counts.",
            n_logs=len(runs),
            run=best[name][1].name,
            folder=best[name][0].name,
            others=tuple(place.name for place, _ in runs if place != best[name][0]),
        )
        for name, runs in attempts.items()
        if len(runs) > 1
    )


def is_logged_table(path: object) -> bool:
    """Return whether this is the file of a table that was logged to W&B."""
    return isinstance(path, Path) and path.name.endswith(TABLE_SUFFIX)


def read_logged_table(path: Path) -> pa.Table:
    """Read the file of a table; columns of anything but texts and numbers are left out."""
    try:
        columns = read_cells(path)
    except DecodingError as error:
        raise _unreadable(path, str(error)) from error
    return pa.table({name: column_of(cells) for name, cells in columns.items() if _is_plain(cells)})


def read_run(path: Path) -> RunFile:
    """Read the `.wandb` file of a run.

    Args:
        path: The file.

    Returns:
        Name, group, configuration and summary.

    Raises:
        UnreadableError: It is damaged. A record that a killed run left unfinished is not damage.
    """
    run = RunFile()
    try:
        with path.open("rb") as file:
            for record in _records(file):
                for number, message in _fields(record):
                    if isinstance(message, bytes):
                        _take(run, number, message)
    except (DecodingError, UnicodeDecodeError) as error:
        raise _unreadable(path, str(error)) from error
    run.config.pop("_wandb", None)
    return run


def _take(run: RunFile, number: int, message: bytes) -> None:
    """Add the content of a record to that of a run."""
    if number == RUN:
        _take_run(run, message)
    elif number == CONFIG:
        run.config |= _updates(message)
    elif number == SUMMARY:
        run.summary |= _updates(message)
    elif number == EXIT:
        run.exit_code = _first_number(message)


def _take_run(run: RunFile, message: bytes) -> None:
    """Add name, group, start and configuration."""
    for part, value in _fields(message):
        if not isinstance(value, bytes):
            continue
        if part == RUN_CONFIG:
            run.config |= _updates(value)
        elif part == RUN_GROUP:
            run.group = value.decode()
        elif part == RUN_START:
            run.start = _first_number(value)
        elif part == RUN_NAME or (part == RUN_ID and not run.name):
            run.name = value.decode()


def _first_number(message: bytes) -> int:
    """Return the whole number in the first field, which is absent if it is 0."""
    numbers = [x for part, x in _fields(message) if part == 1 and isinstance(x, int)]
    return numbers[-1] if numbers else 0


def _updates(message: bytes) -> dict[str, Any]:
    """Return the values of a configuration or a summary that a record sets."""
    updates = {}
    for number, item in _fields(message):
        if number != UPDATE or not isinstance(item, bytes):
            continue
        parts = [(part, value) for part, value in _fields(item) if isinstance(value, bytes)]
        nested = [value.decode() for part, value in parts if part == NESTED_KEY]
        values = dict(parts)
        key = ".".join(nested) or values.get(KEY, b"").decode()
        updates[key] = parse_log(values.get(VALUE, b"null"))
    return updates


def _records(file: BufferedReader) -> Iterator[bytes]:
    """Yield the records of a log, up to the first that is cut off."""
    if file.read(len(HEADER)) != HEADER:
        raise DecodingError("it does not begin as a file of W&B does")
    parts: list[bytes] = []
    used = len(HEADER)
    while block := file.read(BLOCK_BYTES - used):
        at, used = 0, 0
        while at + 7 <= len(block):
            checksum, size, kind = struct.unpack_from("<IHB", block, at)
            data = block[at + 7 : at + 7 + size]
            if kind == 0 and not any(block[at:]):
                break  # nothing further was written to this block
            if len(data) < size and not file.peek(1):
                return  # the run was killed while it wrote
            if zlib.crc32(data, zlib.crc32(bytes([kind]))) != checksum:
                raise DecodingError("a checksum does not match")
            # A part that a killed run left is not continued by the next record.
            parts = [data] if kind in {WHOLE, FIRST} else [*parts, data]
            at += 7 + size
            if kind in {WHOLE, LAST}:
                yield b"".join(parts)
                parts = []


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the numbers and values of the fields of a message."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield tag >> 3, value
            continue
        if kind == 2:
            size, at = _varint(message, at)
        else:
            size = {1: 8, 5: 4}.get(kind, len(message) + 1)
        if at + size > len(message):
            raise DecodingError("a record is damaged")
        yield tag >> 3, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Return a whole number of variable length, and where it ends."""
    number = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            break
        byte = message[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
    raise DecodingError("a record is damaged")


def _tables(folder: Path, summary: Mapping[str, Any]) -> dict[str, Path]:
    """Return the last table of each key that a run logged."""
    tables = {}
    values = dict(_flat(summary))
    for name, value in values.items():
        key, _, last = name.rpartition(".")
        if last != "_type" or value != "table-file":
            continue
        place = PurePosixPath(str(values.get(f"{key}.path")).replace("\0", ""))
        if not place.is_absolute() and ".." not in place.parts:  # nothing in a file is trusted
            check_inside(folder, folder / "files" / place)
            tables[key] = folder / "files" / place
    return tables


def _flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the settings in a configuration, with dots in the names of nested ones."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _is_plain(cells: Sequence[Any]) -> bool:
    return all(cell is None or isinstance(cell, str | bool | int | float) for cell in cells)


def _unreadable(path: Path, reason: str) -> UnreadableError:
    return UnreadableError(
        "{file} cannot be read as a file of W&B: {reason}.", file=path.name, reason=reason
    )
