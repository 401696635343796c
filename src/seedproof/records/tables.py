"""Tables of users: the roles of their columns, and notes on how they were read."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from seedproof.errors import ClassesError, ColumnError
from seedproof.messages import Message
from seedproof.records.columns import TEXT_ROLES, Columns, advice, shown, suggested
from seedproof.records.items import MOST_KEPT
from seedproof.records.normalize import both_classes, index_names, unique_names
from seedproof.records.roles import Roles
from seedproof.records.shards import MAX_RUNS, canonical_order
from seedproof.records.text_files import run_names
from seedproof.typing import ArrowStream


@dataclass(frozen=True)
class TableOptions:
    """Options for reading tables."""

    columns: Columns = field(default_factory=Columns)
    memory: int = 2 * 10**9  # in bytes
    least_runs: int = 2
    classes: Sequence[str] | None = None  # names, if the tables have indices
    names: Sequence[str] | None = None  # of runs that are one table each, in their order
    file_names: Sequence[str] | None = None  # of such runs, if they have no names
    may_differ: bool = False  # runs may lack examples of others
    relevant: Path | ArrowStream | None = None  # a table with the right items of lists or sets
    keep: int = MOST_KEPT  # items of a ranked list

    def run_names(self, paths: Sequence[Path | None]) -> Sequence[str]:
        """Return the names of runs that are one table each."""
        return self.names or self.file_names or run_names(paths)


def common_roles(tables: Sequence[tuple[str, Sequence[str]]], options: TableOptions) -> Roles:
    """Return the roles of the columns of several tables, each given by its title and columns."""
    columns = options.columns
    roles_of = [Roles.find(names, columns, table=title) for title, names in tables]
    first, (first_title, first_names) = roles_of[0], tables[0]
    for (title, _), roles in zip(tables, roles_of, strict=True):
        for names, difference in (
            (
                ("run", "levels", "classes", "wide", "positive"),
                "differ in their columns for runs or classes",
            ),
            (
                ("label", "prediction", "value", "target", "answer", *TEXT_ROLES),
                "do not both have labels, predictions, numbers or answers",
            ),
        ):
            if any(getattr(roles, name) != getattr(first, name) for name in names):
                raise ColumnError(
                    "{table} and {other_table} {difference}. Give all files the same columns.",
                    table=first_title,
                    other_table=title,
                    difference=difference,
                )
    if len(first.wide) > MAX_RUNS:
        raise ColumnError(
            "{table} has {n_columns:,} columns with one run each; at most {at_most:,} runs are "
            "measured together. Name fewer with --wide.",
            table=first_title,
            n_columns=len(first.wide),
            at_most=MAX_RUNS,
        )
    is_one_run = first.run is None and not first.wide
    if is_one_run and len(tables) == 1 and options.least_runs > 1:
        if first.value is not None or first.answer is not None:
            raise ColumnError(
                "{table} has neither a column {run!r} nor {trial!r} with the run or trial of each "
                "row. Name it with --run or --trial, or pass one file per run.",
                table=first_title,
                run=columns.run,
                trial=columns.trial,
            )
        better = suggested(first_names, columns.changed())
        if better is None or not {"run", "wide"} & better.keys():
            better = None
        raise ColumnError(
            "{table} has no column {column!r} with the run of each row. It has: {listed}. {advice}",
            table=first_title,
            column=columns.run,
            listed=shown(first_names),
            columns=tuple(first_names),
            suggestion=better,
            advice=advice(better, "--run NAME or --wide PREFIX, pass one file per run"),
        )
    shared = [name for name in first.extras if all(name in roles.extras for roles in roles_of)]
    return replace(first, extras=tuple(shared))


def are_both_given(roles: Roles, columns: Columns, tables: Sequence[Sequence[str]]) -> bool:
    """Return whether the tables hold both predictions and probabilities."""
    name = columns.prediction
    has_both = bool(roles.probs) and name not in roles.probs
    return has_both and all(name in names for names in tables)


def notes_on_roles(columns: Columns, *, wide: Sequence[str], both_given: bool) -> list[Message]:
    """Return notes on columns that were not used, or read as runs."""
    notes = []
    if both_given:
        notes.append(
            Message(
                "predictions-from-probabilities",
                "The input has both probabilities and {column!r}: predictions are the most "
                "probable class of each row.",
                column=columns.prediction,
            )
        )
    if wide and not columns.wide and columns.changed().keys().isdisjoint({"value", "answer"}):
        notes.append(
            Message(
                "columns-are-runs",
                "Read as one run per column: {columns}.",
                columns=tuple(wide[:10]),
            )
        )
    return notes


def notes_on_dropped_columns(names: Sequence[str]) -> list[Message]:
    """Return a note on further columns in which runs differ."""
    if not names:
        return []
    note = Message(
        "columns-left-out",
        "Columns left out, because runs differ in them: {columns!r}.",
        columns=tuple(names),
    )
    return [note]


def state_of(table: Path | ArrowStream) -> tuple[int, int] | None:
    """Return size and time of a file, which change when it is written; None for other tables."""
    if not isinstance(table, Path) or not table.is_file():
        return None
    state = table.stat()
    return state.st_size, state.st_mtime_ns


def names_of(table: ArrowStream) -> Sequence[object]:
    """Return the column names of a table in memory, as its library has them."""
    schema = getattr(table, "schema", None)
    return schema.names if isinstance(schema, pa.Schema) else getattr(table, "columns", ())


def with_both_classes(
    roles: Roles, labels: Sequence[str], classes: Sequence[str] | None = None
) -> Roles:
    """Return the roles of a table with one probability per row as those of a table with two."""
    if roles.positive is None:
        return roles
    column = roles.probs[0] if roles.probs else roles.prediction
    positive, names = both_classes(roles.positive, labels, classes)
    return replace(
        roles, probs=(str(column),) * 2, classes=names, prediction=None, positive=positive
    )


def named_classes(roles: Roles, classes: Sequence[str] | None) -> Roles:
    """Return roles whose probability columns have class names instead of indices."""
    if classes is None or not roles.classes or roles.positive is not None:
        return roles
    wanted = unique_names(classes, len(classes), "class", ClassesError)
    names = index_names(wanted)
    pairs = zip(roles.classes, roles.probs, strict=True)
    columns = {names.get(name, name): column for name, column in pairs}
    if set(columns) != set(wanted):
        raise ClassesError(
            "The classes {classes} do not match the columns ({columns}). Pass one name per "
            "column, or none.",
            classes=wanted,
            columns=roles.classes,
        )
    ordered = tuple(canonical_order(sorted(columns)))
    return replace(roles, classes=ordered, probs=tuple(columns[name] for name in ordered))
