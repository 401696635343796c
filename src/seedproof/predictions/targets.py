"""Recognize an input: arrays, dataframes, files, folders, patterns, stores."""

import glob
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy.typing as npt

from seedproof.errors import DtypeError, NotFoundError, OptionError, TooFewRunsError
from seedproof.logs import log_files, runs_in
from seedproof.logs.hydra import Sweep
from seedproof.logs.mlflow import is_tracked, read_tracked
from seedproof.logs.samples import Log
from seedproof.messages import Message
from seedproof.predictions.readers import TABLE_SUFFIXES, reader_of
from seedproof.records.location import Location, check_inside
from seedproof.records.reader import Store
from seedproof.records.shards import natural_order
from seedproof.records.text_files import check_readable
from seedproof.typing import ArrowStream

# Predictions of one or more runs, in memory or on disk.
Target: TypeAlias = (
    str
    | os.PathLike[str]
    | Location
    | Store
    | Log
    | Sweep
    | ArrowStream
    | npt.ArrayLike
    | Sequence[str | os.PathLike[str]]
    | Sequence[ArrowStream]
    | Sequence[npt.ArrayLike]
    | Mapping[str, ArrowStream]
    | Mapping[str, npt.ArrayLike]
    | Mapping[str, str]
)


@dataclass(frozen=True, eq=False)
class Input:
    """A recognized input."""

    kind: str  # array, npz, table, log or store
    parts: Any  # the arrays, the files, the tables, the log; the location of a store, or the store
    names: tuple[str, ...] | None = None  # name of the run in each part, where the input names them
    failed: tuple[str, ...] = ()  # runs that left no part
    notes: tuple[Message, ...] = ()  # on how it was found
    is_per_run: bool = False  # tables have one row per run, and no examples


def recognize(target: Target, tool: str | None = None) -> Input:
    """Determine the kind of an input; `tool` names the one that wrote a log."""
    if isinstance(target, Location | Store):
        return Input("store", target)
    if isinstance(target, Log | Sweep):
        return Input("log", target) if isinstance(target, Log) else _of_sweep(target)
    if isinstance(target, str | os.PathLike):
        target = [target]
    if isinstance(target, Mapping):
        return _of_mapping(target)
    if isinstance(target, list | tuple):
        return _of_list(target, tool)
    if hasattr(target, "__arrow_c_stream__"):
        return Input("table", [target])
    if not hasattr(target, "__array__"):
        raise DtypeError(
            "An object of type {type_name} cannot be measured. Pass an array, a dataframe, a path "
            "or a store.",
            type_name=type(target).__name__,
        )
    return Input("array", target)


def opened(target: Input, *, skip_damaged: bool = False) -> Store:
    """Open the store of an input; an open store keeps its snapshot of the runs."""
    if isinstance(target.parts, Store):
        return target.parts.again()
    return Store(target.parts, skip_damaged=skip_damaged)


def log_in(target: Input) -> Log:
    """Return the samples of a log."""
    return target.parts if isinstance(target.parts, Log) else target.parts.read()


def is_store(path: str | os.PathLike[str]) -> bool:
    """Return whether a path or URL holds a store."""
    text = os.fspath(path)
    if "://" in text:
        return True
    check_readable(Path(text))
    return Path(text).is_dir() and Store.is_at(Location.of(text))


def _of_mapping(target: Mapping[str, Any]) -> Input:
    """Recognize one run per item: arrays, dataframes or files by the names of their runs."""
    parts = list(target.values())
    is_data = [
        hasattr(part, "__array__") or hasattr(part, "__len__") or isinstance(part, os.PathLike)
        for part in parts
    ]
    if not all(is_data) or not parts:
        raise DtypeError(
            "A {type_name} must map the name of each run to its predictions, but this one is empty "
            "or has other values. Pass arrays, dataframes or files.",
            type_name=type(target).__name__,
        )
    runs = _of_list(parts)
    if runs.kind == "store" or len(runs.parts) != len(target):
        raise DtypeError(
            "Each item of a mapping must be one run, but one item is a store, a folder or a glob "
            "pattern. Pass arrays, dataframes or files.",
            type_name=type(target).__name__,
        )
    return Input(runs.kind, runs.parts, tuple(map(str, target)))


def _of_list(target: Sequence[Any], tool: str | None = None) -> Input:
    are_paths = [isinstance(part, str | os.PathLike) for part in target]
    are_tables = [_is_table(part) for part in target]
    for flags in (are_paths, are_tables):
        if any(flags) and not all(flags):
            other = target[flags.index(not flags[0])]
            raise DtypeError(
                "The list mixes a {type_name} with a {other_type_name}. Pass files, tables or "
                "arrays.",
                type_name=type(target[0]).__name__,
                other_type_name=type(other).__name__,
            )
    if any(are_paths):
        return _of_paths([os.fspath(part) for part in target], tool)
    return Input("table" if any(are_tables) else "array", list(target))


def _is_table(part: object) -> bool:
    """Return whether this is a table in memory; a single column has a stream, but no columns."""
    has_columns = any(hasattr(part, name) for name in ("columns", "schema"))
    return hasattr(part, "__arrow_c_stream__") and has_columns


