"""A few runs in two small files: what the package holds, and what a store is unpacked from."""

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import numpy as np

from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.schema import digest
from seedproof.typing import FloatArray, IntArray

ARRAYS_FILE, FACTS_FILE = "records.npz", "records.json"
ARRAYS = {
    "ids": np.int32,
    "labels": np.int8,
    "probs": np.float32,
    "explained": np.int32,
    "lengths": np.int16,
    # Within 0.05 % of what was recorded, in half the bytes.
    "scores": np.float16,
}


@dataclass(frozen=True, eq=False)
class Bundle:
    """Predictions of several runs on the same examples, and explanations of some of them.

    There are no texts in it: of a token it knows the place and the scores.

    Args:
        study: The study that made the runs.
        runs: Names, arms, seeds and facts of the runs; without parts, which a store will have.
        split: Name of the data split.
        method: Name of the explanation.
        classes: Names of the two classes.
        ids: Id of each example, ascending.
        labels: Gold class index of each example.
        probs: Probability of the second class: (runs, examples).
        explained: Which examples are explained, as ascending indices.
        lengths: How many tokens each of these has.
        scores: A score a token: (runs, tokens of all explained examples).
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
        """Digest of everything in it, by which its runs are known again."""
        arrays = b"".join(self._array(name).tobytes() for name in ARRAYS)
        return digest(self._facts().encode() + arrays)

    def save(self, folder: Path) -> None:
        """Write both files into a folder; equal bundles give equal bytes.

        Args:
            folder: Where to.
        """
        arrays: dict[str, Any] = {name: self._array(name) for name in ARRAYS}
        with (folder / ARRAYS_FILE).open("wb") as file:
            np.savez_compressed(file, **arrays)
        (folder / FACTS_FILE).write_text(self._facts(), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path | Traversable | None = None) -> "Bundle":
        """The bundle in a folder.

        Args:
            folder: Where from; that of the package without it.

        Returns:
            The bundle.
        """
        folder = files("seedproof.demo") if folder is None else folder
        facts = json.loads((folder / FACTS_FILE).read_text(encoding="utf-8"))
        with (folder / ARRAYS_FILE).open("rb") as file, np.load(file) as arrays:
            found = {name: arrays[name] for name in ARRAYS}
        return cls(
            study=StudyManifest(**facts["study"]),
            runs=tuple(RunManifest(**run) for run in facts["runs"]),
            split=facts["split"],
            method=facts["method"],
            classes=tuple(facts["classes"]),
            **found,
        )

    def _array(self, name: str) -> FloatArray | IntArray:
        return np.ascontiguousarray(getattr(self, name), dtype=ARRAYS[name])

    def _facts(self) -> str:
        runs = [asdict(run) for run in self.runs]
        for run in runs:
            del run["parts"]
        facts = {
            "study": asdict(self.study),
            "split": self.split,
            "method": self.method,
            "classes": self.classes,
            "runs": runs,
        }
        return json.dumps(facts, indent=1, ensure_ascii=False) + "\n"
