"""Runs that are in memory already, as shards."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seedproof.errors import (
    ClassesError,
    DtypeError,
    DuplicateExampleError,
    EmptyInputError,
    MissingValueError,
    ShapeError,
    TooFewRunsError,
    UnknownLabelError,
)
from seedproof.records.checks import HALF_SUM_TOLERANCE, SUM_TOLERANCE, check_probs
from seedproof.records.schema import UNLABELED, Kind, Layout
from seedproof.records.shards import Shard, canonical_order
from seedproof.typing import IntArray


class ArrayShards:
    """Arrays of all runs, cut into the shards that a store of them would have.

    Args:
        values: Probabilities (runs, examples, classes), or predicted classes (runs, examples) as
            integers or text.
        labels: Gold class of each example; negative, NaN or None where unknown.
        ids: Id of each example; its position without them.
        classes: Names of the classes; their indices without them.
        runs: Names of the runs; their positions without them.

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
    ) -> None:
        array = _as_array(values)
        self._tolerance = HALF_SUM_TOLERANCE if array.dtype == np.float16 else SUM_TOLERANCE
        gold = None if labels is None else _as_labels(labels, array.shape[1])
        if array.ndim == 3:
            self.kind = Kind.PROBS
            self._values = array
            self.classes = _class_names(classes, array.shape[2])
            self._labels = None if gold is None else _label_indices(gold, self.classes)
        else:
            self.kind = Kind.LABELS
            self.classes, self._values, self._labels = _encode(array, gold, classes)
        self.runs = _run_names(runs, len(array))
        self._ids = _as_ids(ids, array.shape[1])
        self._order = None if ids is None else _sorting(self._ids)
        self._rows = Layout(self.kind, self.classes).rows_per_group

    @property
    def n_examples(self) -> int:
        """Examples in all shards together."""
        return int(self._values.shape[1])

    @property
    def n_labeled(self) -> int:
        """How many of them have a gold label."""
        return 0 if self._labels is None else int((self._labels != UNLABELED).sum())

    @property
    def n_shards(self) -> int:
        """How many shards there are."""
        return -(-self.n_examples // self._rows)

    def shard(self, index: int) -> Shard:
        """Rows of one shard, checked."""
        rows = slice(index * self._rows, min((index + 1) * self._rows, self.n_examples))
        chosen: slice | IntArray = rows if self._order is None else self._order[rows]
        ids = self._ids[rows] if self._order is None else self._ids.take(pa.array(chosen))
        labels = None if self._labels is None else self._labels[chosen]
        if self.kind is Kind.LABELS:
            predictions = [values[chosen] for values in self._values]
            return Shard(index, ids, labels, probs=None, predictions=predictions)
        probs = [np.ascontiguousarray(values[chosen], dtype=np.float32) for values in self._values]
        for name, values in zip(self.runs, probs, strict=True):

            def where(row: int, name: str = name) -> str:
                return f"Example {ids[row].as_py()!r} of run {name!r}"

            check_probs(values, where, tolerance=self._tolerance)
        return Shard(index, ids, labels, probs=probs, predictions=None)


def _as_array(values: npt.ArrayLike | Sequence[npt.ArrayLike]) -> npt.NDArray[np.generic]:
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ShapeError(
            "The runs have different shapes. Give every run the same examples and classes, "
            "axes (runs, examples, classes)."
        ) from error
    if array.dtype == object and array.ndim == 2 and all(isinstance(v, str) for v in array.flat):
        array = array.astype(str)
    if array.dtype == object:
        raise DtypeError(
            "The values are Python objects of mixed types or lengths. Give probabilities as floats "
            "(runs, examples, classes), or predicted classes as integers or text (runs, examples)."
        )
    _check_axes(array)
    if len(array) < 2:
        raise TooFewRunsError(
            f"A flip needs two runs to disagree, but there is {len(array)} run. "
            "Give the predictions of at least 2 runs; axes are (runs, examples, classes)."
        )
    if array.shape[1] == 0:
        raise EmptyInputError("There are no examples. Axes are (runs, examples, classes).")
    return array


def _check_axes(array: npt.NDArray[np.generic]) -> None:
    is_float = np.issubdtype(array.dtype, np.floating)
    if array.ndim == 3 and is_float:
        return
    discrete = np.issubdtype(array.dtype, np.integer) or array.dtype.kind in "UTb"
    if array.ndim == 2 and discrete:
        return
    if array.ndim == 2 and is_float:
        raise ShapeError(
            f"Floats of shape {array.shape} have two axes. Probabilities need three, (runs, "
            "examples, classes); for a binary model give both classes: np.stack([1 - p, p], -1)."
        )
    if array.ndim == 3:
        raise DtypeError(
            f"Probabilities must be floats, not {array.dtype}. Predicted classes have two axes, "
            "(runs, examples)."
        )
    raise ShapeError(
        f"An array of shape {array.shape} and type {array.dtype} is neither probabilities (runs, "
        "examples, classes) nor predicted classes (runs, examples)."
    )


def _as_labels(labels: npt.ArrayLike, n_examples: int) -> npt.NDArray[np.generic]:
    gold = np.asarray(labels)
    if gold.shape != (n_examples,):
        raise ShapeError(
            f"Labels have shape {gold.shape}, but there are {n_examples} examples. "
            f"Give one label an example, shape ({n_examples},)."
        )
    return gold


def _text(values: npt.NDArray[np.generic]) -> list[str | None]:
    """Class names as text; whole floats lose their ".0", and what is missing becomes None."""

    def one(value: object) -> str | None:
        if value is None or (isinstance(value, float) and np.isnan(value)):
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool):
            value = int(value)
        return None if value == -1 else str(value)

    return [one(value) for value in values.tolist()]


