"""Label entropy: how evenly the predictions of the runs are spread over the classes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import lgamma
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import ClassFamily, Detail
from seedproof.metrics.batch import Batch
from seedproof.metrics.entropy_extrapolation import extrapolated_entropy
from seedproof.metrics.statistic import ExampleValues, Statistic, ValueOnly
from seedproof.typing import FloatArray, IntArray

# 75 of 100 runs against 25 have entropy 0.562: the limit of the Findings 2023 paper.
HIGH_ENTROPY = 0.56
N_BINS = 20


def label_entropy(agreement: IntArray) -> ExampleValues:
    """Return the entropy of the labels that the runs give to each example, in nats.

    Plug-in: -sum_k (n_k/R) ln(n_k/R). It is biased low with few runs, so never compare values from
    different numbers of runs; see `label_entropy_corrected`. `agreement` is `Batch.agreement`.
    """
    return label_entropies(agreement)[0]


def entropies(agreement: IntArray) -> FloatArray:
    """Return `label_entropy` of all runs per example, without leaving out runs."""
    log_counts = _Tables.of(len(agreement)).share.take(agreement.astype(np.intp)).sum(axis=0)
    return _entropy(log_counts, len(agreement))


def label_entropies(agreement: IntArray) -> tuple[ExampleValues, ExampleValues]:
    """Return `label_entropy` and `label_entropy_corrected` in one pass."""
    n_runs = len(agreement)
    tables, counts = _Tables.of(n_runs), agreement.astype(np.intp)
    log_counts = tables.share.take(counts).sum(axis=0)
    step = tables.step.take(counts)
    steps = step.sum(axis=0)
    whole = _entropy(log_counts, n_runs)
    corrected = _jackknifed(whole, log_counts, steps, n_runs)
    if n_runs == 2:
        return ExampleValues(whole, None), ExampleValues(corrected, None)
    log_counts_left = log_counts - step
    left = _entropy(log_counts_left, n_runs - 1)
    steps_left = steps - tables.second_step.take(counts)
    corrected_left = _jackknifed(left, log_counts_left, steps_left, n_runs - 1)
    return ExampleValues(whole, left), ExampleValues(corrected, corrected_left)


def rarefied_entropy(agreement: IntArray, n_drawn: int) -> ExampleValues:
    """Return the mean label entropy per example over all draws of `n_drawn` runs, in nats.

    Plug-in entropies grow with the number of runs; those of different numbers can be compared once
    both are rarefied to the smaller one.
    """
    n_runs = len(agreement)
    if n_drawn >= n_runs:
        return label_entropy(agreement)
    counts = np.maximum(np.arange(n_runs + 1), 1)
    drawn, drawn_left = _drawn(n_runs, n_drawn), _drawn(n_runs - 1, n_drawn)
    whole = _entropy((drawn / counts)[agreement].sum(axis=0), n_drawn)
    # With run r left out, its class has one run less.
    drawn_left = np.append(drawn_left, drawn_left[-1])
    left = (drawn_left / counts)[agreement].sum(axis=0) - np.diff(drawn_left, prepend=0.0)[
        agreement
    ]
    return ExampleValues(whole, _entropy(left, n_drawn))


@lru_cache(maxsize=32)
def _drawn(n_runs: int, n_drawn: int) -> FloatArray:
    """Return the mean of x ln x over draws, x of them from a class with n = 0..R of all runs."""
    n = np.arange(n_runs + 1)[:, None]
    x = np.arange(1, n_drawn + 1)[None, :]
    ways = _log_choose(n, x) + _log_choose(n_runs - n, n_drawn - x)
    chance = np.exp(ways - _log_choose(n_runs, n_drawn))
    return np.asarray((chance * x * np.log(x)).sum(axis=1))


def _log_choose(n: IntArray | int, k: IntArray | int) -> FloatArray:
    """Return ln(n choose k); minus infinity where k is impossible."""
    n, k = np.broadcast_arrays(n, k)
    possible = (k >= 0) & (k <= n)
    kept = np.where(possible, k, 0)
    factorial = np.array([lgamma(i + 1) for i in range(int(n.max()) + 1)])
    ways = factorial[n] - factorial[kept] - factorial[n - kept]
    return np.where(possible, ways, -np.inf)


def label_entropy_corrected(agreement: IntArray) -> ExampleValues:
    """Return the jackknifed label entropy: R·H - (R-1)·mean_r H(without r), at least 0.

    It has less of the bias of few runs. The mean over examples gets the rest from
    `extrapolated_entropy`, which needs all examples together.
    """
    return label_entropies(agreement)[1]


@dataclass(frozen=True)
class _Tables:
    """Contributions of a class with n = 0..R of the runs.

    With S = sum over classes of n ln n, the entropy is ln R - S/R, and leaving out runs changes S
    by table entries alone.
    """

    share: FloatArray  # added to S by each run of the class: ln n
    step: FloatArray  # lost by S if one run of the class is left out
    second_step: FloatArray  # lost by the sum of n·step(n) over the classes in that case

    @classmethod
    @lru_cache(maxsize=8)
    def of(cls, n_runs: int) -> "_Tables":
        counts = np.arange(n_runs + 1, dtype=np.float64)
        share = np.log(np.maximum(counts, 1.0))
        step = np.diff(counts * share, prepend=0.0)
        return cls(share, step, second_step=np.diff(counts * step, prepend=0.0))


def _jackknifed(
    whole: FloatArray, log_counts: FloatArray, steps: FloatArray, n_runs: int
) -> FloatArray:
    mean_without = _entropy(log_counts - steps / n_runs, n_runs - 1)
    return np.maximum(n_runs * whole - (n_runs - 1) * mean_without, 0.0)


def _entropy(log_counts: FloatArray, n_runs: int) -> FloatArray:
    entropy = np.log(n_runs) - log_counts / n_runs
    # The smallest entropy that is not 0 is about ln(R)/R; below there is only rounding.
    entropy[entropy < 1e-9] = 0.0
    return np.asarray(entropy)


def entropy_edges(n_runs: int, n_classes: int) -> FloatArray:
    """Return the limits of the histogram's bins, one of them at `HIGH_ENTROPY`."""
    # Two runs or more of two classes or more reach at least 0.637, above `HIGH_ENTROPY`.
    top = _largest_entropy(n_runs, n_classes) or 1.0
    n_low = min(max(round(N_BINS * HIGH_ENTROPY / top), 1), N_BINS - 1)
    low = np.linspace(0.0, HIGH_ENTROPY, n_low + 1)
    return np.concatenate([low, np.linspace(HIGH_ENTROPY, top, N_BINS - n_low + 1)[1:]])


