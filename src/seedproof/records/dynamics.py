"""Records of training dynamics: class counts per example over the steps of one run."""

from dataclasses import dataclass, replace
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
    """Predictions of one run over its steps, per example in canonical order."""

    ids: pa.Array  # example ids, int64 or text
    labels: IntArray  # gold class indices, -1 where unknown
    n_steps: IntArray  # predictions per example
    offsets: IntArray  # start of each example in `classes` and `counts`, and the end
    classes: IntArray  # predicted classes, ascending within an example
    counts: IntArray  # number of predictions of each of them
    gold_mean: FloatArray  # mean over steps of the gold label's probability; NaN where unknown
    gold_sd: FloatArray  # its population standard deviation over steps; NaN where unknown
    class_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.ids)

    def rows(self, start: int, stop: int) -> "DynamicsRecord":
        """Return consecutive examples."""
        offsets = self.offsets[start : stop + 1]
        pairs = slice(int(offsets[0]), int(offsets[-1]))
        per_example = ("ids", "labels", "n_steps", "gold_mean", "gold_sd")
        return replace(
            self,
            offsets=offsets - offsets[0],
            classes=self.classes[pairs],
            counts=self.counts[pairs],
            **{name: getattr(self, name)[start:stop] for name in per_example},
        )


def _schema(*, text_ids: bool) -> pa.Schema:
    return pa.schema(
        [
            pa.field("example", pa.string() if text_ids else pa.int64(), nullable=False),
            pa.field("label", pa.int32()),
            pa.field("n_steps", pa.int32(), nullable=False),
            pa.field("classes", pa.list_(pa.int32()), nullable=False),
            pa.field("counts", pa.list_(pa.int32()), nullable=False),
            pa.field("gold_mean", pa.float64()),
            pa.field("gold_sd", pa.float64()),
        ]
    )


def write_dynamics(folder: Location, split: str, record: DynamicsRecord) -> RecordedFile:
    """Write the dynamics of one run on one split."""
    schema = _schema(text_ids=pa.types.is_string(record.ids.type))
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
    """Describe a row group for the footer, with a digest of all of its values."""
    integers = (rows.n_steps, rows.offsets, rows.classes, rows.counts)
    # Every NaN becomes null, so its sign and payload must not matter.
    floats = (np.where(np.isnan(v), np.nan, v) for v in (rows.gold_mean, rows.gold_sd))
    values = [v.astype("<i4").tobytes() for v in integers]
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
    """Read the dynamics of one run on one split."""
    files = PartFiles(store, run, f"dynamics/{split}/")
    if not files.groups:
        paths = [part.path.split("/") for part in run.parts]
        known = sorted({path[1] for path in paths if path[0] == "dynamics"})
        raise NotFoundError(
            "Run {run!r} of arm {arm!r} has no dynamics of the split {split!r}. Known: {listed}.",
            run=run.name,
            arm=run.arm,
            split=split,
            listed=", ".join(known) or "none; log them with run.log_dynamics",
            known=tuple(known),
        )
    files.check_columns(_schema(text_ids=files.has_text_ids))
    return _joined([_read(files, group_idx) for group_idx in range(len(files.groups))])


def _read(files: PartFiles, group_idx: int) -> DynamicsRecord:
    table = files.read(group_idx, files.schema.names)
    columns = {name: pa.concat_arrays(table.column(name).chunks) for name in table.column_names}
    lengths = columns["classes"].value_lengths()
    has_nulls = any(columns[name].flatten().null_count for name in ("classes", "counts"))
    if has_nulls or not lengths.equals(columns["counts"].value_lengths()):
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
        class_names=() if files.footer is None else files.footer.classes,
    )
    # Checksums protect the content of each page, digests its position.
    if _group(rows) != files.groups[group_idx]:
        raise files.damaged(group_idx)
    return rows


def _joined(groups: list[DynamicsRecord]) -> DynamicsRecord:
    names = ("labels", "n_steps", "classes", "counts", "gold_mean", "gold_sd")
    lengths = np.concatenate([np.diff(rows.offsets) for rows in groups])
    return DynamicsRecord(
        ids=pa.concat_arrays([rows.ids for rows in groups]),
        offsets=np.append(0, np.cumsum(lengths)),
        class_names=groups[0].class_names,
        **{name: np.concatenate([getattr(rows, name) for rows in groups]) for name in names},
    )
