"""Cells of a table as items: an item per row, lists of labels, spans, tags of tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.errors import DtypeError
from seedproof.records.arrow import texts_to_arrow, to_numpy
from seedproof.records.columns import measure_as
from seedproof.records.decoding import DecodingError, parse_json
from seedproof.records.item_columns import Form
from seedproof.records.normalize import as_text
from seedproof.records.table_rows import single_texts
from seedproof.records.tags import span_texts, spans_of_tags
from seedproof.typing import BoolArray, IntArray

# Between the labels of a set in a cell that is not a list.
SEPARATOR = "|"


@dataclass(frozen=True, eq=False)
class ItemCells:
    """Items of the rows of a table, one after the other."""

    rows: IntArray  # row of each item
    texts: pa.Array
    is_given: BoolArray  # False for rows whose cell is empty
    are_single: bool  # no cell is a list


def item_cells(table: pa.Table, form: Form, columns: Sequence[str]) -> ItemCells:
    """Return the items of each row."""
    if form is Form.SPANS:
        return _one_per_row(span_texts(table, columns))
    column = table.column(columns[0]).combine_chunks()
    if form is Form.RANKED:
        if pa.types.is_nested(column.type):
            raise DtypeError(
                "The column {column!r} has several items per row. Write one row per item, or "
                "name it with --set to measure sets.",
                column=columns[0],
            )
        return _one_per_row(single_texts(column, columns[0]))
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        lists = [None if cell is None else _names(cell, columns[0]) for cell in column.to_pylist()]
        is_list = True
    else:
        texts = single_texts(column, columns[0]).to_pylist()
        lists, is_list = _parsed(
            texts, columns[0], between=None if form is Form.TAGS else SEPARATOR
        )
    if form is Form.TAGS:
        lists = [None if tags is None else spans_of_tags(tags) for tags in lists]
        is_list = True
    sizes = np.array([0 if names is None else len(names) for names in lists], dtype=np.int64)
    return ItemCells(
        np.repeat(np.arange(len(lists)), sizes),
        texts_to_arrow([name for names in lists if names is not None for name in names]),
        np.array([names is not None for names in lists], dtype=np.bool_),
        are_single=not is_list,
    )


def refuse_lists(predictions: Sequence[str]) -> None:
    """Raise an error if predicted classes are lists, which are measured as sets."""
    if predictions and all(text[:1] == "[" and text[-1:] == "]" for text in predictions):
        raise DtypeError(
            "Predictions such as {prediction!r} are lists. {advice}",
            prediction=predictions[0][:80],
            option="set",
            **measure_as("set"),
        )


def _one_per_row(texts: pa.Array) -> ItemCells:
    is_given = to_numpy(pc.is_valid(texts))
    return ItemCells(np.flatnonzero(is_given), texts.drop_null(), is_given, are_single=True)


def _parsed(
    texts: Sequence[str | None], column: str, *, between: str | None
) -> tuple[list[list[str] | None], bool]:
    """Return the names in each cell, and whether any cell is written as a list."""
    cells: list[list[str] | None] = []
    is_list = False
    for text in texts:
        if text is None or not text.strip():
            cells.append(None)
        elif text.lstrip().startswith("["):
            is_list = True
            cells.append(_names(_list_of(text, column), column))
        else:
            parts = [part.strip() for part in text.split(between)]
            is_list |= len(parts) > 1
            cells.append([part for part in parts if part])
    return cells, is_list


def _list_of(text: str, column: str) -> list[object]:
    try:
        # pandas and str() write single quotes.
        quoted = text if '"' in text or "'" not in text else text.replace("'", '"')
        cell = parse_json(quoted.encode())
    except DecodingError:
        cell = None
    if not isinstance(cell, list):
        raise DtypeError(
            "The column {column!r} has the cell {text!r}, which is not a list. Write it as JSON, "
            'such as ["a", "b"], or with | between the names.',
            column=column,
            text=text[:80],
        )
    return cell


def _names(cell: Sequence[object], column: str) -> list[str]:
    names = [as_text(value) for value in cell if not isinstance(value, list | dict)]
    if len(names) < len(cell) or None in names:
        raise DtypeError(
            "The column {column!r} has a list with empty or nested values. Pass names.",
            column=column,
        )
    return [str(name) for name in names]
