"""Items one after the other, gathered into the lists or sets of each run and example."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from seedproof.errors import DuplicateExampleError, LabelConflictError
from seedproof.messages import Message
from seedproof.records.arrow import to_numpy
from seedproof.records.items import NO_ITEM, Relevance
from seedproof.records.normalize import composed
from seedproof.records.shards import canonical_order
from seedproof.typing import BoolArray, FloatArray, IntArray


def encoded_items(*columns: pa.Array) -> tuple[tuple[str, ...], list[IntArray]]:
    """Return the names of all items of several columns in canonical order, and their places.

    Names are in Unicode's form C, so that two spellings of one name are one item.
    """
    codes = [column.dictionary_encode() for column in columns]
    texts = [list(map(composed, encoded.dictionary.to_pylist())) for encoded in codes]
    names = canonical_order(sorted({name for of_column in texts for name in of_column}))
    place = {name: index for index, name in enumerate(names)}
    return tuple(names), [
        np.array([place[name] for name in of_column], dtype=np.int32)[to_numpy(encoded.indices)]
        for of_column, encoded in zip(texts, codes, strict=True)
    ]


def gathered(
    group_of: IntArray,
    item_of: IntArray,
    n_groups: int,
    *,
    order: FloatArray | None = None,
    at_most: int | None = None,
) -> IntArray:
    """Return the items of each group, (groups, places), with NO_ITEM after the end of each.

    Args:
        group_of: Group of each item, such as a run and an example.
        item_of: Place of each item among all names, distinct within a group.
        n_groups: Number of groups.
        order: Items are in ascending order of this, ties in that of their names; in the order of
            their names if omitted.
        at_most: Number of items kept per group; all if omitted.

    Returns:
        At least one place.
    """
    keys = (item_of, group_of) if order is None else (item_of, order, group_of)
    rows = np.lexsort(keys)
    groups = group_of[rows]
    counts = np.bincount(groups, minlength=n_groups)
    places = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    width = max(1, int(counts.max(initial=0)))
    width = width if at_most is None else min(width, at_most)
    items = np.full((n_groups, width), NO_ITEM, dtype=np.int32)
    is_kept = places < width
    items[groups[is_kept], places[is_kept]] = item_of[rows[is_kept]]
    return items


def distinct(group_of: IntArray, item_of: IntArray) -> IntArray:
    """Return the rows that hold an item of their group for the first time, in ascending order."""
    rows = np.lexsort((item_of, group_of))
    is_new = np.ones(len(rows), dtype=np.bool_)
    same_group = group_of[rows[1:]] == group_of[rows[:-1]]
    is_new[1:] = ~(same_group & (item_of[rows[1:]] == item_of[rows[:-1]]))
    return np.sort(rows[is_new])


def check_distinct(
    group_of: IntArray, item_of: IntArray, names: Sequence[str], where: Callable[[int], Message]
) -> None:
    """Raise an error if a list has an item twice; `where` names a group."""
    first = distinct(group_of, item_of)
    if len(first) == len(item_of):
        return
    row = int(np.setdiff1d(np.arange(len(item_of)), first)[0])
    raise DuplicateExampleError(
        "{where} lists the item {item!r} twice. Keep one of the two, the better one.",
        where=where(int(group_of[row])),
        item=names[int(item_of[row])],
    )


def n_tied(group_of: IntArray, order: FloatArray) -> int:
    """Return the number of groups in which two items have the same order."""
    rows = np.lexsort((order, group_of))
    groups, ordered = group_of[rows], order[rows]
    is_tied = (groups[1:] == groups[:-1]) & (ordered[1:] == ordered[:-1])
    return len(np.unique(groups[1:][is_tied]))


def right_items(
    example_of: IntArray,
    item_of: IntArray,
    grades: FloatArray | None,
    is_known: BoolArray,
    *,
    names: Sequence[str],
    ids: pa.Array,
) -> Relevance:
    """Return the right items of examples from rows of examples and items.

    Rows that repeat an item count once; with grades, an item is right if its grade is above 0.
    """
    if grades is not None:
        _check_grades(example_of, item_of, grades, names=names, ids=ids)
        chosen = grades > 0
        example_of, item_of, grades = example_of[chosen], item_of[chosen], grades[chosen]
    rows = distinct(example_of, item_of)
    example_of, item_of = example_of[rows], item_of[rows]
    items = gathered(example_of, item_of, len(is_known))
    if grades is None or (grades == 1.0).all():
        return Relevance(items, is_known)
    by_place = np.zeros(items.shape)
    order = np.lexsort((item_of, example_of))
    by_place[items != NO_ITEM] = grades[rows][order]
    return Relevance(items, is_known, by_place)


def _check_grades(
    example_of: IntArray,
    item_of: IntArray,
    grades: FloatArray,
    *,
    names: Sequence[str],
    ids: pa.Array,
) -> None:
    """Raise an error if an item has several grades for the same example."""
    rows = np.lexsort((grades, item_of, example_of))
    first, second = rows[:-1], rows[1:]
    is_same = (example_of[first] == example_of[second]) & (item_of[first] == item_of[second])
    differs = np.flatnonzero(is_same & (grades[first] != grades[second]))
    if len(differs):
        row, other = int(first[differs[0]]), int(second[differs[0]])
        raise LabelConflictError(
            "Item {item!r} of example {example!r} has the grades {first:g} and {other:g}. Give it "
            "one grade.",
            item=names[int(item_of[row])],
            example=ids[int(example_of[row])].as_py(),
            first=float(grades[row]),
            other=float(grades[other]),
        )
