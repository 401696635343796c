"""Tables with a number per run and example, read into memory."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from seedproof.errors import (
    ColumnError,
    DuplicateExampleError,
    EmptyInputError,
    LabelConflictError,
    MissingValueError,
    SeedproofError,
    TooFewRunsError,
    UnreadableError,
    WeightError,
)
from seedproof.messages import Message
from seedproof.records.answer_settings import TRIAL, AnswerSettings
from seedproof.records.arrow import to_arrow, to_numpy
from seedproof.records.columns import Columns, check_names, shown
from seedproof.records.decoding import DecodingError, parse_json
from seedproof.records.levels import Repeat, number_settings_of, settings_of
from seedproof.records.memory_limit import data_bytes
from seedproof.records.normalize import accented_names, joined_names
from seedproof.records.roles import Roles
from seedproof.records.row_counts import LineCounter, QuotedRowCounter, count_rows
from seedproof.records.shards import NumberShards, check_run_count, natural_order
from seedproof.records.table_rows import (
    concatenated,
    dropped_examples,
    encoded_ids,
    encoded_repeats,
    fact_texts,
    ids_of,
    numbers_of,
)
from seedproof.records.tables import (
    TableOptions,
    common_roles,
    names_of,
    notes_on_dropped_columns,
    notes_on_roles,
)
from seedproof.records.text_files import (
    JSON_SUFFIXES,
    PARQUET_SUFFIXES,
    TEXT_SUFFIXES,
    read_header,
    reason_of,
    suffix_of,
    unpacked,
    unreadable,
)
from seedproof.typing import ArrowStream, BoolArray, FloatArray, IntArray

# From a column and its name, the numbers or texts in it.
ReadColumn: TypeAlias = Callable[[pa.ChunkedArray, str], np.ndarray]
# Rows of a table take up to this many times their size on disk.
MOST_GROWTH = 8
# Examples whose columns are compared before those of all others.
FEW_EXAMPLES = 1000
# Bytes in which the first line of JSON ends.
HEAD_BYTES = 2**20


def have_numbers(tables: Sequence[Path | ArrowStream], columns: Columns) -> bool:
    """Return whether tables have numbers in place of classes, by the names of their columns."""
    if "value" in columns.changed():
        return True
    return all(columns.have_numbers(column_names(table)) for table in tables)


def column_names(table: Path | ArrowStream) -> list[str]:
    """Return the columns of a table; of JSON, the keys of the first line; empty if unknown."""
    if not isinstance(table, os.PathLike):
        return [str(name) for name in names_of(table)]
    suffix, is_packed = suffix_of(Path(table))
    try:
        if suffix in PARQUET_SUFFIXES and not is_packed:
            import pyarrow.parquet as pq

            return list(pq.read_schema(table).names)
        if suffix in JSON_SUFFIXES:
            with unpacked(Path(table)) as (stream, _):
                first = parse_json(bytes(stream.read(HEAD_BYTES)).partition(b"\n")[0])
            return list(first) if isinstance(first, dict) else []
        return read_header(Path(table))[0] if suffix in TEXT_SUFFIXES else []
    except (SeedproofError, pa.ArrowException, DecodingError, OSError):
        return []  # reported where the table is read


class TooLargeError(Exception):
    """The tables do not fit into memory."""


def read_numbers(
    tables: Sequence[Path | ArrowStream], options: TableOptions, settings: AnswerSettings
) -> tuple[NumberShards, list[Message]] | None:
    """Read numbers in one table or in one per run; return None if they do not fit into memory."""
    rows = RepeatedRows.read(tables, options, partial(numbers_of, role="value"))
    return None if rows is None else _aligned(rows, options, settings)


def title_of(table: Path | ArrowStream) -> str:
    """Return the name of a table in messages."""
    return table.name if isinstance(table, Path) else "The table"


def read_table(
    table: Path | ArrowStream, options: TableOptions, *, n_tables: int = 1, as_text: bool = False
) -> pa.Table:
    """Read all columns of one of several tables, if it fits into its share of the memory.

    With `as_text`, cells of text files stay as they are: "01" and "1" are two ids, and "NA" is one.
    """
    limit = data_bytes(options.memory) // MOST_GROWTH // n_tables
    if not isinstance(table, os.PathLike):
        if not hasattr(table, "shape"):  # a stream, which can be read only once
            raise TooLargeError
        rows = pa.RecordBatchReader.from_stream(table).read_all()
        if rows.nbytes > data_bytes(options.memory):
            raise TooLargeError
        return _with_plain_texts(rows)
    path = Path(table)
    suffix, is_packed = suffix_of(path)
    if path.stat().st_size > limit:
        raise TooLargeError
    try:
        if suffix in PARQUET_SUFFIXES and not is_packed:
            return _with_plain_texts(_read_parquet(path, limit))
        if suffix in JSON_SUFFIXES:
            return _read_lines(path, limit)
        return _read_text(path, limit, as_text=as_text)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise unreadable((path.name,), reason_of(error)) from error
    except UnreadableError as error:
        if error.fields.get("problem") == "size":
            raise TooLargeError from error
        raise


def _with_plain_texts(table: pa.Table) -> pa.Table:
    """Return a table without views of texts, which Arrow cannot index."""
    for index, field in enumerate(table.schema):
        if pa.types.is_string_view(field.type):
            table = table.set_column(index, field.name, table.column(index).cast(pa.string()))
    return table


def _read_parquet(path: Path, limit: int) -> pa.Table:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        facts = file.metadata
        sizes = [facts.row_group(i).total_byte_size for i in range(facts.num_row_groups)]
        if sum(sizes) > limit:
            raise TooLargeError
        check_names(file.schema_arrow.names, path.name)
        return file.read()


def _read_lines(path: Path, limit: int) -> pa.Table:
    import pyarrow.json

    count = count_rows(path, LineCounter(), row_bytes=limit, at_most=limit)
    with unpacked(path) as (stream, _):
        block = pyarrow.json.ReadOptions(block_size=max(2**20, 2 * count.buffer_bytes))
        table = pyarrow.json.read_json(stream, block)
    check_names(table.column_names, path.name)  # fails here if a name is not text
    times = [(x.name, pa.string()) for x in table.schema if pa.types.is_timestamp(x.type)]
    if times:  # texts that look like times are texts
        texts = pyarrow.json.ParseOptions(explicit_schema=pa.schema(times))
        with unpacked(path) as (stream, _):
            table = pyarrow.json.read_json(stream, block, texts).select(table.column_names)
    return _complete(path, table, count.n_rows)


def _read_text(path: Path, limit: int, *, as_text: bool) -> pa.Table:
    import pyarrow.csv

    names, separator = read_header(path)
    check_names(names, path.name)
    count = count_rows(path, QuotedRowCounter(separator), row_bytes=limit, at_most=limit)
    with unpacked(path) as (stream, _):
        table = pyarrow.csv.read_csv(
            stream,
            read_options=pyarrow.csv.ReadOptions(
                column_names=names, skip_rows=1, block_size=max(2**20, 2 * count.buffer_bytes)
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=separator, newlines_in_values=count.has_quotes
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                null_values=[""] if as_text else ["", "NA", "NaN", "nan", "null"],
                strings_can_be_null=True,
                column_types=dict.fromkeys(names, pa.string()) if as_text else None,
            ),
        )
    return _complete(path, table, count.n_rows - 1)


def _complete(path: Path, table: pa.Table, n_rows: int) -> pa.Table:
    """Return a table that has all rows of its file; Arrow may lose very long ones."""
    if len(table) != n_rows:
        reason = Message(
            "rows-lost",
            "{n_rows:,} rows were counted, and {n_read:,} were read",
            n_rows=n_rows,
            n_read=len(table),
        )
        raise unreadable((path.name,), reason)
    return table


@dataclass(frozen=True, eq=False)
class RepeatedRows:
    """The rows of all tables, one after the other."""

    table: pa.Table
    roles: Roles
    values: np.ndarray  # numbers or texts
    repeats: Sequence[Repeat]  # in order
    run_of: IntArray  # repeat of each row
    levels: Sequence[str] = ()  # by which repeats are named; none if they are files or columns
    is_used: BoolArray | None = None  # rows that count; None for all

    @classmethod
    def read(
        cls, tables: Sequence[Path | ArrowStream], options: TableOptions, values_of: ReadColumn
    ) -> "RepeatedRows | None":
        """Read one table or one per run; return None if they do not fit, or need another reader."""
        try:
            read = [
                read_table(table, options, n_tables=len(tables), as_text=True) for table in tables
            ]
        except TooLargeError:
            return None
        except UnreadableError:
            if any(isinstance(x, Path) and suffix_of(x)[0] in JSON_SUFFIXES for x in tables):
                return None  # another reader also takes ids of several types, or says what is wrong
            raise
        titles = [title_of(table) for table in tables]
        named = [(title, rows.column_names) for title, rows in zip(titles, read, strict=True)]
        roles = common_roles(named, options)
        if roles.value is None and roles.answer is None:
            raise ColumnError(
                "{table} has columns for answers of several kinds: {listed}. Name those to read "
                "with --prediction, --value or --answer.",
                table=titles[0],
                listed=shown(read[0].column_names),
                columns=tuple(read[0].column_names),
            )
        if not all(len(rows) for rows in read):
            raise EmptyInputError("{table} has no rows.", table=titles[0])
        paths = [table if isinstance(table, Path) else None for table in tables]
        return cls.of(read, roles, options.run_names(paths), values_of)

    @classmethod
    def of(
        cls,
        tables: Sequence[pa.Table],
        roles: Roles,
        names: Sequence[str],
        values_of: ReadColumn,
    ) -> "RepeatedRows":
        """Concatenate tables; those with one column per run become one row per run and example."""
        if roles.wide:
            kept = replace(roles, wide=(), value=None, answer=None).names
            table = pa.concat_tables([rows.select(kept) for rows in tables for _ in roles.wide])
            columns = [(rows, name) for rows in tables for name in roles.wide]
            values = np.concatenate([values_of(rows.column(n), n) for rows, n in columns])
            runs = natural_order(list(roles.wide))
            counts = [len(rows) for rows, _ in columns]
            run_of = np.repeat([runs.index(name) for _, name in columns], counts)
            return cls(table, roles, values, [(run,) for run in runs], run_of)
        table = concatenated([rows.select(roles.names) for rows in tables])
        values = values_of(table.column(roles.repeated), roles.repeated)
        if not roles.levels:
            run_of = np.repeat(np.arange(len(tables)), [len(rows) for rows in tables])
            return cls(table, roles, values, [(name,) for name in names], run_of)
        levels, repeats, run_of = encoded_repeats(table, roles.levels)
        return cls(table, roles, values, repeats, run_of, levels)

    @property
    def runs(self) -> list[str]:
        """Names of the runs."""
        return ["/".join(repeat) for repeat in self.repeats]

    def aligned(
        self, options: TableOptions, settings: AnswerSettings, *, may_be_unequal: bool = False
    ) -> "AlignedRows":
        """Return the place of each run and example, in the order of their ids.

        With `may_be_unequal`, examples may have different numbers of trials of one model.
        """
        check_run_count(len(self.repeats))
        known = settings_of(self.levels, self.repeats)
        are_trials = settings.are_trials or known.are_trials
        if len(self.repeats) < options.least_runs and not are_trials:
            raise TooFewRunsError(
                "There is only one run: {run!r}. Pass at least 2 runs or trials.",
                run=self.runs[0],
                n_runs=len(self.repeats),
            )
        ids, example_of = self._examples()
        grid = self._grid(ids, example_of)
        wide = self.roles.wide
        notes = notes_on_roles(options.columns, wide=wide, both_given=False)
        notes += joined_names(accented_names(self.table.column(self.roles.example)), "examples")
        is_kept = np.asarray((grid >= 0).all(axis=0))
        is_there, runs = None, self.runs
        if may_be_unequal and list(self.levels) == [TRIAL] and not options.may_differ:
            if not is_kept.all():
                grid, runs = _numbered(grid, runs)
                is_there = grid >= 0
                grid = np.where(is_there, grid, grid[0])
        elif not is_kept.all():
            notes.append(dropped_examples(self.runs, ids, grid >= 0, may_differ=options.may_differ))
            grid, ids = grid[:, is_kept], ids.filter(to_arrow(is_kept))
        extras, dropped = self._extras(grid)
        if settings.weights is not None and settings.weights.column in dropped:
            raise self._differing_weights(settings.weights.column, grid, ids)
        notes += notes_on_dropped_columns(dropped)
        are_unequal = is_there is not None and not is_there.all()
        of_table = replace(
            settings, are_trials=are_trials, levels=known.levels, are_unequal=are_unequal
        )
        return AlignedRows(ids, grid, of_table, extras, notes, runs, is_there)

    def _examples(self) -> tuple[pa.Array, IntArray]:
        """Return the ids in order, and the index of its id per row."""
        return encoded_ids(ids_of(self.table.column(self.roles.example), self.roles.example))

    def _grid(self, ids: pa.Array, example_of: IntArray) -> IntArray:
        """Return the row of each run and example, (runs, examples); −1 where there is none."""
        used = np.flatnonzero(self.run_of >= 0 if self.is_used is None else self.is_used)
        flat = (self.run_of * len(ids) + example_of)[used]
        counts = np.bincount(flat, minlength=len(self.runs) * len(ids))
        if counts.max() > 1:
            run, example = divmod(int(counts.argmax()), len(ids))
            raise DuplicateExampleError(
                "Run {run!r} has example {example!r} {n_rows} times. If the model was asked "
                "several times, name the column of these trials with --trial.",
                run=self.runs[run],
                example=ids[example].as_py(),
                n_rows=int(counts.max()),
            )
        grid = np.full(len(counts), -1, dtype=np.int64)
        grid[flat] = used
        return grid.reshape(len(self.runs), len(ids))

    def _differing_weights(self, name: str, grid: IntArray, ids: pa.Array) -> WeightError:
        """Return the error for weights that are not the same in all runs."""
        of_runs = np.array(self.table.column(name).to_pylist(), dtype=object)[grid]
        run, example = (int(x[0]) for x in np.nonzero(of_runs != of_runs[0]))
        return WeightError(
            "The weight of example {example!r} is {first!s} in run {first_run!r} and {other!s} in "
            "run {run!r}. Give it one weight.",
            example=ids[example].as_py(),
            first=of_runs[0, example],
            other=of_runs[run, example],
            first_run=self.runs[0],
            run=self.runs[run],
        )

    def _extras(self, grid: IntArray) -> tuple[pa.Table | None, list[str]]:
        """Return columns whose value is the same in all runs, as text, and the other names."""
        kept: dict[str, pa.Array] = {}
        dropped: list[str] = []
        few = [to_arrow(of_run[:FEW_EXAMPLES]) for of_run in (grid[0], grid[-1])]
        for name in self.roles.extras:
            column = self.table.column(name)
            # Long texts of each run, such as answers, mostly differ at once.
            first, last = (fact_texts(column.take(rows)) for rows in few)
            texts = fact_texts(column) if first is not None and first.equals(last) else None
            if texts is None:
                dropped.append(name)
                continue
            texts = texts.combine_chunks()
            encoded = texts.dictionary_encode(null_encoding="encode")
            codes = to_numpy(encoded.indices)[grid]
            if (codes != codes[0]).any():
                dropped.append(name)
            else:
                kept[name] = texts.take(to_arrow(grid[0]))
        return pa.table(kept) if kept else None, dropped


class AlignedRows(NamedTuple):
    """Runs on the same examples."""

    ids: pa.Array  # of the examples, in canonical order
    rows: IntArray  # row of each run and example, axes (runs, examples)
    settings: AnswerSettings
    extras: pa.Table | None
    notes: list[Message]
    runs: list[str]
    is_there: BoolArray | None = None  # of unequal trials: others have the row of the first


def _numbered(grid: IntArray, trials: Sequence[str]) -> tuple[IntArray, list[str]]:
    """Return the trials of each example one after the other, and their names or numbers.

    Trials of one model are exchangeable, so that it does not matter which of them an example has.
    """
    order = np.argsort(grid < 0, axis=0, kind="stable")
    most = int((grid >= 0).sum(axis=0).max())
    numbered = np.take_along_axis(grid, order, axis=0)[:most]
    names = trials if np.array_equal(numbered, grid) else [str(place) for place in range(most)]
    return numbered, list(names)


def _aligned(
    rows: RepeatedRows, options: TableOptions, settings: AnswerSettings
) -> tuple[NumberShards, list[Message]]:
    """Return the numbers of the runs on the same examples."""
    if options.may_differ:
        # Their examples are named, also those without a number in any run.
        rows = replace(rows, is_used=~np.isnan(rows.values))
    aligned = rows.aligned(options, settings, may_be_unequal=True)
    numbers = rows.values[aligned.rows]
    levels = number_settings_of(rows.levels, rows.repeats).levels
    if np.isnan(numbers).any():
        run, example = (int(place[0]) for place in np.nonzero(np.isnan(numbers)))
        raise MissingValueError(
            "Example {example!r} of run {run!r} has no number. Fill it in, or pass "
            "--common-examples, or common_examples=True, to drop such examples.",
            example=aligned.ids[example].as_py(),
            run=aligned.runs[run],
        )
    if aligned.is_there is not None:
        numbers = np.where(aligned.is_there, numbers, np.nan)
    source = NumberShards(
        aligned.runs,
        aligned.ids,
        numbers,
        targets=_targets(rows, aligned),
        settings=replace(aligned.settings, levels=levels),
        extras=aligned.extras,
    )
    return source, aligned.notes


def _targets(rows: RepeatedRows, aligned: AlignedRows) -> FloatArray | None:
    if (name := rows.roles.target) is None:
        return None
    of_runs = numbers_of(rows.table.column(name), name, "target")[aligned.rows]
    first = of_runs[0]
    differs = (of_runs != first) & ~(np.isnan(of_runs) & np.isnan(first))
    if differs.any():
        run, example = (int(x[0]) for x in np.nonzero(differs))
        raise LabelConflictError(
            "The target of example {example!r} is {first:g} in run {first_run!r} and {other:g} "
            "in run {run!r}. Give it one target.",
            example=aligned.ids[example].as_py(),
            first=float(first[example]),
            other=float(of_runs[run, example]),
            first_run=rows.runs[0],
            run=rows.runs[run],
        )
    return np.asarray(first)
