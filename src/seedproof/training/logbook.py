"""Log of a run: predictions, explanations, dynamics and scalars, and how they are written."""

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from seedproof.errors import DtypeError, EmptyInputError, InputError, OptionError, ShapeError
from seedproof.records.arrays import RunRows
from seedproof.records.checks import SUM_TOLERANCE, sum_tolerance
from seedproof.records.dynamics import DynamicsRecord, write_dynamics
from seedproof.records.explanations import write_explanations
from seedproof.records.item_arrays import ItemRows
from seedproof.records.items import NO_ITEM
from seedproof.records.location import Location
from seedproof.records.manifest import RecordedFile
from seedproof.records.number_arrays import NumberRows
from seedproof.records.schema import Kind
from seedproof.records.text_arrays import TextRows
from seedproof.records.writer import PredictionsWriter

# Larger splits are written batch by batch, so their ids must ascend.
BUFFER_BYTES = 256 * 2**20

# Number of axes by kind of predictions, and what the axes are.
KINDS = {
    "probs": (2, "probs need two axes, (examples, classes)"),
    "predictions": (1, "predictions need one axis, one class per example"),
    "top_probs": (2, "probs need two axes, (examples, classes)"),
    "values": (1, "values need one axis, one number per example"),
    "texts": (1, "texts need one axis, one text per example"),
}
# Ranked lists and sets, with the column of the right items of each.
ITEM_KINDS = {"rankings": "relevant", "sets": "labels"}
# What may be logged along with each kind; labels and classes with all others.
GOES_WITH = {
    "values": ("targets",),
    "rankings": ("relevant", "classes"),
    "sets": ("labels", "classes"),
    "texts": ("references", "equivalent"),
}
GOLD = {"labels", "classes", *(name for names in GOES_WITH.values() for name in names)}

# Predictions of a batch: `values`, and if given `ids`, `labels`, `targets` and `top_classes`.
_Columns: TypeAlias = dict[str, npt.NDArray[np.generic]]


