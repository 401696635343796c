"""Runs that are in memory already, as shards."""

from collections.abc import Iterator, Mapping, Sequence

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
    column,
    label_indices,
    label_names,
    unique_names,
)
from seedproof.records.probabilities import (
    UNLABELED,
    TopProbs,
    class_by_class,
    most_probable_of_top,
)
from seedproof.records.schema import Kind, Layout, Values
from seedproof.records.shards import Shard, ShardSource, canonical_order
from seedproof.typing import FloatArray, IntArray


class ArrayShards(ShardSource):
    """Arrays of all runs, cut into the shards that a store of them would have.

    Args:
        values: Probabilities (runs, examples, classes), or predicted classes (runs, examples) as
            integers or text.
        labels: Gold class of each example, as index or name; NaN, None, or a negative number that
            is no class where unknown.
        ids: Id of each example; its position if omitted.
        classes: Names of the classes; their indices without them.
        runs: Names of the runs; their positions without them.
        extras: Further columns by name, one value per example.
        positive: The class whose probability floats with two axes (runs, examples) are.
        top_classes: Indices of the most probable classes, (runs, examples, top), where `values` are
            the probabilities of these alone; then `classes` are needed.
        tolerance: How far from one the probabilities of a row may sum to; by their type without it.
        alone: Whether this is one run, to be written rather than measured.

    Raises:
        TooFewRunsError: Fewer than two runs.
        EmptyInputError: No examples.
    """

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
        gold = None if labels is None else _as_gold(labels, array.shape[:2])
        if positive is not None:
            array, classes = _both(array, str(as_text(positive)), gold, classes)
        self.tolerance = sum_tolerance(array) if tolerance is None else tolerance
        self._top_classes = None if top_classes is None else _as_top(top_classes, array)
        if array.ndim == 3:
            self.kind = Kind.PROBS if top_classes is None else Kind.TOP
            self._values = array
            self.classes = (
                class_names(classes, array.shape[2])
                if top_classes is None
                else _names_of_all(classes)
            )
            self._labels = None if gold is None else label_indices(gold, self.classes)
        else:
            self.kind = Kind.LABELS
            self.classes, self._values, self._labels = _encode(
                array, gold, classes, may_be_all_wrong=alone
            )
        self.runs = _run_names(runs, len(array))
        self.classes, self._class_order = _in_canonical_order(self.classes)
        if self._class_order is not None and self._labels is not None:
            self._labels = _renumbered(self._labels, self._class_order)
        self._ids = as_ids(ids, array.shape[1])
        self._order = None if ids is None else canonical_rows(self._ids)
        self._extras = None if not extras else _as_extras(extras, array.shape[1])
        self.n_top = 0 if top_classes is None else array.shape[2]
        self.rows_per_shard = Layout(self.kind, self.classes, n_top=self.n_top).rows_per_group

    @property
    def is_in_memory(self) -> bool:
        """Whether all rows are in memory already."""
        return True

    @property
    def extras(self) -> tuple[str, ...]:
        """Names of the further columns."""
        return () if self._extras is None else tuple(self._extras.column_names)

    @property
    def has_text_ids(self) -> bool:
        """Whether ids are text; int64 otherwise."""
        return bool(pa.types.is_string(self._ids.type))

    @property
    def n_examples(self) -> int:
        """Examples in all shards together."""
        return int(self._values.shape[1])

    @property
    def n_labeled(self) -> int:
        """How many of them have a gold label."""
        return 0 if self._labels is None else int((self._labels != UNLABELED).sum())

    def shard(self, index: int) -> Shard:
        """Rows of one shard, checked."""
        start = index * self.rows_per_shard
        rows = slice(start, min(start + self.rows_per_shard, self.n_examples))
        chosen: slice | IntArray = rows if self._order is None else self._order[rows]
        ids, extras = self._ids[rows], None if self._extras is None else self._extras[rows]
        if self._order is not None:
            taken = to_arrow(self._order[rows])
            ids = self._ids.take(taken)
            extras = None if self._extras is None else self._extras.take(taken)
        labels = None if self._labels is None else self._labels[chosen]
        values = self._values[:, chosen]
        if self.kind is Kind.LABELS:
            predictions: IntArray = values.astype(np.int32, copy=False)
            if self._class_order is not None:
                predictions = _renumbered(predictions, self._class_order)
            return Shard(index, ids, labels, probs=None, predictions=predictions, extras=extras)
        if self._class_order is not None and self.kind is Kind.PROBS:
            values = values[:, :, self._class_order]
        with np.errstate(over="ignore"):  # beyond float32 is infinite, and refused below
            probs = class_by_class(values.astype(np.float32, copy=False))
        if self.kind is Kind.TOP:
            top = self._top(chosen, ids, probs)
            predicted = most_probable_of_top(*top)
            return Shard(index, ids, labels, None, predicted, extras=extras, top=top)
        for run_idx, of_run in enumerate(probs):
            check_probs(of_run, self._where(run_idx, ids), tolerance=self.tolerance)
        return Shard(index, ids, labels, probs=probs, predictions=None, extras=extras)

    def _top(self, chosen: slice | IntArray, ids: pa.Array, probs: FloatArray) -> TopProbs:
        """The most probable classes of some rows, checked."""
        classes = np.asarray(self._top_classes)[:, chosen]
        for run_idx, (indices, values) in enumerate(zip(classes, probs, strict=True)):
            where = self._where(run_idx, ids)
            check_classes(indices, len(self.classes), where)
            check_top(
                indices,
                values,
                where,
                n_classes=len(self.classes),
                tolerance=self.tolerance,
            )
        if self._class_order is not None:
            classes = _renumbered(classes, self._class_order)
        return TopProbs(classes.astype(np.int32, copy=False), probs)

    def _where(self, run_idx: int, ids: pa.Array) -> Where:
        return lambda row: example_of(self.runs[run_idx], ids[row].as_py())


