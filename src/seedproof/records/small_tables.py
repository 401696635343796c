"""Tables much smaller than memory: read, aligned and checked as arrays.

This is the fast path for clean tables. Anything unusual (a damaged row, a missing example, a type
that DuckDB writes differently) is left to `ingest`, which reads tables of any size and explains
what is wrong with them. Both give the same results.
"""

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.errors import SeedproofError
from seedproof.messages import Message
from seedproof.records.arrow import to_arrow, to_numpy
from seedproof.records.checks import check_probs
from seedproof.records.class_names import find_classes
from seedproof.records.normalize import canonical_rows, composed_texts, joined_names
from seedproof.records.partition import are_integers
from seedproof.records.probabilities import UNLABELED
from seedproof.records.roles import Roles
from seedproof.records.row_counts import QuotedRowCounter, count_rows
from seedproof.records.shards import ShardSource, TableShards
from seedproof.records.sort import check_runs
from seedproof.records.tables import (
    TableOptions,
    are_both_given,
    common_roles,
    named_classes,
    names_of,
    notes_on_dropped_columns,
    notes_on_roles,
    state_of,
    with_both_classes,
)
from seedproof.records.text_files import (
    PARQUET_SUFFIXES,
    TEXT_SUFFIXES,
    read_header,
    suffix_of,
    unpacked,
)
from seedproof.typing import ArrowStream, FloatArray, IntArray

# A table takes at most this part of the memory: as arrays it takes a small multiple.
MEMORY_PART = 8
# Usual ratio of unpacked to packed size.
USUAL_PACKING = 20
# Types that Arrow writes as text in the same way as DuckDB.
_CODES = pa.dictionary(pa.int32(), pa.string())


class _UnusualError(Exception):
    """The table is not for the fast path."""


def read_small_tables(
    tables: Sequence[Path | ArrowStream], options: TableOptions
) -> tuple[ShardSource, list[Message]] | None:
    """Read clean tables that are far smaller than memory; return None for all others."""
    before = [state_of(table) for table in tables]
    limit = options.memory // MEMORY_PART // len(tables)
    # If a table is wrong in any way, ingest explains it.
    with contextlib.suppress(
        _UnusualError, SeedproofError, pa.ArrowException, OSError, ValueError, OverflowError
    ):
        result = _read([_head(table, limit) for table in tables], options)
        if [state_of(table) for table in tables] == before:
            return result
    return None


@dataclass(frozen=True)
class _Head:
    """A table before its rows are read."""

    title: str  # its name in messages
    names: list[str]
    table: Path | pa.Table
    separator: str = ""  # of the cells of a text file
    at_most: int = 0  # bytes of a text file, unpacked

    def read(self, roles: Roles) -> pa.Table:
        """Read the columns that have a role."""
        names = roles.names
        if isinstance(self.table, pa.Table):
            return self.table.select(names)
        if not self.separator:
            import pyarrow.parquet as pq

            with pq.ParquetFile(self.table) as file:
                return file.read(names)
        return self._read_text(self.table, names, roles)

    def _read_text(self, path: Path, names: list[str], roles: Roles) -> pa.Table:
        import pyarrow.csv

        numbers = set(roles.wide if roles.wide and roles.positive else roles.probs)
        texts = {roles.example, *roles.extras}
        types = {
            name: pa.float64() if name in numbers else pa.string() if name in texts else _CODES
            for name in names
        }
        counter = QuotedRowCounter(self.separator)
        count = count_rows(path, counter, row_bytes=2**19, at_most=self.at_most)
        with unpacked(path) as (stream, _):
            table = pyarrow.csv.read_csv(
                stream,
                read_options=pyarrow.csv.ReadOptions(column_names=self.names, skip_rows=1),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=self.separator, newlines_in_values=count.has_quotes
                ),
                convert_options=pyarrow.csv.ConvertOptions(
                    include_columns=names,
                    column_types=types,
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            )
        if len(table) != count.n_rows - 1:
            raise _UnusualError
        return table


def _head(table: Path | ArrowStream, limit: int) -> _Head:
    """Return the columns of a table of at most `limit` bytes."""
    if not isinstance(table, os.PathLike):
        return _head_of_rows(table, limit)
    path = Path(table)
    suffix, is_packed = suffix_of(path)
    size = path.stat().st_size
    if suffix in PARQUET_SUFFIXES and not is_packed:
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            facts, schema = file.metadata, file.schema_arrow
        sizes = [facts.row_group(i).total_byte_size for i in range(facts.num_row_groups)]
        if sum(sizes) > limit or any(pa.types.is_float16(field.type) for field in schema):
            raise _UnusualError
        return _Head(path.name, schema.names, path)
    if suffix not in TEXT_SUFFIXES or size * (USUAL_PACKING if is_packed else 1) > limit:
        raise _UnusualError
    names, separator = read_header(path)
    if any("\n" in name or "\r" in name for name in names):
        raise _UnusualError  # the header takes several lines
    return _Head(path.name, names, path, separator, at_most=limit)


