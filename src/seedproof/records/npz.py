"""Runs in .npz files: one file with all runs, or one per run."""

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from seedproof.errors import ColumnError, InputError, NotFoundError, ShapeError, UnreadableError
from seedproof.records.arrays import ArrayShards
from seedproof.records.shards import natural_order
from seedproof.records.text_files import check_readable, run_names


def open_npz(
    paths: list[Path],
    *,
    alone: bool = False,
    names: Sequence[str] | None = None,
    extras: Sequence[str] = (),
    **options: Any,  # noqa: ANN401 - passed on
) -> ArrayShards:
    """Read the runs of one file that holds all of them, or of several with one each."""
    loaded = [_load_npz(path) for path in paths]
    first = loaded[0]
    if len(loaded) == 1:
        runs = None if "runs" not in first else first["runs"].tolist()
        return _shards(_values(first), first, extras, runs=runs, alone=alone, **options)
    for path, content in zip(paths, loaded, strict=True):
        files = {"file": path.name, "other_file": paths[0].name}
        if _key(content) != _key(first) or _values(content).shape != _values(first).shape:
            raise ShapeError(
                "{file} and {other_file} hold arrays of different shapes. "
                "Give every run the same examples and classes.",
                **files,
            )
        for name in ("labels", "ids", "classes", *extras):
            if not _are_equal(content.get(name), first.get(name)):
                raise InputError(
                    "{file} and {other_file} have different {array}. "
                    "Use the same ones in every file.",
                    **files,
                    array=name,
                )
    by_name = _in_order(paths, names, loaded)
    stacked = np.stack([_values(content) for content in by_name.values()])
    return _shards(stacked, first, extras, runs=list(by_name), **options)


def open_npz_apart(
    paths: list[Path],
    *,
    names: Sequence[str] | None = None,
    extras: Sequence[str] = (),
    **options: Any,  # noqa: ANN401 - passed on
) -> list[ArrayShards]:
    """Read the run of each file as a source of its own: they may have different examples."""
    by_name = _in_order(paths, names, [_load_npz(path) for path in paths])
    return [
        _shards(_values(content)[np.newaxis], content, extras, runs=[run], alone=True, **options)
        for run, content in by_name.items()
    ]


def _in_order(
    paths: list[Path], names: Sequence[str] | None, loaded: list[dict[str, npt.NDArray[Any]]]
) -> dict[str, dict[str, npt.NDArray[Any]]]:
    """Return runs by name: as they are named, or in the natural order of their files."""
    by_name = dict(zip(names or run_names(paths), loaded, strict=True))
    return by_name if names else {name: by_name[name] for name in natural_order(list(by_name))}


def _shards(
    values: npt.NDArray[Any],
    content: dict[str, npt.NDArray[Any]],
    extras: Sequence[str],
    *,
    classes: Sequence[str] | None = None,
    **options: Any,  # noqa: ANN401 - passed on
) -> ArrayShards:
    if classes is None and "classes" in content:
        classes = content["classes"].tolist()
    return ArrayShards(
        values,
        labels=content.get("labels"),
        ids=content.get("ids"),
        classes=classes,
        extras={name: content[name] for name in extras if name in content},
        **options,
    )


def _key(content: dict[str, npt.NDArray[Any]]) -> str:
    return "probs" if "probs" in content else "predictions"


def _values(content: dict[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return content[_key(content)]


def _are_equal(left: npt.NDArray[Any] | None, right: npt.NDArray[Any] | None) -> bool:
    """Return whether two arrays are equal; NaN, which marks a missing label, equals itself."""
    if left is None or right is None:
        return left is right
    if left.shape != right.shape:
        return False
    both_nan = (left != left) & (right != right)  # noqa: PLR0124 - also in arrays of objects
    return bool(((left == right) | both_nan).all())


def _load_npz(path: Path) -> dict[str, npt.NDArray[Any]]:
    check_readable(path)
    if not path.is_file():
        raise NotFoundError("{path!r} is not a file. Pass an .npz file.", path=str(path))
    try:
        with zipfile.ZipFile(path) as content:
            names = [name for name in content.namelist() if name.endswith(".npy")]
            arrays = {name.removesuffix(".npy"): _load_member(content, name) for name in names}
    except Exception as error:  # zipfile, its packers and numpy raise many kinds on damaged bytes
        raise UnreadableError(
            "{file} is not an .npz file that can be read without pickle: it is damaged, or "
            "holds Python objects. Save plain arrays with np.savez.",
            file=path.name,
        ) from error
    if "probs" not in arrays and "predictions" not in arrays:
        raise ColumnError(
            "{file} has neither 'probs' nor 'predictions'. "
            "It has: {arrays}. Save it under one of these names.",
            file=path.name,
            arrays=", ".join(arrays) or "no array",
        )
    return arrays


def _load_member(content: zipfile.ZipFile, name: str) -> npt.NDArray[Any]:
    """Read one array to the end of its member, where its checksum is compared."""
    with content.open(name) as member:
        array: npt.NDArray[Any] = np.lib.format.read_array(member, allow_pickle=False)
        if member.read(1):
            raise ValueError("there are more bytes than the array's header says")
    return array
