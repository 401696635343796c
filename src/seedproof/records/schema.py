"""What a record of predictions looks like: columns, order, row groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from seedproof.errors import SchemaVersionError
from seedproof.records.arrow import to_arrow, to_numpy
from seedproof.records.probabilities import UNLABELED, most_probable, most_probable_of_top
from seedproof.typing import FloatArray, IntArray

# Readers accept every minor version up to their own; another major version is refused.
# 1.1: row groups follow the layout where `study.json` names no size; explanations.
# 1.2: a digest of the values of each row group; probabilities in half precision.
# 1.3: the predicted class beside probabilities; dynamics.
SCHEMA_VERSION = (1, 3)

GROUP_BYTES = 4 * 2**20
MAX_GROUP_ROWS = 2**17

# Every page but the last of a row group has more rows than this.
ROWS_APART = 512

# Columns that a user gave beside the predictions carry this before their name.
EXTRA_PREFIX = "extra."

Values: TypeAlias = FloatArray | IntArray | tuple[IntArray, FloatArray]


class Group(NamedTuple):
    """What the footer says of one row group."""

    rows: int  # how many rows it has
    n_labeled: int  # how many of them have a gold label
    ids_digest: str  # of the example ids
    labels_digest: str  # of the gold labels
    values_digest: str = ""  # of some values; empty where an older version wrote it
    predictions_digest: str = ""  # of the predicted classes; empty where an older version wrote it

    @property
    def examples(self) -> tuple[int, int, str, str]:
        """What is the same in all runs."""
        return self.rows, self.n_labeled, self.ids_digest, self.labels_digest


class Kind(StrEnum):
    """What a run says of each example."""

    PROBS = "probs"  # a probability for every class
    TOP = "top"  # the most probable classes with their probabilities
    LABELS = "labels"  # the predicted class alone


# The columns that hold what a run says.
VALUE_COLUMNS: dict[Kind, tuple[str, ...]] = {
    Kind.PROBS: ("probs",),
    Kind.TOP: ("top_classes", "top_probs"),
    Kind.LABELS: ("prediction",),
}


@dataclass(frozen=True)
class Layout:
    """Which columns a record of predictions has."""

    kind: Kind  # full probabilities, the top few, or the predicted class alone
    classes: tuple[str, ...]  # names of the classes, in the order of their indices
    text_ids: bool = False  # whether example ids are text; int64 otherwise
    n_top: int = 0  # how many classes are kept, for `Kind.TOP`
    extras: tuple[tuple[str, pa.DataType], ...] = ()
    half: bool = False  # whether probabilities are kept in half precision, for `Kind.PROBS`

    @property
    def row_bytes(self) -> int:
        """Bytes that the values of one row take in memory."""
        width = {Kind.PROBS: len(self.classes), Kind.TOP: 2 * self.n_top, Kind.LABELS: 1}
        return 4 * width[self.kind]

    @property
    def rows_per_group(self) -> int:
        """Rows of a group of about 4 MB."""
        return max(1, min(MAX_GROUP_ROWS, GROUP_BYTES // self.row_bytes))

    @property
    def value_columns(self) -> tuple[str, ...]:
        """The columns that hold what the run says."""
        return VALUE_COLUMNS[self.kind]

    def arrow(self) -> pa.Schema:
        """The Parquet file's columns."""
        fields = [
            pa.field("example", pa.string() if self.text_ids else pa.int64(), nullable=False),
            pa.field("label", pa.int32()),
        ]
        if self.kind is Kind.PROBS:
            width = (2 if self.half else 4) * len(self.classes)
            fields.append(pa.field("probs", pa.binary(width), nullable=False))
        elif self.kind is Kind.TOP:
            fields.append(pa.field("top_classes", pa.binary(4 * self.n_top), nullable=False))
            fields.append(pa.field("top_probs", pa.binary(4 * self.n_top), nullable=False))
        fields.append(pa.field("prediction", pa.int32(), nullable=False))
        fields.extend(pa.field(EXTRA_PREFIX + name, kind) for name, kind in self.extras)
        return pa.schema(fields)

    def table(
        self,
        ids: pa.Array,
        labels: IntArray,
        values: Values,
        extras: Sequence[pa.Array | pa.ChunkedArray] = (),
    ) -> pa.Table:
        """Rows in the layout's columns, copied: they wait while the caller reuses its arrays."""
        gold = np.array(labels, dtype=np.int32)
        columns = [ids, to_arrow(gold, missing=gold == UNLABELED)]
        if isinstance(values, tuple):
            classes, probs = np.array(values[0], dtype="<i4"), np.array(values[1], dtype="<f4")
            columns += [_as_binary(classes), _as_binary(probs)]
            predictions = most_probable_of_top(classes, probs)
        elif self.kind is Kind.PROBS:
            probs = np.array(values, dtype="<f2" if self.half else "<f4")
            columns.append(_as_binary(probs))
            # Of what is kept: half precision makes equals of what was not.
            predictions = most_probable(probs)
        else:
            predictions = np.array(values, dtype=np.int32)
        columns.append(to_arrow(predictions, np.int32))
        return pa.Table.from_arrays([*columns, *extras], schema=self.arrow())


