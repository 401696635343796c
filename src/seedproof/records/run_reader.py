"""Row groups of one committed run, read file by file and checked against their digests."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from seedproof.errors import (
    DamagedStoreError,
    InputError,
    LabelConflictError,
    MissingExampleError,
    NotFoundError,
    SeedproofError,
    first_line,
)
from seedproof.messages import Message
from seedproof.records.arrow import to_numpy
from seedproof.records.checks import HALF_SUM_TOLERANCE
from seedproof.records.decoding import DecodingError, decode, parse_json
from seedproof.records.items import NO_ITEM
from seedproof.records.location import Location
from seedproof.records.manifest import RecordedFile, RunManifest
from seedproof.records.probabilities import most_probable, most_probable_of_top
from seedproof.records.schema import (
    EXTRA_PREFIX,
    ROWS_APART,
    VALUE_COLUMNS,
    Group,
    Kind,
    Layout,
    check_version,
    digest,
    floats_from_binary,
    gold_of,
    ids_digest,
    integers_from_binary,
    labels_digest,
    predictions_digest,
    probs_from_binary,
    references_digest,
    relevance_digest,
    relevance_of,
    values_digest,
)
from seedproof.records.writer import FOOTER_KEY
from seedproof.typing import FloatArray, IntArray

# How advice on damage ends; and how it ends in a note, where the damage was skipped already.
OR_SKIP = ", repeat the run, or leave it out with --skip-damaged."
OR_REMAKE = " or repeat the run."


@dataclass(frozen=True)
class Footer:
    """Description of a file and its row groups, in its footer; other keys are ignored."""

    schema: str
    groups: tuple[Group, ...]
    kind: str = ""  # of predictions, or `explanations` or `dynamics`
    classes: tuple[str, ...] = ()


class PartFiles:
    """Row groups of the files of a run below a folder, such as `explanations/test/lime/`."""

    def __init__(self, store: Location, run: RunManifest, prefix: str) -> None:
        self.run = run
        self._folder = store / "runs" / run.run_id
        self._parts = [part for part in run.parts if part.path.startswith(prefix)]
        self._open_files: dict[int, pq.ParquetFile] = {}
        footers = [self._footer(part_idx) for part_idx in range(len(self._parts))]
        # The first footer describes all parts; None without parts.
        self.footer = footers[0] if footers else None
        self.groups = [group for footer in footers for group in footer.groups]
        self._place = [
            (part_idx, group_idx)
            for part_idx, footer in enumerate(footers)
            for group_idx in range(len(footer.groups))
        ]

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_open_files": {}}

    @cached_property
    def schema(self) -> pa.Schema:
        """Columns of the files."""
        return self._open(0).schema_arrow

    @property
    def has_text_ids(self) -> bool:
        """True if example ids are text."""
        place = self.schema.get_field_index("example")
        return place >= 0 and bool(self.schema.types[place] == pa.string())

    def file_of(self, group_idx: int) -> Location:
        """Return the file that holds a row group, for messages."""
        return self._folder / self._parts[self._place[group_idx][0]].path

    def read(self, group_idx: int, columns: Sequence[str]) -> pa.Table:
        """Read some columns of one row group."""
        part_idx, local_idx = self._place[group_idx]
        try:
            file = self._open(part_idx)
            rows = file.read_row_group(local_idx, columns=list(columns), use_threads=False)
        except (OSError, pa.ArrowException) as error:
            raise self.damaged(group_idx) from error
        group = self.groups[group_idx]
        # The first part has the columns that all have.
        types = [self.schema.field(name).type for name in rows.column_names]
        fine = len(rows) == group.rows and set(columns) == set(rows.column_names)
        fine = fine and rows.schema.types == types
        if fine and "example" in rows.column_names:
            ids = pa.concat_arrays(rows.column("example").chunks)
            fine = ids_digest(ids) == group.ids_digest
        if not fine:
            raise self.damaged(group_idx)
        return rows

    def name_of(self, group_idx: int) -> Message:
        """Return a row group with its file and run, for messages."""
        return Message(
            "row-group",
            "row group {row_group} of {path} of run {run!r}",
            row_group=self._place[group_idx][1],
            path=self.file_of(group_idx),
            run=self.run.name,
        )

    def damaged(self, group_idx: int) -> DamagedStoreError:
        """Return the error for a row group that was changed after it was written."""
        return DamagedStoreError(
            "Row group {row_group} of {path} of run {run!r} differs from what was committed. "
            "Restore the file from a copy{or_else}",
            **self.name_of(group_idx).fields,
            or_else=OR_SKIP,
        )

    def _footer(self, part_idx: int) -> Footer:
        try:
            metadata = self._open(part_idx).metadata
            content = (metadata.metadata or {}).get(FOOTER_KEY.encode(), b"")
            footer = decode(Footer, parse_json(content, is_own=True), allow_unknown=True)
        except (DecodingError, OSError, pa.ArrowException) as error:
            if isinstance(error, SeedproofError):
                raise
            raise self.damaged_footer(first_line(error), part_idx) from error
        check_version(footer.schema, str(self._folder / self._parts[part_idx].path))
        n_rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        if n_rows != [group.rows for group in footer.groups]:
            raise self.damaged_footer("groups: other numbers of rows than in the file", part_idx)
        return footer

    def damaged_footer(self, problem: str, part_idx: int = 0) -> DamagedStoreError:
        """Return the error for a file that describes itself wrongly."""
        return DamagedStoreError(
            "The footer of {path} of run {run!r} is damaged: {problem}. Restore the file from a "
            "copy{or_else}",
            path=self._folder / self._parts[part_idx].path,
            run=self.run.name,
            problem=problem,
            or_else=OR_SKIP,
        )

    def check_columns(self, expected: pa.Schema) -> None:
        """Raise an error if a column is missing, or has another type."""
        types = dict(zip(self.schema.names, self.schema.types, strict=True))
        for column in expected:
            if not _is_same(types.get(column.name), column.type):
                raise self.damaged_footer(
                    f"expected a column {column.name!r} of type {column.type}, got "
                    f"{types.get(column.name)}"
                )

    def _open(self, part_idx: int) -> pq.ParquetFile:
        if part_idx not in self._open_files:
            # One open file per run: a large study has more parts than a process may hold open.
            for file in self._open_files.values():
                file.close()
            self._open_files.clear()
            place = self._folder / self._parts[part_idx].path
            self._check(place, self._parts[part_idx])
            self._open_files[part_idx] = pq.ParquetFile(
                place.path,
                filesystem=place.files,
                page_checksum_verification=True,
                pre_buffer=False,
            )
        return self._open_files[part_idx]

    def _check(self, place: Location, part: RecordedFile) -> None:
        fields = {"path": place, "run": self.run.name, "or_else": OR_SKIP}
        if not place.is_file():
            raise DamagedStoreError(
                "{path} is missing, but run {run!r} lists it. Restore it from a copy{or_else}",
                **fields,
            )
        size = place.size()
        footer_start = size - part.footer_size
        if size != part.size or digest(place.read_bytes(footer_start)) != part.footer_digest:
            raise DamagedStoreError(
                "{path} of run {run!r} differs from what was committed, so that none "
                "of its row groups can be trusted. Restore it from a copy{or_else}",
                **fields,
            )


class RunReader:
    """The predictions of one committed run on one split."""

    def __init__(self, store: Location, run: RunManifest, split: str) -> None:
        self.store, self.run, self.split = store, run, split
        self._files = PartFiles(store, run, f"predictions/{split}/")
        footer = self._files.footer
        if footer is None:
            raise NotFoundError(
                "Run {run!r} has no predictions for the split {split!r}.", run=run.name, split=split
            )
        self.classes = footer.classes
        self._files.footer = None  # has the names of all classes once more
        try:
            self.kind = {str(kind): kind for kind in VALUE_COLUMNS}[footer.kind]
        except KeyError as error:
            raise self._files.damaged_footer(f"kind: {footer.kind!r} is unknown") from error
        self._files.check_columns(_columns(self.kind, self.classes, self._files))
        self.groups = self._files.groups
        self.name_of = self._files.name_of

    @cached_property
    def extras(self) -> tuple[str, ...]:
        """Columns carried along, by the user's own names."""
        names = self._files.schema.names
        return tuple(n.removeprefix(EXTRA_PREFIX) for n in names if n.startswith(EXTRA_PREFIX))

    @cached_property
    def n_top(self) -> int:
        """Number of classes or items kept per example; 0 for other kinds."""
        if self.kind is not Kind.TOP and not self.kind.has_items:
            return 0
        return int(self._files.schema.field(VALUE_COLUMNS[self.kind][0]).type.byte_width) // 4

    @cached_property
    def value_columns(self) -> list[str]:
        """Columns of the predictions."""
        return [name for name in VALUE_COLUMNS[self.kind] if name in self._files.schema.names]

    def read(self, group_idx: int, columns: Sequence[str]) -> pa.Table:
        """Read some columns of one row group."""
        rows = self._files.read(group_idx, columns)
        if not self._is_as_written(rows, self.groups[group_idx]):
            raise self._files.damaged(group_idx)
        return rows

    def _is_as_written(self, rows: pa.Table, group: Group) -> bool:
        if not _are_possible(rows, group, len(self.classes)):
            return False
        if "relevant" in rows.column_names and not self._is_relevance(rows, group):
            return False
        columns = self.value_columns
        fine = True
        if group.values_digest and set(columns) <= set(rows.column_names):
            fine &= values_digest(rows, columns) == group.values_digest
        if group.predictions_digest and "prediction" in rows.column_names:
            fine &= predictions_digest(rows.column("prediction")) == group.predictions_digest
        return fine

    def _is_relevance(self, rows: pa.Table, group: Group) -> bool:
        """Return whether right items are those that were committed."""
        try:
            right = relevance_of(rows)
            return relevance_digest(right, self.classes) == group.labels_digest
        except (IndexError, ValueError):  # items that are not there, or lists of other lengths
            return False

    def predictions(self, group_idx: int) -> IntArray:
        """Read the predicted class indices of one row group, from as few bytes as possible."""
        if "prediction" in self._files.schema.names:
            return to_numpy(self.read(group_idx, ["prediction"]).column("prediction"))
        # Before format 1.3 there were only probabilities.
        if self.kind is Kind.TOP:
            return most_probable_of_top(*self.top(group_idx))
        return most_probable(self.probs(group_idx))

    def probs(self, group_idx: int) -> FloatArray:
        """Read the probabilities of one row group, (rows, classes), float32."""
        column = self.read(group_idx, ["probs"]).column("probs")
        return probs_from_binary(column, len(self.classes))

    def numbers(self, group_idx: int) -> FloatArray:
        """Read the numbers of one row group, float32 or float64, without a copy."""
        return to_numpy(self.read(group_idx, ["value"]).column("value"))

    def items(self, group_idx: int) -> IntArray:
        """Read the items of one row group, (rows, places), without a copy."""
        return integers_from_binary(self.read(group_idx, ["items"]).column("items"))

    @property
    def gold_columns(self) -> list[str]:
        """Columns of the right answers."""
        return [name for name in (self.kind.gold, "grades") if name in self._files.schema.names]

    def top(self, group_idx: int) -> tuple[IntArray, FloatArray]:
        """Read the most probable classes of one row group with probabilities, (rows, top) each."""
        rows = self.read(group_idx, ["top_classes", "top_probs"])
        return (
            integers_from_binary(rows.column("top_classes")),
            floats_from_binary(rows.column("top_probs")),
        )


