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
import pyarrow.compute as pc

from seedproof.errors import SchemaVersionError
from seedproof.records.arrow import texts_to_arrow, to_arrow, to_numpy
from seedproof.records.items import NO_ITEM, Relevance
from seedproof.records.probabilities import UNLABELED, most_probable, most_probable_of_top
from seedproof.typing import BoolArray, FloatArray, IntArray

# Readers accept every minor version up to their own; another major version is refused.
# 1.1: row groups follow the layout where `study.json` names no size; explanations.
# 1.2: a digest of the values of each row group; probabilities in half precision.
# 1.3: the predicted class next to probabilities; dynamics.
# 1.4: numbers in place of classes.
# 1.5: ranked lists and sets.
# 1.6: free texts.
SCHEMA_VERSION = (1, 6)

GROUP_BYTES = 4 * 2**20
MAX_GROUP_ROWS = 2**17
# Of ranked lists and sets, whose longest differs between runs: row groups must not.
ITEM_GROUP_ROWS = 2**13
# Of texts, which may be long.
TEXT_GROUP_ROWS = 2**11

# Every page but the last of a row group has more rows than this.
ROWS_APART = 512

# Prefix of the user's further columns.
EXTRA_PREFIX = "extra."

# Texts are a table with the columns of `VALUE_COLUMNS` that there are.
Values: TypeAlias = FloatArray | IntArray | tuple[IntArray, FloatArray] | pa.Table
# Gold labels as integers, -1 where unknown; targets as floats, NaN where unknown; right items;
# right texts, null where unknown.
Gold: TypeAlias = npt.NDArray[Any] | Relevance | pa.ListArray


class Group(NamedTuple):
    """Description of one row group in the footer; older formats lack the last digests."""

    rows: int
    n_labeled: int  # rows with a gold label, a target or right items
    ids_digest: str
    labels_digest: str  # of gold labels, targets or right items
    values_digest: str = ""  # of some values
    predictions_digest: str = ""  # of predicted classes

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
        if self.has_items:
            return "relevant"
        return {Kind.NUMBERS: "target", Kind.TEXTS: "reference"}.get(self, "label")

    @property
    def gold_noun(self) -> str:
        """The right answers in messages."""
        return "right items" if self.has_items else f"{self.gold}s"

    @property
    def has_items(self) -> bool:
        """True for ranked lists and sets."""
        return self in {Kind.RANKINGS, Kind.SETS}

    @property
    def has_classes(self) -> bool:
        """True if a prediction is one of several classes."""
        return self in {Kind.PROBS, Kind.TOP, Kind.LABELS}


