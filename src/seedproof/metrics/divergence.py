"""Divergence between the distributions that two runs predict: KL and Jensen-Shannon."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import ClassFamily, Need
from seedproof.metrics.batch import Batch
from seedproof.metrics.statistic import ExampleValues, Statistic
from seedproof.typing import FloatArray

# Added to every probability before rows are renormalized: KL is infinite at an exact zero.
# 1e-10 is what the CoNLL 2019 authors used.
EPSILON = 1e-10


def smooth(probs: FloatArray) -> FloatArray:
    """Return probabilities without zeros that sum to one: `EPSILON` added, then renormalized."""
    raised = np.add(probs, EPSILON, dtype=np.float64)
    raised *= 1 / raised.sum(axis=-1)[..., np.newaxis]
    return raised


def divergences(probs: FloatArray) -> tuple[ExampleValues, ExampleValues]:
    """Return the KL and the Jensen-Shannon divergence between the runs per example, in nats.

    `probs` is smoothed and has the axes (runs, examples, classes). KL is the mean over all ordered
    pairs of runs, from sums over runs and not from pairs:
    [R·sum_a sum_k p_ak ln p_ak - sum_k (sum_a p_ak)(sum_b ln p_bk)] / (R(R-1)). JS is the
    generalized divergence of all runs, entropy of the mean less mean entropy, times R/(R-1), which
    removes its dependence on the number of runs; it is at most ln(classes)·R/(R-1).
    """
    n_runs = len(probs)
    logs = np.log(probs)
    own = np.einsum("rik,rik->ri", probs, logs)
    # Buffers are used again: new ones would be fetched from memory, page by page.
    prob_sum, log_sum, own_sum = probs.sum(axis=0), logs.sum(axis=0), own.sum(axis=0)
    cross = np.einsum("ik,ik->i", prob_sum, log_sum)
    kl = (n_runs * own_sum - cross) / (n_runs * (n_runs - 1))
    js = (own_sum - _sum_of_logs(prob_sum, n_runs)) / (n_runs - 1)
    kl, js = _without_rounding(kl), _without_rounding(js)
    if n_runs == 2:
        return ExampleValues(kl, None), ExampleValues(js, None)
    own_left = own_sum - own
    cross_left = np.add(cross, own, out=own)
    cross_left -= np.einsum("rik,ik->ri", probs, log_sum)
    cross_left -= np.einsum("rik,ik->ri", logs, prob_sum)
    kl_left = (n_runs - 1) * own_left
    kl_left -= cross_left
    kl_left /= (n_runs - 1) * (n_runs - 2)
    # Smoothed probabilities are at least 1e-10, so that what is left stays far above rounding.
    left = np.subtract(prob_sum, probs, out=logs)
    js_left = own_left - _sum_of_logs(left, n_runs - 1)
    js_left /= n_runs - 2
    return (
        ExampleValues(kl, _without_rounding(kl_left)),
        ExampleValues(js, _without_rounding(js_left)),
    )


def _sum_of_logs(prob_sum: FloatArray, n_runs: int) -> FloatArray:
    """Return R times the negative entropy of the mean of R runs, from their sum."""
    return np.asarray(
        np.einsum("...k,...k->...", prob_sum, np.log(prob_sum)) - n_runs * np.log(n_runs)
    )


def _without_rounding(values: FloatArray) -> FloatArray:
    # Divergences are differences of sums of order one: below 1e-13 there is only rounding.
    values[values < 1e-13] = 0.0
    return values


def predictive_kl(probs: FloatArray) -> ExampleValues:
    """Return the KL divergence alone; see `divergences`."""
    return divergences(probs)[0]


def predictive_js(probs: FloatArray) -> ExampleValues:
    """Return the Jensen-Shannon divergence alone; see `divergences`."""
    return divergences(probs)[1]


class Divergence(ClassFamily):
    """Divergences between predicted distributions; single examples get no column."""

    figures: ClassVar[tuple[str, ...]] = ("predictive_kl", "predictive_js")
    needs: ClassVar[frozenset[Need]] = frozenset({"probs"})

    def values(self, batch: Batch) -> Mapping[str, ExampleValues]:
        """Return both divergences per example."""
        if batch.probs is None:
            raise ValueError("divergences need probabilities")
        return dict(zip(self.figures, divergences(smooth(batch.probs)), strict=True))

    def result(self) -> Mapping[str, Statistic]:
        """Return the mean divergences over all examples so far."""
        largest_js = float(2 * np.log(self.n_classes))
        return {
            "predictive_kl": self.sums["predictive_kl"].mean_over_examples(),
            "predictive_js": self.sums["predictive_js"].mean_over_examples(largest=largest_js),
        }
