"""A recorder of training dynamics: what one run predicts over its steps, example by example."""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from seedproof.errors import DtypeError, EmptyInputError, InputError, OptionError, ShapeError
from seedproof.messages import Message
from seedproof.metrics.dynamics import Cartography, correctness, step_entropy
from seedproof.records.arrow import to_arrow
from seedproof.records.checks import (
    check_classes,
    check_probs,
    sum_tolerance,
)
from seedproof.records.dynamics import DynamicsRecord
from seedproof.records.probabilities import UNLABELED, most_probable
from seedproof.training.dynamics.counts import GoldMoments, PairCounts
from seedproof.training.dynamics.examples import DynamicsExamples
from seedproof.training.logbook import as_array
from seedproof.typing import FloatArray, IntArray


class _Given(IntEnum):
    """Kind of values that updates hold."""

    NOTHING = 0
    PROBS = 1
    PREDICTIONS = 2


class Dynamics:
    """Recorder of how often each class is predicted for each example while a model is trained.

    Counts are exact, and take memory proportional to the pairs of example and class that were met,
    never examples times classes. Where there are probabilities and labels, it also keeps the mean
    and the standard deviation of the gold label's probability.

    Args:
        n_classes: How many classes there are.
        ids: Id of each example, the same in every run; without them its position among the labels.
        labels: Gold class of each example, as index or name; negative or None where unknown.
        classes: Names of the classes; their indices without them.

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
        self._examples = DynamicsExamples(n_classes, ids=ids, labels=labels, classes=classes)
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
        """Size of counts and means in bytes: it grows with the pairs that were met."""
        return self._counts.nbytes + self._gold.nbytes

    def update(self, values: npt.ArrayLike, *, rows: npt.ArrayLike | None = None) -> None:
        """Count what the model predicts now.

        Call it after each optimizer step or after every k-th with all examples, or at each step
        with what the training batch computes anyway. What is refused changes nothing.

        Args:
            values: Probabilities (examples, classes), or predicted class indices (examples); arrays
                or tensors of torch, and the same kind at every update.
            rows: Positions of these examples among all; all of them in order without it. One that
                comes several times is counted several times.
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
        """Add what another recorder of the same examples counted, such as that of another rank.

        Counts are added exactly; means and standard deviations are those of both together.

        Args:
            other: It stays as it is.

        Raises:
            InputError: It follows other examples or classes.
        """
        theirs = (other._examples, other._counts, other._gold, other._given)  # noqa: SLF001 - of its own kind
        examples, counts, gold, given = theirs
        if examples.digest != self._examples.digest:
            raise InputError(
                "The two recorders follow other examples, labels or classes, or the same in "
                "another order. Make both with the same arguments."
            )
        if not other.n_updates:
            return
        self._check_given(given)
        self._given = given
        self._n_updates += other.n_updates
        self._counts.merge(counts)
        self._gold.merge(gold)

    def state_dict(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return everything needed to continue later as if without interruption.

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
        """Continue from a state, in place of what was counted so far.

        Args:
            state: What `state_dict` gave, for the same examples and classes; arrays, or tensors.

        Raises:
            InputError: It is no such state, or one of other examples.
        """
        names = list(self.state_dict())
        missing = [name for name in names if name not in state]
        if missing:
            raise InputError(
                "This is no state of a recorder of dynamics: {missing} is missing. "
                "Give what state_dict() returned.",
                missing=tuple(missing),
            )
        # Copies: the recorder goes on, and the state may be loaded again.
        arrays = {name: np.array(as_array(state[name])) for name in names}
        if arrays["examples"].tobytes() != self._examples.digest:
            raise InputError(
                "The state is of other examples, labels or classes, or of the same in another "
                "order. Make the recorder with the arguments of the first time.",
                key="examples",
            )
        self._given = _Given(int(arrays["given"]))
        self._n_updates = int(arrays["n_updates"])
        self._counts.replace(arrays["keys"], arrays["counts"])
        self._gold.n_steps = arrays["n_steps"]
        self._gold.mean, self._gold.squares = arrays["gold_mean"], arrays["gold_squares"]

    def label_entropy(self) -> FloatArray:
        """Return the entropy of the labels that each example got so far, in nats: LE_s.

        Returns:
            One for each example, in the order of `ids`; NaN where it was not seen.
        """
        keys, counts = self._counts.pairs()
        return step_entropy(counts, self._offsets(keys))

    def cartography(self) -> Cartography:
        """Return confidence, variability and correctness per example, in the order of `ids`.

        Returns:
            NaN where the label is unknown or the example was not seen; confidence and variability
            also where predictions were given in place of probabilities.
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
                "The recorder of dynamics saw no prediction. Call update(…) in the training loop."
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
        """Return what an update holds; refuse what cannot be counted."""
        n_classes = self._counts.n_classes
        wanted = (
            "Give probabilities (examples, {n_classes}) as floats, or predicted classes (examples) "
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
                "Some updates give {given}, and others {other}: "
                "the gold label's mean probability would be over some of the steps only. Give the "
                "same at every update.",
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
