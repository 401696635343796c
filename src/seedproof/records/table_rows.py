"""Rows of tables: texts, numbers, repeats and examples from their columns."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.errors import DtypeError, MissingExampleError, MissingValueError
from seedproof.messages import Message
from seedproof.records.arrow import to_arrow, to_numpy
from seedproof.records.checks import LARGEST, SIZES, SMALLEST, extreme_number
from seedproof.records.levels import SEPARATOR, Repeat, split_repeats
from seedproof.records.normalize import canonical_rows, composed_texts
from seedproof.records.partition import are_integers
from seedproof.typing import BoolArray, FloatArray, IntArray

# Cells of a missing number, in lower case.
EMPTY = ("", "na", "null")
MOST_EXACT = 2.0**53  # of the integers that doubles are


def encoded_repeats(
    table: pa.Table, columns: Sequence[tuple[str, str]]
) -> tuple[list[str], list[Repeat], IntArray]:
    """Return the levels at which repeats differ, the repeats in order, and that of each row.

    `columns` are all levels with their columns, the outermost first.
    """
    encoded = joined_levels(table, columns).combine_chunks().dictionary_encode()
    spelled = encoded.dictionary.to_pylist()
    levels, repeats = split_repeats(spelled, [level for level, _ in columns])
    place = {text: index for index, text in enumerate(repeats)}
    run_of = np.array([place[text] for text in spelled])[to_numpy(encoded.indices)]
    return levels, list(repeats.values()), run_of


def joined_levels(table: pa.Table, columns: Sequence[tuple[str, str]]) -> pa.ChunkedArray:
    """Return the names of all levels of each row as one text."""
    texts = [texts_of(table.column(name), name) for _, name in columns]
    return pc.binary_join_element_wise(*texts, SEPARATOR)


def encoded_ids(texts: pa.ChunkedArray) -> tuple[pa.Array, IntArray]:
    """Return the distinct ids in canonical order, and the index of its id per row."""
    encoded = texts.combine_chunks().dictionary_encode()
    ids = encoded.dictionary
    if are_integers(ids):
        ids = ids.cast(pa.int64())
    order = canonical_rows(ids).astype(np.int64)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return ids.take(to_arrow(order)), place[to_numpy(encoded.indices)]


def dropped_examples(
    runs: Sequence[str], ids: pa.Array, is_there: BoolArray, *, may_differ: bool
) -> Message:
    """Return a note on the examples that some run lacks, if they may be dropped.

    `is_there` has the axes (runs, examples).
    """
    is_kept = np.asarray(is_there.all(axis=0))
    n_dropped = int((~is_kept).sum())
    if not may_differ or not is_kept.any():
        example = int(np.flatnonzero(~is_kept)[0])
        run = int(np.flatnonzero(~is_there[:, example])[0])
        raise MissingExampleError(
            "{n_examples:,} of {n_all:,} examples are missing from some runs; for example, run "
            "{run!r} has no example {example!r}. Pass --common-examples, or "
            "common_examples=True, to drop them.",
            n_examples=n_dropped,
            n_all=len(ids),
            run=runs[run],
            example=ids[example].as_py(),
        )
    return Message(
        "examples-dropped",
        "{n_dropped:,} of {n_all:,} examples are missing from some runs and were dropped.",
        n_dropped=n_dropped,
        n_all=len(ids),
    )


def concatenated(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the rows of tables, whose columns become text where their types differ."""
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException:
        texts = [pa.schema([(name, pa.string()) for name in rows.column_names]) for rows in tables]
        return pa.concat_tables([rows.cast(s) for rows, s in zip(tables, texts, strict=True)])


def texts_of(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return a column as text; raise an error if a cell is empty."""
    if column.null_count:
        raise MissingValueError(
            "Column {column!r} has {n_missing} empty cells. Fill them in.",
            column=name,
            n_missing=column.null_count,
        )
    # Integers that fit into no other type were read as doubles, several of them as the same one.
    if pa.types.is_float16(column.type):
        column = column.cast(pa.float32())
    if pa.types.is_floating(column.type) and pc.any(pc.greater(pc.abs(column), MOST_EXACT)).as_py():
        raise DtypeError(
            "Column {column!r} has numbers above 2^53 that are not exact. Write them as texts, in "
            "quotes.",
            column=name,
        )
    return single_texts(column, name)


def single_texts(column: pa.Array | pa.ChunkedArray, name: str) -> pa.Array | pa.ChunkedArray:
    """Return a column as text, null where a cell is empty; refuse lists, objects and bytes."""
    texts = fact_texts(column)
    if texts is None:
        raise DtypeError(
            "The column {column!r} has the type {kind}: its cells are not single texts or "
            "numbers. Keep one value per row.",
            column=name,
            kind=str(column.type),
        )
    return texts


def fact_texts(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray | None:
    """Return a column as text; None if its cells are lists, objects, or bytes that are no text."""
    try:
        return column.cast(pa.string())
    except pa.ArrowException:
        return None


def ids_of(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return ids as text, in one form of Unicode: two runs may write letters differently."""
    return composed_texts(texts_of(column, name))


def numbers_of(column: pa.ChunkedArray, name: str, role: str) -> FloatArray:
    """Return a column as numbers, NaN where it is empty."""
    try:
        numbers = to_numpy(_as_doubles(column), missing=np.nan)
    except pa.ArrowException as error:
        texts = single_texts(column, name).drop_null().to_pylist()
        text = next((text for text in texts if not _is_number(text)), texts[0])
        raise DtypeError(
            "Column {column!r} with the {role} of each row has {text!r}, which is not a "
            "number. Pass numbers, such as 1 and 0 for pass and fail.",
            column=name,
            role=role,
            text=text,
        ) from error
    if np.isinf(numbers).any():
        raise DtypeError(
            "Column {column!r} has an infinite number. Pass finite numbers.", column=name
        )
    row = extreme_number(np.asarray(numbers))
    if row is not None:
        raise DtypeError(
            "Column {column!r} has the number {number:g}. " + SIZES,
            column=name,
            number=float(numbers[row]),
            largest=LARGEST,
            smallest=SMALLEST,
        )
    return np.asarray(numbers)


def _as_doubles(column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        # A number above 2^53 is rounded, as everywhere; only ids must be exact.
        return column.cast(pa.float64(), safe=not pa.types.is_integer(column.type))
    except pa.ArrowException:
        if not pa.types.is_string(column.type):
            raise
    words = pc.utf8_lower(pc.utf8_trim_whitespace(column))
    for word, number in (*dict.fromkeys(EMPTY).items(), ("true", "1"), ("false", "0")):
        words = pc.if_else(pc.equal(words, word), pa.scalar(number, pa.string()), words)
    return words.cast(pa.float64())


def _is_number(text: str) -> bool:
    """Return whether a text is a number for Arrow, which Python's 1_000 is not."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
