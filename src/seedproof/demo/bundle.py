"""Runs of the demo in two small files, from which a store can be unpacked."""

import json
import zipfile
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from seedproof.records.decoding import decode, parse_json
from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.schema import digest
from seedproof.typing import FloatArray, IntArray

ARRAYS_FILE, METADATA_FILE = "records.npz", "records.json"
# Types in the file, by the attribute of a bundle.
ARRAYS = {
    "ids": np.int32,
    "labels": np.int8,
    "probs": np.float32,
    "explained": np.int32,
    "lengths": np.int16,
    # Half the bytes of float32, with an error of at most 0.05 %.
    "scores": np.float16,
}


@dataclass(frozen=True)
class _Metadata:
    """Everything except the arrays."""

    study: StudyManifest
    split: str
    method: str
    classes: tuple[str, str]
    runs: tuple[RunManifest, ...]


@dataclass(frozen=True, eq=False)
class Bundle:
    """Predictions of several runs on the same examples, with some explanations but no texts.

    Args:
        study: The study of the runs.
        runs: The runs, without the list of their files in a store.
        split: Name of the data split.
        method: Name of the explanation method.
        classes: Names of the two classes.
        ids: Id of each example, ascending.
        labels: Gold class index of each example.
        probs: Probability of the second class: (runs, examples).
        explained: Ascending indices of the explained examples.
        lengths: Number of tokens of each explained example.
        scores: One score per token: (runs, tokens of all explained examples).
    """

    study: StudyManifest
    runs: tuple[RunManifest, ...]
    split: str
    method: str
    classes: tuple[str, str]
    ids: IntArray
    labels: IntArray
    probs: FloatArray
    explained: IntArray
    lengths: IntArray
    scores: FloatArray

    @cached_property
    def digest(self) -> str:
        """Digest of the whole content, which identifies its runs."""
        arrays = b"".join(self._array(name).tobytes() for name in ARRAYS)
        return digest(self._metadata().encode() + arrays)

    def save(self, folder: Path) -> None:
        """Write both files to a folder; equal bundles give equal bytes."""
        with zipfile.ZipFile(folder / ARRAYS_FILE, "w") as archive:
            for name in ARRAYS:
                member = zipfile.ZipInfo(f"{name}.npy")
                member.compress_type = zipfile.ZIP_LZMA
                with archive.open(member, "w") as file:
                    np.lib.format.write_array(file, _as_planes(self._array(name)))
        (folder / METADATA_FILE).write_text(self._metadata(), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path | Traversable | None = None) -> "Bundle":
        """Load the bundle of a folder. If omitted, load the one in this package."""
        folder = files("seedproof.demo") if folder is None else folder
        metadata = decode(_Metadata, parse_json((folder / METADATA_FILE).read_bytes()))
        with (folder / ARRAYS_FILE).open("rb") as file, np.load(file) as arrays:
            values: dict[str, Any] = {
                name: _from_planes(arrays[name], dtype) for name, dtype in ARRAYS.items()
            }
        return cls(**vars(metadata), **values)

    def _array(self, name: str) -> FloatArray | IntArray:
        """Return an array in its type in the file."""
        return np.ascontiguousarray(getattr(self, name), dtype=ARRAYS[name])

    def _metadata(self) -> str:
        """Return everything except the arrays, as JSON."""
        metadata = asdict(_Metadata(self.study, self.split, self.method, self.classes, self.runs))
        for run in metadata["runs"]:
            del run["parts"]
        return json.dumps(metadata, indent=1, ensure_ascii=False) + "\n"


def _as_planes(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return the first bytes of all values, then the second ones, and so on: it compresses well.

    Axes are (bytes, examples, runs), so the runs of an example are adjacent.
    """
    columns = np.ascontiguousarray(np.atleast_2d(array).T)
    size = columns.dtype.itemsize
    return np.moveaxis(columns.view(np.uint8).reshape(*columns.shape, size), -1, 0).copy()


def _from_planes(planes: npt.NDArray[np.uint8], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return the array that `_as_planes` was called with."""
    columns = np.ascontiguousarray(np.moveaxis(planes, 0, -1)).view(dtype)[..., 0]
    return np.ascontiguousarray(columns.T if columns.shape[1] > 1 else columns[:, 0])