def _head_of_rows(table: ArrowStream, limit: int) -> _Head:
    # A stream can be read only once, a frame as often as needed.
    if not hasattr(table, "shape") or any("\0" in str(name) for name in names_of(table)):
        raise _UnusualError
    rows = pa.RecordBatchReader.from_stream(table).read_all()
    if rows.nbytes > limit or any(pa.types.is_float16(field.type) for field in rows.schema):
        raise _UnusualError
    return _Head("The table", rows.schema.names, rows)


def _read(heads: Sequence[_Head], options: TableOptions) -> tuple[ShardSource, list[Message]]:
    columns, classes = options.columns, options.classes
    roles = common_roles([(head.title, head.names) for head in heads], options)
    both_given = are_both_given(roles, columns, [head.names for head in heads])
    notes = notes_on_roles(columns, wide=roles.wide, both_given=both_given)
    tables = [head.read(roles) for head in heads]
    has_names = options.names is not None and roles.run is not None
    if has_names or not all(len(table) for table in tables):
        raise _UnusualError
    paths = [head.table if isinstance(head.table, Path) else None for head in heads]
    rows = _Rows.of(tables, roles, list(options.run_names(paths)))
    gold = None if roles.label is None else _encoded(rows.column(roles.label))
    if roles.positive is not None:
        # With one column per run, the first represents all.
        roles = replace(roles, prediction=roles.wide[0]) if roles.wide else roles
        roles = with_both_classes(roles, sorted(gold.names) if gold else [], classes)
    roles = named_classes(roles, classes)
    runs = check_runs(rows.runs, roles, options)
    grid, ids = rows.grid(runs, roles)
    answers = None if roles.probs else rows.answers(roles)
    spelled = {"l": gold.names if gold else [], "y": answers.names if answers else []}
    known, spelling = find_classes(spelled, grid.size, roles.classes, classes)
    notes = [*notes, *joined_names(spelling)]
    labels = None
    if gold is not None:
        run_labels = gold.classes(spelling, rows.of_examples(grid))
        labels = run_labels[0]
        if (run_labels != labels).any():
            raise _UnusualError
    values: np.ndarray
    if answers is None:
        values = rows.probs(grid, roles)
        for run_probs in values:
            check_probs(run_probs, _anywhere)
    else:
        values = answers.classes(spelling, grid)
        if (values == UNLABELED).any():
            raise _UnusualError
    extras, dropped = rows.extras(grid, roles)
    is_labeled = labels is not None and bool((labels != UNLABELED).any())
    gold_labels = labels if is_labeled else None
    source = TableShards(runs, known, ids, labels=gold_labels, values=values, extras=extras)
    return source, notes + notes_on_dropped_columns(dropped)


def _anywhere(row: int) -> NoReturn:
    """Leave a wrong row to ingest."""
    raise _UnusualError(row)


@dataclass(frozen=True, eq=False)
class _Codes:
    """A column whose values repeat: its distinct values, and their index per row; -1 for none."""

    names: list[str]
    indices: IntArray

    def classes(self, spelling: Mapping[str, int], places: IntArray | slice) -> IntArray:
        """Return the class index of the rows at some places."""
        table = np.array([*(spelling[name] for name in self.names), UNLABELED], dtype=np.int32)
        return np.asarray(table[self.indices[places]])


