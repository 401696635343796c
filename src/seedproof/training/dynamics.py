"""`sp.Dynamics`: records what one run predicts during its training, per example."""

from collections.abc import Mapping, Sequence
from enum import IntEnum
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
from seedproof.metrics.dynamics import Cartography, correctness, step_entropy
from seedproof.records.arrow import to_arrow
from seedproof.records.checks import check_classes, check_probs, sum_tolerance
from seedproof.records.dynamics import DynamicsRecord
from seedproof.records.normalize import (
    as_ids,
    as_labels,
    canonical_rows,
    class_names,
    column,
    label_indices,
)
from seedproof.records.probabilities import UNLABELED, most_probable
from seedproof.records.schema import digest, ids_digest
from seedproof.records.shards import canonical_order
from seedproof.training.dynamics_counts import GoldMoments, PairCounts
from seedproof.training.logbook import as_array
from seedproof.typing import FloatArray, IntArray, is_count


class _Given(IntEnum):
    """Kind of values that updates hold."""

    NOTHING = 0
    PROBS = 1
    PREDICTIONS = 2


class Dynamics:
    """Recorder of how often each class is predicted for each example during a training.

    Counts are exact. Memory grows with the pairs of example and class that occur, not with examples
    times classes. With probabilities and labels, it also records the mean and the standard
    deviation of the gold label's probability.

    Args:
        n_classes: Number of classes.
        ids: Id of each example, the same in every run. If omitted, its position in the labels.
        labels: Gold class of each example, as index or name; negative or None if unknown.
        classes: Names of the classes. If omitted, their indices.

    Examples:
        >>> import seedproof as sp
        >>> dynamics = sp.Dynamics(2, labels=[0, 1, 1])
        >>> dynamics.update([0, 1, 0])
        >>> dynamics.update([0, 1, 1])
        >>> dynamics.n_updates
        2
    """

    def __init__(
        self,
        n_classes: int,
        *,
        ids: npt.ArrayLike | None = None,
        labels: npt.ArrayLike | None = None,
        classes: Sequence[str] | None = None,
    ) -> None:
        self._examples = _Examples(n_classes, ids=ids, labels=labels, classes=classes)
        self._given = _Given.NOTHING
        self._n_updates = 0
        self._counts = PairCounts(n_classes)
        self._gold = GoldMoments(len(self._examples))

    @property
    def n_updates(self) -> int:
        """Number of updates so far."""
        return self._n_updates

    @property
    def nbytes(self) -> int:
        """Size of counts and means in bytes."""
        return self._counts.nbytes + self._gold.nbytes

    def update(self, values: npt.ArrayLike, *, rows: npt.ArrayLike | None = None) -> None:
        """Count the model's current predictions.

        Call it after every k-th optimizer step with all examples, or at each step with the
        predictions of the training batch. An error changes nothing.

        Args:
            values: Probabilities (examples, classes), or predicted class indices (examples); arrays
                or tensors of torch, and the same kind at every update.
            rows: Positions of these examples among all. If omitted, all of them in order. A
                position that occurs several times is counted several times.
        """
        given: npt.NDArray[Any] = as_array(values)
        kind = self._kind_of(given)
        chosen = self._examples.as_rows(rows, len(given))

        def where(row: int) -> Message:
            return self._examples.name(int(chosen[row]))

        gold = np.full(len(given), np.nan)
        if kind is _Given.PROBS:
            check_probs(given, where, tolerance=sum_tolerance(values))
            labels = self._examples.labels[chosen]
            labeled = np.flatnonzero(labels != UNLABELED)
            gold[labeled] = given[labeled, labels[labeled]]
            given = most_probable(given)
        check_classes(given, self._counts.n_classes, where)
        if not len(given):
            return
        self._given = kind
        self._n_updates += 1
        self._counts.add(chosen, given)
        self._gold.add(chosen, gold)

    def merge(self, other: "Dynamics") -> None:
        """Add the counts of another recorder of the same examples, such as that of another rank.

        Counts are added exactly; means and standard deviations are pooled.

        Args:
            other: A recorder, which is not changed.

        Raises:
            InputError: It has different examples or classes.
        """
        state = (other._examples, other._counts, other._gold, other._given)  # noqa: SLF001 - same class
        examples, counts, gold, given = state
        if examples.digest != self._examples.digest:
            raise InputError(
                "The two recorders differ in examples, labels, classes or their order. "
                "Create both with the same arguments."
            )
        if not other.n_updates:
            return
        self._check_given(given)
        self._given = given
        self._n_updates += other.n_updates
        self._counts.merge(counts)
        self._gold.merge(gold)

    def state_dict(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return everything needed to continue later.

        Returns:
            Plain arrays, which `np.savez` and `torch.save` can write.
        """
        keys, counts = self._counts.pairs()
        return {
            "examples": np.frombuffer(self._examples.digest, dtype=np.uint8).copy(),
            "given": np.array(self._given, dtype=np.int64),
            "n_updates": np.array(self._n_updates, dtype=np.int64),
            "keys": keys.copy(),
            "counts": counts.copy(),
            "n_steps": self._gold.n_steps.copy(),
            "gold_mean": self._gold.mean.copy(),
            "gold_squares": self._gold.squares.copy(),
        }

    def load_state_dict(self, state: Mapping[str, npt.ArrayLike]) -> None:
        """Replace all counts by a state, to continue from there.

        Args:
            state: Result of `state_dict` for the same examples and classes; arrays, or tensors.

        Raises:
            InputError: The state is incomplete, or of different examples.
        """
        names = list(self.state_dict())
        missing = [name for name in names if name not in state]
        if missing:
            raise InputError(
                "This is not a state of a recorder of dynamics: {missing} is missing. "
                "Pass what state_dict() returned.",
                missing=tuple(missing),
            )
        # Copies, as the state may be loaded again.
        arrays = {name: np.array(as_array(state[name])) for name in names}
        if arrays["examples"].tobytes() != self._examples.digest:
            raise InputError(
                "The state has different examples, labels, classes or another order. "
                "Create the recorder with the same arguments as the first.",
                key="examples",
            )
        self._given = _Given(int(arrays["given"]))
        self._n_updates = int(arrays["n_updates"])
        self._counts.replace(arrays["keys"], arrays["counts"])
        self._gold.n_steps = arrays["n_steps"]
        self._gold.mean, self._gold.squares = arrays["gold_mean"], arrays["gold_squares"]

    def label_entropy(self) -> FloatArray:
        """Return the entropy of the predictions for each example so far, in nats: LE_s.

        Returns:
            One value per example, in the order of `ids`; NaN if it was not seen.
        """
        keys, counts = self._counts.pairs()
        return step_entropy(counts, self._offsets(keys))

    def cartography(self) -> Cartography:
        """Return confidence, variability and correctness per example, in the order of `ids`.

        Returns:
            NaN if the label is unknown or the example was not seen; confidence and variability
            also if predictions were given instead of probabilities.
        """
        keys, counts = self._counts.pairs()
        offsets, classes = self._offsets(keys), keys % self._counts.n_classes
        right = correctness(counts, classes, offsets, self._examples.labels)
        return Cartography(*self._gold.mean_and_sd(), right)

    def record(self) -> DynamicsRecord:
        """Return the record for a store, with examples and classes in canonical order.

        Returns:
            Counts and means so far.

        Raises:
            EmptyInputError: There was no update.
        """
        if not self._n_updates:
            raise EmptyInputError(
                "The recorder of dynamics has no predictions. Call update(…) in the training loop."
            )
        keys, counts = self._counts.pairs()
        n_classes = self._counts.n_classes
        row_order, class_order = self._examples.order, self._examples.class_order
        rows, classes = np.divmod(keys, n_classes)
        moved = _ranks(row_order)[rows] * n_classes + _ranks(class_order)[classes]
        pairs = np.argsort(moved)
        labels = np.append(_ranks(class_order), UNLABELED)[self._examples.labels]
        gold_mean, gold_sd = self._gold.mean_and_sd()
        return DynamicsRecord(
            ids=self._examples.ids.take(to_arrow(row_order)),
            labels=labels[row_order].astype(np.int32),
            n_steps=self._gold.n_steps[row_order],
            offsets=self._offsets(moved[pairs]),
            classes=(moved[pairs] % n_classes).astype(np.int32),
            counts=counts[pairs],
            gold_mean=gold_mean[row_order],
            gold_sd=gold_sd[row_order],
            class_names=tuple(self._examples.class_names[index] for index in class_order),
        )

    def _kind_of(self, values: npt.NDArray[np.generic]) -> _Given:
        """Return the kind of an update; refuse values that cannot be counted."""
        n_classes = self._counts.n_classes
        wanted = (
            "Pass probabilities (examples, {n_classes}) as floats, or predicted classes (examples) "
            "as integers."
        )
        if values.ndim not in {1, 2} or values.shape[1:] not in {(), (n_classes,)}:
            raise ShapeError(
                "An update has the shape {shape!s}. " + wanted,
                shape=values.shape,
                n_classes=n_classes,
            )
        kind = _Given.PROBS if values.ndim == 2 else _Given.PREDICTIONS
        if not np.issubdtype(values.dtype, np.floating if values.ndim == 2 else np.integer):
            raise DtypeError(
                "An update of shape {shape!s} has values of type {dtype}. " + wanted,
                shape=values.shape,
                dtype=str(values.dtype),
                n_classes=n_classes,
            )
        self._check_given(kind)
        return kind

    def _check_given(self, kind: _Given) -> None:
        if self._given not in {_Given.NOTHING, kind}:
            raise OptionError(
                "Some updates give {given}, and others {other}: the gold label's mean probability "
                "would cover only some of the steps. Pass the same kind at every update.",
                given=self._given.name.lower(),
                other=kind.name.lower(),
            )

    def _offsets(self, keys: IntArray) -> IntArray:
        """Return where the pairs of each example begin, and the end."""
        bounds = np.arange(len(self._examples) + 1) * self._counts.n_classes
        return np.searchsorted(keys, bounds)


def _ranks(order: IntArray) -> IntArray:
    """Return the position of each index in an order of them."""
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return ranks


class _Examples:
    """Examples and classes as the user gave them, and their order in the record."""

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
                "n_classes is {n_classes!r}. Pass a whole number of at least 2.",
                n_classes=n_classes,
            )
        ids, labels = _off_device(ids), _off_device(labels)
        given = labels if ids is None else ids
        if given is None:
            raise OptionError(
                "The number of examples is unknown. Pass ids=… or labels=…, such as "
                "ids=range(10_000).",
                needed=("ids", "labels"),
            )
        n_examples = column(given).size
        if not n_examples:
            raise EmptyInputError("There are no examples. Pass their ids.")
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
        """Index in the user's order of each class of the record."""
        place = {name: index for index, name in enumerate(self.class_names)}
        return np.array([place[name] for name in canonical_order(list(self.class_names))])

    @cached_property
    def digest(self) -> bytes:
        """Digest of examples and classes, in their order."""
        names = repr((str(self.ids.type), ids_digest(self.ids), self.class_names))
        return bytes.fromhex(digest(names.encode() + self.labels.astype("<i4").tobytes()))

    def name(self, row: int) -> Message:
        """Return the name of an example, for messages."""
        return Message("example", "Example {example!r}", example=self.ids[row].as_py())

    def as_rows(self, rows: npt.ArrayLike | None, n_values: int) -> IntArray:
        """Return the positions of the examples in an update."""
        if rows is None:
            if n_values != len(self):
                raise ShapeError(
                    "An update has {n_values} examples, but the recorder has {n_examples}. Pass "
                    "all of them in order, or their positions as rows=….",
                    n_values=n_values,
                    n_examples=len(self),
                )
            return np.arange(len(self))
        places = as_array(rows)
        if places.shape != (n_values,):
            raise ShapeError(
                "An update of {n_values} examples has rows of shape {shape!s}. "
                "Pass one position per example, shape ({n_values},).",
                n_values=n_values,
                shape=places.shape,
            )
        if n_values and not np.issubdtype(places.dtype, np.integer):
            raise DtypeError(
                "Rows are positions of examples, not {dtype}. Pass integers from 0 to {highest}.",
                dtype=str(places.dtype),
                highest=len(self) - 1,
            )
        positions = places.astype(np.int64)
        wrong = positions[(positions < 0) | (positions >= len(self))]
        if len(wrong):
            raise InputError(
                "There is no example at row {row}: the recorder has {n_examples}. Pass positions "
                "from 0 to {highest}, not ids.",
                row=int(wrong[0]),
                n_examples=len(self),
                highest=len(self) - 1,
            )
        return positions


def _off_device(values: Any) -> Any:  # noqa: ANN401 - arrays, tensors, lists
    """Return tensors as arrays; leave lists alone, as numpy turns NaN among texts into a text."""
    return as_array(values) if hasattr(values, "detach") else values
