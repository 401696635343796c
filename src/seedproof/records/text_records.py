"""Free texts in the columns of a store: the text, its meaning, its mark, and right answers."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seedproof.records.arrow import texts_to_arrow, to_arrow, to_numpy
from seedproof.records.text_answers import TextAnswers
from seedproof.typing import FloatArray


def reference_lists(references: Sequence[Sequence[str]]) -> pa.ListArray:
    """Return the right texts of each example as a column, null where there are none."""
    sizes = np.array([len(of_example) for of_example in references], dtype=np.int64)
    ends = np.cumsum([0, *sizes]).astype(np.int32)
    texts = texts_to_arrow([text for of_example in references for text in of_example])
    return pa.ListArray.from_arrays(to_arrow(ends), texts, mask=to_arrow(sizes == 0))


def no_references(n_examples: int) -> pa.ListArray:
    """Return the same for examples whose right answers are unknown."""
    return reference_lists([()] * n_examples)


def text_columns(answers: TextAnswers, run: int = 0) -> pa.Table:
    """Return the columns of the answers of one run."""
    columns = {"text": texts_to_arrow(answers.texts[run].tolist())}
    if answers.equivalent is not None:
        columns["equivalent"] = texts_to_arrow(answers.equivalent[run].tolist())
    if answers.correct is not None:
        columns["correct"] = marks_to_arrow(answers.correct[run])
    return pa.table(columns)


def marks_to_arrow(correct: FloatArray) -> pa.Array:
    """Return marks of answers, 1 for right and 0 for wrong, as booleans; null for NaN."""
    return to_arrow(correct == 1.0, missing=np.isnan(correct))


def recorded_answers(references: pa.ChunkedArray, of_runs: Sequence[pa.Table]) -> TextAnswers:
    """Return the answers of several runs to the same examples, from their columns."""
    names = {name for columns in of_runs for name in columns.column_names}
    correct = None
    if "correct" in names:
        correct = np.stack([_marks(columns) for columns in of_runs])
    right = None
    if correct is None and references.null_count < len(references):
        right = [tuple(texts or ()) for texts in references.to_pylist()]
    return TextAnswers(
        np.stack([_texts(columns, "text") for columns in of_runs]),
        np.stack([_texts(columns, "equivalent") for columns in of_runs])
        if "equivalent" in names
        else None,
        right,
        correct,
    )


def _marks(columns: pa.Table) -> FloatArray:
    if "correct" not in columns.column_names:
        return np.full(len(columns), np.nan)
    return to_numpy(columns.column("correct").cast(pa.float64()), missing=np.nan)


def _texts(columns: pa.Table, name: str) -> np.ndarray:
    texts = np.full(len(columns), None, dtype=object)
    if name in columns.column_names:
        texts[:] = columns.column(name).to_pylist()
    return texts
