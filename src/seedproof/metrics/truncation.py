"""What do the classes outside of the top hide? Their probability, and the error it allows."""

from collections.abc import Mapping
from typing import ClassVar

from seedproof.metrics.accumulator import Detail, Need
from seedproof.metrics.batch import Batch
from seedproof.metrics.statistic import ExampleSums, ExampleValues, Statistic, ValueOnly
from seedproof.typing import FloatArray


def hidden_probability(hidden: FloatArray) -> ExampleValues:
    """Mean over runs of the probability outside of the top, for each example.

    Args:
        hidden: Probability of all classes that are not among the top, axes (runs, examples).

    Returns:
        Probabilities in [0, 1]; 0 where nothing is hidden.
    """
    n_runs = len(hidden)
    whole = hidden.sum(axis=0)
    without = whole - hidden if n_runs > 2 else None
    return ExampleValues(whole, without, whole_denominator=n_runs, without_denominator=n_runs - 1)


class Truncation:
    """What is not seen where the most probable classes alone were kept."""

    figures: ClassVar[tuple[str, ...]] = ("hidden_probability", "probability_sd_error")
    needs: ClassVar[frozenset[Need]] = frozenset({"truncated"})
    memory: ClassVar[str] = "runs"

    def __init__(self, n_runs: int, n_classes: int) -> None:
        del n_runs, n_classes
        self._hidden = ExampleSums()
        self._error = 0.0

    def values(self, batch: Batch) -> Mapping[str, ExampleValues]:
        """Hidden probability of each example."""
        hidden = batch.once("hidden_probability", lambda: hidden_probability(batch.hidden))
        return {"hidden_probability": hidden}

    def update(self, batch: Batch) -> Detail:
        """Add one batch; returns the largest error of each example's spread."""
        self._hidden.update(self.values(batch)["hidden_probability"])
        self._error += float(batch.reference_error.sum())
        return {"probability_sd_error": batch.reference_error}

    def merge(self, other: "Truncation") -> None:
        """Add the examples of another part."""
        self._hidden.merge(other._hidden)
        self._error += other._error

    def result(self) -> Mapping[str, Statistic]:
        """Hidden probability, and the bound on the error of the mean spread."""
        return {
            "hidden_probability": self._hidden.mean_over_examples(largest=1.0),
            "probability_sd_error": ValueOnly(self._error / self._hidden.n_examples),
        }

    def detail(self) -> Detail:
        """Nothing beyond the figures."""
        return {}
