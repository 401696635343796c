"""`sp.measure`: predictions in, a report out."""

import os
import shutil
import weakref
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.fs

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
from seedproof.records.scans import run_names
from seedproof.records.shards import ShardSource, canonical_order
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

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        show: Sequence[str] = (),
        command: str | None = None,
    ) -> str:
        """The page that a colleague reads: one file that loads nothing and sends nothing.

        Args:
            path: Where to write it; None writes nothing.
            show: Further columns of your own to show with examples, such as a text.
            command: The command that made it, for the box at its end.

        Returns:
            The page.
        """
        from seedproof.report.html import render_page

        page = render_page(self.measurement, show=show, command=command)
        if path is not None:
            with Location.of(path).open_write() as file:
                file.write(page.encode())
        return page

    def to_png(self, figure: str, path: str | os.PathLike[str] | None = None) -> bytes:
        """One chart as a PNG picture, drawn without a browser.

        Args:
            figure: Its name, such as "flip_matrix".
            path: Where to write it; None writes nothing.

        Returns:
            The picture.
        """
        return self.picture(figure, "png", path)

    def picture(
        self, figure: str, file_format: str, path: str | os.PathLike[str] | None = None
    ) -> bytes:
        """One chart as a picture for a paper, drawn without a browser.

        Args:
            figure: Its name, such as "flip_matrix".
            file_format: `png`, `svg` or `pdf`.
            path: Where to write it; None writes nothing.

        Returns:
            The picture.
        """
        from seedproof.report import charts
        from seedproof.report.figures import build_figures

        chosen = charts.find(build_figures(self.measurement), figure)
        content = charts.picture(chosen, file_format)
        if path is not None:
            with Location.of(path).open_write() as file:
                file.write(content)
        return content

    def _repr_html_(self) -> str:
        from seedproof.report.html import render_short

        return render_short(self.measurement)

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        show: Sequence[str] = (),
        command: str | None = None,
    ) -> None:
        """Write `report.html`, `summary.json` and `examples.parquet` into a folder.

        Args:
            folder: Where to; it is made if need be.
            show: Further columns of your own to show with examples, such as a text.
            command: The command that made it, for the box at the page's end.
        """
        place = Location.of(folder)
        source = self.measurement.examples_file
        target = place / "examples.parquet"
        try:
            place.make_folder()
            if source.path != target.path:
                pyarrow.fs.copy_files(
                    source.path,
                    target.path,
                    source_filesystem=source.files,
                    destination_filesystem=target.files,
                )
            with (place / "summary.json").open_write() as file:
                file.write(self.to_json().encode())
            with (place / "report.html").open_write() as file:
                file.write(self.to_html(show=show, command=command).encode())
        except OSError as error:
            reason = str(error).split("\n", maxsplit=1)[0].rstrip(".")
            raise OptionError(
                f"{str(folder)!r} cannot be written to ({reason}). Give a folder."
            ) from error

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
    kind = _kind(target)
    _refuse_what_has_no_effect(kind, arrays=arrays, columns=columns, choice=choice)
    tables: list[Path | ArrowStream]
    match kind:
        case "array":
            return ArrayShards(target, **arrays), ()  # type: ignore[arg-type] # checked inside
        case "store":
            return Store(Location.of(_paths(target)[0])).shards(**choice), ()
        case "npz":
            return _open_npz([Path(path) for path in _paths(target)]), ()
        case "dataframe":
            tables = [target]  # type: ignore[list-item] # it has __arrow_c_stream__
        case _:
            tables = [Path(path) for path in _paths(target)]
    from seedproof.records.ingest import Ingest

    store = Location.of(working / "store")
    notes = Ingest(columns=columns, memory=memory, scratch=working).run(
        tables, store, progress=progress
    )
    return Store(store).shards(), notes


def _kind(target: Target) -> str:
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
        f"A {type(target).__name__} cannot be measured. "
        "Give an array, a dataframe, a path or a store."
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
                f"{', '.join(given)} go with {'s and '.join(fits)}s, but this is of the kind "
                f"{kind!r}. Leave them out."
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
            raise ShapeError(
                f"{path.name} and {paths[0].name} hold arrays of different shapes. "
                "Give every run the same examples and classes."
            )
        for name in ("labels", "ids", "classes"):
            if not _are_equal(content.get(name), first.get(name)):
                raise InputError(
                    f"{path.name} and {paths[0].name} have different {name}. "
                    "Give the same ones in every file."
                )
    by_name = dict(zip(run_names([path.name for path in paths]), loaded, strict=True))
    names = canonical_order(list(by_name))
    return ArrayShards(
        np.stack([by_name[name][key] for name in names]),
        labels=first.get("labels"),
        ids=first.get("ids"),
        classes=None if "classes" not in first else first["classes"].tolist(),
        runs=names,
    )


def _are_equal(one: npt.NDArray[Any] | None, other: npt.NDArray[Any] | None) -> bool:
    """Whether two arrays say the same; NaN, which stands for a missing label, equals itself."""
    if one is None or other is None:
        return one is other
    if one.shape != other.shape:
        return False
    return bool(((one == other) | ((one != one) & (other != other))).all())  # noqa: PLR0124


def _load_npz(path: Path) -> dict[str, npt.NDArray[Any]]:
    if not path.is_file():
        raise NotFoundError(f"{str(path)!r} is not a file. Give an .npz file.")
    try:
        with path.open("rb") as file, np.lib.npyio.NpzFile(file, allow_pickle=False) as content:
            found = dict(content)
    except (ValueError, OSError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
        raise UnreadableError(
            f"{path.name} is not an .npz file that can be read without pickle: it is damaged, or "
            "holds Python objects. Save plain arrays with np.savez."
        ) from error
    if "probs" not in found and "predictions" not in found:
        raise ColumnError(
            f"{path.name} has neither 'probs' nor 'predictions'. "
            f"It has: {', '.join(found) or 'no array'}. Save it under one of these names."
        )
    return found
