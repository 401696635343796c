"""Probabilities of labels of which several may be right: those above a threshold are a set."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from seedproof.errors import ProbabilityError, UnreadableError
from seedproof.records.arrow import to_arrow
from seedproof.records.number_tables import TooLargeError, column_names, read_table, title_of
from seedproof.records.table_rows import numbers_of
from seedproof.records.tables import TableOptions
from seedproof.typing import ArrowStream


def have_probs(tables: Sequence[Path | ArrowStream], options: TableOptions) -> bool:
    """Return whether all tables have a column of probabilities for each of several labels."""
    prefix = options.columns.probs
    return all(len(_labels(column_names(table), prefix)) > 1 for table in tables)


def sets_above(
    threshold: float, tables: Sequence[Path | ArrowStream], options: TableOptions
) -> list[pa.Table]:
    """Return tables with a set of labels per row, in place of a probability for each label.

    Args:
        threshold: Probability from which on a label is in the set.
        tables: Tables with a column of probabilities for each label.
        options: How they are read.

    Returns:
        The same rows with the column of sets, and all other columns.

    Raises:
        UnreadableError: The tables do not fit into memory.
        ProbabilityError: A number is missing, or not between 0 and 1.
    """
    try:
        read = [read_table(x, options, n_tables=len(tables), as_text=True) for x in tables]
    except TooLargeError:
        raise UnreadableError(
            "The probabilities do not fit into the memory for reading. Raise it with --memory, or "
            "memory= in Python.",
            option="memory",
        ) from None
    titles = map(title_of, tables)
    return [_with_sets(threshold, x, title, options) for x, title in zip(read, titles, strict=True)]


def _with_sets(threshold: float, rows: pa.Table, title: str, options: TableOptions) -> pa.Table:
    columns = options.columns
    labels = _labels(rows.column_names, columns.probs)
    names = [columns.probs + label for label in labels]
    probs = np.stack([numbers_of(rows.column(x), x, "probabilities") for x in names], axis=1)
    if not ((probs >= 0.0) & (probs <= 1.0)).all():
        raise ProbabilityError(
            "{table} has a probability that is missing, or not between 0 and 1. A threshold needs "
            "a probability of every label.",
            table=title,
        )
    is_given = probs >= threshold
    ends = np.concatenate([[0], np.cumsum(is_given.sum(axis=1))]).astype(np.int32)
    given = pa.array(labels).take(to_arrow(np.nonzero(is_given)[1]))
    sets = pa.ListArray.from_arrays(to_arrow(ends), given)
    return rows.drop_columns(names).append_column(columns.set, sets)


def _labels(names: Sequence[str], prefix: str) -> list[str]:
    return [
        name.removeprefix(prefix) for name in names if name.startswith(prefix) and name != prefix
    ]
