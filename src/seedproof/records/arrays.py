"""Runs in memory, as shards."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seedproof.errors import (
    ClassesError,
    DtypeError,
    EmptyInputError,
    MissingValueError,
    ShapeError,
    TooFewRunsError,
    UnknownLabelError,
)
from seedproof.records.arrow import to_arrow
from seedproof.records.checks import (
    Where,
    check_classes,
    check_probs,
    check_top,
    example_of,
    sum_tolerance,
)
from seedproof.records.normalize import (
    as_ids,
    as_labels,
    as_text,
    both_classes,
    canonical_rows,
    check_text,
    class_names,
    class_places,
    composed,
    label_codes,
    label_indices,
    sized_column,
    unique_names,
)
from seedproof.records.probabilities import (
    UNLABELED,
    TopProbs,
    class_by_class,
    most_probable_of_top,
)
from seedproof.records.schema import Kind, Layout, Values
from seedproof.records.shards import (
    Shard,
    ShardSource,
    canonical_order,
    check_run_count,
)
from seedproof.typing import FloatArray, IntArray


class ArrayShards(ShardSource):
    """Arrays of all runs, cut into the shards that a store of them would have.

    With `top_classes`, indices of the most probable classes (runs, examples, top), `values` are
    the probabilities of these only. `alone` is for one run that is written rather than measured.
    """

    is_in_memory = True

    def __init__(
        self,
        values: npt.ArrayLike | Sequence[npt.ArrayLike],
        *,
        labels: npt.ArrayLike | None = None,
        ids: npt.ArrayLike | None = None,
        classes: Sequence[str] | None = None,
        runs: Sequence[str] | None = None,
        extras: Mapping[str, npt.ArrayLike] | None = None,
        positive: str | int | None = None,
        top_classes: npt.ArrayLike | None = None,
        tolerance: float | None = None,
        alone: bool = False,
    ) -> None:
        array = _as_array(values, least_runs=1 if alone else 2, is_binary=positive is not None)
        n_runs, self.n_examples = array.shape[:2]
        gold = None if labels is None else _as_gold(labels, array.shape[:2])
        if positive is not None:
            array, classes = _both(array, str(as_text(positive)), gold, classes)
        self.tolerance = sum_tolerance(array) if tolerance is None else tolerance
        self._top_classes = None if top_classes is None else _as_top(top_classes, array)
        self._values, self.n_top = array, 0
        if array.ndim == 2:
            self.kind = Kind.LABELS
            names, self._values, self._labels, spelled = _encode(
                array, gold, classes, may_be_all_wrong=alone
            )
            self.spelled = frozenset(spelled)
        elif top_classes is None:
            self.kind, names = Kind.PROBS, class_names(classes, array.shape[2])
        else:
            self.kind, names, self.n_top = Kind.TOP, _names_of_all(classes), array.shape[2]
        if array.ndim == 3:
            self._labels = None if gold is None else label_indices(gold, names)
        self.runs = unique_names(range(n_runs) if runs is None else runs, n_runs, "run", ShapeError)
        self.classes, self._class_order = _in_canonical_order(names)
        if self._labels is not None:
            self._labels = self._renumbered(self._labels)
        self.n_labeled = 0 if self._labels is None else int((self._labels != UNLABELED).sum())
        self._ids = as_ids(ids, self.n_examples)
        self._order = None if ids is None else canonical_rows(self._ids)
        self._extras = as_extras(extras or {}, self.n_examples)
        self.extras = tuple(self._extras.column_names)
        self.rows_per_shard = Layout(self.kind, self.classes, n_top=self.n_top).rows_per_group

    @property
    def has_text_ids(self) -> bool:
        """True if ids are text; int64 otherwise."""
        return bool(pa.types.is_string(self._ids.type))

    def shard(self, index: int) -> Shard:
        """Return one shard, checked."""
        start = index * self.rows_per_shard
        rows = slice(start, start + self.rows_per_shard)
        chosen: slice | IntArray = rows if self._order is None else self._order[rows]
        ids = taken(self._ids, chosen)
        extras = taken(self._extras, chosen) if self.extras else None
        labels = None if self._labels is None else self._labels[chosen]
        shard = Shard(index, ids, labels, probs=None, predictions=None, extras=extras)
        values = self._values[:, chosen]
        if self.kind is Kind.LABELS:
            return replace(shard, predictions=self._renumbered(values.astype(np.int32, copy=False)))
        if self._class_order is not None and self.kind is Kind.PROBS:
            values = values[:, :, self._class_order]
        with np.errstate(over="ignore"):  # overflow to infinity is rejected below
            probs = class_by_class(values.astype(np.float32, copy=False))
        if self.kind is Kind.TOP:
            top = self._top(chosen, ids, probs)
            return replace(shard, predictions=most_probable_of_top(*top), top=top)
        for run_idx, run_probs in enumerate(probs):
            check_probs(run_probs, self._where(run_idx, ids), tolerance=self.tolerance)
        return replace(shard, probs=probs)

    def _top(self, chosen: slice | IntArray, ids: pa.Array, probs: FloatArray) -> TopProbs:
        classes, n_classes = np.asarray(self._top_classes)[:, chosen], len(self.classes)
        for run_idx, (indices, values) in enumerate(zip(classes, probs, strict=True)):
            where = self._where(run_idx, ids)
            check_classes(indices, n_classes, where)
            check_top(indices, values, where, n_classes=n_classes, tolerance=self.tolerance)
        return TopProbs(self._renumbered(classes).astype(np.int32, copy=False), probs)

    def _where(self, run_idx: int, ids: pa.Array) -> Where:
        return lambda row: example_of(self.runs[run_idx], ids[row].as_py())

    def _renumbered(self, indices: IntArray) -> IntArray:
        """Return class indices in canonical order; unlabeled stays unlabeled."""
        if self._class_order is None:
            return indices
        table = np.full(len(self._class_order) + 1, UNLABELED, dtype=np.int32)
        table[self._class_order] = np.arange(len(self._class_order))
        return np.asarray(table[indices])


class RunRows:
    """Predicted classes of one run, in canonical order and in the form that a writer takes."""

    def __init__(
        self,
        values: npt.NDArray[np.generic],
        *,
        run: str,
        ids: npt.ArrayLike,
        labels: npt.ArrayLike | None,
        classes: Sequence[str] | None,
        top_classes: npt.NDArray[np.generic] | None,
        tolerance: float,
    ) -> None:
        self._shards = shards = ArrayShards(
            values[np.newaxis],
            ids=ids,
            labels=labels,
            classes=classes,
            top_classes=None if top_classes is None else top_classes[np.newaxis],
            runs=(run,),
            tolerance=tolerance,
            alone=True,
        )
        self.layout = Layout(
            shards.kind,
            shards.classes,
            text_ids=shards.has_text_ids,
            n_top=shards.n_top,
            half=values.dtype == np.float16 and shards.kind is Kind.PROBS,
        )

    def __iter__(self) -> Iterator[tuple[pa.Array, IntArray, Values]]:
        """Yield ids, labels and values of some rows, checked."""
        for index in range(self._shards.n_shards):
            shard = self._shards.shard(index)
            if shard.top is not None:
                yield shard.ids, shard.gold, (shard.top.classes[0], shard.top.probs[0])
            else:
                values = shard.predictions if shard.probs is None else shard.probs
                yield shard.ids, shard.gold, np.asarray(values)[0]


def taken(column: pa.Array | pa.Table, chosen: slice | IntArray) -> pa.Array | pa.Table:
    """Return some rows of a column or table."""
    return column[chosen] if isinstance(chosen, slice) else column.take(to_arrow(chosen))


def _as_top(top_classes: npt.ArrayLike, probs: npt.NDArray[np.generic]) -> IntArray:
    indices = np.asarray(top_classes)
    if not np.issubdtype(indices.dtype, np.integer):
        raise DtypeError(
            "Top classes are indices of classes, not {dtype}. Pass integers.", dtype=indices.dtype
        )
    if indices.shape != probs.shape:
        raise ShapeError(
            "Top classes have shape {shape!s}, their probabilities {probs_shape!s}. "
            "Pass one probability for each.",
            shape=indices.shape,
            probs_shape=probs.shape,
        )
    return indices


def _names_of_all(classes: Sequence[str] | None) -> tuple[str, ...]:
    if classes is None:
        raise ClassesError(
            "Top classes do not show how many classes there are. Pass the names of all: "
            "{option}=…, or range(100_000) if they have none.",
            option="classes",
        )
    return unique_names(classes, len(classes), "class", ClassesError)


def _in_canonical_order(names: tuple[str, ...]) -> tuple[tuple[str, ...], IntArray | None]:
    """Return names in the order of a store, and their old positions; None if nothing moves."""
    ordered = tuple(canonical_order(list(names)))
    if ordered == names:
        return names, None
    place = {name: index for index, name in enumerate(names)}
    return ordered, np.array([place[name] for name in ordered])


def _as_gold(labels: npt.ArrayLike, shape: tuple[int, ...]) -> npt.NDArray[np.generic]:
    """Return gold labels; labels that fit the first axis show that the axes are swapped."""
    if np.shape(labels) == (shape[0],) and shape[0] != shape[1]:
        raise ShapeError(
            "There are {n_labels} labels, as many as runs. Axes are (runs, examples, classes): "
            "swap the first two, with np.swapaxes(values, 0, 1).",
            n_labels=shape[0],
            shape=shape,
        )
    return as_labels(labels, shape[1])


def _both(
    array: npt.NDArray[np.generic],
    positive: str,
    gold: npt.NDArray[np.generic] | None,
    classes: Sequence[str] | None,
) -> tuple[npt.NDArray[np.generic], tuple[str, ...]]:
    """Return the probabilities of both classes from those of one, and the names of both."""
    labels = [] if gold is None else label_codes(gold, {positive})[0]
    known = {name for name in labels if name is not None}
    positive, names = both_classes(positive, known, classes)
    both = np.empty((*array.shape, len(names)), dtype=array.dtype)
    for probs, of_run in zip(array, both, strict=True):  # one run at a time saves memory
        for index, name in enumerate(names):
            of_run[:, index] = probs if name == positive else 1 - probs.astype(np.float64)
    return both, names


def as_extras(extras: Mapping[str, npt.ArrayLike], n_examples: int) -> pa.Table:
    """Return further columns as text, as those of tables are."""
    columns = {
        str(name): sized_column(values, n_examples, str(name)) for name, values in extras.items()
    }
    return pa.table(
        {
            name: pa.array([as_text(value) for value in values.tolist()], pa.string())
            for name, values in columns.items()
        }
    )


def _as_array(
    values: npt.ArrayLike | Sequence[npt.ArrayLike], *, least_runs: int, is_binary: bool = False
) -> npt.NDArray[np.generic]:
    parts = values if isinstance(values, list | tuple) else [values]
    if any(np.ma.is_masked(part) for part in parts):
        raise MissingValueError(
            "Some predictions are masked. Fill them in, or leave their examples out of every run."
        )
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ShapeError(
            "The runs have different shapes. Give every run the same examples and classes, "
            "axes (runs, examples, classes).",
            n_runs=len(parts),
        ) from error
    if array.dtype == object and array.ndim == 2 and all(isinstance(v, str) for v in array.flat):
        array = array.astype(str)
    if array.dtype == object:
        raise DtypeError(
            "The values are Python objects of mixed types or lengths. Pass probabilities as floats "
            "(runs, examples, classes), or predicted classes as integers or text (runs, examples).",
            dtype=array.dtype,
        )
    _check_axes(array, is_binary=is_binary)
    if len(array) < least_runs:
        raise TooFewRunsError(
            "Flips can be measured only with two or more runs, but there is {n_runs} run. "
            "Pass the predictions of at least 2 runs; axes are (runs, examples, classes).",
            n_runs=len(array),
        )
    check_run_count(len(array))
    if array.shape[1] == 0:
        raise EmptyInputError(
            "There are no examples in an array of shape {shape}. "
            "Pass axes (runs, examples, classes).",
            shape=array.shape,
        )
    return array


def _check_axes(array: npt.NDArray[np.generic], *, is_binary: bool) -> None:
    is_float = np.issubdtype(array.dtype, np.floating)
    if is_float and array.ndim == (2 if is_binary else 3):
        return
    if is_binary:
        raise ShapeError(
            "`{option}` needs one probability per run and example, floats with two axes, but "
            "this is {dtype} of shape {shape}. Remove it.",
            option="positive",
            dtype=array.dtype,
            shape=array.shape,
        )
    discrete = np.issubdtype(array.dtype, np.integer) or array.dtype.kind in "UTb"
    if array.ndim == 2 and discrete:
        return
    if array.ndim == 2 and is_float and np.allclose(array.sum(axis=1), 1, atol=1e-3):
        raise ShapeError(
            "Floats of shape {shape} look like the probabilities of one run. Pass several runs, "
            "axes (runs, examples, classes): np.stack([run_0, run_1, …]).",
            shape=array.shape,
        )
    if array.ndim == 2 and is_float:
        raise ShapeError(
            "Floats of shape {shape} have two axes. Probabilities need three, (runs, examples, "
            "classes). If these are the probabilities of one of two classes, name it: positive=1. "
            "If they are numbers, such as those of a regression: sp.measure(numbers) in Python, or "
            "{call} and seedproof measure numbers.npz",
            shape=array.shape,
            call='np.savez("numbers.npz", values=numbers)',
        )
    if array.ndim == 3:
        raise DtypeError(
            "Probabilities must be floats, not {dtype}. Predicted classes have two axes, "
            "(runs, examples).",
            dtype=array.dtype,
        )
    raise ShapeError(
        "An array of shape {shape!s} and type {dtype} cannot be measured. Pass "
        "probabilities (runs, examples, classes) or predicted classes (runs, examples).",
        shape=array.shape,
        dtype=array.dtype,
    )


def _encode(
    array: npt.NDArray[np.generic],
    gold: npt.NDArray[np.generic] | None,
    classes: Sequence[str] | None,
    *,
    may_be_all_wrong: bool,
) -> tuple[tuple[str, ...], IntArray, IntArray | None, set[str]]:
    """Return all classes, predictions and labels as indices into them, and the given names."""
    # One run at a time saves memory.
    distinct = np.unique(np.concatenate([np.unique(run) for run in array]))
    spelled = [str(as_text(value)) for value in distinct.tolist()]
    names = list(map(composed, spelled))
    gold_names: list[str | None] = []
    gold_codes: IntArray | None = None
    if gold is not None:
        gold_names, gold_codes = label_codes(gold, {*names, *map(str, classes or ())})
        spelled += [name for name in gold_names if name is not None]
        gold_names = [None if name is None else composed(name) for name in gold_names]
    known = sorted({name for name in gold_names if name is not None})
    check_text([*names, *known])
    if classes is None:
        everything = tuple(canonical_order(sorted({*known, *names})))
        place = {name: i for i, name in enumerate(everything)}
    else:
        everything = unique_names(classes, len(classes), "class", ClassesError)
        place = class_places(everything)
        place = {composed(name): index for name, index in place.items()} | place
    for name in (*names, *known):
        if name not in place:
            raise UnknownLabelError(
                "{label!r} is not one of the {n_classes} named classes. "
                "Add it to `classes`, or omit `classes`.",
                label=name,
                n_classes=len(everything),
            )
    are_apart = {place[name] for name in known}.isdisjoint(place[name] for name in names)
    if known and are_apart and not may_be_all_wrong:
        raise UnknownLabelError(
            "No label is ever predicted: labels such as {label!r}, predictions such as "
            "{prediction!r}. Use the same spelling for both.",
            label=known[0],
            prediction=names[0],
        )
    codes = np.array([place[name] for name in names], dtype=np.int32)
    predictions = np.empty(array.shape, dtype=np.int32)
    for run, of_run in zip(array, predictions, strict=True):
        of_run[:] = codes[np.searchsorted(distinct, run)]
    if gold_codes is None:
        return everything, predictions, None, {*spelled}
    labels = [UNLABELED if name is None else place[name] for name in gold_names]
    codes = np.array(labels, dtype=np.int32)[gold_codes]
    return everything, predictions, codes, {*spelled}
