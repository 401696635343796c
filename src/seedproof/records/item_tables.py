"""Tables with ranked lists or sets, read into memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.errors import (
    ColumnError,
    DuplicateExampleError,
    EmptyInputError,
    LabelConflictError,
    MissingValueError,
    TooFewRunsError,
)
from seedproof.messages import Message
from seedproof.records.answer_settings import AnswerSettings
from seedproof.records.arrow import to_arrow, to_numpy
from seedproof.records.checks import example_of as named_example
from seedproof.records.columns import Columns
from seedproof.records.item_cells import ItemCells, item_cells
from seedproof.records.item_columns import Form, ItemRoles, form_of
from seedproof.records.item_rows import (
    check_distinct,
    distinct,
    encoded_items,
    gathered,
    n_tied,
    right_items,
)
from seedproof.records.levels import Repeat, refuse_levels_of_items, settings_of
from seedproof.records.normalize import accented_names, joined_names
from seedproof.records.number_tables import TooLargeError, column_names, read_table, title_of
from seedproof.records.right_rows import RightRows, read_relevant
from seedproof.records.shards import ItemShards, check_run_count
from seedproof.records.table_rows import (
    concatenated,
    dropped_examples,
    encoded_ids,
    encoded_repeats,
    fact_texts,
    ids_of,
    numbers_of,
)
from seedproof.records.tables import TableOptions, notes_on_dropped_columns
from seedproof.typing import ArrowStream, BoolArray, FloatArray, IntArray


def have_items(tables: Sequence[Path | ArrowStream], columns: Columns) -> bool:
    """Return whether tables have ranked lists or sets, by the names of their columns."""
    return all(form_of(column_names(table), columns) is not None for table in tables)


def read_items(
    tables: Sequence[Path | ArrowStream], options: TableOptions, settings: AnswerSettings
) -> tuple[ItemShards, list[Message]] | None:
    """Read lists or sets in one table or in one per run; return None if they do not fit."""
    try:
        read = [read_table(table, options, n_tables=len(tables), as_text=True) for table in tables]
    except TooLargeError:
        return None
    named = [(title_of(table), rows.column_names) for table, rows in zip(tables, read, strict=True)]
    roles = common_item_roles(named, options)
    if not all(len(rows) for rows in read):
        raise EmptyInputError("{table} has no rows.", table=named[0][0])
    right = None
    if options.relevant is not None:
        right = read_relevant(options.relevant, options, is_of_spans=roles.form is Form.SPANS)
    paths = [table if isinstance(table, Path) else None for table in tables]
    rows = _Rows.of(read, roles, options.run_names(paths))
    return rows.aligned(options, settings, right)


def common_item_roles(
    tables: Sequence[tuple[str, Sequence[str]]], options: TableOptions
) -> ItemRoles:
    """Return the roles of the columns of several tables, each given by its title and columns."""
    roles_of = [ItemRoles.find(names, options.columns, table=title) for title, names in tables]
    first = roles_of[0]
    for (title, _), roles in zip(tables, roles_of, strict=True):
        if replace(roles, extras=()) != replace(first, extras=()):
            raise ColumnError(
                "{table} and {other_table} {difference}. Give all files the same columns.",
                table=tables[0][0],
                other_table=title,
                difference="do not have the same columns of runs, lists or sets",
            )
    if not first.levels and len(tables) == 1 and options.least_runs > 1:
        raise ColumnError(
            "{table} has neither a column {run!r} nor {trial!r} with the run or trial of each "
            "row. Name it with --run or --trial, or pass one file per run.",
            table=tables[0][0],
            run=options.columns.run,
            trial=options.columns.trial,
        )
    shared = [name for name in first.extras if all(name in roles.extras for roles in roles_of)]
    return replace(first, extras=tuple(shared))


def split_by_run(table: pa.Table, roles: ItemRoles) -> tuple[pa.Table, pa.Table | None]:
    """Return the rows of runs, and those without a run, which only say which items are right."""
    if not roles.levels or roles.form not in {Form.RANKED, Form.SPANS}:
        return table, None
    has_run = table.column(roles.levels[0][1]).is_valid()
    return table.filter(has_run), table.filter(pc.invert(has_run))


def order_of(
    table: pa.Table, roles: ItemRoles, rows: IntArray, where: Callable[[int], Message]
) -> FloatArray:
    """Return what sorts the items of these rows in ascending order; `where` names a row."""
    column = str(roles.order)
    numbers = numbers_of(table.column(column), column, "order")[rows]
    if np.isnan(numbers).any():
        raise MissingValueError(
            "{where} has an item without a number in the column {column!r}. Fill it in, or "
            "remove the item.",
            where=where(int(rows[np.flatnonzero(np.isnan(numbers))[0]])),
            column=column,
        )
    return -numbers if roles.is_score else numbers


def repeated_example(run: str, example: object, n_rows: int) -> DuplicateExampleError:
    """Return the error for an example that a run has several times."""
    return DuplicateExampleError(
        "Run {run!r} has example {example!r} {n_rows} times. If the model was asked several "
        "times, name the column of these trials with --trial.",
        run=run,
        example=example,
        n_rows=n_rows,
    )


def conflicting_labels(item: str, example: object) -> LabelConflictError:
    """Return the error for an example whose right labels differ between rows."""
    return LabelConflictError(
        "{item!r} is a right label of example {example!r} in some rows and not in others. Give "
        "it the same labels in every run.",
        item=item,
        example=example,
    )


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of all tables, one after the other."""

    table: pa.Table
    roles: ItemRoles
    repeats: Sequence[Repeat]  # in order
    run_of: IntArray  # repeat of each row
    levels: Sequence[str]
    without_run: pa.Table | None = None  # rows that only say which items are right

    @classmethod
    def of(cls, tables: Sequence[pa.Table], roles: ItemRoles, names: Sequence[str]) -> "_Rows":
        """Concatenate tables."""
        table = concatenated([rows.select(roles.names) for rows in tables])
        if not roles.levels:
            of_tables = np.repeat(np.arange(len(tables)), [len(rows) for rows in tables])
            return cls(table, roles, [(name,) for name in names], of_tables, [])
        table, right = split_by_run(table, roles)
        if not len(table):
            raise EmptyInputError("{table} has no rows of a run.", table="The table")
        levels, repeats, run_of = encoded_repeats(table, roles.levels)
        return cls(table, roles, repeats, run_of, levels, right)

    @property
    def runs(self) -> list[str]:
        """Names of the runs."""
        return ["/".join(repeat) for repeat in self.repeats]

    def aligned(
        self, options: TableOptions, settings: AnswerSettings, given: RightRows | None
    ) -> tuple[ItemShards, list[Message]]:
        """Return the runs on the same examples, in the order of their ids."""
        known = settings_of(self.levels, self.repeats)
        refuse_levels_of_items(self.roles.form.kind, known)
        are_trials = settings.are_trials or known.are_trials
        check_run_count(len(self.repeats))
        if len(self.repeats) < options.least_runs and not are_trials:
            raise TooFewRunsError(
                "There is only one run: {run!r}. Pass the {kind} of at least 2 runs or trials.",
                run=self.runs[0],
                kind=str(self.roles.form.kind),
                n_runs=len(self.repeats),
            )
        cells = item_cells(self.table, self.roles.form, self.roles.answer)
        rights = [right for right in (given, self._right_rows()) if right is not None]
        right = RightRows.joined(rights) if rights else None
        ids, example_of = self._examples(right)
        notes: list[Message] = []
        matched = None
        if right is not None:
            matched, notes = right.matched(ids)
        spelled = accented_names(cells.texts)
        if matched is not None:
            spelled |= accented_names(matched.items)
        notes += joined_names(accented_names(self.table.column(self.roles.example)), "examples")
        notes += joined_names(spelled, "items")
        names, codes = encoded_items(cells.texts, *([] if matched is None else [matched.items]))
        items, further = self._lists(cells, codes[0], example_of, names, ids, keep=options.keep)
        notes += further
        relevance = None
        if matched is not None:
            relevance = right_items(
                matched.example_of,
                codes[1],
                matched.grades,
                matched.is_known,
                names=names,
                ids=ids,
            )
        extras, dropped = self._extras(example_of, len(ids))
        notes += notes_on_dropped_columns(dropped)
        is_there = self._are_there(cells, example_of, ids)
        is_kept = np.asarray(is_there.all(axis=0))
        if not is_kept.all():
            notes.append(dropped_examples(self.runs, ids, is_there, may_differ=options.may_differ))
            kept = to_arrow(is_kept)
            items, ids = items[:, is_kept], ids.filter(kept)
            relevance = None if relevance is None else relevance.rows(is_kept)
            extras = None if extras is None else extras.filter(kept)
        source = ItemShards(
            self.roles.form.kind,
            self.runs,
            ids,
            names=names,
            items=items,
            relevance=relevance,
            settings=replace(settings, are_trials=are_trials),
            extras=extras,
        )
        return source, notes

    def _examples(self, right: RightRows | None) -> tuple[pa.Array, IntArray]:
        """Return the ids in order, and the index of its id per row.

        A document without a span has no rows, so that right spans add their documents.
        """
        texts = ids_of(self.table.column(self.roles.example), self.roles.example)
        if right is None or self.roles.form is not Form.SPANS:
            return encoded_ids(texts)
        ids, example_of = encoded_ids(pa.chunked_array([*texts.chunks, right.examples]))
        return ids, example_of[: len(texts)]

    def _are_there(self, cells: ItemCells, example_of: IntArray, ids: pa.Array) -> BoolArray:
        """Return which examples each run has, (runs, examples)."""
        shape = len(self.repeats), len(ids)
        if self.roles.form is Form.SPANS:
            return np.ones(shape, dtype=np.bool_)
        counts = np.bincount(self.run_of * len(ids) + example_of, minlength=shape[0] * shape[1])
        if self.roles.form is not Form.RANKED and counts.max() > 1 and not cells.are_single:
            run, example = divmod(int(counts.argmax()), len(ids))
            raise repeated_example(self.runs[run], ids[example].as_py(), int(counts.max()))
        return np.asarray(counts > 0).reshape(shape)

    def _lists(
        self,
        cells: ItemCells,
        item_of: IntArray,
        example_of: IntArray,
        names: Sequence[str],
        ids: pa.Array,
        *,
        keep: int,
    ) -> tuple[IntArray, list[Message]]:
        """Return the items of each run and example, (runs, examples, places), and notes."""
        shape = len(self.repeats), len(ids)
        n_groups = shape[0] * shape[1]
        group_of = (self.run_of * len(ids) + example_of)[cells.rows]
        if self.roles.order is None:
            rows = distinct(group_of, item_of)
            items = gathered(group_of[rows], item_of[rows], n_groups)
            return items.reshape(*shape, -1), []

        def where(group: int) -> Message:
            run, example = divmod(group, len(ids))
            return named_example(self.runs[run], ids[example].as_py())

        check_distinct(group_of, item_of, names, where)
        groups = self.run_of * len(ids) + example_of
        order = order_of(self.table, self.roles, cells.rows, lambda row: where(int(groups[row])))
        items = gathered(group_of, item_of, n_groups, order=order, at_most=keep)
        notes = notes_on_lists(
            n_cut=int((np.bincount(group_of, minlength=n_groups) > keep).sum()),
            n_tied=n_tied(group_of, order),
            keep=keep,
        )
        return items.reshape(*shape, -1), notes

    def _right_rows(self) -> RightRows | None:
        """Return the right items that the tables themselves have; None if they have none."""
        roles = self.roles
        if roles.form in {Form.LISTS, Form.TAGS}:
            return None if roles.gold is None else self._gold(roles.gold)
        tables = [self.table] if roles.gold is not None else []
        if self.without_run is not None and len(self.without_run):
            tables.append(self.without_run)
        rights = [RightRows.of_items(table, roles) for table in tables]
        return RightRows.joined(rights) if rights else None

    def _gold(self, column: str) -> RightRows:
        """Return the right labels, which each run must have alike."""
        cells = item_cells(self.table, self.roles.form, (column,))
        examples = ids_of(self.table.column(self.roles.example), column).combine_chunks()
        ids, example_of = encoded_ids(pa.chunked_array([examples]))
        names, (item_of,) = encoded_items(cells.texts)
        n_given = np.bincount(example_of[cells.is_given], minlength=len(ids))
        if not cells.are_single:
            once = distinct(cells.rows, item_of)
            keys = example_of[cells.rows[once]] * len(names) + item_of[once]
            pairs, counts = np.unique(keys, return_counts=True)
            differs = np.flatnonzero(counts != n_given[pairs // max(1, len(names))])
            if len(differs):
                example, item = divmod(int(pairs[differs[0]]), len(names))
                raise conflicting_labels(names[item], ids[example].as_py())
        is_given = to_arrow(cells.is_given)
        return RightRows(
            examples.take(to_arrow(cells.rows)), cells.texts, None, examples.filter(is_given)
        )

    def _extras(self, example_of: IntArray, n_examples: int) -> tuple[pa.Table | None, list[str]]:
        """Return columns with one value per example, as text, and the names of the others."""
        first = np.full(n_examples, -1)
        rows = np.arange(len(example_of))[::-1]
        first[example_of[rows]] = rows
        has_rows = first >= 0
        kept: dict[str, pa.Array] = {}
        dropped: list[str] = []
        for name in self.roles.extras:
            texts = fact_texts(self.table.column(name))
            if texts is None:
                dropped.append(name)
                continue
            texts = texts.combine_chunks()
            codes = to_numpy(texts.dictionary_encode(null_encoding="encode").indices)
            if (codes != codes[first[example_of]]).any():
                dropped.append(name)
            else:
                kept[name] = texts.take(to_arrow(first, missing=~has_rows))
        return pa.table(kept) if kept else None, dropped


def notes_on_lists(*, n_cut: int, n_tied: int, keep: int) -> list[Message]:
    """Return notes on lists that were cut, and on items with equal scores."""
    notes = []
    if n_cut:
        notes.append(
            Message(
                "lists-cut",
                "{n_lists:,} lists have more than {keep:,} items; the first {keep:,} are kept. "
                "Choose another number with --keep.",
                n_lists=n_cut,
                keep=keep,
            )
        )
    if n_tied:
        notes.append(
            Message(
                "ties-by-name",
                "{n_lists:,} lists have items with equal scores or ranks, which are ordered by "
                "name.",
                n_lists=n_tied,
            )
        )
    return notes
