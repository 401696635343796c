"""Which examples a recorder of training dynamics follows: ids, gold labels, classes."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.errors import (
    ClassesError,
    DtypeError,
    DuplicateExampleError,
    EmptyInputError,
    InputError,
    OptionError,
    ShapeError,
    UnknownLabelError,
)
from seedproof.records.arrays import as_ids
from seedproof.records.schema import UNLABELED, digest, ids_digest
from seedproof.records.shards import canonical_order, is_integer
from seedproof.runs.logbook import as_array
from seedproof.typing import IntArray, is_count


class DynamicsExamples:
    """Examples and classes as a user gave them, and in which order they are recorded.

    Args:
        n_classes: How many classes there are.
        ids: Id of each example; its position without them.
        labels: Gold class of each example, as index or name; None, NaN or a negative number where
            it is unknown.
        classes: Names of the classes; their indices without them.

    Raises:
        OptionError: Neither ids nor labels say how many examples there are.
        EmptyInputError: There are none.
        DuplicateExampleError: An id comes twice.
    """

    def __init__(
        self,
        n_classes: int,
        *,
        ids: npt.ArrayLike | None,
        labels: npt.ArrayLike | None,
        classes: Sequence[str] | None,
    ) -> None:
        given = next((column for column in (ids, labels) if column is not None), None)
        if given is None:
            raise OptionError(
                "Nobody can tell how many examples there are. Give ids=…, or labels=…; "
                "ids=range(10_000) where they have neither."
            )
        n_examples = as_array(given).size
        if not n_examples:
            raise EmptyInputError("There are no examples to follow. Give the ids of some.")
        self.class_names = _class_names(classes, n_classes)
        self.ids: pa.Array = as_ids(None if ids is None else as_array(ids), n_examples)
        self.labels = np.full(n_examples, UNLABELED, dtype=np.int32)
        if labels is not None:
            self.labels = _label_indices(as_array(labels), self.class_names, n_examples)
        self.order = _canonical_rows(self.ids)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def class_order(self) -> IntArray:
        """Index in the user's order of each class of the record, which has names in order."""
        place = {name: index for index, name in enumerate(self.class_names)}
        return np.array([place[name] for name in canonical_order(list(self.class_names))])

    @cached_property
    def digest(self) -> bytes:
        """Equal for equal examples and classes, in equal order."""
        names = repr((str(self.ids.type), ids_digest(self.ids), self.class_names))
        return bytes.fromhex(digest(names.encode() + self.labels.astype("<i4").tobytes()))

    def name(self, row: int) -> str:
        """An example, for messages."""
        return f"Example {self.ids[row].as_py()!r}"

    def as_rows(self, rows: npt.ArrayLike | None, n_values: int) -> IntArray:
        """Positions of the examples that some values are of.

        Args:
            rows: As the user gave them; None for all examples in order.
            n_values: How many values there are.

        Returns:
            As many positions.

        Raises:
            ShapeError: There are not as many.
            DtypeError: They are no whole numbers.
            InputError: There is no example at one of them.
        """
        if rows is None:
            if n_values != len(self):
                raise ShapeError(
                    f"An update has {n_values} examples, but {len(self)} are followed. Give all "
                    "of them in order, or say with rows=… which ones these are."
                )
            return np.arange(len(self))
        places = as_array(rows)
        if places.shape != (n_values,):
            raise ShapeError(
                f"An update of {n_values} examples has rows of shape {places.shape}. "
                f"Give one position an example, shape ({n_values},)."
            )
        if n_values and not np.issubdtype(places.dtype, np.integer):
            raise DtypeError(
                f"Rows are positions of examples, not {places.dtype}. Give integers from 0 to "
                f"{len(self) - 1}."
            )
        positions = places.astype(np.int64)
        wrong = positions[(positions < 0) | (positions >= len(self))]
        if len(wrong):
            raise InputError(
                f"There is no example at row {wrong[0]}: {len(self)} examples are followed. Give "
                f"positions from 0 to {len(self) - 1}, not ids."
            )
        return positions


def _class_names(classes: Sequence[str] | None, n_classes: int) -> tuple[str, ...]:
    if not is_count(n_classes, 2):
        raise ClassesError(f"n_classes is {n_classes!r}. Give a whole number of at least 2.")
    names = tuple(map(str, range(n_classes) if classes is None else classes))
    if len(names) != n_classes or len(set(names)) != n_classes:
        raise ClassesError(
            f"{len(set(names))} different class names were given, and {n_classes} are needed. "
            "Give one name for each class."
        )
    return names


def _label_indices(
    labels: npt.NDArray[np.generic], names: tuple[str, ...], n_examples: int
) -> npt.NDArray[np.int32]:
    """Labels as class indices; numbers are names where some class has a number for its name."""
    if labels.shape != (n_examples,):
        raise ShapeError(
            f"Labels have shape {labels.shape}, but there are {n_examples} examples. "
            f"Give one label an example, shape ({n_examples},)."
        )
    places = {name: index for index, name in enumerate(names)}
    if not any(is_integer(name) for name in names):
        places |= {str(index): index for index in range(len(names))}
    if not np.issubdtype(labels.dtype, np.integer):
        labels = np.array([_as_text(label) for label in labels.tolist()], dtype=np.str_)
    values, inverse = np.unique(labels, return_inverse=True)
    found = [_place(str(value), places) for value in values.tolist()]
    return np.array(found, dtype=np.int32)[inverse]


def _as_text(label: object) -> str:
    """A label as it is written; whole floats lose their ".0", and what is missing is empty."""
    if label is None or label != label:  # noqa: PLR0124 - NaN
        return ""
    if isinstance(label, bool) or (isinstance(label, float) and label.is_integer()):
        label = int(label)
    return str(label)


def _place(label: str, places: dict[str, int]) -> int:
    if label in places:
        return places[label]
    if not label or (label[0] == "-" and is_integer(label)):
        return UNLABELED
    shown = ", ".join(list(places)[:5]) + (", …" if len(places) > 5 else "")
    raise UnknownLabelError(
        f"The label {label!r} is none of the classes ({shown}). "
        "Give class indices, or names that are in `classes`."
    )


def _canonical_rows(ids: pa.Array) -> IntArray:
    """Where each example of the record is among the user's."""
    order = pc.sort_indices(ids)
    ranked = ids.take(order)
    same = pc.equal(ranked[:-1], ranked[1:]).to_numpy(zero_copy_only=False)
    if same.any():
        twice = ranked[int(np.flatnonzero(same)[0])].as_py()
        raise DuplicateExampleError(f"The id {twice!r} comes twice. Give every example its own id.")
    return np.asarray(order.to_numpy())