def _is_same(given: pa.DataType | None, expected: pa.DataType) -> bool:
    """Return whether types are equal, apart from the nullability of the elements of lists."""
    if given is not None and pa.types.is_list(given) and pa.types.is_list(expected):
        return bool(given.value_type == expected.value_type)
    return bool(given == expected)


def _columns(kind: Kind, classes: tuple[str, ...], files: PartFiles) -> pa.Schema:
    """Return the columns that files must have; ids, probabilities and numbers have two types."""
    types = dict(zip(files.schema.names, files.schema.types, strict=True))
    values = types.get(VALUE_COLUMNS[kind][0])
    width = 0
    if values is not None and pa.types.is_fixed_size_binary(values):
        width = values.byte_width
    layout = Layout(
        kind,
        classes,
        text_ids=files.has_text_ids,
        n_top=width // 4,
        half=width == 2 * len(classes),
        double=values == pa.float64(),
        graded="grades" in types,
        by_meaning="equivalent" in types,
        judged="correct" in types,
    )
    expected = layout.arrow()
    # Before format 1.3 there were only probabilities.
    is_old = kind in {Kind.PROBS, Kind.TOP} and "prediction" not in types
    return expected.remove(expected.get_field_index("prediction")) if is_old else expected


def _are_possible(rows: pa.Table, group: Group, n_classes: int) -> bool:
    """Return whether rows can be what was committed.

    Checksums cover the content of a page, not its header, which says how much that is and how it is
    encoded. A wrong header garbles the whole page, so that a few of its rows show it.
    """
    fine = True
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        match name:
            case "label" | "target":
                fine &= labels_digest(gold_of(column)) == group.labels_digest
            case "reference":
                fine &= references_digest(column.combine_chunks()) == group.labels_digest
            case "value":
                numbers = to_numpy(column)
                fine &= bool(np.isfinite(numbers[::ROWS_APART]).all() and np.isfinite(numbers[-1]))
            case "prediction" | "top_classes" | "items":
                is_plain = name == "prediction"
                indices = to_numpy(column) if is_plain else integers_from_binary(column)
                least = NO_ITEM if name == "items" else 0
                fine &= bool(indices.min() >= least and indices.max() < n_classes)
            case "probs" | "top_probs":
                is_whole = name == "probs"
                values = (
                    probs_from_binary(column, n_classes) if is_whole else floats_from_binary(column)
                )
                few = np.concatenate([values[::ROWS_APART], values[-1:]]).astype(np.float64)
                sums = few.sum(axis=1)
                least_sum = 1.0 if is_whole else 0.0
                # False for NaN. What was committed may be off by the tolerance of half precision.
                fine &= bool(few.min() >= 0.0 and np.all(sums <= 1.0 + 2 * HALF_SUM_TOLERANCE))
                fine &= bool(np.all(sums >= least_sum - 2 * HALF_SUM_TOLERANCE))
    return fine


