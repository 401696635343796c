"""Runs in .npz files: one file with all runs, or one per run."""

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from seedproof.errors import ColumnError, InputError, NotFoundError, ShapeError, UnreadableError
from seedproof.records.answer_settings import AnswerSettings
from seedproof.records.arrays import ArrayShards
from seedproof.records.item_arrays import item_kind, item_shards, set_threshold
from seedproof.records.memory_limit import data_bytes
from seedproof.records.normalize import composed
from seedproof.records.number_arrays import number_shards
from seedproof.records.shards import ShardSource, natural_order
from seedproof.records.text_files import check_readable, run_names

# Arrays with one value per example, class or run.
FACTS = ("labels", "targets", "ids", "classes", "runs")
# Names of the array of predictions.
PREDICTIONS = ("probs", "predictions", "values")
# Memory per number of these, and per text: texts become Python objects for a moment.
NUMBER_BYTES, TEXT_BYTES = 40, 150
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


@dataclass(frozen=True)
class _Header:
    """Shape and type of an array, which are read before its content."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @classmethod
    def read(cls, member: IO[bytes]) -> "_Header":
        version = np.lib.format.read_magic(member)
        shape, _, dtype = _HEADERS[version](member)
        if dtype.hasobject:
            raise ValueError("it holds Python objects")
        return cls(shape, dtype)

    @property
    def n_bytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    @property
    def fact_bytes(self) -> int:
        """Memory that the array takes as a fact about examples."""
        is_text = self.dtype.kind in "SUT"
        return self.n_bytes + prod(self.shape) * (TEXT_BYTES if is_text else NUMBER_BYTES)


@dataclass(frozen=True, eq=False)
class _File:
    """An .npz file whose arrays are read one by one."""

    path: Path
    headers: dict[str, _Header]

    @classmethod
    def open(cls, path: Path, extras: Sequence[str]) -> "_File":
        check_readable(path)
        if not path.is_file():
            raise NotFoundError("{path!r} is not a file. Pass an .npz file.", path=str(path))
        with _unpacked(path) as content:
            members = [name for name in content.namelist() if name.endswith(".npy")]
            names = [name.removesuffix(".npy") for name in members]
            headers = {}
            for name in dict.fromkeys((*PREDICTIONS, *FACTS, *extras)):
                if name in names:
                    with content.open(f"{name}.npy") as member:
                        headers[name] = _Header.read(member)
        if headers.keys().isdisjoint(PREDICTIONS):
            raise ColumnError(
                "{file} has neither 'probs' nor 'predictions' nor 'values'. "
                "It has: {arrays}. Save it under one of these names.",
                file=path.name,
                arrays=", ".join(names[:20]) or "no array",
            )
        return cls(path, headers)

    @property
    def key(self) -> str:
        """Name of the array of predictions."""
        return next(name for name in PREDICTIONS if name in self.headers)

    @property
    def values(self) -> _Header:
        """Shape and type of the predictions."""
        return self.headers[self.key]

    def load(self, name: str) -> npt.NDArray[Any] | None:
        """Read one array to the end, where its checksum is compared; None if there is none."""
        if name not in self.headers:
            return None
        with _unpacked(self.path) as content, content.open(f"{name}.npy") as member:
            array: npt.NDArray[Any] = np.lib.format.read_array(member, allow_pickle=False)
            if member.read(1):
                raise ValueError("there are more bytes than the array's header says")
        return array

    def load_values(self) -> npt.NDArray[Any]:
        """Read the predictions."""
        return np.asarray(self.load(self.key))


@contextmanager
def _unpacked(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as content:
            yield content
    except Exception as error:  # zipfile, its packers and numpy raise many kinds on damaged bytes
        raise UnreadableError(
            "{file} is not an .npz file that can be read without pickle: it is damaged, or "
            "holds Python objects. Save plain arrays with np.savez.",
            file=path.name,
        ) from error


def open_npz(
    paths: list[Path],
    *,
    memory: int,
    alone: bool = False,
    names: Sequence[str] | None = None,
    extras: Sequence[str] = (),
    **options: Any,  # noqa: ANN401 - passed on
) -> ShardSource:
    """Read the runs of one file that holds all of them, or of several with one each."""
    files = _opened(paths, memory, extras, options)
    first = files[0]
    if len(files) == 1:
        runs = first.load("runs")
        named = None if runs is None else runs.tolist()
        return _shards(first.load_values(), first, extras, runs=named, alone=alone, **options)
    for file in files[1:]:
        _check_alike(file, first, extras)
    by_name = _in_order(files, names)
    dtype = np.result_type(*(file.values.dtype for file in files))
    stacked = np.empty((len(files), *first.values.shape), dtype)
    for run, file in zip(stacked, by_name.values(), strict=True):
        run[...] = file.load_values()
    return _shards(stacked, first, extras, runs=list(by_name), **options)


def open_npz_apart(
    paths: list[Path],
    *,
    memory: int,
    names: Sequence[str] | None = None,
    extras: Sequence[str] = (),
    **options: Any,  # noqa: ANN401 - passed on
) -> list[ShardSource]:
    """Read the run of each file as a source of its own: they may have different examples."""
    by_name = _in_order(_opened(paths, memory, extras, options), names)
    return [
        _shards(file.load_values()[np.newaxis], file, extras, runs=[run], alone=True, **options)
        for run, file in by_name.items()
    ]


def _opened(
    paths: list[Path], memory: int, extras: Sequence[str], options: dict[str, Any]
) -> list[_File]:
    """Return the files, if what they hold fits into memory."""
    files = [_File.open(path, extras) for path in paths]
    needed = 0
    for file in files:
        # Of one class, both become an array; class names become indices of four bytes, and numbers
        # twice as many of eight.
        copies = 3 if options.get("positive") is not None else 1
        indices = 0 if len(file.values.shape) > 2 else 4 * prod(file.values.shape)
        if file.key == "values":
            indices *= 4
        needed += copies * file.values.n_bytes + indices
        needed += sum(x.fact_bytes for name, x in file.headers.items() if name != file.key)
        if needed > data_bytes(memory):
            raise UnreadableError(
                "{file} needs {megabytes:,} MB of memory, which is more than allowed. Raise "
                "{option}, or save the runs as Parquet tables, which are read in parts.",
                file=file.path.name,
                megabytes=needed // 10**6,
                option="--memory",
                problem="memory",
            )
    return files


def _check_alike(file: _File, first: _File, extras: Sequence[str]) -> None:
    """Raise an error if two files have different examples or classes."""
    names = {"file": file.path.name, "other_file": first.path.name}
    if file.key != first.key or file.values.shape != first.values.shape:
        raise ShapeError(
            "{file} and {other_file} hold arrays of different shapes. "
            "Give every run the same examples and classes.",
            **names,
        )
    for name in ("labels", "targets", "ids", "classes", *extras):
        if not _are_equal(file.load(name), first.load(name)):
            raise InputError(
                "{file} and {other_file} have different {array}. Use the same ones in every file.",
                **names,
                array=name,
            )


def _in_order(files: list[_File], names: Sequence[str] | None) -> dict[str, _File]:
    """Return runs by name: as they are named, or in the natural order of their files."""
    by_name = dict(zip(names or run_names([file.path for file in files]), files, strict=True))
    return by_name if names else {name: by_name[name] for name in natural_order(list(by_name))}


def _shards(
    values: npt.NDArray[Any],
    file: _File,
    extras: Sequence[str],
    *,
    settings: AnswerSettings,
    runs: Sequence[str] | None,
    alone: bool = False,
    classes: Sequence[str] | None = None,
    **options: Any,  # noqa: ANN401 - passed on
) -> ShardSource:
    loaded = {name: file.load(name) for name in extras}
    further = {name: column for name, column in loaded.items() if column is not None}
    if file.key == "values":
        return number_shards(
            values,
            targets=file.load("targets"),
            ids=file.load("ids"),
            runs=runs,
            extras=further,
            settings=settings,
            least_runs=1 if alone else 2,
        )
    named, labels = file.load("classes"), file.load("labels")
    if classes is None and named is not None:
        classes = named.tolist()
    # Whole numbers named probabilities are a mistake, and no flags.
    may_be_items = values.ndim == 3 and (file.key != "probs" or values.dtype.kind == "f")
    kind = item_kind(values, _choices(settings, labels)) if may_be_items else None
    if kind is not None:
        return item_shards(
            values,
            kind=kind,
            right=labels,
            ids=file.load("ids"),
            names=classes,
            runs=runs,
            extras=further,
            settings=settings,
            threshold=set_threshold(settings, kind),
            least_runs=1 if alone else 2,
        )
    return ArrayShards(
        values,
        labels=labels,
        ids=file.load("ids"),
        classes=classes,
        runs=runs,
        alone=alone,
        extras=further,
        **options,
    )


def _choices(settings: AnswerSettings, labels: npt.NDArray[Any] | None) -> dict[str, Any]:
    """Return the options that say whether answers are sets: a threshold, or flags as labels."""
    flags = {} if labels is None or labels.ndim < 2 else {"labels": labels}
    return {**flags, "thresholds": settings.thresholds or None}


def _composed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return texts in Unicode's form C: two files may write letters differently."""
    if array.dtype.kind != "U":
        return array
    return np.array([composed(text) for text in array.ravel().tolist()]).reshape(array.shape)


def _are_equal(left: npt.NDArray[Any] | None, right: npt.NDArray[Any] | None) -> bool:
    """Return whether two arrays are equal; NaN, which marks a missing label, equals itself."""
    if left is None or right is None:
        return left is right
    if left.shape != right.shape:
        return False
    left, right = _composed(left), _composed(right)
    both_nan = (left != left) & (right != right)  # noqa: PLR0124 - also in arrays of objects
    return bool(((left == right) | both_nan).all())
