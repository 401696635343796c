"""Records of training dynamics: how often each class was predicted over the steps of one run."""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import uuid4

import numpy as np
import pyarrow as pa

from seedproof.errors import NotFoundError
from seedproof.records.arrow import to_arrow, to_numpy
from seedproof.records.location import Location
from seedproof.records.manifest import RecordedFile, RunManifest
from seedproof.records.probabilities import UNLABELED
from seedproof.records.run_reader import PartFiles
from seedproof.records.schema import (
    MAX_GROUP_ROWS,
    Group,
    digest,
    ids_digest,
    labels_digest,
)
from seedproof.records.writer import PartWriter
from seedproof.typing import FloatArray, IntArray

ROWS_PER_GROUP = min(4096, MAX_GROUP_ROWS)


@dataclass(frozen=True, eq=False)
class DynamicsRecord:
    """What one run predicted over its steps, example by example in canonical order."""

    ids: pa.Array  # example ids, int64 or text
    labels: IntArray  # gold class indices, -1 where unknown
    n_steps: IntArray  # how often each example was looked at
    offsets: IntArray  # where the classes of each example begin, and the end: (examples + 1)
    classes: IntArray  # the classes that were predicted, ascending within an example
    counts: IntArray  # how often each of them was
    gold_mean: FloatArray  # mean over steps of the gold label's probability; NaN where unknown
    gold_sd: FloatArray
    class_names: tuple[str, ...]  # names of the classes, in the order of their indices

    def __len__(self) -> int:
        return len(self.ids)

    def rows(self, start: int, stop: int) -> "DynamicsRecord":
        """Some examples that are next to each other."""
        offsets = self.offsets[start : stop + 1]
        pairs = slice(int(offsets[0]), int(offsets[-1]))
        return DynamicsRecord(
            self.ids[start:stop],
            self.labels[start:stop],
            self.n_steps[start:stop],
            offsets - offsets[0],
            self.classes[pairs],
            self.counts[pairs],
            self.gold_mean[start:stop],
            self.gold_sd[start:stop],
            self.class_names,
        )


def write_dynamics(folder: Location, split: str, record: DynamicsRecord) -> RecordedFile:
    """Write the dynamics of one run on one split."""
    schema = pa.schema(
        [
            pa.field("example", record.ids.type, nullable=False),
            pa.field("label", pa.int32()),
            pa.field("n_steps", pa.int32(), nullable=False),
            pa.field("classes", pa.list_(pa.int32()), nullable=False),
            pa.field("counts", pa.list_(pa.int32()), nullable=False),
            pa.field("gold_mean", pa.float64()),
            pa.field("gold_sd", pa.float64()),
        ]
    )
    name = f"part-{uuid4().hex[:8]}-00000.parquet"
    writer = PartWriter(folder, f"dynamics/{split}/{name}", schema)
    for start in range(0, len(record), ROWS_PER_GROUP):
        rows = record.rows(start, min(start + ROWS_PER_GROUP, len(record)))
        writer.write(pa.Table.from_arrays(_columns(rows), schema=schema), _group(rows))
    # Readers of format 1.3 expect the curve of entropies over the updates, or null.
    return writer.close({"kind": "dynamics", "classes": record.class_names, "curve": None})


def _columns(rows: DynamicsRecord) -> list[pa.Array]:
    offsets = to_arrow(rows.offsets, np.int32)
    return [
        rows.ids,
        to_arrow(rows.labels, np.int32, missing=rows.labels == UNLABELED),
        to_arrow(rows.n_steps, np.int32),
        pa.ListArray.from_arrays(offsets, to_arrow(rows.classes, np.int32)),
        pa.ListArray.from_arrays(offsets, to_arrow(rows.counts, np.int32)),
        to_arrow(rows.gold_mean, np.float64, missing=np.isnan(rows.gold_mean)),
        to_arrow(rows.gold_sd, np.float64, missing=np.isnan(rows.gold_sd)),
    ]


def _group(rows: DynamicsRecord) -> Group:
    """What the footer says of a row group: all of its values are in a digest, for they are few."""
    integers = (rows.n_steps, rows.offsets, rows.classes, rows.counts)
    # Whatever sign or payload a NaN has, it becomes null.
    floats = (np.where(np.isnan(v), np.nan, v) for v in (rows.gold_mean, rows.gold_sd))
    values = [*(v.astype("<i4").tobytes() for v in integers)]
    values += [v.astype("<f8").tobytes() for v in floats]
    n_labeled = int((rows.labels != UNLABELED).sum())
    return Group(
        len(rows),
        n_labeled,
        ids_digest(rows.ids),
        labels_digest(rows.labels),
        digest(b"".join(values)),
    )


def dynamics_of(store: Location, run: RunManifest, split: str) -> DynamicsRecord:
    """What one run predicted over its steps on one split."""
    files = PartFiles(store, run, f"dynamics/{split}/")
    if not files.groups:
        known = sorted({p[1] for p in _paths(run) if p[0] == "dynamics"})
        listed = ", ".join(known) or "none; log them with run.log_dynamics"
        raise NotFoundError(
            "Run {run!r} of arm {arm!r} has no dynamics of the split {split!r}. Known: {listed}.",
            run=run.name,
            arm=run.arm,
            split=split,
            listed=listed,
            known=tuple(known),
        )
    return _joined([_read(files, group_idx) for group_idx in range(len(files.groups))])


def _paths(run: RunManifest) -> Iterator[list[str]]:
    return (part.path.split("/") for part in run.parts)


def _read(files: PartFiles, group_idx: int) -> DynamicsRecord:
    table = files.read(group_idx, files.schema.names)
    columns = {name: pa.concat_arrays(table.column(name).chunks) for name in table.column_names}
    lengths = columns["classes"].value_lengths()
    if not lengths.equals(columns["counts"].value_lengths()):
        raise files.damaged(group_idx)
    if any(columns[name].flatten().null_count for name in ("classes", "counts")):
        raise files.damaged(group_idx)
    rows = DynamicsRecord(
        ids=columns["example"],
        labels=to_numpy(columns["label"], missing=UNLABELED),
        n_steps=to_numpy(columns["n_steps"]),
        offsets=np.append(0, np.cumsum(to_numpy(lengths))),
        classes=to_numpy(columns["classes"].flatten()),
        counts=to_numpy(columns["counts"].flatten()),
        gold_mean=to_numpy(columns["gold_mean"], missing=np.nan),
        gold_sd=to_numpy(columns["gold_sd"], missing=np.nan),
        class_names=tuple(files.facts["classes"]),
    )
    # Checksums keep each page whole; the digests keep it in its place.
    if _group(rows) != files.groups[group_idx]:
        raise files.damaged(group_idx)
    return rows


def _joined(groups: list[DynamicsRecord]) -> DynamicsRecord:
    lengths = np.concatenate([np.diff(rows.offsets) for rows in groups])
    return DynamicsRecord(
        pa.concat_arrays([rows.ids for rows in groups]),
        np.concatenate([rows.labels for rows in groups]),
        np.concatenate([rows.n_steps for rows in groups]),
        np.append(0, np.cumsum(lengths)),
        np.concatenate([rows.classes for rows in groups]),
        np.concatenate([rows.counts for rows in groups]),
        np.concatenate([rows.gold_mean for rows in groups]),
        np.concatenate([rows.gold_sd for rows in groups]),
        groups[0].class_names,
    )