def _as_binary(values: FloatArray | IntArray) -> pa.Array:
    block = np.ascontiguousarray(values)
    width = block.shape[1] * block.itemsize
    return pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(width), len(block), [None, pa.py_buffer(block)]
    )


def probs_from_binary(column: pa.ChunkedArray, n_classes: int) -> FloatArray:
    """Probabilities (rows, classes) as float32; without a copy if they were kept so."""
    content = _bytes_of(column)
    if column.type.byte_width == 4 * n_classes:
        return np.frombuffer(content, "<f4").reshape(-1, n_classes)
    # Most of very many probabilities are below 6e-5, where numpy's own conversion takes eight times
    # as long as looking them up.
    bits = np.frombuffer(content, "<u2").reshape(-1, n_classes)
    return np.asarray(np.take(_as_single(), bits, mode="clip"))


@lru_cache(maxsize=1)
def _as_single() -> FloatArray:
    """Every number of half precision, by its bits."""
    return np.arange(2**16, dtype="<u2").view("<f2").astype(np.float32)


def floats_from_binary(column: pa.ChunkedArray) -> FloatArray:
    """The rows of a fixed-size binary column as float32 (rows, values), without a copy."""
    return np.frombuffer(_bytes_of(column), "<f4").reshape(-1, column.type.byte_width // 4)


def integers_from_binary(column: pa.ChunkedArray) -> IntArray:
    """The rows of a fixed-size binary column as int32 (rows, values), without a copy."""
    return np.frombuffer(_bytes_of(column), "<i4").reshape(-1, column.type.byte_width // 4)


def _bytes_of(column: pa.ChunkedArray) -> pa.Buffer:
    array = column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
    width = array.type.byte_width
    return array.buffers()[1].slice(array.offset * width, len(array) * width)


def ids_digest(ids: pa.Array) -> str:
    """Digest of the ids of one row group; equal digests mean equal ids in equal order."""
    if pa.types.is_integer(ids.type):
        return digest(to_numpy(ids).astype("<i8").tobytes())
    bounds = np.frombuffer(ids.buffers()[1], "<i4")[ids.offset : ids.offset + len(ids) + 1]
    text = ids.buffers()[2]
    content = b"" if text is None else text[int(bounds[0]) : int(bounds[-1])].to_pybytes()
    # The lengths keep ("a", "bc") and ("ab", "c") apart.
    return digest(np.diff(bounds).tobytes() + content)


def labels_digest(labels: IntArray) -> str:
    """Digest of the gold labels of one row group."""
    return digest(labels.astype("<i4").tobytes())


def values_digest(rows: pa.Table, columns: Sequence[str]) -> str:
    """Digest of a few rows of what a run says, from every page.

    Checksums keep each page whole; this keeps it in its place.
    """
    few = to_arrow([*range(0, len(rows), ROWS_APART), len(rows) - 1])
    parts = [pa.concat_arrays(rows.column(name).take(few).chunks) for name in columns]
    width = [4 if part.type == pa.int32() else part.type.byte_width for part in parts]
    return digest(
        b"".join(
            part.buffers()[1].slice(part.offset * size, len(part) * size).to_pybytes()
            for part, size in zip(parts, width, strict=True)
        )
    )


def predictions_digest(predictions: pa.ChunkedArray) -> str:
    """Digest of the predicted classes of one row group: they can be read without the values."""
    return digest(to_numpy(predictions).astype("<i4").tobytes())


def digest(content: bytes) -> str:
    """Sixteen bytes of BLAKE2b, as hexadecimal text."""
    return blake2b(content, digest_size=16).hexdigest()


def version_text() -> str:
    """The schema version that this library writes."""
    return f"{SCHEMA_VERSION[0]}.{SCHEMA_VERSION[1]}"


def check_version(text: object, where: str) -> None:
    """Accept a schema version that this library can read."""
    match str(text).split("."):
        case [major, minor] if major.isdigit() and minor.isdigit():
            if int(major) == SCHEMA_VERSION[0] and int(minor) <= SCHEMA_VERSION[1]:
                return
    raise SchemaVersionError(
        "{path} has schema version {version!r}, and this seedproof reads up to {newest}. "
        "Upgrade seedproof, or measure with the version that wrote it.",
        path=where,
        version=text,
        newest=version_text(),
    )
