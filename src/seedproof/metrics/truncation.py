"""What do the classes outside of the top hide? Their probability, and the error it allows."""

from collections.abc import Mapping
from typing import ClassVar

from seedproof.metrics.accumulator import Accumulator, Detail, Need
from seedproof.metrics.batch import Batch
from seedproof.metrics.statistic import (
    ExampleSums,
    ExampleValues,
    Statistic,
    ValueOnly,
    mean_over_runs,
)
from seedproof.typing import FloatArray


def hidden_probability(hidden: FloatArray) -> ExampleValues:
    """Mean over runs of the probability outside of the top, for each example.

    Args:
        hidden: Probability of all classes that are not among the top, axes (runs, examples).

    Returns:
        Probabilities in [0, 1]; 0 where nothing is hidden.
    """
    return mean_over_runs(hidden)


class Truncation(Accumulator):
    """What is not seen where the most probable classes alone were kept."""

    figures: ClassVar[tuple[str, ...]] = ("hidden_probability", "probability_sd_error")
    needs: ClassVar[frozenset[Need]] = frozenset({"truncated"})

    def __init__(self, n_runs: int, n_classes: int) -> None:
        super().__init__(n_runs, n_classes)
        self._hidden = ExampleSums()
        self._error = 0.0

    def values(self, batch: Batch) -> Mapping[str, ExampleValues]:
        """Hidden probability of each example."""
        return {"hidden_probability": hidden_probability(batch.hidden)}

    def add(self, batch: Batch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add a batch; return the largest error of each example's spread."""
        self._hidden.update(values["hidden_probability"])
        self._error += float(batch.reference_error.sum())
        return {"probability_sd_error": batch.reference_error}

    def result(self) -> Mapping[str, Statistic]:
        """Hidden probability, and the bound on the error of the mean spread."""
        return {
            "hidden_probability": self._hidden.mean_over_examples(largest=1.0),
            "probability_sd_error": ValueOnly(self._error / self._hidden.n_examples),
        }