def _class_names(classes: Sequence[str] | None, n_classes: int) -> tuple[str, ...]:
    if n_classes < 2:
        raise ClassesError(
            f"There is {n_classes} class. Probabilities need at least two: for a binary model give "
            "both, np.stack([1 - p, p], axis=-1)."
        )
    names = tuple(str(i) for i in range(n_classes)) if classes is None else tuple(map(str, classes))
    if len(names) != n_classes or len(set(names)) != n_classes:
        raise ClassesError(
            f"{len(set(names))} different class names were given for {n_classes} classes. "
            "Give one name for each."
        )
    return names


def _run_names(runs: Sequence[str] | None, n_runs: int) -> tuple[str, ...]:
    names = tuple(str(i) for i in range(n_runs)) if runs is None else tuple(map(str, runs))
    if len(names) != n_runs or len(set(names)) != n_runs:
        raise ShapeError(
            f"{len(set(names))} different run names were given for {n_runs} runs. "
            "Give one name for each."
        )
    return names


def _label_indices(gold: npt.NDArray[np.generic], classes: tuple[str, ...]) -> IntArray:
    if np.issubdtype(gold.dtype, np.integer) and classes == tuple(map(str, range(len(classes)))):
        indices = gold.astype(np.int64)
        if indices.max(initial=0) < len(classes):
            return np.where(indices < 0, UNLABELED, indices).astype(np.int32)
    place = {name: i for i, name in enumerate(classes)} | {None: UNLABELED}
    names = _text(gold)
    unknown = next((name for name in names if name not in place), None)
    if unknown is not None:
        shown = ", ".join(classes[:5]) + (", …" if len(classes) > 5 else "")
        raise UnknownLabelError(
            f"The label {unknown!r} is none of the {len(classes)} classes ({shown}). "
            "Labels are class indices, or names given with `classes`."
        )
    return np.array([place[name] for name in names], dtype=np.int32)


def _encode(
    array: npt.NDArray[np.generic],
    gold: npt.NDArray[np.generic] | None,
    classes: Sequence[str] | None,
) -> tuple[tuple[str, ...], IntArray, IntArray | None]:
    """Predicted classes as indices into the sorted class names."""
    found, positions = np.unique(array, return_inverse=True)
    names = [str(int(value) if isinstance(value, bool) else value) for value in found.tolist()]
    gold_names = [] if gold is None else _text(gold)
    known = {name for name in gold_names if name is not None}
    if classes is None:
        everything = tuple(canonical_order(sorted(known.union(names))))
    else:
        everything = tuple(map(str, classes))
        if all(name.isdigit() for name in names) and not set(names) <= set(everything):
            # Indices into the class names.
            names = [everything[int(n)] if int(n) < len(everything) else n for n in names]
            gold_names = [
                everything[int(n)] if n is not None and n.isdigit() and int(n) < len(everything)
                else n
                for n in gold_names
            ]  # fmt: skip
    place = {name: i for i, name in enumerate(everything)}
    for name in [*names, *(name for name in gold_names if name is not None)]:
        if name not in place:
            raise UnknownLabelError(
                f"{name!r} is none of the {len(everything)} classes that were named. "
                "Add it to `classes`, or leave `classes` out."
            )
    if known and known.isdisjoint(names):
        raise UnknownLabelError(
            f"No label is ever predicted: labels such as {min(known)!r}, predictions such as "
            f"{names[0]!r}. Write both in the same way."
        )
    codes = np.array([place[name] for name in names], dtype=np.int32)
    predictions = codes[positions.reshape(array.shape)]
    if gold is None:
        return everything, predictions, None
    labels = [UNLABELED if name is None else place[name] for name in gold_names]
    return everything, predictions, np.array(labels, dtype=np.int32)


def _as_ids(ids: npt.ArrayLike | None, n_examples: int) -> pa.Array:
    if ids is None:
        return pa.array(np.arange(n_examples, dtype=np.int64))
    given = np.asarray(ids)
    if given.shape != (n_examples,):
        raise ShapeError(
            f"Ids have shape {given.shape}, but there are {n_examples} examples. "
            f"Give one id an example, shape ({n_examples},)."
        )
    if np.issubdtype(given.dtype, np.integer):
        return pa.array(given.astype(np.int64))
    values = given.tolist()
    if any(value is None for value in values):
        raise MissingValueError("An id is missing. Give every example an id, or leave `ids` out.")
    return pa.array([str(value) for value in values], pa.string())


def _sorting(ids: pa.Array) -> IntArray:
    import pyarrow.compute as pc

    order = pc.sort_indices(ids)
    ranked = ids.take(order)
    same = pc.equal(ranked[:-1], ranked[1:]).to_numpy(zero_copy_only=False)
    if same.any():
        twice = ranked[int(np.flatnonzero(same)[0])].as_py()
        raise DuplicateExampleError(f"The id {twice!r} comes twice. Give every example its own id.")
    return np.asarray(order.to_numpy())