def check_alike(first: RunReader, other: RunReader) -> None:
    """Raise an error if two runs cannot be measured together."""
    names = {"run": first.run.name, "other_run": other.run.name}
    if other.kind is not first.kind:
        raise InputError(
            "The runs {run!r} and {other_run!r} hold {kind} and {other_kind}: log one kind.",
            **names,
            kind=first.kind,
            other_kind=other.kind,
        )
    if other.kind in {Kind.PROBS, Kind.TOP} and other.classes != first.classes:
        raise InputError(
            "The runs {run!r} and {other_run!r} have different classes: log the same ones.",
            **names,
            classes=first.classes,
            other_classes=other.classes,
        )
    if other.kind is Kind.TOP and other.n_top != first.n_top:
        raise InputError(
            "The runs {run!r} and {other_run!r} keep the top {n_top} and the top {other_n_top} "
            "classes: log equally many.",
            **names,
            n_top=first.n_top,
            other_n_top=other.n_top,
        )
    # Digests of labels are of indices: if classes differ, they are compared by name when they are
    # read. Those of right items are of names.
    same_classes = other.classes == first.classes or first.kind.has_items
    for index, (group, others) in enumerate(zip_longest(first.groups, other.groups)):
        if (
            group is None
            or others is None
            or (group.rows, group.ids_digest) != (others.rows, others.ids_digest)
        ):
            raise _other_examples(first, other, index)
        same_labels = group.labels_digest == others.labels_digest
        if group.n_labeled != others.n_labeled or (same_classes and not same_labels):
            raise label_conflict(first, other, index)


