"""Ranked lists and sets in memory, as shards."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seedproof.errors import (
    DtypeError,
    EmptyInputError,
    MissingValueError,
    OptionError,
    ProbabilityError,
    ShapeError,
    TooFewRunsError,
    UnknownLabelError,
)
from seedproof.messages import Message
from seedproof.records.answer_settings import AnswerSettings
from seedproof.records.arrays import as_extras, taken
from seedproof.records.checks import example_of as named_example
from seedproof.records.item_rows import check_distinct, distinct, gathered, right_items
from seedproof.records.items import NO_ITEM, Relevance
from seedproof.records.normalize import (
    as_ids,
    as_text,
    canonical_rows,
    check_text,
    composed,
    unique_names,
)
from seedproof.records.schema import Kind, Layout, Values
from seedproof.records.shards import ItemShards, canonical_order, check_run_count, reindexed
from seedproof.typing import BoolArray, FloatArray, IntArray


def item_kind(values: Any, options: Mapping[str, Any]) -> Kind | None:  # noqa: ANN401 - arrays or lists
    """Return the kind of arrays or lists of items; None if they are something else."""
    given = options.get("kind")
    kinds = {str(kind): kind for kind in (Kind.RANKINGS, Kind.SETS)}
    if given is not None and given not in kinds:
        raise OptionError(
            "`{option}` is {given!r}. Pass one of {known}.",
            option="kind",
            given=given,
            known=tuple(kinds),
        )
    if options.get("relevant") is not None:
        given = str(Kind.RANKINGS)
    elif _are_sets(options.get("labels")):
        given = given or str(Kind.SETS)
    if given is not None:
        return kinds[given]
    if len(values) == 0:
        return None
    if not isinstance(values, np.ndarray) and isinstance(values[0], list | tuple):
        return _kind_of_lists(values[0])
    return _kind_of_arrays(values, has_threshold=options.get("thresholds") is not None)


def set_threshold(settings: AnswerSettings, kind: Kind) -> float | None:
    """Return the probability from which on a label is in a set; None if none is given."""
    thresholds = settings.thresholds
    if kind is Kind.SETS and len(thresholds) > 1:
        raise OptionError(
            "Sets have one threshold, and {n_given} are given. Pass one of them.",
            option="thresholds",
            n_given=len(thresholds),
        )
    return thresholds[0] if thresholds else None


def _are_sets(labels: Any) -> bool:  # noqa: ANN401 - whatever is passed
    """Return whether gold labels are sets: lists, or flags (examples, labels)."""
    if labels is None or isinstance(labels, str):
        return False
    return any(isinstance(x, list | tuple | AbstractSet | np.ndarray) for x in labels)


def _kind_of_arrays(values: Sequence[Any], *, has_threshold: bool) -> Kind | None:
    first = np.asarray(values[0])
    if first.ndim != 2 or first.size == 0:
        return None
    match first.dtype.kind:
        case "f":
            return Kind.SETS if has_threshold else None
        case "b":
            return Kind.SETS
        case "i" | "u":
            are_flags = all(_are_flags(np.asarray(run)) for run in values)
            return Kind.SETS if are_flags else Kind.RANKINGS
    return Kind.RANKINGS if first.dtype.kind in "UT" else None


def _kind_of_lists(run: Sequence[Any]) -> Kind | None:
    """Return the kind of the lists of a run; raise an error if they could be either."""
    if any(isinstance(example, AbstractSet) for example in run):
        return Kind.SETS
    if not run or not all(isinstance(example, list | tuple) for example in run):
        return None
    is_ragged = len({len(example) for example in run}) > 1
    has_text = any(isinstance(item, str) for example in run for item in example[:1])
    if not is_ragged and not has_text:
        return None if isinstance(run[0][0], float) else _kind_of_arrays([run], has_threshold=False)
    raise OptionError(
        "Lists of items can be ranked lists, sets of labels, or tags of tokens. Pass "
        "{option}='rankings' if their order matters, {option}='sets' if it does not; measure tags "
        "from a table with a column `tags`.",
        option="kind",
    )


@dataclass(frozen=True, eq=False)
class _Items:
    """Items of the examples of one run, one after the other, the first of each the best."""

    example_of: IntArray
    item_of: IntArray  # place in `names`
    names: tuple[str, ...]
    is_known: BoolArray  # False where an example has None in place of a list
    grades: FloatArray | None = None

    @property
    def n_examples(self) -> int:
        return len(self.is_known)

    @property
    def composed_names(self) -> tuple[str, ...]:
        """The names in Unicode's form C, of which two may be the same."""
        return tuple(map(composed, self.names))


