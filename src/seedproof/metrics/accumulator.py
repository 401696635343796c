"""The seam every family of metrics fills: feed it batches, merge the parts, ask for the result."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy.typing as npt

from seedproof.metrics.batch import Batch
from seedproof.metrics.statistic import ExampleValues, Statistic

# Besides predictions: gold labels; the probability of a run's answer; all classes; or a few only.
Need: TypeAlias = Literal["labels", "confidence", "probs", "truncated"]
Detail: TypeAlias = Mapping[str, npt.NDArray[Any]]


class Accumulator(ABC):
    """A family of metrics that share their sufficient statistics.

    Its size never depends on the number of examples. Parts are merged in the order of the
    examples, so the result has the same bytes however the work was divided.

    Attributes whose names begin with an underscore are totals over examples: they are added up
    when parts are merged.

    Args:
        n_runs: Number of runs.
        n_classes: Number of classes.
    """

    figures: ClassVar[tuple[str, ...]]
    needs: ClassVar[frozenset[Need]] = frozenset()
    memory: ClassVar[str] = "runs"

    def __init__(self, n_runs: int, n_classes: int) -> None:
        self.n_runs = n_runs
        self.n_classes = n_classes

    def values(self, batch: Batch) -> Mapping[str, ExampleValues]:
        """Each figure that is a mean over examples, or the root of one, for single examples."""
        del batch
        return {}

    @abstractmethod
    def add(self, batch: Batch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add a batch, given its `values`; return columns with one value per example."""

    def update(self, batch: Batch) -> Detail:
        """Add a batch; return columns with one value per example."""
        return self.add(batch, self.values(batch))

    def merge(self, other: Self) -> None:
        """Add the examples of another part."""
        for name, total in vars(other).items():
            if name.startswith("_") and total is not None:
                vars(self)[name] = vars(self)[name] + total

    @abstractmethod
    def result(self) -> Mapping[str, Statistic]:
        """One statistic for each name in `figures`."""

    def detail(self) -> Detail:
        """Arrays behind the figures, for charts and tables: by run, by class, by bin."""
        return {}
