"""How evenly are the answers of the runs spread over the classes? Label entropy."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import lgamma, log
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import Accumulator, Detail
from seedproof.metrics.batch import Batch
from seedproof.metrics.statistic import ExampleSums, ExampleValues, Statistic, ValueOnly
from seedproof.typing import FloatArray, IntArray

# 75 of 100 runs against 25 have entropy 0.562: the limit of the Findings 2023 paper.
HIGH_ENTROPY = 0.56
N_BINS = 20


def label_entropy(agreement: IntArray) -> ExampleValues:
    """Entropy of the labels that the runs give to each example, in nats.

    Plug-in: -sum_k (n_k/R) ln(n_k/R). It reads low with few runs, so never compare values from
    different numbers of runs; see `label_entropy_corrected`.

    Args:
        agreement: How many runs predict what this run predicts, axes (runs, examples).

    Returns:
        Entropies in [0, ln R]; exactly 0 where all runs agree.
    """
    return label_entropies(agreement)[0]


def entropies(agreement: IntArray) -> FloatArray:
    """`label_entropy` of each example, from all runs alone: (examples,)."""
    log_counts = _Tables.of(len(agreement)).share.take(agreement.astype(np.intp)).sum(axis=0)
    return _entropy(log_counts, len(agreement))


def label_entropies(agreement: IntArray) -> tuple[ExampleValues, ExampleValues]:
    """Both label entropies, `label_entropy` and `label_entropy_corrected`, in one pass.

    Args:
        agreement: How many runs predict what this run predicts, axes (runs, examples).

    Returns:
        Entropies of each example.
    """
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
    """Label entropy that fewer of the runs would show on average, in nats.

    Plug-in entropies grow with the number of runs; those of different numbers can be compared once
    both are brought to the smaller one.

    Args:
        agreement: How many runs predict what this run predicts, axes (runs, examples).
        n_drawn: How many of the runs are drawn; at most all of them.

    Returns:
        Entropies in [0, ln n_drawn]; exactly 0 where all runs agree.
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
    """Mean of x ln x over draws of some runs, x of them from a class with n = 0..R of all runs."""
    n = np.arange(n_runs + 1)[:, None]
    x = np.arange(1, n_drawn + 1)[None, :]
    ways = _log_choose(n, x) + _log_choose(n_runs - n, n_drawn - x)
    chance = np.exp(ways - _log_choose(n_runs, n_drawn))
    return np.asarray((chance * x * np.log(x)).sum(axis=1))


def _log_choose(n: IntArray | int, k: IntArray | int) -> FloatArray:
    """Logarithm of the number of ways to choose k of n; minus infinity where there are none."""
    n, k = np.broadcast_arrays(n, k)
    possible = (k >= 0) & (k <= n)
    kept = np.where(possible, k, 0)
    factorial = np.array([lgamma(i + 1) for i in range(int(n.max()) + 1)])
    ways = factorial[n] - factorial[kept] - factorial[n - kept]
    return np.where(possible, ways, -np.inf)


def label_entropy_corrected(agreement: IntArray) -> ExampleValues:
    """Label entropy without most of the bias of few runs: the jackknife.

    R·H - (R-1)·mean_r H(without r).

    Args:
        agreement: How many runs predict what this run predicts, axes (runs, examples).

    Returns:
        Entropies of at least 0; exactly 0 where all runs agree.
    """
    return label_entropies(agreement)[1]


def entropy_beyond(agreement_counts: IntArray, n_classes: int) -> float:
    """Mean entropy if runs without end were made, extrapolated from the runs there are.

    With T_k = the chance that a run's answer is met in none of k other runs, the entropy is
    sum over k ≥ 1 of T_k / k (Zhang 2012). R runs give T_1 to T_(R-1) without bias; beyond, they
    are continued by the power law through the last two. The entropy that seldom-met answers add is
    what the jackknife still misses. It is never more than the flip rate, T_1, allows.

    Args:
        agreement_counts: How many times n of the R runs agreed, n = 0..R, counted for each run and
            example.
        n_classes: How many classes there are.

    Returns:
        A mean entropy in nats, seldom below the truth.
    """
    n_runs = len(agreement_counts) - 1
    others = n_runs - np.arange(n_runs + 1)
    chance = agreement_counts / agreement_counts.sum()
    novel = np.ones(n_runs)
    met_by_none = np.ones(n_runs + 1)
    for k in range(1, n_runs):
        met_by_none *= np.maximum(others - k + 1, 0) / (n_runs - k)
        novel[k] = chance @ met_by_none
    seen = float((novel[1:] / np.arange(1, n_runs)).sum())
    last, before = novel[-1], novel[-2]
    if last <= 0.0:
        return seen
    limit = entropy_limit(float(novel[1]), n_classes)
    if last == before:
        return limit
    exponent = np.log(before / last) / np.log((n_runs - 1) / (n_runs - 2))
    rest = float(last * (n_runs - 1) ** exponent * _zeta(1 + float(exponent), n_runs))
    return min(seen + rest, limit)


def _zeta(s: float, n: int) -> float:
    """Sum of k^-s over all k ≥ n, for s > 1: ten terms, and the rest by Euler and Maclaurin."""
    start = n + 10
    head = sum(k**-s for k in range(n, start))
    term, rest = s * start ** (-s - 1), 0.0
    for i, bernoulli in enumerate((1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160)):
        rest += bernoulli * term
        term *= (s + 2 * i + 1) * (s + 2 * i + 2) / start**2
    return float(head + start ** (1 - s) / (s - 1) + start**-s / 2 + rest)


