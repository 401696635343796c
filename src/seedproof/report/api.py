"""`sp.measure`: predictions in, a report out."""

import os
import shutil
import weakref
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seedproof.errors import (
    ColumnError,
    DtypeError,
    InputError,
    NotFoundError,
    OptionError,
    ShapeError,
    UnknownNameError,
    UnreadableError,
)
from seedproof.measurement.intervals import Estimate
from seedproof.measurement.measure import measure_shards
from seedproof.measurement.result import Measurement
from seedproof.records.arrays import ArrayShards
from seedproof.records.columns import Columns
from seedproof.records.location import Location
from seedproof.records.reader import Store
from seedproof.records.shards import ShardSource
from seedproof.report.text import as_text
from seedproof.report.view import View, build_view
from seedproof.typing import ArrowStream, FloatArray, Progress

Target: TypeAlias = (
    str | os.PathLike[str] | ArrowStream | npt.ArrayLike | Sequence[str | os.PathLike[str]]
)
DEFAULT_MEMORY = "2GB"
_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


class Report:
    """What measuring found: `print` it, ask it for a figure, look at its examples.

    Args:
        measurement: The figures.
        scratch: A temporary folder to be removed together with the report.
    """

    def __init__(self, measurement: Measurement, scratch: Path | None = None) -> None:
        self.measurement = measurement
        if scratch is not None:
            weakref.finalize(self, shutil.rmtree, scratch, ignore_errors=True)

    def __getitem__(self, name: str) -> Estimate:
        metrics = self.measurement.metrics
        if name not in metrics:
            raise UnknownNameError(
                f"There is no metric {name!r} in this report. It has: {', '.join(metrics)}."
            )
        return metrics[name]

    @property
    def metrics(self) -> Mapping[str, Estimate]:
        """Every figure by name."""
        return self.measurement.metrics

    @property
    def examples(self) -> pa.Table:
        """One row for each example, in the order of their ids."""
        return self.measurement.examples()

    @property
    def flip_matrix(self) -> FloatArray:
        """Share of examples on which two runs disagree: (runs, runs)."""
        return self.measurement.detail["flip_matrix"]

    def view(self, *, show: Sequence[str] = ()) -> View:
        """The report in words and rows, as plain data.

        Args:
            show: Further columns of your own to show with examples, such as a text.

        Returns:
            Sentences, figures and the least stable examples.
        """
        return build_view(self.measurement, show=show)

    def summary(self) -> dict[str, Any]:
        """Everything but the examples, as plain data: what `summary.json` holds."""
        return self.measurement.summary()

    def to_json(self) -> str:
        """The summary as JSON text."""
        return self.measurement.to_json()

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write `summary.json` and `examples.parquet` into a folder.

        Args:
            folder: Where to; it is made if need be.
        """
        place = Location.of(folder)
        place.make_folder()
        source = self.measurement.examples_file
        target = place / "examples.parquet"
        if source.path != target.path:
            with target.open_write() as file:
                file.write(source.read_bytes())
        with (place / "summary.json").open_write() as file:
            file.write(self.to_json().encode())

    def __str__(self) -> str:
        return as_text(self.view())

    def __repr__(self) -> str:
        size = self.measurement
        return f"<Report of {size.n_runs} runs, {size.n_examples} examples: {self['flip_rate']}>"


def measure(
    target: Target,
    *,
    labels: npt.ArrayLike | None = None,
    ids: npt.ArrayLike | None = None,
    classes: Sequence[str] | None = None,
    runs: Sequence[str] | None = None,
    columns: Columns | None = None,
    arm: str | None = None,
    split: str | None = None,
    memory: str | int = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> Report:
    """How much of the predictions the seed decided.

    Args:
        target: Predictions of at least two runs: an array of probabilities (runs, examples,
            classes) or of predicted classes (runs, examples); a dataframe of any library that
            speaks Arrow; a path or several (CSV, TSV, Parquet, JSONL, npz); a store.
        labels: Gold class of each example, with arrays.
        ids: Id of each example, with arrays.
        classes: Names of the classes, with arrays.
        runs: Names of the runs, with arrays.
        columns: Names of the columns, with tables.
        arm: Which arm of a store.
        split: Which split of a store.
        memory: What reading tables may use, such as "4GB"; larger ones are sorted on disk.
        progress: Called as the work goes on.

    Returns:
        A report.

    Raises:
        InputError: The predictions cannot be measured; the message says why and what to do.
    """
    limit = parse_memory(memory)
    scratch = Path(mkdtemp(prefix="seedproof-"))
    try:
        with TemporaryDirectory(prefix="seedproof-") as working:
            source, notes = _open(
                target,
                arrays={"labels": labels, "ids": ids, "classes": classes, "runs": runs},
                columns=columns or Columns(),
                choice={"arm": arm, "split": split},
                memory=limit,
                working=Path(working),
                progress=progress,
            )
            result = measure_shards(
                source, Location.of(scratch / "examples.parquet"), progress=progress, notes=notes
            )
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    return Report(result, scratch)


def parse_memory(memory: str | int) -> int:
    """Bytes from text such as "500MB" or "4GB".

    Args:
        memory: A number of bytes, or text with a unit.

    Returns:
        Bytes.

    Raises:
        OptionError: It is neither, or less than 100 MB.
    """
    text = str(memory).strip().upper().replace("IB", "B")
    unit = text[-2:] if text[-2:] in _UNITS else ""
    try:
        size = int(float(text.removesuffix(unit)) * _UNITS.get(unit, 1))
    except (ValueError, OverflowError):
        size = 0
    if size < 100 * 10**6:
        raise OptionError(f"--memory {memory!r} is not allowed. Give at least 100MB, such as 4GB.")
    return size


def _open(
    target: Target,
    *,
    arrays: dict[str, Any],
    columns: Columns,
    choice: dict[str, str | None],
    memory: int,
    working: Path,
    progress: Progress | None,
) -> tuple[ShardSource, tuple[str, ...]]:
    """Whatever the target is, as shards, with notes on how it was read."""
    tables: list[Path | ArrowStream]
    match _kind(target):
        case "array":
            return ArrayShards(target, **arrays), ()  # type: ignore[arg-type] # checked inside
        case "stream":
            tables = [target]  # type: ignore[list-item] # it has __arrow_c_stream__
        case _:
            paths = _paths(target)
            if len(paths) == 1 and _is_store(paths[0]):
                return Store(Location.of(paths[0])).shards(**choice), ()
            if any(str(path).lower().endswith(".npz") for path in paths):
                return _open_npz([Path(path) for path in paths]), ()
            tables = [Path(path) for path in paths]
    given = [name for name, value in arrays.items() if value is not None]
    if given:
        raise OptionError(f"{', '.join(given)} go with arrays; a table has columns for them.")
    from seedproof.records.ingest import Ingest

    store = Location.of(working / "store")
    notes = Ingest(columns=columns, memory=memory, scratch=working).run(
        tables, store, progress=progress
    )
    return Store(store).shards(), notes


def _kind(target: Target) -> str:
    if isinstance(target, str | os.PathLike):
        return "paths"
    if isinstance(target, list | tuple) and target:
        first = target[0]
        if isinstance(first, str | os.PathLike):
            return "paths"
    if hasattr(target, "__arrow_c_stream__"):
        return "stream"
    if hasattr(target, "__array__") or isinstance(target, list | tuple):
        return "array"
    raise DtypeError(
        f"A {type(target).__name__} cannot be measured. "
        "Give an array, a dataframe, a path or a store."
    )


def _paths(target: Target) -> list[str]:
    if isinstance(target, str | os.PathLike):
        return [os.fspath(target)]
    return [os.fspath(path) for path in target]  # type: ignore[union-attr, arg-type]


def _is_store(path: str) -> bool:
    if "://" in path:
        return True
    return Path(path).is_dir() and Store.is_at(Location.of(path))


def _open_npz(paths: list[Path]) -> ArrayShards:
    loaded = [_load_npz(path) for path in paths]
    first = loaded[0]
    if len(loaded) == 1:
        return ArrayShards(
            first["probs"] if "probs" in first else first["predictions"],
            labels=first.get("labels"),
            ids=first.get("ids"),
            classes=None if "classes" not in first else first["classes"].tolist(),
            runs=None if "runs" not in first else first["runs"].tolist(),
        )
    key = "probs" if "probs" in first else "predictions"
    for path, content in zip(paths, loaded, strict=True):
        if key not in content or content[key].shape != first[key].shape:
            raise ShapeError(f"{path.name} and {paths[0].name} hold arrays of different shapes.")
        for name in ("labels", "ids", "classes"):
            if not np.array_equal(content.get(name, 0), first.get(name, 0)):
                raise InputError(f"{path.name} and {paths[0].name} have different {name}.")
    return ArrayShards(
        np.stack([content[key] for content in loaded]),
        labels=first.get("labels"),
        ids=first.get("ids"),
        classes=None if "classes" not in first else first["classes"].tolist(),
        runs=[path.stem for path in paths],
    )


def _load_npz(path: Path) -> dict[str, npt.NDArray[Any]]:
    if not path.is_file():
        raise NotFoundError(f"{str(path)!r} is not a file.")
    try:
        with np.load(path, allow_pickle=False) as content:
            found = dict(content)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise UnreadableError(
            f"{path.name} is not an .npz file that can be read without pickle: it is damaged, or "
            "holds Python objects. Save plain arrays with np.savez."
        ) from error
    if "probs" not in found and "predictions" not in found:
        raise ColumnError(
            f"{path.name} has neither 'probs' nor 'predictions'. "
            f"It has: {', '.join(found) or 'no array'}."
        )
    return found
