"""The seam every family of metrics fills: feed it batches, merge the parts, ask for the result."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Protocol, Self, TypeAlias

import numpy.typing as npt

from seedproof.metrics.batch import Batch
from seedproof.metrics.statistic import ExampleValues, Statistic

# Beside predictions: gold labels; how probable a run thinks its answer; all classes; or a few only.
Need: TypeAlias = Literal["labels", "confidence", "probs", "truncated"]
Detail: TypeAlias = Mapping[str, npt.NDArray[Any]]


class Accumulator(Protocol):
    """A family of metrics that share their sufficient statistics.

    Its size never depends on the number of examples. Parts are merged in the order of the
    examples, so the result has the same bytes however the work was divided.
    """

    figures: ClassVar[tuple[str, ...]]
    needs: ClassVar[frozenset[Need]]
    memory: ClassVar[str]

    def __init__(self, n_runs: int, n_classes: int) -> None:
        """Start with no examples."""

    def values(self, batch: Batch) -> Mapping[str, ExampleValues]:
        """Each figure that is a mean over examples, or the root of one, for single examples.

        Computed once and kept with the batch.
        """

    def update(self, batch: Batch) -> Detail:
        """Add the examples of one batch; returns what is said of each, axes (examples)."""

    def merge(self, other: Self) -> None:
        """Add the examples of another part."""

    def result(self) -> Mapping[str, Statistic]:
        """One statistic for each name in `figures`."""

    def detail(self) -> Detail:
        """Arrays behind the figures, for charts and tables: by run, by class, by bin."""
