"""Tables with a free text per run and example, read into memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from seedproof.errors import DtypeError, LabelConflictError
from seedproof.messages import Message
from seedproof.records.answer_settings import AnswerSettings
from seedproof.records.arrow import to_numpy
from seedproof.records.columns import Columns
from seedproof.records.decoding import DecodingError, parse_json
from seedproof.records.number_tables import AlignedRows, RepeatedRows, column_names
from seedproof.records.roles import Roles
from seedproof.records.table_rows import numbers_of, single_texts
from seedproof.records.tables import TableOptions
from seedproof.records.text_answers import TextAnswers
from seedproof.records.text_records import marks_to_arrow, no_references, reference_lists
from seedproof.records.text_shards import TextShards
from seedproof.typing import ArrowStream, FloatArray


def have_texts(tables: Sequence[Path | ArrowStream], columns: Columns) -> bool:
    """Return whether tables have free texts in place of classes, by the names of their columns."""
    return all(columns.have_texts(column_names(table)) for table in tables)


def read_texts(
    tables: Sequence[Path | ArrowStream], options: TableOptions, settings: AnswerSettings
) -> tuple[TextShards, list[Message]] | None:
    """Read texts in one table or in one per run; return None if they do not fit into memory."""
    rows = RepeatedRows.read(tables, options, _texts)
    if rows is None:
        return None
    aligned = rows.aligned(options, settings)
    answers = _answers(rows, aligned)
    source = TextShards(
        rows.runs, aligned.ids, answers, settings=aligned.settings, extras=aligned.extras
    )
    return source, aligned.notes + answers.notes(aligned.settings.normalization)


def _answers(rows: RepeatedRows, aligned: AlignedRows) -> TextAnswers:
    roles, table, places = rows.roles, rows.table, aligned.rows
    equivalent = references = correct = None
    if roles.equivalent is not None:
        equivalent = _texts(table.column(roles.equivalent), roles.equivalent)[places]
    if roles.correct is not None:
        correct = numbers_of(table.column(roles.correct), roles.correct, "correctness")[places]
        _check_marks(correct, roles.correct)
    elif roles.reference is not None:
        references = _references(rows, aligned, roles.reference)
    return TextAnswers(rows.values[places], equivalent, references, correct)


def text_columns_of(batch: pa.RecordBatch, roles: Roles) -> tuple[pa.ListArray, pa.Table]:
    """Return references and answers of rows of `SortedRows`, in the columns of a store."""
    references, columns = no_references(len(batch)), {"text": batch.column("a")}
    if roles.equivalent is not None:
        columns["equivalent"] = batch.column("q")
    if roles.correct is not None:
        correct = to_numpy(batch.column("c"), missing=np.nan)
        _check_marks(correct, roles.correct)
        columns["correct"] = marks_to_arrow(correct)
    elif roles.reference is not None:
        references = reference_lists([_listed(cell) for cell in batch.column("g").to_pylist()])
    return references, pa.table(columns)


def _check_marks(correct: FloatArray, column: str) -> None:
    """Raise an error unless answers are marked by 1 and 0."""
    if not np.isin(correct[~np.isnan(correct)], (0.0, 1.0)).all():
        raise DtypeError(
            "Column {column!r} with the correctness of each answer has other numbers than 0 "
            "and 1. Pass true and false, or 1 and 0; to measure scores, name their column with "
            "--value instead of --answer.",
            column=column,
        )


def _references(rows: RepeatedRows, aligned: AlignedRows, column: str) -> list[tuple[str, ...]]:
    """Return the right answers of each example."""
    cells = [_listed(cell) for cell in rows.table.column(column).to_pylist()]
    first, *others = ([cells[row] for row in of_run] for of_run in aligned.rows.tolist())
    for run, of_run in enumerate(others, start=1):
        for example, (here, there) in enumerate(zip(first, of_run, strict=True)):
            if here != there:
                raise LabelConflictError(
                    "The reference of example {example!r} is {first!r} in run {first_run!r} and "
                    "{other!r} in run {run!r}. Give it one reference, or the same list of them.",
                    example=aligned.ids[example].as_py(),
                    first=here,
                    other=there,
                    first_run=rows.runs[0],
                    run=rows.runs[run],
                )
    return first


def _listed(cell: Any) -> tuple[str, ...]:  # noqa: ANN401 - a text, a number or a list of either
    """Return the right answers of a cell: one, or a list, which may be written as JSON.

    >>> _listed('["NYC", "New York"]'), _listed("[sic]"), _listed(None), _listed(42)
    (('NYC', 'New York'), ('[sic]',), (), ('42',))
    """
    if cell is None:
        return ()
    if isinstance(cell, str) and cell.startswith("["):
        try:
            given = parse_json(cell.encode())
        except DecodingError:
            given = None
        cell = given if isinstance(given, list) else cell
    members = cell if isinstance(cell, list) else [cell]
    return tuple(str(member) for member in members if member is not None)


def _texts(column: pa.ChunkedArray, name: str) -> np.ndarray:
    """Return a column as texts, None where it is empty."""
    texts = np.empty(len(column), dtype=object)
    texts[:] = single_texts(column, name).to_pylist()
    return texts
