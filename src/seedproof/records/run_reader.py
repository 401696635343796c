"""The predictions of one run on one split, row group by row group."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from seedproof.errors import NotFoundError
from seedproof.messages import Message
from seedproof.records.arrow import to_numpy
from seedproof.records.checks import HALF_SUM_TOLERANCE
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest
from seedproof.records.part_files import PartFiles
from seedproof.records.probabilities import UNLABELED, most_probable, most_probable_of_top
from seedproof.records.schema import (
    EXTRA_PREFIX,
    ROWS_APART,
    VALUE_COLUMNS,
    Group,
    Kind,
    floats_from_binary,
    integers_from_binary,
    labels_digest,
    predictions_digest,
    probs_from_binary,
    values_digest,
)
from seedproof.typing import FloatArray, IntArray


class RunReader:
    """The predictions of one committed run on one split.

    Args:
        store: The store's folder.
        run: The run's manifest.
        split: Name of the data split.

    Raises:
        DamagedStoreError: A file differs from what was committed.
    """

    def __init__(self, store: Location, run: RunManifest, split: str) -> None:
        self.store, self.run, self.split = store, run, split
        self._files = PartFiles(store, run, f"predictions/{split}/")
        if not self._files.facts:
            raise NotFoundError(
                "Run {run!r} has no predictions for the split {split!r}.", run=run.name, split=split
            )
        self.kind = Kind(self._files.facts["kind"])
        self.classes = tuple(self._files.facts["classes"])
        self.groups = self._files.groups

    def read(self, group_idx: int, columns: Sequence[str]) -> pa.Table:
        """Some columns of one row group."""
        rows = self._files.read(group_idx, columns)
        if not self._is_as_written(rows, self.groups[group_idx]):
            raise self._files.damaged(group_idx)
        return rows

    def _is_as_written(self, rows: pa.Table, group: Group) -> bool:
        if len(rows) != group.rows or not _are_possible(rows, group, len(self.classes)):
            return False
        columns = VALUE_COLUMNS[self.kind]
        fine = True
        if group.values_digest and set(columns) <= set(rows.column_names):
            fine &= values_digest(rows, columns) == group.values_digest
        if group.predictions_digest and "prediction" in rows.column_names:
            fine &= predictions_digest(rows.column("prediction")) == group.predictions_digest
        return fine

    def predictions(self, group_idx: int) -> IntArray:
        """Predicted class indices of one row group, from as few bytes as there can be."""
        if "prediction" in self._columns:
            return to_numpy(self.read(group_idx, ["prediction"]).column("prediction"))
        # Before 1.3, probabilities stood alone.
        if self.kind is Kind.TOP:
            return most_probable_of_top(*self.top(group_idx))
        return most_probable(self.probs(group_idx))

    @cached_property
    def n_top(self) -> int:
        """How many classes are kept of each example, for `Kind.TOP`; 0 otherwise."""
        if self.kind is not Kind.TOP:
            return 0
        return self._files.width_of("top_classes") // 4

    def probs(self, group_idx: int) -> FloatArray:
        """Probabilities of one row group, (rows, classes), float32."""
        column = self.read(group_idx, ["probs"]).column("probs")
        return probs_from_binary(column, len(self.classes))

    def top(self, group_idx: int) -> tuple[IntArray, FloatArray]:
        """The most probable classes of one row group and their probabilities, (rows, top) each."""
        rows = self.read(group_idx, ["top_classes", "top_probs"])
        return (
            integers_from_binary(rows.column("top_classes")),
            floats_from_binary(rows.column("top_probs")),
        )

    def name_of(self, group_idx: int) -> Message:
        """A row group with its file and run, for messages."""
        return self._files.name_of(group_idx)

    @cached_property
    def extras(self) -> tuple[str, ...]:
        """Columns carried along, by the user's own names."""
        names = self._columns
        return tuple(n.removeprefix(EXTRA_PREFIX) for n in names if n.startswith(EXTRA_PREFIX))

    @cached_property
    def _columns(self) -> list[str]:
        return self._files.columns()


def _are_possible(rows: pa.Table, group: Group, n_classes: int) -> bool:
    """Whether rows can be what was committed.

    Checksums cover what is in a page, not its header, which says how much that is and how it is
    encoded. A header that lies garbles the whole page, so that a few of its rows tell.
    """
    fine = True
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        match name:
            case "label":
                labels = to_numpy(column, missing=UNLABELED)
                fine &= labels_digest(labels) == group.labels_digest
            case "prediction" | "top_classes":
                is_plain = name == "prediction"
                indices = to_numpy(column) if is_plain else integers_from_binary(column)
                fine &= bool(indices.min() >= 0 and indices.max() < n_classes)
            case "probs" | "top_probs":
                is_whole = name == "probs"
                values = (
                    probs_from_binary(column, n_classes) if is_whole else floats_from_binary(column)
                )
                few = np.concatenate([values[::ROWS_APART], values[-1:]]).astype(np.float64)
                sums = few.sum(axis=1)
                least = 1.0 if is_whole else 0.0
                # False for NaN. What was committed may stray by the tolerance of half precision.
                fine &= bool(few.min() >= 0.0 and np.all(sums <= 1.0 + 2 * HALF_SUM_TOLERANCE))
                fine &= bool(np.all(sums >= least - 2 * HALF_SUM_TOLERANCE))
    return fine
