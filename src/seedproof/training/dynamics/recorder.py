"""A recorder of training dynamics: what one run predicts over its steps, example by example."""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from seedproof.errors import DtypeError, EmptyInputError, InputError, OptionError, ShapeError
from seedproof.messages import Message
from seedproof.metrics.dynamics import Cartography, correctness, mean_step_entropy, step_entropy
from seedproof.records.arrow import to_arrow
from seedproof.records.checks import (
    check_classes,
    check_probs,
    sum_tolerance,
)
from seedproof.records.dynamics import Curve, DynamicsRecord
from seedproof.records.predicted import most_probable
from seedproof.records.schema import UNLABELED
from seedproof.training.dynamics.examples import DynamicsExamples
from seedproof.training.dynamics.gold_moments import GoldMoments
from seedproof.training.dynamics.pair_counts import PairCounts
from seedproof.training.dynamics.thinned_curve import ThinnedCurve
from seedproof.training.logbook import as_array
from seedproof.typing import FloatArray, IntArray


class _Given(IntEnum):
    """What updates give."""

    NOTHING = 0
    PROBS = 1
    PREDICTIONS = 2


class Dynamics:
    """Counts how often each class is predicted for each example while a model is trained.

    Counts are exact, and take memory proportional to the pairs of example and class that were met,
    never examples times classes. Beside them are the mean and the standard deviation of the gold
    label's probability, where there are probabilities and labels.

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
        self._curve: ThinnedCurve | None = ThinnedCurve()

    @property
    def n_updates(self) -> int:
        """How many updates came so far."""
        return self._n_updates

    @property
    def nbytes(self) -> int:
        """Bytes that counts and means take: they grow with the pairs that were met."""
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
        if self._curve is not None and self._curve.wants(self._n_updates):
            self._curve.add(self._n_updates, self._mean_entropy())

    def merge(self, other: "Dynamics") -> None:
        """Add what another recorder of the same examples counted, such as that of another rank.

        Counts are added exactly; means and standard deviations are those of both together. The
        curve is dropped, for the updates of two recorders have no common order, unless only one of
        them saw any.

        Args:
            other: It stays as it is.

        Raises:
            InputError: It follows other examples or classes.
        """
        theirs = (other._examples, other._counts, other._gold, other._curve, other._given)  # noqa: SLF001 - of its own kind
        examples, counts, gold, curve, given = theirs
        if examples.digest != self._examples.digest:
            raise InputError(
                "The two recorders follow other examples, labels or classes, or the same in "
                "another order. Make both with the same arguments."
            )
        if not other.n_updates:
            return
        self._check_given(given)
        if self._n_updates or curve is None:
            self._curve = None
        else:
            self._curve = ThinnedCurve(curve.stride, curve.steps, curve.values)
        self._given = given
        self._n_updates += other.n_updates
        self._counts.merge(counts)
        self._gold.merge(gold)

    def state_dict(self) -> dict[str, npt.NDArray[np.generic]]:
        """Everything that is needed to go on later as if nothing had happened.

        Returns:
            Plain arrays, which `np.savez` and `torch.save` can write.
        """
        keys, counts = self._counts.pairs()
        # A stride of 0 stands for a curve that was dropped.
        curve = ThinnedCurve(0) if self._curve is None else self._curve
        return {
            "examples": np.frombuffer(self._examples.digest, dtype=np.uint8).copy(),
            "given": np.array(self._given, dtype=np.int64),
            "n_updates": np.array(self._n_updates, dtype=np.int64),
            "keys": keys.copy(),
            "counts": counts.copy(),
            "n_steps": self._gold.n_steps.copy(),
            "gold_mean": self._gold.mean.copy(),
            "gold_squares": self._gold.squares.copy(),
            "curve_stride": np.array(curve.stride, dtype=np.int64),
            "curve_steps": np.array(curve.steps, dtype=np.int64),
            "curve_values": np.array(curve.values, dtype=np.float64),
        }

    def load_state_dict(self, state: Mapping[str, npt.ArrayLike]) -> None:
        """Go on from a state, in place of what was counted so far.

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
        curve = (arrays[f"curve_{name}"].tolist() for name in ("stride", "steps", "values"))
        self._curve = ThinnedCurve(*curve) if arrays["curve_stride"] else None

    def label_entropy(self) -> FloatArray:
        """Entropy of the labels that each example got so far, in nats: LE_s.

        Returns:
            One for each example, in the order of `ids`; NaN where it was not seen.
        """
        keys, counts = self._counts.pairs()
        return step_entropy(counts, self._offsets(keys))

    def cartography(self) -> Cartography:
        """Confidence, variability and correctness of each example, in the order of `ids`.

        Returns:
            NaN where the label is unknown or the example was not seen; confidence and variability
            also where predictions were given in place of probabilities.
        """
        keys, counts = self._counts.pairs()
        offsets, classes = self._offsets(keys), keys % self._counts.n_classes
        right = correctness(counts, classes, offsets, self._examples.labels)
        return Cartography(*self._gold.mean_and_sd(), right)

    def record(self) -> DynamicsRecord:
        """What is kept of it in a store, with examples and classes in canonical order.

        Returns:
            Counts, means and the curve so far.

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
            curve=self._whole_curve(),
        )

    def _kind_of(self, values: npt.NDArray[np.generic]) -> _Given:
        """What an update gives, if it can be counted."""
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
        """Where the pairs of each example begin, and the end."""
        bounds = np.arange(len(self._examples) + 1) * self._counts.n_classes
        return np.searchsorted(keys, bounds)

    def _mean_entropy(self) -> float:
        keys, counts = self._counts.pairs()
        return mean_step_entropy(counts, self._offsets(keys))

    def _whole_curve(self) -> Curve | None:
        """The curve with the last update as its last point."""
        if self._curve is None:
            return None
        steps, values = tuple(self._curve.steps), tuple(self._curve.values)
        if not self._curve.wants(self._n_updates):
            steps, values = (*steps, self._n_updates), (*values, self._mean_entropy())
        return Curve(steps, values)


def _ranks(order: IntArray) -> IntArray:
    """Where each index is in an order of them."""
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return ranks