class Logbook:
    """Predictions, explanations, dynamics and scalars of one run.

    Without a folder, everything is checked and dropped: at once, or in `write`.
    """

    def __init__(self, run: str, folder: Location | None, *, checks_at_once: bool = False) -> None:
        self._checks_at_once = checks_at_once
        self.scalars: dict[str, float] = {}
        self._run = run
        self._folder = folder
        self._predictions: dict[str, _SplitLog] = {}
        self._explanations: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self._dynamics: dict[str, DynamicsRecord] = {}

    @property
    def is_empty(self) -> bool:
        """True if nothing has been logged."""
        return not (self.scalars or self._predictions or self._explanations or self._dynamics)

    def add_scalar(self, name: str, value: Any) -> None:  # noqa: ANN401 - tensors, too
        """Log a number."""
        array = np.asarray(as_array(value))
        if array.size != 1 or not np.issubdtype(array.dtype, np.number):
            raise DtypeError(
                "The scalar {scalar!r} is {given!r}. Pass one number.", scalar=name, given=value
            )
        number = float(array.reshape(())[()])
        if not math.isfinite(number):
            # JSON cannot hold it, and it would spoil the mean over runs.
            raise InputError(
                "The scalar {scalar!r} is {given!r}. Pass a finite number.",
                scalar=name,
                given=value,
            )
        self.scalars[name] = number

    def add_predictions(
        self,
        split: str,
        *,
        classes: Sequence[str] | None = None,
        **given: npt.ArrayLike | None,
    ) -> None:
        """Log predictions for some examples, with the columns of `Run.log_predictions`."""
        _check_name(split, "split")
        columns = {name: values for name, values in given.items() if values is not None}
        names = None if classes is None else tuple(map(str, classes))
        kind = _kind_of({*columns} if names is None else {*columns, "classes"})
        values = columns.pop(kind)
        is_listed = kind in ITEM_KINDS or kind == "texts"
        arrays = {"values": as_objects(values) if is_listed else as_array(values)}
        if kind in ITEM_KINDS and (right := columns.pop(ITEM_KINDS[kind], None)) is not None:
            arrays["right"] = as_objects(right)
        for name in columns.keys() & {*GOES_WITH["texts"]}:
            arrays[name] = as_objects(columns.pop(name))
        if kind == "values" and arrays["values"].dtype.kind in "iub":
            arrays["values"] = arrays["values"].astype(np.float64)
        if kind in KINDS:
            _check_axes(arrays["values"], kind)
        arrays |= {name: as_array(column) for name, column in columns.items()}
        if split not in self._predictions:
            self._predictions[split] = _SplitLog(
                self._run, self._folder, split, checks_at_once=self._checks_at_once
            )
        tolerance = SUM_TOLERANCE if is_listed else sum_tolerance(values)
        self._predictions[split].add(kind, arrays, names, tolerance)

    def add_explanations(
        self,
        split: str,
        method: str,
        *,
        ids: npt.ArrayLike,
        tokens: Sequence[Sequence[str]],
        scores: Sequence[npt.ArrayLike],
        draw: int,
    ) -> None:
        """Log explanations of some examples."""
        _check_name(split, "split")
        _check_name(method, "method")
        names = np.asarray(as_array(ids)).tolist()
        weights = [np.asarray(as_array(row), dtype=np.float32) for row in scores]
        if not len(names) == len(tokens) == len(weights):
            raise ShapeError(
                "There are {n_ids} ids, {n_tokens} lists of tokens and {n_scores} "
                "lists of scores. Pass one of each per example.",
                n_ids=len(names),
                n_tokens=len(tokens),
                n_scores=len(weights),
            )
        rows = self._explanations.setdefault((split, method), [])
        for example, words, weight in zip(names, tokens, weights, strict=True):
            if weight.shape != (len(words),):
                raise ShapeError(
                    "Example {example!r} has {n_tokens} tokens and scores of shape "
                    "{shape!s}. Pass one score per token.",
                    example=example,
                    n_tokens=len(words),
                    shape=weight.shape,
                )
            rows.append({"example": example, "tokens": list(words), "scores": weight, "draw": draw})

    def add_dynamics(self, split: str, record: DynamicsRecord) -> None:
        """Log the predictions during the training."""
        _check_name(split, "split")
        if split in self._dynamics:
            raise OptionError(
                "Dynamics of the split {split!r} are already logged. Log them once, after the "
                "training; combine several recorders with merge(…).",
                split=split,
            )
        self._dynamics[split] = record

    def write(self) -> tuple[RecordedFile, ...]:
        """Write everything that was logged; return the files, for the manifest."""
        files = [file for log in self._predictions.values() for file in log.write()]
        if self._folder is not None:
            for (split, method), rows in self._explanations.items():
                files.append(write_explanations(self._folder, split, method, rows))
            for split, record in self._dynamics.items():
                files.append(write_dynamics(self._folder, split, record))
        return tuple(files)


def _kind_of(given: set[str]) -> str:
    """Return the kind of predictions, from the names of the columns that were given."""
    for name, other in (("top_classes", "top_probs"), ("top_probs", "top_classes")):
        if name in given and other not in given:
            raise OptionError("top_classes and top_probs go together. Pass both.", missing=other)
    kinds = [name for name in (*KINDS, *ITEM_KINDS) if name in given]
    if len(kinds) != 1:
        raise OptionError(
            "Pass exactly one of probs, predictions, top_classes with top_probs, values, "
            "rankings, sets, or texts.",
            given=tuple(kinds),
        )
    kind = kinds[0]
    for name in given & GOLD:
        if name not in GOES_WITH.get(kind, ("labels", "classes")):
            raise OptionError(
                "`{option}` does not go with {kind}. Classes and sets have `labels`, numbers "
                "`targets`, rankings `relevant`, and texts `references`.",
                option=name,
                kind=kind,
            )
    return kind


