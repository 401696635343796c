"""Tables of users: what their columns are, and what is noted about how they were read."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from seedproof.errors import ColumnError
from seedproof.messages import Message
from seedproof.records.column_names import advice, suggested
from seedproof.records.columns import Columns, Roles, shown
from seedproof.typing import ArrowStream


def common_roles(
    tables: Sequence[tuple[str, Sequence[str]]], columns: Columns, *, least_runs: int
) -> Roles:
    """The roles of the columns of several tables, each given by its title and columns."""
    found = [Roles.find(names, columns, table=title) for title, names in tables]
    first, (first_title, first_names) = found[0], tables[0]
    for (title, _), roles in zip(tables, found, strict=True):
        both = [(one.run, one.classes, one.wide, one.positive) for one in (first, roles)]
        if both[0] != both[1]:
            raise ColumnError(
                "{table} and {other_table} differ in their columns for runs or "
                "classes. Give all files the same columns.",
                table=first_title,
                other_table=title,
            )
        if roles.label != first.label or roles.prediction != first.prediction:
            raise ColumnError(
                "{table} and {other_table} do not both have labels or predictions. "
                "Give all files the same columns.",
                table=first_title,
                other_table=title,
            )
    is_one_run = first.run is None and not first.wide
    if is_one_run and len(tables) == 1 and least_runs > 1:
        better = suggested(first_names, columns.changed())
        if better is None or not {"run", "wide"} & better.keys():
            better = None
        raise ColumnError(
            "{table} has no column {column!r} that says which training a row is from. "
            "It has: {listed}. {advice}",
            table=first_title,
            column=columns.run,
            listed=shown(first_names),
            columns=tuple(first_names),
            suggestion=better,
            advice=advice(better, "--run NAME or --wide PREFIX, give one file per run"),
        )
    shared = [name for name in first.extras if all(name in roles.extras for roles in found)]
    return replace(first, extras=tuple(shared))


def are_both_given(roles: Roles, columns: Columns, tables: Sequence[Sequence[str]]) -> bool:
    """Whether the tables hold predictions next to probabilities."""
    name = columns.prediction
    has_both = bool(roles.probs) and name not in roles.probs
    return has_both and all(name in names for names in tables)


def notes_on_roles(columns: Columns, *, wide: Sequence[str], both_given: bool) -> list[Message]:
    """Notes on columns that were not used, or taken for runs."""
    notes = []
    if both_given:
        notes.append(
            Message(
                "predictions-from-probabilities",
                "Both probabilities and {column!r} were given: predictions are "
                "taken from the probabilities, the most probable class of each row.",
                column=columns.prediction,
            )
        )
    if wide and not columns.wide:
        notes.append(
            Message(
                "columns-are-runs",
                "Read as one run per column: {columns}.",
                columns=tuple(wide[:10]),
            )
        )
    return notes


def notes_on_dropped_columns(names: Sequence[str]) -> list[Message]:
    """A note on further columns in which runs differ; none if there are none."""
    if not names:
        return []
    note = Message(
        "columns-left-out",
        "Not carried along, since runs differ in it: {columns!r}.",
        columns=tuple(names),
    )
    return [note]


def state_of(table: Path | ArrowStream) -> tuple[int, int] | None:
    """What changes when a file is written to; None for tables in memory."""
    if not isinstance(table, Path) or not table.is_file():
        return None
    found = table.stat()
    return found.st_size, found.st_mtime_ns