class RunRows:
    """Predictions of one run, in canonical order and in the form that a writer takes."""

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
        self._shards = ArrayShards(
            values[None],
            ids=ids,
            labels=labels,
            classes=classes,
            top_classes=None if top_classes is None else top_classes[None],
            runs=(run,),
            tolerance=tolerance,
            alone=True,
        )
        self.is_half = values.dtype == np.float16

    @property
    def layout(self) -> Layout:
        """Columns of the record."""
        shards = self._shards
        return Layout(
            shards.kind,
            shards.classes,
            text_ids=shards.has_text_ids,
            n_top=shards.n_top,
            half=self.is_half and shards.kind is Kind.PROBS,
        )

    def __iter__(self) -> Iterator[tuple[pa.Array, IntArray, Values]]:
        """Yield ids, labels and values of some rows, checked."""
        for index in range(self._shards.n_shards):
            shard = self._shards.shard(index)
            if shard.top is not None:
                yield shard.ids, shard.gold, (shard.top.classes[0], shard.top.probs[0])
            else:
                values = shard.predictions if shard.probs is None else shard.probs
                yield shard.ids, shard.gold, np.asarray(np.asarray(values)[0])


def _as_top(top_classes: npt.ArrayLike, probs: npt.NDArray[np.generic]) -> IntArray:
    indices = np.asarray(top_classes)
    if not np.issubdtype(indices.dtype, np.integer):
        raise DtypeError(
            "Top classes are indices of classes, not {dtype}. Give integers.", dtype=indices.dtype
        )
    if indices.shape != probs.shape:
        raise ShapeError(
            "Top classes have shape {shape!s}, their probabilities {probs_shape!s}. "
            "Give one probability for each.",
            shape=indices.shape,
            probs_shape=probs.shape,
        )
    return indices


def _names_of_all(classes: Sequence[str] | None) -> tuple[str, ...]:
    if classes is None:
        raise ClassesError(
            "Nobody can tell from the top classes how many there are. Give the names of all: "
            "{option}=…, or range(100_000) where they have none.",
            option="classes",
        )
    return unique_names(classes, len(classes), "class", ClassesError)


def _in_canonical_order(names: tuple[str, ...]) -> tuple[tuple[str, ...], IntArray | None]:
    """Names as a table of them would have them, and where each was; None if nothing moves."""
    ordered = tuple(canonical_order(list(names)))
    if ordered == names:
        return names, None
    place = {name: index for index, name in enumerate(names)}
    return ordered, np.array([place[name] for name in ordered])


def _renumbered(indices: IntArray, order: IntArray) -> IntArray:
    """Class indices after the classes were put in order; unlabeled stays so."""
    table = np.full(len(order) + 1, UNLABELED, dtype=np.int32)
    table[order] = np.arange(len(order))
    return np.asarray(table[indices])


def _as_gold(labels: npt.ArrayLike, shape: tuple[int, ...]) -> npt.NDArray[np.generic]:
    """Gold labels; those that fit the first axis show that the axes are swapped."""
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
    """Probabilities of both classes from those of one, and the names of both."""
    labels = [] if gold is None else label_names(gold, {positive})
    known = {name for name in labels if name is not None}
    positive, names = both_classes(positive, known, classes)
    second = array.astype(np.float64)
    both = [second if name == positive else 1 - second for name in names]
    return np.stack(both, axis=-1).astype(array.dtype), names


