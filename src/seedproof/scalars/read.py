"""Read runs with single numbers: from tables without examples, or from the scalars of a store."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from seedproof.errors import (
    ColumnError,
    DtypeError,
    DuplicateExampleError,
    EmptyInputError,
    MissingValueError,
    OptionError,
    SeedproofError,
    TooFewRunsError,
    UnknownNameError,
)
from seedproof.measurement.selection import known_metrics
from seedproof.messages import Message
from seedproof.predictions.options import DEFAULT_MEMORY, SETTINGS, given
from seedproof.predictions.readers import reader_of
from seedproof.predictions.targets import Input, opened, recognize
from seedproof.records.arrow import to_numpy
from seedproof.records.checks import SIZES, extreme_number
from seedproof.records.columns import SYNONYMS, Columns, check_names, shown, wide_family
from seedproof.records.location import Location
from seedproof.records.memory_limit import parse_memory
from seedproof.records.number_tables import TooLargeError, column_names, read_table
from seedproof.records.reader import Store
from seedproof.records.shards import natural_order
from seedproof.records.tables import TableOptions
from seedproof.records.text_files import JSON_SUFFIXES, run_names, suffix_of
from seedproof.scalars.runs import ScalarArm, Scalars, base_of, unknown_name
from seedproof.typing import ArrowStream, FloatArray

SEEDS = ("seed", "random_seed", "rng_seed")
RUNS = ("run", "run_id", "run_name", *SEEDS, "trial", "repeat", "fold")
ARMS = (
    *("arm", "algorithm", "algo", "method", "variant", "model", "agent", "policy"),
    *("condition", "config", "group"),
)
# Columns that show that rows are examples, or that classes were predicted.
OF_EXAMPLES = frozenset((*SYNONYMS["example"], *SYNONYMS["prediction"], "label", "labels", "gold"))
# Inputs that may hold such runs, besides dataframes.
READABLE = (str, os.PathLike, list, tuple, Mapping, Location, Store)
# Options for reading, besides those that apply to everything.
OPTIONS = frozenset({"columns", "arm", *SETTINGS})
# Squares of squares are not needed here, as they are of numbers of examples.
LARGEST, SMALLEST = 1e100, 1e-100
# A larger file of JSON lines has more than one line per run.
MOST_JSON_BYTES = 50 * 10**6


def has_scalars(
    target: object, options: Mapping[str, Any], metrics: Collection[str] | None = None
) -> bool:
    """Return whether an input has single numbers per run, and no examples.

    A table shows it by its columns: runs, numbers, and no ids of examples. A store has both if its
    runs logged scalars, so that one of the metrics must be such a scalar and nothing else.
    """
    is_frame = hasattr(target, "__arrow_c_stream__")
    if not isinstance(target, READABLE) and not is_frame:
        return False
    try:
        recognized = recognize(target)  # type: ignore[arg-type] # refuses what cannot be read
        if recognized.kind == "store":
            return _names_scalars(recognized, metrics or ())
        if recognized.is_per_run:
            return True
        columns = options.get("columns") or Columns()
        if not isinstance(columns, Columns):
            return False  # reported where it is read
        is_table = recognized.kind == "table" and columns.changed().keys() <= {"run"}
        return is_table and all(_is_of_runs(_names(x), columns) for x in recognized.parts)
    except SeedproofError:
        return False  # reported where it is read


def _names_scalars(target: Input, metrics: Collection[str]) -> bool:
    """Return whether one of the metrics is unknown to us, and a scalar of the runs of a store."""
    others = [name for name in metrics if not _is_known(name)]
    return bool(others) and any(
        base_of(name, run.scalars) in run.scalars for run in opened(target).runs for name in others
    )


def _is_known(metric: str) -> bool:
    try:
        known_metrics([metric])
    except UnknownNameError:
        return False
    return True


def _names(table: Path | ArrowStream) -> list[str]:
    """Return the columns of a table; empty if it is too large to be one row per run."""
    if isinstance(table, Path) and suffix_of(table)[0] in JSON_SUFFIXES:
        if table.stat().st_size > MOST_JSON_BYTES or reader_of(table) is not None:
            return []
        try:
            return list(read_table(table, TableOptions()).column_names)
        except TooLargeError:
            return []
    return column_names(table)


def _is_of_runs(names: Sequence[str], columns: Columns) -> bool:
    """Return whether columns are those of a table with one row per run."""
    run = _first(names, (columns.run, *RUNS))
    others = [name for name in names if name != run]
    n_probs = sum(name.startswith(columns.probs) for name in others)
    is_of_examples = any(name.lower() in OF_EXAMPLES for name in others)
    return (
        run is not None
        and bool(others)
        and not (is_of_examples or n_probs > 1 or wide_family(others))
    )


def _first(names: Sequence[str], candidates: Sequence[str]) -> str | None:
    """Return the first candidate among names; case is ignored."""
    by_lower = {name.lower(): name for name in reversed(names)}
    return next((by_lower[x.lower()] for x in candidates if x.lower() in by_lower), None)


def load_scalars(
    target: object,
    options: Mapping[str, Any],
    metrics: Sequence[str] | None = None,
    *,
    least_runs: int = 2,
) -> Scalars:
    """Read the runs of all arms; all metrics that they have if none are named.

    A figure of a metric, such as `loss_sd`, may be named for the metric.
    """
    for name in given(options):
        if name == "lower_is_better":
            raise OptionError(
                "`{option}` applies to a single score. Name the metrics that are better when lower "
                "with --lower, or lower= in Python.",
                option=name,
            )
        if name not in OPTIONS:
            raise OptionError(
                "`{option}` applies to examples, and this input has one number per run. Remove it.",
                option=name,
            )
    recognized = recognize(target)  # type: ignore[arg-type] # refuses what cannot be read
    if recognized.kind == "store":
        store = opened(recognized, skip_damaged=bool(options.get("skip_damaged")))
        scalars = _of_store(store, metrics)
    elif recognized.kind == "table":
        scalars = _of_tables(recognized, options, metrics)
    else:
        raise DtypeError(
            "Single numbers per run are read from a table or a store, not from arrays. Pass a "
            "dataframe with a column of runs and a column per metric.",
            kind=recognized.kind,
        )
    for of_arm in scalars.arms.values():
        if of_arm.n_runs < least_runs:
            raise TooFewRunsError(
                "Arm {arm!r} has only one run: {run!r}. Pass at least 2 runs of it, or leave "
                "it out.",
                arm=of_arm.name,
                run=of_arm.runs[0],
                n_runs=1,
            )
    arm = options.get("arm")
    return scalars if arm is None else scalars.only(arm)


def _of_store(store: Store, requested: Sequence[str] | None) -> Scalars:
    """Return the scalars that all finished runs have, or the requested ones."""
    runs = [run for run in store.runs if run.status == "finished"]
    if not runs:
        raise store.no_finished_run()
    logged = list(dict.fromkeys(name for run in runs for name in run.scalars))
    shared = [name for name in logged if all(name in run.scalars for run in runs)]
    chosen = shared if requested is None else _without_spreads(requested, logged)
    for metric in chosen:
        if metric not in logged:
            raise unknown_name("scalar", metric, logged)
        if metric not in shared:
            lacking = next(run for run in runs if metric not in run.scalars)
            raise _missing(metric, lacking.name, lacking.arm)
    if not chosen:
        raise EmptyInputError(
            "The runs of {location} have no scalar in common. Log one with run.log_scalar.",
            location=store.location,
        )
    arms = {}
    for name in store.arms():
        own = [run for run in runs if run.arm == name]
        seeds = tuple(repr(sorted(run.seeds.items())) for run in own)
        are_distinct = all(run.seeds for run in own) and len(set(seeds)) == len(seeds)
        arms[name] = ScalarArm(
            name,
            tuple(run.name for run in own),
            {metric: np.array([run.scalars[metric] for run in own]) for metric in chosen},
            seeds if are_distinct else None,
        )
    left_out = [name for name in logged if name not in shared and requested is None]
    notes = [*store.notes, *store.left_out, *_left_out(left_out, "some runs did not log them")]
    return Scalars(arms, tuple(notes), store.location)


def _without_spreads(requested: Sequence[str], known: Collection[str]) -> list[str]:
    """Return the names of metrics, in place of those of their spreads."""
    return list(dict.fromkeys(base_of(name, known) for name in requested))


def _left_out(names: Sequence[str], reason: str) -> list[Message]:
    if not names:
        return []
    note = Message(
        "metrics-left-out",
        "Left out, because {reason}: {names}.",
        reason=reason,
        names=tuple(names),
    )
    return [note]


def _missing(metric: str, run: str, arm: str) -> MissingValueError:
    return MissingValueError(
        "Run {run!r} of arm {arm!r} has no number for {metric!r}. Fill it in, or name other "
        "metrics. A run that diverged is a result as well: leaving it out flatters the arm.",
        metric=metric,
        run=run,
        arm=arm,
    )


def _read(table: Path | ArrowStream, title: str, options: TableOptions) -> pa.Table:
    try:
        return read_table(table, options)
    except TooLargeError as error:
        raise OptionError(
            "{table} is too large to be read with {option} of this size. Raise it with --memory.",
            option="memory",
            table=title,
        ) from error


def _of_tables(
    target: Input, options: Mapping[str, Any], requested: Sequence[str] | None
) -> Scalars:
    """Return the runs of tables: of the arms that a column names, or one arm per table."""
    table_options = TableOptions(memory=parse_memory(options.get("memory") or DEFAULT_MEMORY))
    paths = [part if isinstance(part, Path) else None for part in target.parts]
    titles = list(target.names or run_names(paths))
    if titles == ["0"]:
        titles = ["table"]  # a single one in memory
    columns: Columns = options.get("columns") or Columns()
    rows = [
        _read(part, title, table_options) for part, title in zip(target.parts, titles, strict=True)
    ]
    partial: list[str] = []
    if target.is_per_run and requested is None:
        partial = [x for x in _names_in(rows) if any(_has_gaps(part, x) for part in rows)]
        rows = [part.drop_columns([x for x in partial if x in part.column_names]) for part in rows]
    tables = [
        _Table.of(part, title, columns, requested) for part, title in zip(rows, titles, strict=True)
    ]
    metrics = [x for x in tables[0].metrics if all(x in table.metrics for table in tables)]
    if not metrics:
        raise ColumnError(
            "{table} and {other_table} have no metric in common. Give their columns the same "
            "names.",
            table=titles[0],
            other_table=titles[-1],
        )
    arms: dict[str, ScalarArm] = {}
    for table in tables:
        for arm in table.arms(metrics):
            if arm.name in arms:
                raise DuplicateExampleError(
                    "Arm {arm!r} is in several tables. Pass each arm once.", arm=arm.name
                )
            arms[arm.name] = arm
    left_out = dict.fromkeys(x for table in tables for x in table.left_out)
    notes = [*target.notes, *_left_out(partial, "some runs did not log them")]
    only_some = dict.fromkeys(x for t in tables for x in t.metrics if x not in metrics)
    notes += _left_out(list(left_out), "they do not hold numbers")
    notes += _left_out(list(only_some), "not all tables have them")
    return Scalars(arms, tuple(notes), failed=target.failed)


def _names_in(tables: Sequence[pa.Table]) -> list[str]:
    return list(dict.fromkeys(name for table in tables for name in table.column_names))


def _has_gaps(table: pa.Table, name: str) -> bool:
    """Return whether a run has no number in a column; NaN is one, and refused later."""
    return name in table.column_names and table.column(name).null_count > 0


@dataclass(frozen=True, eq=False)
class _Table:
    """A table with one row per run, and the roles of its columns."""

    title: str
    rows: pa.Table
    run: str
    seed: str | None
    arm: str | None  # None if all rows are of one arm
    metrics: tuple[str, ...]
    left_out: tuple[str, ...]

    @classmethod
    def of(
        cls, rows: pa.Table, title: str, columns: Columns, requested: Sequence[str] | None
    ) -> "_Table":
        names = rows.column_names
        check_names(names, title)
        is_named = "run" in columns.changed()
        run = _first(names, (columns.run,) if is_named else (columns.run, *RUNS))
        if run is None:
            raise ColumnError(
                "{table} has no column {column!r} with the run of each row. It has: {listed}. Name "
                "yours with --run NAME, or in Python with columns=sp.Columns(run=…).",
                table=title,
                column=columns.run,
                listed=shown(names),
                columns=tuple(names),
                option="--run",
            )
        if not len(rows):
            raise EmptyInputError("{table} has no rows.", table=title)
        others = [name for name in names if name.lower() not in RUNS and name != run]
        others = [name for name in others if name and not name.startswith("Unnamed:")]
        texts = [name for name in others if not _are_numbers(rows.column(name), name)]
        arm = _first(others, ARMS) or (texts[0] if len(texts) == 1 else None)
        metrics = [name for name in others if name not in texts and name != arm]
        if requested is not None:
            metrics = _without_spreads(requested, names)
            for metric in metrics:
                if metric not in names:
                    raise unknown_name("metric", metric, [x for x in others if x != arm])
                if metric in texts:
                    raise _not_a_number(metric, rows.column(metric))
        if not metrics:
            raise ColumnError(
                "{table} has no column with a number per run. It has: {listed}.",
                table=title,
                listed=shown(names),
                columns=tuple(names),
            )
        left_out = [] if requested is not None else [name for name in texts if name != arm]
        return cls(title, rows, run, _first(names, SEEDS), arm, tuple(metrics), tuple(left_out))

    def arms(self, metrics: Sequence[str]) -> Iterator[ScalarArm]:
        """Yield the arms in the order of their first rows."""
        runs = self._texts(self.run)
        seeds = None if self.seed is None else self._texts(self.seed)
        names = [self.title] * len(runs) if self.arm is None else self._texts(self.arm)
        columns = {metric: _numbers(self.rows.column(metric), metric) for metric in metrics}
        rows_of: dict[str, dict[str, int]] = {}
        for row, (name, run) in enumerate(zip(names, runs, strict=True)):
            own = rows_of.setdefault(name, {})
            if run in own:
                raise self._twice(name, run, [own[run], row])
            own[run] = row
        for name, own in rows_of.items():
            ordered = natural_order(list(own))
            rows = [own[run] for run in ordered]
            values = {metric: column[rows] for metric, column in columns.items()}
            for metric, numbers in values.items():
                if np.isnan(numbers).any():
                    raise _missing(metric, ordered[int(np.isnan(numbers).argmax())], name)
            of_runs = None if seeds is None else tuple(seeds[row] for row in rows)
            if of_runs is not None and len(set(of_runs)) < len(of_runs):
                of_runs = None  # a seed that several runs share pairs none of them
            yield ScalarArm(name, tuple(ordered), values, of_runs)

    def _texts(self, name: str) -> list[str]:
        column = self.rows.column(name)
        if column.null_count:
            raise MissingValueError(
                "Column {column!r} of {table} has {n_missing} empty cells. Fill them in.",
                column=name,
                table=self.title,
                n_missing=column.null_count,
            )
        return list(column.cast(pa.string()).to_pylist())

    def _twice(self, arm: str, run: str, rows: Sequence[int]) -> DuplicateExampleError:
        used = {self.run, self.seed, self.arm}
        cells = ((name, self.rows.column(name).take(rows).to_pylist()) for name in self.left_out)
        different = [name for name, (first, second) in cells if first != second]
        others = [name for name in self.metrics if name not in used]
        return DuplicateExampleError(
            "Run {run!r} of arm {arm!r} has more than one row in {table}{cause}. Keep one row per "
            "run, such as its last step. If rows are examples, name their column with --example.",
            run=run,
            arm=arm,
            table=self.title,
            cause=f"; they differ in {shown(different)}" if different else "",
            columns=(*different, *others),
        )


def _are_numbers(column: pa.ChunkedArray, name: str) -> bool:
    """Return whether a column holds numbers; refuse numbers with a few texts among them."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return False
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        numeric = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
        return pa.types.is_boolean(kind) or any(is_kind(kind) for is_kind in numeric)
    cells = [text for text in column.to_pylist() if text is not None]
    if 2 * sum(map(_is_number, cells)) > len(cells):
        raise _not_a_number(name, column)
    return False


def _not_a_number(name: str, column: pa.ChunkedArray) -> DtypeError:
    cells = map(str, column.cast(pa.string()).drop_null().to_pylist())
    return DtypeError(
        "Column {column!r} has {text!r}, which is not a number. Pass a number for every run, or "
        "name other metrics.",
        column=name,
        text=next((text for text in cells if not _is_number(text)), ""),
    )


def _is_number(text: str) -> bool:
    """Return whether a text is a number for Arrow, which Python's 1_000 is not."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _numbers(column: pa.ChunkedArray, name: str) -> FloatArray:
    """Return the numbers of a metric, NaN where one is missing."""
    numbers = np.array(to_numpy(column.cast(pa.float64()), missing=np.nan))
    row = extreme_number(numbers, largest=LARGEST, smallest=SMALLEST)
    if row is not None:
        raise DtypeError(
            "Column {column!r} has the number {number:g}. " + SIZES + " Leave out runs that "
            "diverged only with a reason.",
            column=name,
            number=float(numbers[row]),
            largest=LARGEST,
            smallest=SMALLEST,
        )
    return numbers
