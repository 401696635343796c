"""Runs in NumPy's own files: one with all runs, or one a run."""

import zipfile
import zlib
from collections.abc import Sequence
from lzma import LZMAError
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import numpy.typing as npt

from seedproof.errors import ColumnError, InputError, NotFoundError, ShapeError, UnreadableError
from seedproof.records.arrays import ArrayShards
from seedproof.records.scan import check_readable, run_names
from seedproof.records.shards import natural_order

# What zipfile, its packers and numpy's reader of headers raise on bytes that are not theirs.
_DAMAGES = (
    ValueError,
    OSError,
    EOFError,
    RuntimeError,
    OverflowError,
    TypeError,
    MemoryError,
    SyntaxError,
    TokenError,
    LZMAError,
    zlib.error,
    zipfile.BadZipFile,
)


def open_npz(
    paths: list[Path],
    *,
    alone: bool = False,
    names: Sequence[str] | None = None,
    extras: Sequence[str] = (),
    **options: Any,  # noqa: ANN401 - passed on
) -> ArrayShards:
    """The runs of one file that holds all of them, or of several that hold one each."""
    loaded = [_load_npz(path) for path in paths]
    first = loaded[0]
    if len(loaded) == 1:
        runs = None if "runs" not in first else first["runs"].tolist()
        return _shards(_values(first), first, extras, {**options, "runs": runs}, alone=alone)
    for path, content in zip(paths, loaded, strict=True):
        if _key(content) != _key(first) or _values(content).shape != _values(first).shape:
            raise ShapeError(
                "{file} and {other_file} hold arrays of different shapes. "
                "Give every run the same examples and classes.",
                file=path.name,
                other_file=paths[0].name,
            )
        for name in ("labels", "ids", "classes", *extras):
            if not _are_equal(content.get(name), first.get(name)):
                raise InputError(
                    "{file} and {other_file} have different {array}. "
                    "Give the same ones in every file.",
                    file=path.name,
                    other_file=paths[0].name,
                    array=name,
                )
    by_name = dict(zip(names or run_names(paths), loaded, strict=True))
    runs = list(by_name) if names else natural_order(list(by_name))
    stacked = np.stack([_values(by_name[name]) for name in runs])
    return _shards(stacked, first, extras, {**options, "runs": runs}, alone=False)


def open_npz_apart(
    paths: list[Path],
    *,
    names: Sequence[str] | None = None,
    extras: Sequence[str] = (),
    **options: Any,  # noqa: ANN401 - passed on
) -> list[ArrayShards]:
    """The run of each file as a source of its own: they may have different examples."""
    by_name = dict(zip(names or run_names(paths), map(_load_npz, paths), strict=True))
    runs = list(by_name) if names else natural_order(list(by_name))
    return [
        _shards(
            _values(by_name[run])[np.newaxis],
            by_name[run],
            extras,
            {**options, "runs": [run]},
            alone=True,
        )
        for run in runs
    ]


def _shards(
    values: npt.NDArray[Any],
    content: dict[str, npt.NDArray[Any]],
    extras: Sequence[str],
    options: dict[str, Any],
    *,
    alone: bool,
) -> ArrayShards:
    classes = options.pop("classes", None)
    if classes is None and "classes" in content:
        classes = content["classes"].tolist()
    return ArrayShards(
        values,
        labels=content.get("labels"),
        ids=content.get("ids"),
        classes=classes,
        extras={name: content[name] for name in extras if name in content},
        alone=alone,
        **options,
    )


def _key(content: dict[str, npt.NDArray[Any]]) -> str:
    return "probs" if "probs" in content else "predictions"


def _values(content: dict[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return content[_key(content)]


def _are_equal(one: npt.NDArray[Any] | None, other: npt.NDArray[Any] | None) -> bool:
    """Whether two arrays say the same; NaN, which stands for a missing label, equals itself."""
    if one is None or other is None:
        return one is other
    if one.shape != other.shape:
        return False
    both_nan = (one != one) & (other != other)  # noqa: PLR0124 - also in arrays of objects
    return bool(((one == other) | both_nan).all())


def _load_npz(path: Path) -> dict[str, npt.NDArray[Any]]:
    check_readable(path)
    if not path.is_file():
        raise NotFoundError("{path!r} is not a file. Give an .npz file.", path=str(path))
    try:
        with zipfile.ZipFile(path) as content:
            names = [name for name in content.namelist() if name.endswith(".npy")]
            found = {name.removesuffix(".npy"): _load_member(content, name) for name in names}
    except _DAMAGES as error:
        raise UnreadableError(
            "{file} is not an .npz file that can be read without pickle: it is damaged, or "
            "holds Python objects. Save plain arrays with np.savez.",
            file=path.name,
        ) from error
    if "probs" not in found and "predictions" not in found:
        raise ColumnError(
            "{file} has neither 'probs' nor 'predictions'. "
            "It has: {arrays}. Save it under one of these names.",
            file=path.name,
            arrays=", ".join(found) or "no array",
        )
    return found


def _load_member(content: zipfile.ZipFile, name: str) -> npt.NDArray[Any]:
    """One array, read to the end of its member, which is where its checksum is compared."""
    with content.open(name) as member:
        array: npt.NDArray[Any] = np.lib.format.read_array(member, allow_pickle=False)
        if member.read(1):
            raise ValueError("there are more bytes than the array's header says")
    return array