def _as_extras(extras: Mapping[str, npt.ArrayLike], n_examples: int) -> pa.Table:
    """Further columns as text, as those of tables are."""
    columns = {}
    for name, values in extras.items():
        given = column(values)
        if given.shape != (n_examples,):
            raise ShapeError(
                "{name!r} has shape {shape!s}, but there are {n_examples} examples. "
                "Give one value per example.",
                name=name,
                shape=given.shape,
                n_examples=n_examples,
            )
        columns[str(name)] = pa.array([as_text(value) for value in given.tolist()], pa.string())
    return pa.table(columns)


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
            "The values are Python objects of mixed types or lengths. Give probabilities as floats "
            "(runs, examples, classes), or predicted classes as integers or text (runs, examples).",
            dtype=array.dtype,
        )
    _check_axes(array, is_binary=is_binary)
    if len(array) < least_runs:
        raise TooFewRunsError(
            "A flip needs two runs to disagree, but there is {n_runs} run. "
            "Give the predictions of at least 2 runs; axes are (runs, examples, classes).",
            n_runs=len(array),
        )
    if array.shape[1] == 0:
        raise EmptyInputError(
            "There are no examples in an array of shape {shape}. "
            "Give axes (runs, examples, classes).",
            shape=array.shape,
        )
    return array


def _check_axes(array: npt.NDArray[np.generic], *, is_binary: bool) -> None:
    is_float = np.issubdtype(array.dtype, np.floating)
    if is_float and array.ndim == (2 if is_binary else 3):
        return
    if is_binary:
        raise ShapeError(
            "`{option}` goes with one probability per run and example, floats with two axes, and "
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
            "Floats of shape {shape} look like the probabilities of one run. Give several runs, "
            "axes (runs, examples, classes): np.stack([run_0, run_1, …]).",
            shape=array.shape,
        )
    if array.ndim == 2 and is_float:
        raise ShapeError(
            "Floats of shape {shape} have two axes. Probabilities need three, (runs, examples, "
            "classes). If these are the probabilities of one of two classes, name it: positive=1.",
            shape=array.shape,
        )
    if array.ndim == 3:
        raise DtypeError(
            "Probabilities must be floats, not {dtype}. Predicted classes have two axes, "
            "(runs, examples).",
            dtype=array.dtype,
        )
    raise ShapeError(
        "An array of shape {shape!s} and type {dtype} cannot be measured. Give "
        "probabilities (runs, examples, classes) or predicted classes (runs, examples).",
        shape=array.shape,
        dtype=array.dtype,
    )


def _run_names(runs: Sequence[str] | None, n_runs: int) -> tuple[str, ...]:
    return unique_names(range(n_runs) if runs is None else runs, n_runs, "run", ShapeError)


def _encode(
    array: npt.NDArray[np.generic],
    gold: npt.NDArray[np.generic] | None,
    classes: Sequence[str] | None,
    *,
    may_be_all_wrong: bool,
) -> tuple[tuple[str, ...], IntArray, IntArray | None]:
    """Predicted classes as indices into the sorted class names."""
    found, positions = np.unique(array, return_inverse=True)
    names = [str(as_text(value)) for value in found.tolist()]
    gold_names = [] if gold is None else label_names(gold, {*names, *map(str, classes or ())})
    known = sorted({name for name in gold_names if name is not None})
    check_text([*names, *known])
    if classes is None:
        everything = tuple(canonical_order(sorted({*known, *names})))
        place = {name: i for i, name in enumerate(everything)}
    else:
        everything = unique_names(classes, len(classes), "class", ClassesError)
        place = class_places(everything)
    for name in (*names, *known):
        if name not in place:
            raise UnknownLabelError(
                "{label!r} is none of the {n_classes} classes that were named. "
                "Add it to `classes`, or leave `classes` out.",
                label=name,
                n_classes=len(everything),
            )
    are_apart = {place[name] for name in known}.isdisjoint(place[name] for name in names)
    if known and are_apart and not may_be_all_wrong:
        raise UnknownLabelError(
            "No label is ever predicted: labels such as {label!r}, predictions such as "
            "{prediction!r}. Write both in the same way.",
            label=known[0],
            prediction=names[0],
        )
    codes = np.array([place[name] for name in names], dtype=np.int32)
    predictions = codes[positions.reshape(array.shape)]
    if gold is None:
        return everything, predictions, None
    labels = [UNLABELED if name is None else place[name] for name in gold_names]
    return everything, predictions, np.array(labels, dtype=np.int32)
