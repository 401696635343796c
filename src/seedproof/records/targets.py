"""Whatever somebody wants measured, as shards: arrays, dataframes, files, stores."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy.typing as npt

from seedproof.errors import DtypeError, OptionError
from seedproof.messages import Message
from seedproof.records.arrays import ArrayShards
from seedproof.records.columns import Columns
from seedproof.records.location import Location
from seedproof.records.npz import open_npz
from seedproof.records.reader import Store
from seedproof.records.shards import ShardSource
from seedproof.typing import ArrowStream, Progress

if TYPE_CHECKING:
    from seedproof.records.sorted_rows import Phases

Target: TypeAlias = (
    str
    | os.PathLike[str]
    | Location
    | ArrowStream
    | npt.ArrayLike
    | Sequence[str | os.PathLike[str]]
)


def open_target(
    target: Target,
    *,
    arrays: dict[str, Any],
    columns: Columns,
    choice: dict[str, str | None],
    memory: int,
    working: Path,
    progress: Progress | None,
    alone: bool = False,
    skip_damaged: bool = False,
) -> tuple[ShardSource, tuple[Message, ...]]:
    """Whatever the target is, as shards, with notes on how it was read.

    Args:
        target: Arrays, a dataframe, paths, or a store.
        arrays: Labels, ids, classes and runs, which go with arrays only.
        columns: Names of the columns, which go with tables only.
        choice: Arm and split, which go with stores only.
        memory: Bytes that reading a table may use.
        working: A folder that lives as long as the shards are read.
        progress: Told how many rows of a table are read.
        alone: Whether a single run will do.
        skip_damaged: Whether damaged runs of a store are left out.

    Returns:
        Shards, and what a person should know about how they came about.
    """
    kind = _kind(target)
    if kind != "table" or all(Path(path).exists() for path in _paths(target)):
        # What is not there is missed below, before anybody asks what goes with it.
        _refuse_what_has_no_effect(kind, arrays=arrays, columns=columns, choice=choice)
    tables: list[Path | ArrowStream]
    match kind:
        case "array":
            return ArrayShards(target, alone=alone, **arrays), ()  # type: ignore[arg-type] # checked inside
        case "store":
            place = target if isinstance(target, Location) else Location.of(_paths(target)[0])
            store = Store(place, skip_damaged=skip_damaged)
            return store.shards(alone=alone, **choice), (*store.notes, *store.left_out)
        case "npz":
            return open_npz([Path(path) for path in _paths(target)], alone=alone), ()
        case "dataframe":
            tables = [target]  # type: ignore[list-item] # it has __arrow_c_stream__
        case _:
            tables = [Path(path) for path in _paths(target)]
    from seedproof.records.ingest import Ingest

    ingested = Location.of(working / "store")
    notes = Ingest(columns=columns, memory=memory, scratch=working, alone=alone).run(
        tables, ingested, progress=_told_of_writing(progress)
    )
    return Store(ingested).shards(alone=alone), notes


def _told_of_writing(progress: Progress | None) -> "Phases | None":
    """One bar for all phases: rows written."""

    def told(phase: str, done: int, total: int) -> None:
        if progress is not None and phase == "writing":
            progress(done, total)

    return None if progress is None else told


def open_store(path: str, *, skip_damaged: bool = False) -> Store | None:
    """The store at a path or URL; None if there is something else."""
    return Store(Location.of(path), skip_damaged=skip_damaged) if _is_store(path) else None


def as_store(target: Target) -> Store | None:
    """The store that a target is; None if it is something else."""
    if isinstance(target, Location):
        return Store(target)
    return open_store(os.fspath(target)) if isinstance(target, str | os.PathLike) else None


def _kind(target: Target) -> str:
    if isinstance(target, Location):
        return "store"
    names_files = isinstance(target, list | tuple) and any(
        isinstance(one, str | os.PathLike) for one in target[:1]
    )
    if isinstance(target, str | os.PathLike) or names_files:
        paths = _paths(target)
        if len(paths) == 1 and _is_store(paths[0]):
            return "store"
        return "npz" if any(path.lower().endswith(".npz") for path in paths) else "table"
    if hasattr(target, "__arrow_c_stream__"):
        return "dataframe"
    if hasattr(target, "__array__") or isinstance(target, list | tuple):
        return "array"
    raise DtypeError(
        "A {type_name} cannot be measured. Give an array, a dataframe, a path or a store.",
        type_name=type(target).__name__,
    )


def _refuse_what_has_no_effect(
    kind: str, *, arrays: dict[str, Any], columns: Columns, choice: dict[str, str | None]
) -> None:
    """Whoever gives an option expects it to do something."""
    usual = vars(Columns())
    for fits, given in (
        (("array",), [name for name, value in arrays.items() if value is not None]),
        (("table", "dataframe"), [n for n, value in vars(columns).items() if value != usual[n]]),
        (("store",), [name for name, value in choice.items() if value is not None]),
    ):
        if given and kind not in fits:
            raise OptionError(
                "Options such as {given} go with {kinds}s, but this is "
                "of the kind {kind!r}. Leave them out.",
                given=tuple(given),
                kinds="s and ".join(fits),
                kind=kind,
            )


def _paths(target: Target) -> list[str]:
    if isinstance(target, str | os.PathLike):
        return [os.fspath(target)]
    paths = [os.fspath(path) for path in target]  # type: ignore[union-attr, arg-type]
    seen: set[Path] = set()
    for path in paths:
        place = Path(path).absolute().resolve()
        if place in seen:
            raise OptionError("{path!r} is given twice. Give the file of each run once.", path=path)
        seen.add(place)
    return paths


def _is_store(path: str) -> bool:
    if "://" in path:
        return True
    return Path(path).is_dir() and Store.is_at(Location.of(path))