def largest_alike(readers: Sequence[RunReader]) -> list[RunReader]:
    """Return the largest group of runs with the same examples; among equals the first."""
    groups: list[list[RunReader]] = []
    for reader in readers:
        for group in groups:
            with suppress(InputError):
                check_alike(group[0], reader)
                group.append(reader)
                break
        else:
            groups.append([reader])
    return max(groups, key=len, default=[])


def _other_examples(first: RunReader, other: RunReader, index: int) -> MissingExampleError:
    """Return the error for a row group with different examples in two runs."""
    if index < len(first.groups) and index < len(other.groups):
        longer = other
        difference = _difference(_ids(first, index), _ids(other, index))
    else:
        longer = first if index < len(first.groups) else other
        difference = Message("no-counterpart", "has no counterpart")
    return MissingExampleError(
        "The runs {run!r} and {other_run!r} contain different examples: {row_group} {difference}. "
        "Log the same ids in every run, or drop examples missing from some runs with "
        "--common-examples (common_examples=True in Python).",
        run=first.run.name,
        other_run=other.run.name,
        row_group=longer.name_of(index),
        difference=difference,
    )


def _ids(reader: RunReader, index: int) -> list[object]:
    return list(reader.read(index, ["example"]).column("example").to_pylist())


def _difference(expected: list[object], ids: list[object]) -> Message:
    """Return how the ids of one row group differ from those of another."""
    known = set(expected)
    new = [example for example in ids if example not in known]
    if not new and len(ids) == len(expected):
        return Message("other-order", "has the same ids in another order")
    if not new:
        return Message(
            "fewer-examples",
            "has {n_examples:,} of these {n_expected:,} examples",
            n_examples=len(ids),
            n_expected=len(expected),
        )
    if len(new) == len(ids):
        return Message(
            "no-common-example",
            "has none of these examples, but others such as {example!r}",
            example=new[0],
        )
    return Message(
        "other-examples",
        "has {n_examples:,} other examples, such as {example!r}",
        n_examples=len(new),
        example=new[0],
    )


def label_conflict(
    first: RunReader, other: RunReader, index: int | None = None
) -> LabelConflictError:
    """Return the error for two runs with different gold labels."""
    place = {} if index is None else {"row_group": other.name_of(index)}
    return LabelConflictError(
        "The runs {run!r} and {other_run!r} have different {noun}"
        + (", such as in {row_group}" if place else "")
        + ". An example has one right answer: log the same {noun} in every run.",
        run=first.run.name,
        other_run=other.run.name,
        noun=first.kind.gold_noun,
        **place,
    )
