"""The base class of all metric families: add batches, merge parts, read the result."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Literal, Protocol, Self, TypeAlias, TypeVar

import numpy.typing as npt

from seedproof.metrics.batch import Batch
from seedproof.metrics.statistic import ExampleSums, ExampleValues, Statistic
from seedproof.typing import BoolArray, FloatArray


class AnswerBatch(Protocol):
    """Answers of all runs for a few examples."""

    @property
    def n_examples(self) -> int:
        """Number of examples."""

    @property
    def is_labeled(self) -> BoolArray:
        """True for each example whose gold label or target is known: (examples)."""

    @property
    def weights(self) -> FloatArray | None:
        """Weight of each example: (examples); None if all count equally."""


BatchT = TypeVar("BatchT", bound=AnswerBatch)
# Inputs other than predictions: gold labels or targets; the probability of the predicted class; of
# all classes; of the top classes only.
Need: TypeAlias = Literal["labels", "confidence", "probs", "truncated"]
Detail: TypeAlias = Mapping[str, npt.NDArray[Any]]


class Accumulator(ABC, Generic[BatchT]):
    """A family of metrics that share their sufficient statistics.

    Its size never depends on the number of examples. Parts are merged in the order of the
    examples, so the result has the same bytes however the work was divided.

    `sums` holds the totals of `values`. Attributes whose names begin with an underscore are further
    totals over examples: they are added up when parts are merged.
    """

    figures: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[frozenset[Need]] = frozenset()
    memory: ClassVar[str] = "runs"

    def __init__(self, n_runs: int) -> None:
        self.n_runs = n_runs
        self.sums: defaultdict[str, ExampleSums] = defaultdict(ExampleSums)

    def values(self, batch: BatchT) -> Mapping[str, ExampleValues]:
        """Return each figure that is a mean over examples, or the root of one, per example."""
        del batch
        return {}

    def add(self, batch: BatchT, values: Mapping[str, ExampleValues]) -> Detail:
        """Add a batch, given its `values`; return columns with one value per example."""
        del batch
        for name, of_examples in values.items():
            self.sums[name].update(of_examples)
        return {}

    def update(self, batch: BatchT) -> Detail:
        """Add a batch; return columns with one value per example."""
        return self.add(batch, self.values(batch))

    def merge(self, other: Self) -> None:
        """Add the examples of another part."""
        for name, sums in other.sums.items():
            self.sums[name] += sums
        for name, total in vars(other).items():
            if name.startswith("_") and total is not None:
                vars(self)[name] = vars(self)[name] + total

    @abstractmethod
    def result(self) -> Mapping[str, Statistic]:
        """Return one statistic for each name in `figures`."""

    def detail(self) -> Detail:
        """Return the arrays behind the figures, for charts and tables: by run, class or bin."""
        return {}


class ClassFamily(Accumulator[Batch]):
    """A family of metrics of predicted classes."""

    def __init__(self, n_runs: int, n_classes: int) -> None:
        super().__init__(n_runs)
        self.n_classes = n_classes
