"""Rows with right items: from a column of a table, or from a table of their own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.errors import ColumnError, EmptyInputError, MissingExampleError, UnreadableError
from seedproof.messages import Message
from seedproof.records.arrow import to_arrow, to_numpy
from seedproof.records.columns import shown
from seedproof.records.item_columns import ALSO, SPAN, Form, ItemRoles
from seedproof.records.number_tables import TooLargeError, read_table, title_of
from seedproof.records.table_rows import ids_of, numbers_of
from seedproof.records.tables import TableOptions
from seedproof.records.tags import span_texts
from seedproof.records.trec import is_qrels, read_qrels
from seedproof.typing import ArrowStream, BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class MatchedRows:
    """Right items of the examples of the runs."""

    example_of: IntArray  # index of the example of each item
    items: pa.Array
    grades: FloatArray | None
    is_known: BoolArray  # per example


@dataclass(frozen=True, eq=False)
class RightRows:
    """Right items, one per row.

    Args:
        examples: Id of the example of each row, as text.
        items: Name of the item of each row.
        grades: Grade of the item; None if all are right.
        known: Ids of the examples whose right items are known; None if those of all are, so that
            an example without a row has no right item.
    """

    examples: pa.Array
    items: pa.Array
    grades: FloatArray | None
    known: pa.Array | None

    @classmethod
    def of_items(cls, table: pa.Table, roles: ItemRoles) -> "RightRows":
        """Return the right items of a table with one item or span per row."""
        if roles.form is Form.SPANS:
            spans = span_texts(table, roles.answer)
            return replace(cls._of(table, roles.example, spans, None), known=None)
        items = table.column(roles.answer[0]).cast(pa.string()).combine_chunks()
        return cls._of(table, roles.example, items, roles.gold)

    @classmethod
    def _of(cls, table: pa.Table, example: str, items: pa.Array, grade: str | None) -> "RightRows":
        """Return the rows that have an item, and a grade if there is a column of grades."""
        examples = ids_of(table.column(example), example).combine_chunks()
        grades = None
        is_given = to_numpy(pc.is_valid(items))
        known = examples
        if grade is not None:
            grades = numbers_of(table.column(grade), grade, "relevance")
            known = examples.filter(to_arrow(~np.isnan(grades)))
            is_given = is_given & ~np.isnan(grades)
            grades = grades[is_given]
        chosen = to_arrow(is_given)
        return cls(examples.filter(chosen), items.filter(chosen), grades, known)

    @classmethod
    def joined(cls, pieces: Sequence["RightRows"]) -> "RightRows":
        """Concatenate the rows of several."""
        if len(pieces) == 1:
            return pieces[0]
        has_grades = any(piece.grades is not None for piece in pieces)
        grades = [np.ones(len(p.items)) if p.grades is None else p.grades for p in pieces]
        known = [piece.known for piece in pieces if piece.known is not None]
        return cls(
            pa.concat_arrays([piece.examples for piece in pieces]),
            pa.concat_arrays([piece.items for piece in pieces]),
            np.concatenate(grades) if has_grades else None,
            pa.concat_arrays(known) if len(known) == len(pieces) else None,
        )

    def matched(self, ids: pa.Array) -> tuple[MatchedRows, list[Message]]:
        """Return the rows of these examples, and a note on those of others."""
        texts = ids.cast(pa.string())
        places = pc.index_in(self.examples, texts)
        is_there = to_numpy(pc.is_valid(places))
        is_known = np.ones(len(ids), dtype=np.bool_)
        if self.known is not None:
            is_known = to_numpy(pc.is_in(texts, self.known))
        if len(is_there) and not is_there.any() and not is_known.any():
            raise MissingExampleError(
                "No example with right items is in the runs: right items of {right!r}, runs with "
                "{example!r}. Use the same ids for both.",
                right=self.examples[0].as_py(),
                example=texts[0].as_py(),
            )
        chosen = to_arrow(is_there)
        rows = MatchedRows(
            to_numpy(places.drop_null()).astype(np.int64),
            self.items.filter(chosen),
            None if self.grades is None else self.grades[is_there],
            is_known,
        )
        n_others = len(pc.unique(self.examples.filter(pc.invert(chosen))))
        if not n_others:
            return rows, []
        note = Message(
            "right-items-unused",
            "Right items of {n_examples:,} examples that no run has were not used.",
            n_examples=n_others,
        )
        return rows, [note]


def read_relevant(
    table: Path | ArrowStream, options: TableOptions, *, is_of_spans: bool
) -> RightRows:
    """Read a table with right items: example, item and optional grade; or qrels of TREC."""
    title = title_of(table)
    if isinstance(table, Path) and is_qrels(table):
        rows = read_qrels(table)
    else:
        try:
            rows = read_table(table, options, as_text=True)
        except TooLargeError as error:
            raise UnreadableError(
                "{table} needs more memory than allowed. Raise {option}.",
                table=title,
                option="--memory",
            ) from error
    if not len(rows):
        raise EmptyInputError("{table} has no rows.", table=title)
    columns, names = options.columns, rows.column_names
    example = next((n for n in (columns.example, *ALSO["example"]) if n in names), None)
    items = SPAN if is_of_spans else (columns.item,)
    if example is None or not {*items} <= {*names}:
        raise ColumnError(
            "{table} has no columns of examples and right items ({wanted}). It has: {listed}. "
            "Rename them.",
            table=title,
            wanted=", ".join((columns.example, *items)),
            listed=shown(names),
            columns=tuple(names),
        )
    if is_of_spans:
        form = ItemRoles(Form.SPANS, example, (), SPAN)
        return RightRows.of_items(rows, form)
    grade = next((n for n in (columns.relevance, *ALSO["relevance"]) if n in names), None)
    return RightRows.of_items(rows, ItemRoles(Form.RANKED, example, (), items, gold=grade))