# Kinds of items in place of classes.
ITEMS = frozenset({Kind.RANKINGS, Kind.SETS})
# Columns of the predictions in a store.
VALUE_COLUMNS: dict[Kind, tuple[str, ...]] = {
    Kind.PROBS: ("probs",),
    Kind.TOP: ("top_classes", "top_probs"),
    Kind.LABELS: ("prediction",),
    Kind.NUMBERS: ("value",),
    Kind.RANKINGS: ("items",),
    Kind.SETS: ("items",),
    Kind.TEXTS: ("text", "equivalent", "correct"),  # the last two may be missing
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
    graded: bool = False  # right items have grades
    by_meaning: bool = False  # texts have names of their meanings
    judged: bool = False  # texts are marked as right or wrong

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
        }
        return 4 * width[self.kind]

    @property
    def rows_per_group(self) -> int:
        """Rows of a group of about 4 MB; the same for all lists and sets, and for all texts."""
        if self.kind.has_items:
            return min(MAX_GROUP_ROWS, ITEM_GROUP_ROWS)
        if self.kind is Kind.TEXTS:
            return min(MAX_GROUP_ROWS, TEXT_GROUP_ROWS)
        return max(1, min(MAX_GROUP_ROWS, GROUP_BYTES // self.row_bytes))

    def arrow(self) -> pa.Schema:
        """Return the columns of the Parquet file."""
        gold: dict[str, pa.DataType] = {self.kind.gold: pa.int32()}
        values: dict[str, pa.DataType] = {}
        if self.kind.has_items:
            gold = {"relevant": pa.list_(pa.int32())}
            if self.graded:
                gold["grades"] = pa.list_(pa.float64())
            values["items"] = pa.binary(4 * self.n_top)
        elif self.kind is Kind.TEXTS:
            gold = {"reference": pa.list_(pa.string())}
            values = {"text": pa.string()}
            if self.by_meaning:
                values["equivalent"] = pa.string()
            if self.judged:
                values["correct"] = pa.bool_()
        elif self.kind is Kind.NUMBERS:
            gold = {"target": pa.float64()}
            values["value"] = pa.float64() if self.double else pa.float32()
        elif self.kind is Kind.PROBS:
            values["probs"] = pa.binary((2 if self.half else 4) * len(self.classes))
        elif self.kind is Kind.TOP:
            values |= dict.fromkeys(VALUE_COLUMNS[self.kind], pa.binary(4 * self.n_top))
        if self.kind.has_classes:
            values["prediction"] = pa.int32()
        may_lack = self.kind is Kind.TEXTS
        return pa.schema(
            [
                pa.field("example", pa.string() if self.text_ids else pa.int64(), nullable=False),
                *(pa.field(name, kind) for name, kind in gold.items()),
                *(pa.field(name, kind, nullable=may_lack) for name, kind in values.items()),
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
        if isinstance(values, pa.Table):
            columns = [ids, gold, *values.columns, *extras]
            return pa.Table.from_arrays(columns, schema=self.arrow())
        if isinstance(gold, Relevance):
            items = np.full((len(ids), self.n_top), NO_ITEM, dtype="<i4")
            items[:, : np.shape(values)[1]] = values
            columns = [ids, *_as_lists(gold, graded=self.graded), _as_binary(items)]
            return pa.Table.from_arrays([*columns, *extras], schema=self.arrow())
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


def _as_lists(right: Relevance, *, graded: bool) -> list[pa.Array]:
    """Return the right items of each row, null where unknown, and their grades."""
    is_item = (right.items != NO_ITEM) & right.is_known[:, np.newaxis]
    ends = np.cumsum([0, *np.count_nonzero(is_item, axis=1)]).astype(np.int32)
    unknown = to_arrow(~right.is_known)
    flat = [to_arrow(right.items[is_item].astype(np.int32))]
    if graded:
        flat.append(to_arrow(right.all_grades[is_item]))
    return [pa.ListArray.from_arrays(to_arrow(ends), values, mask=unknown) for values in flat]


def relevance_of(rows: pa.Table) -> Relevance:
    """Return the right items of rows in the columns `relevant` and `grades`."""
    lists = rows.column("relevant").combine_chunks()
    is_known = to_numpy(lists.is_valid())
    sizes = to_numpy(pc.list_value_length(lists), missing=0)
    width = max(1, int(sizes.max(initial=0)))
    is_item = np.arange(width) < sizes[:, np.newaxis]
    items = np.full(is_item.shape, NO_ITEM, dtype=np.int32)
    items[is_item] = to_numpy(lists.flatten())
    if "grades" not in rows.column_names:
        return Relevance(items, is_known)
    grades = np.zeros(items.shape)
    grades[is_item] = to_numpy(rows.column("grades").combine_chunks().flatten())
    return Relevance(items, is_known, grades)


def relevance_digest(right: Relevance, names: Sequence[str]) -> str:
    """Digest of the right items of one row group by name: runs may number them differently."""
    is_item = (right.items != NO_ITEM) & right.is_known[:, np.newaxis]
    row_of = np.nonzero(is_item)[0]
    texts = texts_to_arrow([names[item] for item in right.items[is_item].tolist()])
    order = pc.sort_indices(
        pa.table({"row": to_arrow(row_of), "name": texts}),
        sort_keys=[("row", "ascending"), ("name", "ascending")],
    )
    grades = right.all_grades[is_item][to_numpy(order)].astype("<f8")
    sizes = np.where(right.is_known, np.count_nonzero(is_item, axis=1), -1).astype("<i8")
    content = sizes.tobytes() + grades.tobytes() + ids_digest(texts.take(order)).encode()
    return digest(content)


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


def gold_of(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """Return gold labels or targets."""
    return to_numpy(column, missing=np.nan if pa.types.is_floating(column.type) else UNLABELED)


def are_known(gold: Gold) -> BoolArray:
    """Return which gold labels, targets, right items or right texts are known."""
    if isinstance(gold, Relevance):
        return gold.is_known
    if isinstance(gold, pa.ListArray):
        return to_numpy(gold.is_valid())
    return ~np.isnan(gold) if gold.dtype.kind == "f" else np.asarray(gold != UNLABELED)


def need_double(numbers: FloatArray) -> bool:
    """Return whether single precision would change a number."""
    with np.errstate(over="ignore"):
        return not np.array_equal(numbers.astype(np.float32), numbers)


def labels_digest(gold: npt.NDArray[Any]) -> str:
    """Digest of the gold labels or targets of one row group."""
    return digest(gold.astype("<f8" if gold.dtype.kind == "f" else "<i4").tobytes())


def texts_digest(texts: pa.Array) -> str:
    """Digest of texts, of which some may be missing."""
    missing = to_numpy(texts.is_null()).tobytes()
    return digest(missing + ids_digest(texts.fill_null("")).encode())


def references_digest(references: pa.ListArray) -> str:
    """Digest of the right texts of one row group."""
    sizes = to_numpy(pc.list_value_length(references), missing=-1).astype("<i4")
    return digest(sizes.tobytes() + texts_digest(references.flatten()).encode())


def values_digest(rows: pa.Table, columns: Sequence[str]) -> str:
    """Digest of a few rows of the values, from every page; of all rows if they are texts.

    Checksums protect the content of each page, this digest its position.
    """
    if "text" in columns:
        parts = [pa.concat_arrays(rows.column(name).cast(pa.string()).chunks) for name in columns]
        return digest("".join(texts_digest(part) for part in parts).encode())
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