def _largest_entropy(n_runs: int, n_classes: int) -> float:
    """Return the entropy of votes that are spread as evenly as possible."""
    votes = np.array([len(part) for part in np.array_split(np.arange(n_runs), n_classes)])
    shares = votes[votes > 0] / n_runs
    return float(-(shares * np.log(shares)).sum())


class Entropy(ClassFamily):
    """Label entropy over runs."""

    figures: ClassVar[tuple[str, ...]] = (
        "label_entropy",
        "label_entropy_corrected",
        "high_entropy_share",
    )

    def __init__(self, n_runs: int, n_classes: int) -> None:
        super().__init__(n_runs, n_classes)
        self.edges = entropy_edges(n_runs, n_classes)
        self._agreement_counts = np.zeros(n_runs + 1, dtype=np.int64)
        self._high = 0
        self._histogram = np.zeros(N_BINS, dtype=np.int64)

    def values(self, batch: Batch) -> Mapping[str, ExampleValues]:
        """Return both entropies per example."""
        both = map(batch.of_contested, label_entropies(batch.contested_agreement))
        return dict(zip(("label_entropy", "label_entropy_corrected"), both, strict=True))

    def add(self, batch: Batch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add a batch; return both entropies per example."""
        super().add(batch, values)
        entropy = values["label_entropy"]
        n_zeros = entropy.n_zeros
        self._agreement_counts[-1] += n_zeros * batch.n_runs
        self._agreement_counts += np.bincount(
            batch.contested_agreement.ravel(), minlength=len(self._agreement_counts)
        )
        self._high += int((entropy.whole > HIGH_ENTROPY).sum())
        place = np.searchsorted(self.edges[1:-1], entropy.whole, side="right")
        self._histogram[0] += n_zeros
        self._histogram += np.bincount(place, minlength=N_BINS)
        return {name: batch.over_contested(value.values) for name, value in values.items()}

    def result(self) -> Mapping[str, Statistic]:
        """Return the mean entropies and the share of high ones, over all examples so far."""
        plain, jackknifed = self.sums["label_entropy"], self.sums["label_entropy_corrected"]
        largest = float(np.log(self.n_classes))
        corrected = jackknifed.mean_over_examples(largest=largest, is_count=True)
        if corrected.without is not None:
            many_runs = extrapolated_entropy(self._agreement_counts, self.n_classes)
            corrected = replace(
                corrected,
                bias_left=many_runs.entropy - corrected.value,
                extrapolated=many_runs.beyond,
            )
        largest = _largest_entropy(self.n_runs, self.n_classes)
        return {
            "label_entropy": plain.mean_over_examples(largest=largest, is_count=True),
            "label_entropy_corrected": corrected,
            "high_entropy_share": ValueOnly(self._high / plain.n_examples),
        }

    def detail(self) -> Detail:
        """Return the histogram of the entropies and the limits of its bins."""
        return {"entropy_histogram": self._histogram, "entropy_edges": self.edges}