def item_shards(
    values: Any,  # noqa: ANN401 - arrays or lists
    *,
    kind: Kind,
    right: Any = None,  # noqa: ANN401 - same
    ids: npt.ArrayLike | None,
    names: Sequence[str] | None = None,
    runs: Sequence[str] | None,
    extras: Mapping[str, npt.ArrayLike],
    settings: AnswerSettings,
    threshold: float | None = None,
    least_runs: int,
    keep: int | None = None,
) -> ItemShards:
    """Return lists or sets of all runs as the shards that a store of them would have.

    Args:
        values: Per run, one list of items per example; integers or texts (examples, places), with
            negative ones or "" after the end of a list; or for sets also flags, or probabilities
            with a threshold (examples, labels).
        kind: Rankings or sets.
        right: The right items in the form of a run, None where unknown; grades by item, if graded.
        ids: Id of each example; its position if omitted.
        names: Names of the items, if they are integers, or of the labels of flags.
        runs: Names of the runs.
        extras: Further columns.
        settings: Choices for the metrics.
        threshold: Probability from which on a label is in the set.
        least_runs: Number of runs that are needed.
        keep: Items that are kept of a ranked list.

    Returns:
        The shards.
    """
    given = None if names is None else unique_names(names, len(names), "item", ShapeError)
    flat = [_flat(run, kind, given, threshold) for run in values]
    n_runs = len(flat)
    check_run_count(n_runs)
    if n_runs < least_runs and not settings.are_trials:
        raise TooFewRunsError(
            "There is {n_runs} run. Pass the {kind} of at least 2 runs; runs are the first axis.",
            n_runs=n_runs,
            kind=str(kind),
        )
    n_examples = flat[0].n_examples
    gold = None if right is None else _flat(right, kind, given, threshold)
    for items in (*flat, *([] if gold is None else [gold])):
        if items.n_examples != n_examples:
            raise ShapeError(
                "There are lists of {n_examples} and of {n_others} examples. Pass one list per run "
                "and example, and the right items of each example.",
                n_examples=n_examples,
                n_others=items.n_examples,
            )
    if n_examples == 0:
        raise EmptyInputError("There are no examples. Pass one list per run and example.")
    run_names = unique_names(range(n_runs) if runs is None else runs, n_runs, "run", ShapeError)
    example_ids = as_ids(ids, n_examples)
    columns = as_extras(extras, n_examples) if extras else None
    order = None if ids is None else canonical_rows(example_ids)
    spelled = {name for items in flat for name in items.names} | {*(gold.names if gold else ())}
    every = tuple(canonical_order(sorted(set(map(composed, spelled)))))
    lists = []
    for run, items in zip(run_names, flat, strict=True):

        def where(example: int, run: str = run) -> Message:
            return named_example(run, example_ids[example].as_py())

        lists.append(_gathered(items, kind, every, where, keep=keep))
    width = max(rows.shape[1] for rows in lists)
    stacked = np.full((n_runs, n_examples, width), NO_ITEM, dtype=np.int32)
    for of_run, rows in zip(stacked, lists, strict=True):
        of_run[:, : rows.shape[1]] = rows
    relevance = None
    if gold is not None:
        item_of = reindexed(gold.item_of, gold.composed_names, every)
        relevance = right_items(
            gold.example_of, item_of, gold.grades, gold.is_known, names=every, ids=example_ids
        )
    if order is not None:
        example_ids, stacked = taken(example_ids, order), stacked[:, order]
        relevance = None if relevance is None else relevance.rows(order)
        columns = None if columns is None else taken(columns, order)
    return ItemShards(
        kind,
        run_names,
        example_ids,
        names=every,
        items=stacked,
        relevance=relevance,
        settings=settings,
        extras=columns,
        spelled=spelled,
    )


