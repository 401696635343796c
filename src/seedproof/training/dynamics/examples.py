"""Which examples a recorder of training dynamics follows: ids, gold labels, classes."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from seedproof.errors import (
    ClassesError,
    DtypeError,
    EmptyInputError,
    InputError,
    OptionError,
    ShapeError,
)
from seedproof.messages import Message
from seedproof.records.normalize import (
    as_ids,
    as_labels,
    canonical_rows,
    class_names,
    column,
    label_indices,
)
from seedproof.records.probabilities import UNLABELED
from seedproof.records.schema import digest, ids_digest
from seedproof.records.shards import canonical_order
from seedproof.training.logbook import as_array
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
        if not is_count(n_classes, 2):
            raise ClassesError(
                "n_classes is {n_classes!r}. Give a whole number of at least 2.",
                n_classes=n_classes,
            )
        ids, labels = _off_device(ids), _off_device(labels)
        given = labels if ids is None else ids
        if given is None:
            raise OptionError(
                "Nobody can tell how many examples there are. Give ids=…, or labels=…; "
                "ids=range(10_000) where they have neither.",
                needed=("ids", "labels"),
            )
        n_examples = column(given).size
        if not n_examples:
            raise EmptyInputError("There are no examples to follow. Give the ids of some.")
        self.class_names = class_names(classes, n_classes)
        self.ids = as_ids(ids, n_examples)
        self.labels = np.full(n_examples, UNLABELED, dtype=np.int32)
        if labels is not None:
            gold = as_labels(labels, n_examples)
            self.labels = label_indices(gold, self.class_names).astype(np.int32)
        self.order = canonical_rows(self.ids)

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

    def name(self, row: int) -> Message:
        """Return the name of an example, for messages."""
        return Message("example", "Example {example!r}", example=self.ids[row].as_py())

    def as_rows(self, rows: npt.ArrayLike | None, n_values: int) -> IntArray:
        """Positions of the examples that some values are of."""
        if rows is None:
            if n_values != len(self):
                raise ShapeError(
                    "An update has {n_values} examples, but {n_examples} are followed. Give all "
                    "of them in order, or say with rows=… which ones these are.",
                    n_values=n_values,
                    n_examples=len(self),
                )
            return np.arange(len(self))
        places = as_array(rows)
        if places.shape != (n_values,):
            raise ShapeError(
                "An update of {n_values} examples has rows of shape {shape!s}. "
                "Give one position an example, shape ({n_values},).",
                n_values=n_values,
                shape=places.shape,
            )
        if n_values and not np.issubdtype(places.dtype, np.integer):
            raise DtypeError(
                "Rows are positions of examples, not {dtype}. Give integers from 0 to {highest}.",
                dtype=str(places.dtype),
                highest=len(self) - 1,
            )
        positions = places.astype(np.int64)
        wrong = positions[(positions < 0) | (positions >= len(self))]
        if len(wrong):
            raise InputError(
                "There is no example at row {row}: {n_examples} examples are followed. Give "
                "positions from 0 to {highest}, not ids.",
                row=int(wrong[0]),
                n_examples=len(self),
                highest=len(self) - 1,
            )
        return positions


def _off_device(values: Any) -> Any:  # noqa: ANN401 - arrays, tensors, lists
    """Tensors as arrays, all else as it is: numpy would turn a list of texts and NaN into texts."""
    return as_array(values) if hasattr(values, "detach") else values