class _SplitLog:
    """Predictions on one split: buffered until the end if they fit, else written in batches."""

    def __init__(
        self, run: str, folder: Location | None, split: str, *, checks_at_once: bool
    ) -> None:
        self._checks_at_once = checks_at_once
        self._run = run
        self._folder = folder
        self._split = split
        self._shape: dict[str, Any] = {}
        self._tolerance = SUM_TOLERANCE
        self._batches: list[_Columns] = []
        self._n_bytes = 0
        self._n_rows = 0
        self._writer: PredictionsWriter | None = None
        self._has_text_ids: bool | None = None

    def add(
        self, kind: str, columns: _Columns, classes: tuple[str, ...] | None, tolerance: float
    ) -> None:
        """Log one batch."""
        values, top_classes = columns["values"], columns.get("top_classes")
        self._check_alike(
            {
                "axes": values.ndim if kind in ITEM_KINDS else values.shape[1:],
                "kind": kind,
                "classes": classes,
                "labels": "labels" in columns,
                "targets": "targets" in columns,
                "right items": "right" in columns,
                "references": "references" in columns,
                "meanings": "equivalent" in columns,
                "ids": "ids" in columns,
                "precision": values.dtype if kind == "values" else values.dtype == np.float16,
            }
        )
        if top_classes is not None and top_classes.shape != values.shape:
            raise ShapeError(
                "top_classes of shape {shape!s} were logged with top_probs of shape "
                "{other_shape!s}. Pass one probability for each class.",
                shape=top_classes.shape,
                other_shape=values.shape,
            )
        for name in columns.keys() & {"ids", "labels", "targets", "right", *GOES_WITH["texts"]}:
            shape = columns[name].shape[: 1 if name == "right" else None]
            if shape != (len(values),):
                raise ShapeError(
                    "{n_examples} examples were logged with {column} of shape {shape!s}. "
                    "Pass one per example, shape ({n_examples},).",
                    n_examples=len(values),
                    column=name,
                    shape=columns[name].shape,
                )
        positions = np.arange(self._n_rows, self._n_rows + len(values))
        # Copies: the caller may fill the same arrays with the next batch.
        copies = {name: column.copy() for name, column in columns.items()}
        self._batches.append({"ids": positions} | copies)
        self._n_rows += len(values)
        self._n_bytes += _size_of(values)
        self._tolerance = max(self._tolerance, tolerance)
        # All classes or items must be known before any can be written.
        is_whole = kind == "predictions" or kind in ITEM_KINDS
        if self._checks_at_once or (self._n_bytes > BUFFER_BYTES and not is_whole):
            self._flush(is_last=False)

    def _check_alike(self, shape: dict[str, Any]) -> None:
        self._shape = self._shape or shape
        for aspect, value in shape.items():
            if value != self._shape[aspect]:
                raise ShapeError(
                    "Batches of the split {split!r} differ in their {aspect}. "
                    "Log all batches alike.",
                    split=self._split,
                    aspect=aspect,
                )

    def write(self) -> tuple[RecordedFile, ...]:
        """Write what is buffered; return the files."""
        if self._n_rows == 0:
            raise EmptyInputError(
                "No example was logged for the split {split!r}.", split=self._split
            )
        self._flush(is_last=True)
        return () if self._writer is None else self._writer.close()

    def _flush(self, *, is_last: bool) -> None:
        batches, self._batches, self._n_bytes = self._batches, [], 0
        if not batches:
            return
        columns = {name: _joined([batch[name] for batch in batches]) for name in batches[0]}
        rows = self._rows(columns, is_last=is_last)
        layout = rows.layout
        self._has_text_ids = layout.text_ids if self._has_text_ids is None else self._has_text_ids
        if self._has_text_ids != layout.text_ids:
            raise InputError(
                "The ids of the split {split!r} are numbers in some batches and texts in others. "
                "Log all batches alike.",
                split=self._split,
            )
        if self._writer is None and self._folder is not None:
            self._writer = PredictionsWriter(
                self._folder,
                layout,
                run=self._run,
                rows_per_group=layout.rows_per_group,
                split=self._split,
                tolerance=self._tolerance,
            )
        for ids, gold, values in rows:
            if self._writer is not None:
                self._writer.write(ids, gold, values)

    def _rows(
        self, columns: _Columns, *, is_last: bool
    ) -> RunRows | NumberRows | ItemRows | TextRows:
        if self._shape["kind"] in ITEM_KINDS:
            return ItemRows(
                columns["values"],
                kind=Kind(self._shape["kind"]),
                run=self._run,
                ids=columns["ids"],
                right=columns.get("right"),
                names=self._shape["classes"],
            )
        if self._shape["kind"] == "texts":
            return TextRows(
                columns["values"],
                run=self._run,
                ids=columns["ids"],
                references=columns.get("references"),
                equivalent=columns.get("equivalent"),
            )
        if self._shape["kind"] == "values":
            return NumberRows(
                columns["values"],
                run=self._run,
                ids=columns["ids"],
                targets=columns.get("targets"),
                is_whole=is_last and self._writer is None,
            )
        return RunRows(
            columns["values"],
            run=self._run,
            ids=columns["ids"],
            labels=columns.get("labels"),
            classes=self._shape["classes"],
            top_classes=columns.get("top_classes"),
            tolerance=self._tolerance,
        )