def _gathered(
    items: _Items,
    kind: Kind,
    names: tuple[str, ...],
    where: Callable[[int], Message],
    *,
    keep: int | None,
) -> IntArray:
    if not items.is_known.all():
        raise MissingValueError(
            "{where} has no list. Pass an empty one, or leave the example out of every run.",
            where=where(int(np.flatnonzero(~items.is_known)[0])),
        )
    item_of = reindexed(items.item_of, items.composed_names, names)
    if kind is Kind.SETS:
        rows = distinct(items.example_of, item_of)
        return gathered(items.example_of[rows], item_of[rows], items.n_examples)
    check_distinct(items.example_of, item_of, names, where)
    order = np.arange(len(item_of), dtype=np.float64)
    return gathered(items.example_of, item_of, items.n_examples, order=order, at_most=keep)


def _flat(
    run: Any,  # noqa: ANN401 - an array or lists
    kind: Kind,
    names: tuple[str, ...] | None,
    threshold: float | None,
) -> _Items:
    if isinstance(run, list | tuple):
        are_lists = all(isinstance(example, list | tuple) for example in run)
        is_even = are_lists and len({len(example) for example in run}) == 1
        are_arrays = bool(run) and all(isinstance(example, np.ndarray) for example in run)
        if not are_arrays and not (is_even and _are_flags(np.asarray(run))):
            return _of_lists(run, names)
        if are_arrays and len({example.shape for example in run}) > 1:
            return _of_lists([example.tolist() for example in run], names)
    array = np.asarray(run)
    if array.dtype == object:
        return _of_lists(list(run), names)
    if array.ndim != 2:
        raise ShapeError(
            "The {kind} of a run have two axes, (examples, places), but this is {dtype} of shape "
            "{shape!s}. Pass one list of items per run and example.",
            kind=str(kind),
            dtype=array.dtype,
            shape=array.shape,
        )
    if kind is Kind.SETS and (_are_flags(array) or array.dtype.kind == "f"):
        return _of_flags(array, names, threshold)
    return _of_array(array, names)


def _are_flags(array: npt.NDArray[Any]) -> bool:
    return array.dtype.kind == "b" or (
        array.dtype.kind in "iu" and bool(((array == 0) | (array == 1)).all())
    )


def _of_flags(
    array: npt.NDArray[Any], names: tuple[str, ...] | None, threshold: float | None
) -> _Items:
    """Return the labels of flags or probabilities (examples, labels)."""
    if array.dtype.kind == "f":
        is_flag = (array == 0) | (array == 1)
        if threshold is None and not is_flag.all():
            raise OptionError(
                "Probabilities of labels need a limit from which on a label is in the set. Pass "
                "{option}=0.5.",
                option="thresholds",
            )
        if not ((array >= 0) & (array <= 1)).all():  # False for NaN
            raise ProbabilityError(
                "Probabilities of labels must be from 0 to 1. If these are logits, apply a sigmoid "
                "first."
            )
        array = array >= (0.5 if threshold is None else threshold)
    n_labels = array.shape[1]
    known = tuple(map(str, range(n_labels))) if names is None else names
    if len(known) != n_labels:
        raise ShapeError(
            "There are {n_names} names of {n_labels} labels. Pass one name for each.",
            n_names=len(known),
            n_labels=n_labels,
        )
    example_of, item_of = np.nonzero(array)
    return _Items(example_of, item_of, known, np.ones(len(array), dtype=np.bool_))