def _encoded(column: pa.ChunkedArray) -> _Codes:
    kind = column.type
    if pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type):
        encoded = column.unify_dictionaries().combine_chunks()
    elif pa.types.is_integer(kind) or _is_text(kind):
        encoded = column.combine_chunks().dictionary_encode()
    else:
        raise _UnusualError
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    names = encoded.dictionary.cast(pa.string()).to_pylist()
    indices = to_numpy(encoded.indices, missing=-1)
    present = np.bincount(indices + 1, minlength=len(names) + 1)[1:] > 0
    if not present.all() or None in names or len(set(names)) < len(names):
        raise _UnusualError
    return _Codes(names, indices)


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of all tables, one after the other."""

    table: pa.Table
    runs: list[str]  # in order of appearance
    run_of: IntArray | None  # run of each row; None for a table with one column per run

    @classmethod
    def of(cls, tables: Sequence[pa.Table], roles: Roles, names: list[str]) -> "_Rows":
        table = pa.concat_tables(tables) if len(tables) > 1 else tables[0]
        if roles.wide:
            if len(tables) > 1:
                raise _UnusualError
            return cls(table, list(roles.wide), None)
        if roles.run is None:
            return cls(table, names, np.repeat(np.arange(len(tables)), list(map(len, tables))))
        runs = _encoded(table.column(roles.run))
        if (runs.indices < 0).any():
            raise _UnusualError
        return cls(table, runs.names, runs.indices)

    def column(self, name: str) -> pa.ChunkedArray:
        """Return one column of all rows."""
        return self.table.column(name)

    def grid(self, runs: Sequence[str], roles: Roles) -> tuple[IntArray, pa.Array]:
        """Return the row of each run and example, (runs, examples), and the ids in order."""
        ids = self.column(roles.example)
        if ids.null_count or not (_is_text(ids.type) or pa.types.is_integer(ids.type)):
            raise _UnusualError
        ids = ids.combine_chunks()
        if composed_texts(ids) is not ids:
            raise _UnusualError  # ids may be spelled in two ways
        if self.run_of is None:
            ordered, order = _in_order(ids)
            place = {name: column for column, name in enumerate(self.runs)}
            first = np.array([place[run] for run in runs])[:, np.newaxis] * len(ids)
            return first + order, ordered
        if sorted(runs) != sorted(self.runs):
            raise _UnusualError
        place = {name: position for position, name in enumerate(runs)}
        run_of = np.array([place[name] for name in self.runs])[self.run_of]
        n_runs, n_examples = len(runs), len(ids) // len(runs)
        if (np.bincount(run_of, minlength=n_runs) != n_examples).any():
            raise _UnusualError
        rows = np.arange(len(ids))
        if (np.diff(run_of) < 0).any():
            rows = np.argsort(run_of.astype(np.min_scalar_type(n_runs)), kind="stable")
            ids = ids.take(to_arrow(rows))
        by_run = rows.reshape(n_runs, n_examples)
        first = ids[:n_examples]
        ordered, order = _in_order(first)
        parts = [ids[start : start + n_examples] for start in range(0, len(ids), n_examples)]
        if all(part.equals(first) for part in parts[1:]):
            return by_run[:, order], ordered
        grid = np.empty_like(by_run)
        for run_idx, part in enumerate(parts):
            same, order = _in_order(part)
            if not same.equals(ordered):
                raise _UnusualError
            grid[run_idx] = by_run[run_idx, order]
        return grid, ordered

    def of_examples(self, grid: IntArray) -> IntArray:
        """Return the rows that hold facts about examples, such as labels."""
        return grid % len(self.table) if self.run_of is None else grid

    def answers(self, roles: Roles) -> _Codes:
        """Return the predicted classes."""
        if self.run_of is not None:
            return _encoded(self.column(str(roles.prediction)))
        columns = [_encoded(self.column(name)) for name in self.runs]
        names = list(dict.fromkeys(name for codes in columns for name in codes.names))
        place = {name: index for index, name in enumerate(names)}
        indices = [codes.classes(place, slice(None)) for codes in columns]
        return _Codes(names, np.concatenate(indices))

    def probs(self, grid: IntArray, roles: Roles) -> FloatArray:
        """Return probabilities (runs, examples, classes), each class contiguous in memory."""
        by_class = np.empty((len(roles.probs), *grid.shape), dtype=np.float32)
        in_order = bool((grid.ravel()[1:] > grid.ravel()[:-1]).all())
        by_name: dict[str, FloatArray] = {}
        for name, class_name, target in zip(roles.probs, roles.classes, by_class, strict=True):
            if name not in by_name:
                columns = [name] if self.run_of is not None else self.runs
                values = np.concatenate([_numbers(self.column(column)) for column in columns])
                by_name[name] = values.reshape(grid.shape) if in_order else values[grid]
            probs = by_name[name]
            is_other = roles.positive not in {None, class_name}
            with np.errstate(over="ignore"):
                target[:] = 1 - probs.astype(np.float64) if is_other else probs
        return np.moveaxis(by_class, 0, -1)

    def extras(self, grid: IntArray, roles: Roles) -> tuple[pa.Table | None, list[str]]:
        """Return further columns that are the same in all runs, and the names of the others."""
        kept, dropped = {}, []
        places = self.of_examples(grid)
        for name in roles.extras:
            column = self.column(name)
            if not (_is_text(column.type) or pa.types.is_integer(column.type)):
                raise _UnusualError
            texts = column.cast(pa.string()).combine_chunks()
            first = texts.take(to_arrow(places[0]))
            known = first
            for rows in places[1:] if self.run_of is not None else ():
                other = texts.take(to_arrow(rows))
                if pc.any(pc.not_equal(known, other)).as_py():
                    dropped.append(name)
                    break
                known = pc.coalesce(known, other)
            else:
                kept[name] = first
        return pa.table(kept) if kept else None, dropped


def _in_order(ids: pa.Array) -> tuple[pa.Array, IntArray]:
    """Return the ids in order, as integers if all of them are, and their old positions."""
    if are_integers(ids):
        ids = ids.cast(pa.int64())
    elif not pa.types.is_string(ids.type):
        ids = ids.cast(pa.string())
    order = canonical_rows(ids).astype(np.int64)
    return ids.take(to_arrow(order)), order


def _numbers(column: pa.ChunkedArray) -> FloatArray:
    if column.null_count or not pa.types.is_floating(column.type):
        raise _UnusualError
    return np.concatenate([to_numpy(chunk) for chunk in column.chunks])