def as_objects(values: Any) -> npt.NDArray[np.generic]:  # noqa: ANN401 - arrays, tensors, lists
    """Return an array of items or flags with two axes, or of one list or text per example."""
    if hasattr(values, "detach") or isinstance(values, np.ndarray):
        return as_array(values)
    lists = np.empty(len(values), dtype=object)
    for position, answer in enumerate(values):
        lists[position] = answer
    return lists


def _joined(batches: Sequence[npt.NDArray[np.generic]]) -> npt.NDArray[np.generic]:
    """Concatenate batches; lists of items are padded to the longest."""
    width = max(batch.shape[-1] for batch in batches) if batches[0].ndim == 2 else 0
    if all(batch.ndim < 2 or batch.shape[-1] == width for batch in batches):
        return np.concatenate(batches)
    fill: Any = "" if batches[0].dtype.kind in "UT" else NO_ITEM
    return np.concatenate(
        [
            np.pad(batch, ((0, 0), (0, width - batch.shape[1])), constant_values=fill)
            for batch in batches
        ]
    )


def _size_of(values: npt.NDArray[np.generic]) -> int:
    """Return the size of an array in bytes, about; that of texts by their signs."""
    if values.dtype == object:
        return sum(len(value) for value in values.tolist() if isinstance(value, str))
    return values.nbytes


def as_array(values: Any) -> npt.NDArray[np.generic]:  # noqa: ANN401 - arrays, tensors, lists
    """Return an array; tensors of torch are detached and moved to the CPU."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        if "bfloat16" in str(values.dtype):  # which numpy does not know
            values = values.float()
        return np.asarray(values)
    if isinstance(values, list | tuple) and any(value is None for value in values):
        return np.asarray(values, dtype=object)
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ShapeError(
            "The logged rows have different lengths. Pass one probability per class."
        ) from error


def _check_axes(values: npt.NDArray[np.generic], kind: str) -> None:
    n_axes, wanted = KINDS[kind]
    if values.ndim == n_axes:
        return
    is_binary = n_axes == 2 and values.ndim == 1
    tip = "; for a binary model give both classes: np.stack([1 - p, p], axis=-1)"
    raise ShapeError(
        f"An array of shape {{shape!s}} was logged, but {wanted}{tip if is_binary else ''}.",
        shape=values.shape,
        n_axes=n_axes,
        is_binary=is_binary,
    )


def _check_name(name: str, noun: str) -> None:
    if not name or not all(sign.isalnum() or sign in "-_.+" for sign in name) or name[0] == ".":
        raise OptionError(
            "{name!r} cannot be the name of a {noun}, because it becomes a folder. "
            "Use letters, digits, - and _.",
            name=name,
            noun=noun,
        )