def _of_array(array: npt.NDArray[Any], names: tuple[str, ...] | None) -> _Items:
    """Return the items of integers or texts (examples, places)."""
    if array.dtype.kind not in "iuUT":
        raise DtypeError(
            "Items are integers or texts, not {dtype}. Pass their ids, or their names.",
            dtype=array.dtype,
        )
    is_item = array != "" if array.dtype.kind in "UT" else array >= 0
    example_of, places = np.nonzero(is_item)
    after_end = is_item[:, 1:] & ~is_item[:, :-1]
    if after_end.any():
        raise MissingValueError(
            "The list of example {position} has a gap. Pad lists at their end only.",
            position=int(np.flatnonzero(after_end.any(axis=1))[0]),
        )
    distinct_items, item_of = np.unique(array[example_of, places], return_inverse=True)
    texts = [str(as_text(item)) for item in distinct_items.tolist()]
    known = np.ones(len(array), dtype=np.bool_)
    if names is not None and array.dtype.kind in "iu":
        if len(distinct_items) and int(distinct_items[-1]) >= len(names):
            raise UnknownLabelError(
                "There are {n_names} names, and an item has the index {item}. Name all items.",
                n_names=len(names),
                item=int(distinct_items[-1]),
            )
        return _Items(example_of, distinct_items[item_of].astype(np.int64), names, known)
    check_text(texts)
    return _Items(example_of, item_of, tuple(texts), known)


def _of_lists(run: Sequence[Any], names: tuple[str, ...] | None) -> _Items:
    """Return the items of lists, sets or grades by item."""
    place: dict[str, int] = {} if names is None else {name: i for i, name in enumerate(names)}
    examples, items, grades = [], [], []
    for example, answer in enumerate(run):
        for item, grade in _graded(answer):
            is_index = names is not None and isinstance(item, int | np.integer)
            text = names[item] if is_index and names is not None else as_text(item)
            if text is None or (names is not None and text not in place):
                raise UnknownLabelError(
                    "Example {position} has the item {item!r}, which has no name. Pass items with "
                    "names that are known.",
                    position=example,
                    item=item,
                )
            examples.append(example)
            items.append(place.setdefault(text, len(place)))
            grades.append(grade)
    check_text(place)
    has_grades = any(isinstance(answer, Mapping) for answer in run)
    return _Items(
        np.array(examples, dtype=np.int64),
        np.array(items, dtype=np.int64),
        tuple(place),
        np.array([answer is not None for answer in run], dtype=np.bool_),
        np.array(grades, dtype=np.float64) if has_grades else None,
    )


def _graded(answer: Any) -> Iterator[tuple[Any, float]]:  # noqa: ANN401 - a list, a set or a mapping
    """Yield the items of an answer, each with its grade."""
    if answer is None:
        return
    if isinstance(answer, Mapping):
        yield from answer.items()
        return
    if isinstance(answer, str) or not hasattr(answer, "__iter__"):
        raise DtypeError(
            "{answer!r} is not a list of items. Pass one list per example.", answer=answer
        )
    ordered = sorted(answer, key=str) if isinstance(answer, AbstractSet) else answer
    for item in ordered:
        yield item, 1.0


class ItemRows:
    """Ranked lists or sets of one run, in canonical order and in the form that a writer takes."""

    def __init__(
        self,
        values: npt.NDArray[np.generic],
        *,
        kind: Kind,
        run: str,
        ids: npt.ArrayLike,
        right: npt.NDArray[np.generic] | None,
        names: Sequence[str] | None,
    ) -> None:
        self._shards = shards = item_shards(
            [values],
            kind=kind,
            right=right,
            ids=ids,
            names=names,
            runs=(run,),
            extras={},
            settings=AnswerSettings(),
            least_runs=1,
        )
        relevance = shards.relevance
        self.layout = Layout(
            kind,
            shards.classes,
            text_ids=shards.has_text_ids,
            n_top=shards.items.shape[2],
            graded=relevance is not None and relevance.grades is not None,
        )

    def __iter__(self) -> Iterator[tuple[pa.Array, Relevance, Values]]:
        """Yield ids, right items and items of some rows, checked."""
        for index in range(self._shards.n_shards):
            shard = self._shards.shard(index)
            right = Relevance.unknown(len(shard)) if shard.relevance is None else shard.relevance
            yield shard.ids, right, np.asarray(shard.items)[0]