def entropy_limit(flip_rate: float, n_classes: int) -> float:
    """The largest mean entropy that a flip rate allows.

    One class with the probability p and all others alike have the largest entropy for their flip
    rate, 1 - p² - (1-p)²/(K-1); that entropy is concave in the flip rate, so the bound holds for
    means over examples as well.

    Args:
        flip_rate: Share of the pairs of runs that disagree.
        n_classes: How many classes there are.

    Returns:
        Nats, at most ln K.
    """
    if flip_rate >= 1 - 1 / n_classes:
        return float(np.log(n_classes))
    inside = 1 - n_classes * (1 - (1 - flip_rate) * (n_classes - 1))
    p = (1 + np.sqrt(max(inside, 0.0))) / n_classes
    others = 0.0 if p >= 1.0 else (1 - p) * log((n_classes - 1) / (1 - p))
    return float(others - p * log(p))


@dataclass(frozen=True)
class _Tables:
    """What a class with n of the runs adds, looked up at n = 0..R.

    With S = sum over classes of n ln n, the entropy is ln R - S/R, and leaving out runs changes S
    by table entries alone.

    Args:
        share: What each run of the class adds to S: ln n.
        step: What S loses if one run of the class is left out.
        second_step: What the sum of n·step(n) over the classes loses by that.
    """

    share: FloatArray
    step: FloatArray
    second_step: FloatArray

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
    # The smallest entropy that is not 0 is about ln(R)/R; below lies only rounding.
    entropy[entropy < 1e-9] = 0.0
    return np.asarray(entropy)


def entropy_edges(n_runs: int, n_classes: int) -> FloatArray:
    """Limits of the histogram's bins: up to the largest entropy, one of them at `HIGH_ENTROPY`."""
    top = _largest_entropy(n_runs, n_classes) or 1.0
    if top <= HIGH_ENTROPY:
        return np.linspace(0.0, top, N_BINS + 1)
    n_low = min(max(round(N_BINS * HIGH_ENTROPY / top), 1), N_BINS - 1)
    low = np.linspace(0.0, HIGH_ENTROPY, n_low + 1)
    return np.concatenate([low, np.linspace(HIGH_ENTROPY, top, N_BINS - n_low + 1)[1:]])


def _largest_entropy(n_runs: int, n_classes: int) -> float:
    """Entropy of the votes if they are spread as evenly as they can be."""
    votes = np.array([len(part) for part in np.array_split(np.arange(n_runs), n_classes)])
    shares = votes[votes > 0] / n_runs
    return float(-(shares * np.log(shares)).sum())


class Entropy(Accumulator):
    """Label entropy over runs."""

    figures: ClassVar[tuple[str, ...]] = (
        "label_entropy",
        "label_entropy_corrected",
        "high_entropy_share",
    )

    def __init__(self, n_runs: int, n_classes: int) -> None:
        super().__init__(n_runs, n_classes)
        self.edges = entropy_edges(n_runs, n_classes)
        self._plain = ExampleSums()
        self._corrected = ExampleSums()
        self._agreement_counts = np.zeros(n_runs + 1, dtype=np.int64)
        self._high = 0
        self._histogram = np.zeros(N_BINS, dtype=np.int64)

    def values(self, batch: Batch) -> Mapping[str, ExampleValues]:
        """Both entropies of each example."""
        plain, corrected = label_entropies(batch.contested_agreement)
        return {
            "label_entropy": batch.of_contested(plain),
            "label_entropy_corrected": batch.of_contested(corrected),
        }

    def add(self, batch: Batch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add a batch; return both entropies of each example."""
        agreement = batch.contested_agreement
        entropy, corrected = values["label_entropy"], values["label_entropy_corrected"]
        self._plain.update(entropy)
        self._corrected.update(corrected)
        n_zeros = entropy.n_zeros
        self._agreement_counts[-1] += n_zeros * batch.n_runs
        self._agreement_counts += np.bincount(
            agreement.ravel(), minlength=len(self._agreement_counts)
        )
        self._high += int((entropy.whole > HIGH_ENTROPY).sum())
        place = np.searchsorted(self.edges[1:-1], entropy.whole, side="right")
        self._histogram[0] += n_zeros
        self._histogram += np.bincount(place, minlength=N_BINS)
        return {
            "label_entropy": batch.over_contested(entropy.values),
            "label_entropy_corrected": batch.over_contested(corrected.values),
        }

    def result(self) -> Mapping[str, Statistic]:
        """Mean entropies and the share of high ones, over all examples so far."""
        largest = float(np.log(self.n_classes))
        corrected = self._corrected.mean_over_examples(largest=largest, is_count=True)
        if corrected.without is not None:
            beyond = entropy_beyond(self._agreement_counts, self.n_classes)
            corrected = replace(corrected, bias_left=beyond - corrected.value)
        largest = _largest_entropy(self.n_runs, self.n_classes)
        return {
            "label_entropy": self._plain.mean_over_examples(largest=largest, is_count=True),
            "label_entropy_corrected": corrected,
            "high_entropy_share": ValueOnly(self._high / self._plain.n_examples),
        }

    def detail(self) -> Detail:
        """How many examples have which entropy, and between which limits."""
        return {"entropy_histogram": self._histogram, "entropy_edges": self.edges}