def files_of(paths: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """Return the files of paths, folders and patterns; raise an error if one comes twice."""
    files = [file for path in paths for file in _files(os.fspath(path))]
    places = [file.absolute().resolve() for file in files]
    counts = Counter(places)
    for file, place in zip(files, places, strict=True):
        if counts[place] > 1:
            raise OptionError(
                "{path!r} is given twice. Pass the file of each run once.", path=str(file)
            )
    return files


def _of_paths(paths: list[str], tool: str | None = None) -> Input:
    if any(map(is_tracked, paths)):
        return _of_tracked(paths)
    if len(paths) == 1 and is_store(paths[0]):
        return Input("store", Location.of(paths[0]))
    log = log_files(paths, tool)
    if log is not None:
        return Input("log", log)
    if len(paths) == 1 and (sweep := runs_in(Path(paths[0]), TABLE_SUFFIXES)) is not None:
        return _of_sweep(sweep)
    files = files_of(paths)
    is_npz = any(file.suffix.lower() == ".npz" for file in files)
    return Input("npz" if is_npz else "table", files)


def _of_tracked(paths: list[str]) -> Input:
    """Recognize runs of a tracker: their tables, or else their metrics."""
    if not all(map(is_tracked, paths)):
        raise OptionError(
            "Runs of MLflow cannot be read together with files: {listed}. Pass them alone.",
            listed=", ".join(paths),
        )
    groups = [read_tracked(path) for path in paths]
    if not any(group.has_tables for group in groups):
        return Input(
            "table",
            [group.metrics() for group in groups],
            failed=tuple(name for group in groups for name in group.failed),
            notes=tuple(note for group in groups for note in group.notes),
            is_per_run=True,
        )
    if len(groups) > 1:
        raise OptionError(
            "Tables of predictions are read from one experiment or parent run at a time, and "
            "{n_given} are given: {listed}. Compare them with `seedproof compare`.",
            n_given=len(groups),
            listed=", ".join(paths),
        )
    return _of_sweep(groups[0])


def _of_sweep(sweep: Sweep) -> Input:
    """Recognize the tables of the jobs of a sweep, which must be of one arm."""
    if len(sweep.arms) > 1:
        raise OptionError(
            "These runs differ in more than their seeds: {listed}. Compare them with "
            "`seedproof compare`.",
            listed=", ".join(sweep.arms),
            known=sweep.arms,
        )
    files = sweep.files
    if not files:
        raise TooFewRunsError(
            "{source} has no run with predictions. Without them: {runs}. Finish or repeat these.",
            source=sweep.title,
            runs=sweep.failed,
        )
    is_npz = Path(sweep.name).suffix.lower() == ".npz"
    kind = "npz" if is_npz else "table"
    return Input(kind, list(files.values()), tuple(files), sweep.failed, sweep.notes)


def _files(path: str) -> list[Path]:
    """Return a file itself, the files of a folder, or those that match a pattern."""
    if not path:
        raise NotFoundError("A path is empty. Pass a file, a folder or a store.", path=path)
    place = Path(path)
    check_readable(place)
    if place.is_dir():
        if Store.is_at(Location.of(path)):
            raise NotFoundError(
                "{path!r} is a store, not a file. Pass a store on its own.", path=path
            )
        return _inside(place)
    if not place.exists() and glob.has_magic(path):
        matches = map(Path, glob.glob(path, recursive=True))  # noqa: PTH207 - absolute, too
        files = [match for match in matches if match.is_file()]
        if not files:
            raise NotFoundError("No file matches {path!r}.", path=path)
        return _in_order(files)
    if not place.exists():
        raise NotFoundError(
            "{path!r} does not exist. Pass a CSV, TSV, Parquet, JSONL or .npz file, or a store.",
            path=path,
        )
    return [place]


def _inside(folder: Path) -> list[Path]:
    """Return the tables in a folder, or else those of one name in its subfolders."""
    if (folder / "summary.json").is_file():
        raise NotFoundError(
            "{path!r} holds a report, not predictions. Pass the table or store it is based on.",
            path=str(folder),
        )
    direct = [path for path in folder.iterdir() if _is_table_file(path, folder)]
    files = direct or [path for path in folder.rglob("*") if _is_table_file(path, folder)]
    for path in files:
        check_inside(folder, path)
    kinds = Counter(path.suffix.lower() if direct else path.name for path in files)
    if not files:
        raise NotFoundError(
            "{path!r} is a folder without a study.json and without tables. Pass a store, or a "
            "folder with one table per run (CSV, TSV, Parquet, JSONL or .npz).",
            path=str(folder),
        )
    if len(kinds) > 1:
        most = kinds.most_common(1)[0][0]
        raise NotFoundError(
            "{path!r} contains tables in several formats: {listed}. Select one with a glob "
            "pattern, such as {pattern!r}.",
            path=str(folder),
            listed=", ".join(f"{name} ({count})" for name, count in sorted(kinds.items())),
            pattern=str(folder / (f"*{most}" if direct else f"**/{most}")),
        )
    return _in_order(files)


def _is_table_file(path: Path, folder: Path) -> bool:
    is_hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
    is_known = any(suffix.lower() in TABLE_SUFFIXES for suffix in path.suffixes[-2:])
    return path.is_file() and not is_hidden and (is_known or reader_of(path) is not None)


def _in_order(files: Sequence[Path]) -> list[Path]:
    return list(map(Path, natural_order(list(map(str, files)))))
