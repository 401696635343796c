"""Format of a record of predictions: columns, order, row groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seedproof.errors import SchemaVersionError
from seedproof.records.arrow import to_arrow, to_numpy
from seedproof.records.probabilities import UNLABELED, most_probable, most_probable_of_top
from seedproof.typing import BoolArray, FloatArray, IntArray

# Readers accept every minor version up to their own; another major version is refused.
# 1.1: row groups follow the layout where `study.json` names no size; explanations.
# 1.2: a digest of the values of each row group; probabilities in half precision.
# 1.3: the predicted class next to probabilities; dynamics.
# 1.4: numbers in place of classes.
SCHEMA_VERSION = (1, 4)

GROUP_BYTES = 4 * 2**20
MAX_GROUP_ROWS = 2**17

# Every page but the last of a row group has more rows than this.
ROWS_APART = 512

# Prefix of the user's further columns.
EXTRA_PREFIX = "extra."

Values: TypeAlias = FloatArray | IntArray | tuple[IntArray, FloatArray]
# Gold labels as integers, -1 where unknown; or targets as floats, NaN where unknown.
Gold: TypeAlias = npt.NDArray[Any]


class Group(NamedTuple):
    """Description of one row group in the footer; older formats lack the last digests."""

    rows: int
    n_labeled: int  # rows with a gold label or a target
    ids_digest: str
    labels_digest: str  # of gold labels or targets
    values_digest: str = ""  # of some values
    predictions_digest: str = ""  # empty for numbers

    @property
    def examples(self) -> tuple[int, int, str, str]:
        """The part that is the same in all runs."""
        return self.rows, self.n_labeled, self.ids_digest, self.labels_digest


class Kind(StrEnum):
    """Kind of predictions."""

    PROBS = "probs"  # a probability for every class
    TOP = "top"  # the most probable classes with their probabilities
    LABELS = "labels"  # the predicted class alone
    NUMBERS = "numbers"  # a number, such as a score or the prediction of a regression
    RANKINGS = "rankings"  # items in order, such as recommendations
    SETS = "sets"  # items without order, such as labels or entities
    TEXTS = "texts"  # a text, equal to others or not

    @property
    def gold(self) -> str:
        """Column of the right answers."""
        return "target" if self is Kind.NUMBERS else "label"


# Kinds of items in place of classes.
ITEMS = frozenset({Kind.RANKINGS, Kind.SETS})
# Columns of the predictions in a store.
VALUE_COLUMNS: dict[Kind, tuple[str, ...]] = {
    Kind.PROBS: ("probs",),
    Kind.TOP: ("top_classes", "top_probs"),
    Kind.LABELS: ("prediction",),
    Kind.NUMBERS: ("value",),
}


@dataclass(frozen=True)
class Layout:
    """Columns of a record of predictions."""

    kind: Kind
    classes: tuple[str, ...]
    text_ids: bool = False  # example ids are text; int64 otherwise
    n_top: int = 0  # number of classes or items kept, for `Kind.TOP` and items
    extras: tuple[tuple[str, pa.DataType], ...] = ()  # further columns with their types
    half: bool = False  # probabilities are kept in half precision, for `Kind.PROBS`
    double: bool = False  # numbers are kept in double precision, for `Kind.NUMBERS`

    @property
    def row_bytes(self) -> int:
        """Bytes of the values of one row in memory."""
        width = {
            Kind.PROBS: len(self.classes),
            Kind.TOP: 2 * self.n_top,
            Kind.LABELS: 1,
            Kind.NUMBERS: 2,
            Kind.RANKINGS: 2 * self.n_top,
            Kind.SETS: self.n_top,
            Kind.TEXTS: 4,
        }
        return 4 * width[self.kind]

    @property
    def rows_per_group(self) -> int:
        """Rows of a group of about 4 MB."""
        return max(1, min(MAX_GROUP_ROWS, GROUP_BYTES // self.row_bytes))

    def arrow(self) -> pa.Schema:
        """Return the columns of the Parquet file."""
        values: dict[str, pa.DataType] = {}
        if self.kind is Kind.NUMBERS:
            values["value"] = pa.float64() if self.double else pa.float32()
        elif self.kind is Kind.PROBS:
            values["probs"] = pa.binary((2 if self.half else 4) * len(self.classes))
        elif self.kind is Kind.TOP:
            values |= dict.fromkeys(VALUE_COLUMNS[self.kind], pa.binary(4 * self.n_top))
        if self.kind is not Kind.NUMBERS:
            values["prediction"] = pa.int32()
        return pa.schema(
            [
                pa.field("example", pa.string() if self.text_ids else pa.int64(), nullable=False),
                pa.field(self.kind.gold, pa.float64() if self.kind is Kind.NUMBERS else pa.int32()),
                *(pa.field(name, kind, nullable=False) for name, kind in values.items()),
                *(pa.field(EXTRA_PREFIX + name, kind) for name, kind in self.extras),
            ]
        )

    def table(
        self,
        ids: pa.Array,
        gold: Gold,
        values: Values,
        extras: Sequence[pa.Array | pa.ChunkedArray] = (),
    ) -> pa.Table:
        """Return rows in these columns, copied: the caller may reuse its arrays."""
        if self.kind is Kind.NUMBERS:
            targets = np.array(gold, dtype=np.float64)
            numbers = np.array(values, dtype=np.float64 if self.double else np.float32)
            columns = [ids, to_arrow(targets, missing=~are_known(targets)), to_arrow(numbers)]
            return pa.Table.from_arrays([*columns, *extras], schema=self.arrow())
        labels = np.array(gold, dtype=np.int32)
        columns = [ids, to_arrow(labels, missing=~are_known(labels))]
        if isinstance(values, tuple):
            classes, probs = np.array(values[0], dtype="<i4"), np.array(values[1], dtype="<f4")
            columns += [_as_binary(classes), _as_binary(probs)]
            predictions = most_probable_of_top(classes, probs)
        elif self.kind is Kind.PROBS:
            probs = np.array(values, dtype="<f2" if self.half else "<f4")
            columns.append(_as_binary(probs))
            # After rounding: half precision makes some probabilities equal.
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
    """Return probabilities (rows, classes) as float32, without a copy if possible."""
    content = _bytes_of(column)
    if column.type.byte_width == 4 * n_classes:
        return np.frombuffer(content, "<f4").reshape(-1, n_classes)
    # Most of very many probabilities are below 6e-5, where numpy's own conversion takes eight times
    # as long as looking them up.
    bits = np.frombuffer(content, "<u2").reshape(-1, n_classes)
    return np.asarray(np.take(_as_single(), bits, mode="clip"))


@lru_cache(maxsize=1)
def _as_single() -> FloatArray:
    """Return every number of half precision, by its bits."""
    return np.arange(2**16, dtype="<u2").view("<f2").astype(np.float32)


def floats_from_binary(column: pa.ChunkedArray) -> FloatArray:
    """Return a fixed-size binary column as float32 (rows, values), without a copy."""
    return np.frombuffer(_bytes_of(column), "<f4").reshape(-1, column.type.byte_width // 4)


def integers_from_binary(column: pa.ChunkedArray) -> IntArray:
    """Return a fixed-size binary column as int32 (rows, values), without a copy."""
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


def gold_of(column: pa.ChunkedArray) -> Gold:
    """Return gold labels or targets."""
    return to_numpy(column, missing=np.nan if pa.types.is_floating(column.type) else UNLABELED)


def are_known(gold: Gold) -> BoolArray:
    """Return which gold labels or targets are known."""
    return ~np.isnan(gold) if gold.dtype.kind == "f" else np.asarray(gold != UNLABELED)


def need_double(numbers: FloatArray) -> bool:
    """Return whether single precision would change a number."""
    with np.errstate(over="ignore"):
        return not np.array_equal(numbers.astype(np.float32), numbers)


def labels_digest(gold: Gold) -> str:
    """Digest of the gold labels or targets of one row group."""
    return digest(gold.astype("<f8" if gold.dtype.kind == "f" else "<i4").tobytes())


def values_digest(rows: pa.Table, columns: Sequence[str]) -> str:
    """Digest of a few rows of the values, from every page.

    Checksums protect the content of each page, this digest its position.
    """
    few = to_arrow([*range(0, len(rows), ROWS_APART), len(rows) - 1])
    parts = [pa.concat_arrays(rows.column(name).take(few).chunks) for name in columns]
    width = [part.type.bit_width // 8 for part in parts]
    return digest(
        b"".join(
            part.buffers()[1].slice(part.offset * size, len(part) * size).to_pybytes()
            for part, size in zip(parts, width, strict=True)
        )
    )


def predictions_digest(predictions: pa.ChunkedArray) -> str:
    """Digest of the predicted classes of one row group."""
    return digest(to_numpy(predictions).astype("<i4").tobytes())


def digest(content: bytes) -> str:
    """Return sixteen bytes of BLAKE2b as hexadecimal text."""
    return blake2b(content, digest_size=16).hexdigest()


def version_text() -> str:
    """Return the schema version that this library writes."""
    return f"{SCHEMA_VERSION[0]}.{SCHEMA_VERSION[1]}"


def check_version(text: object, where: str) -> None:
    """Raise an error if this library cannot read a schema version."""
    match str(text).split("."):
        case [major, minor] if major.isdigit() and minor.isdigit():
            if int(major) == SCHEMA_VERSION[0] and int(minor) <= SCHEMA_VERSION[1]:
                return
    raise SchemaVersionError(
        "{path} has schema version {version!r}, but this seedproof reads up to {newest}. "
        "Upgrade seedproof, or measure with the version that wrote it.",
        path=where,
        version=text,
        newest=version_text(),
    )
