"""How far apart are the whole distributions that two runs predict? KL and Jensen-Shannon."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import Detail, Need
from seedproof.metrics.batch import Batch
from seedproof.metrics.statistic import ExampleSums, ExampleValues, Statistic
from seedproof.typing import FloatArray

# Added to every probability before rows are renormalized: KL is infinite at an exact zero.
# 1e-10 is what the CoNLL 2019 authors used.
EPSILON = 1e-10


def smooth(probs: FloatArray) -> FloatArray:
    """Probabilities without zeros that sum to one: `EPSILON` added, then renormalized."""
    raised = probs.astype(np.float64) + EPSILON
    raised /= raised.sum(axis=-1, keepdims=True)
    return raised


def predictive_kl(probs: FloatArray) -> ExampleValues:
    """Mean KL divergence over all ordered pairs of runs, in nats, for each example.

    From sums over runs, not from a loop over pairs:
    [R·sum_a sum_k p_ak ln p_ak - sum_k (sum_a p_ak)(sum_b ln p_bk)] / (R(R-1)).

    Args:
        probs: Smoothed probabilities, axes (runs, examples, classes); see `smooth`.

    Returns:
        Divergences of at least 0; 0 where all runs predict alike.
    """
    n_runs = len(probs)
    logs = np.log(probs)
    own = np.einsum("rik,rik->ri", probs, logs)
    prob_sum, log_sum = probs.sum(axis=0), logs.sum(axis=0)
    own_sum = own.sum(axis=0)
    cross = np.einsum("ik,ik->i", prob_sum, log_sum)
    whole = (n_runs * own_sum - cross) / (n_runs * (n_runs - 1))
    if n_runs == 2:
        return ExampleValues(_without_rounding(whole), None)
    cross_left = (
        cross
        - np.einsum("rik,ik->ri", probs, log_sum)
        - np.einsum("ik,rik->ri", prob_sum, logs)
        + own
    )
    without = ((n_runs - 1) * (own_sum - own) - cross_left) / ((n_runs - 1) * (n_runs - 2))
    return ExampleValues(_without_rounding(whole), _without_rounding(without))


def predictive_js(probs: FloatArray) -> ExampleValues:
    """Generalized Jensen-Shannon divergence of all runs, in nats, for each example.

    Entropy of the mean distribution less the mean entropy, times R/(R-1), which removes its
    dependence on the number of runs.

    Args:
        probs: Smoothed probabilities, axes (runs, examples, classes); see `smooth`.

    Returns:
        Divergences in [0, ln(classes)·R/(R-1)]; 0 where all runs predict alike.
    """
    n_runs = len(probs)
    entropy = -np.einsum("rik,rik->ri", probs, np.log(probs))
    total = probs.sum(axis=0)
    entropy_sum = entropy.sum(axis=0)
    mean = total / n_runs
    of_mean = -np.einsum("ik,ik->i", mean, np.log(mean))
    whole = _without_rounding(of_mean - entropy_sum / n_runs) * (n_runs / (n_runs - 1))
    if n_runs == 2:
        return ExampleValues(whole, None)
    # The subtraction may leave a rounding error below zero where a probability is tiny.
    mean_left = np.maximum((total - probs) / (n_runs - 1), EPSILON / 2)
    of_mean_left = -np.einsum("rik,rik->ri", mean_left, np.log(mean_left))
    gap = of_mean_left - (entropy_sum - entropy) / (n_runs - 1)
    return ExampleValues(whole, _without_rounding(gap) * ((n_runs - 1) / (n_runs - 2)))


def _without_rounding(values: FloatArray) -> FloatArray:
    """Divergences are differences of sums of order one: below 1e-13 lies only rounding."""
    return np.where(values < 1e-13, 0.0, values)


class Divergence:
    """Distances between predicted distributions."""

    figures: ClassVar[tuple[str, ...]] = ("predictive_kl", "predictive_js")
    needs: ClassVar[frozenset[Need]] = frozenset({"probs"})
    memory: ClassVar[str] = "runs"

    def __init__(self, n_runs: int, n_classes: int) -> None:
        del n_runs
        self._largest_js = float(2 * np.log(n_classes))
        self._kl = ExampleSums()
        self._js = ExampleSums()

    def update(self, batch: Batch) -> None:
        """Add the examples of one batch."""
        if batch.probs is None:
            raise ValueError("divergences need probabilities")
        probs = smooth(batch.probs)
        self._kl.update(predictive_kl(probs))
        self._js.update(predictive_js(probs))

    def merge(self, other: "Divergence") -> None:
        """Add the examples of another part."""
        self._kl.merge(other._kl)
        self._js.merge(other._js)

    def result(self) -> Mapping[str, Statistic]:
        """Mean divergences over all examples so far."""
        return {
            "predictive_kl": self._kl.mean_over_examples(),
            "predictive_js": self._js.mean_over_examples(largest=self._largest_js),
        }

    def detail(self) -> Detail:
        """Nothing beyond the figures."""
        return {}

    @staticmethod
    def columns(batch: Batch) -> Detail:
        """Nothing for the table of examples: the standard deviation says it more plainly."""
        del batch
        return {}
