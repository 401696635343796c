"""What one run predicts over its steps: entropy of its labels, and the map of its examples.

Counts are sparse: `offsets` says where the classes of each example begin and end, as in a ragged
array, and a class that was never predicted takes no place.
"""

from typing import NamedTuple

import numpy as np

from seedproof.typing import FloatArray, IntArray

# What is measured of a store whose runs were traced over their steps.
DYNAMICS_NAMES: tuple[str, ...] = (
    "single_run_entropy",
    "single_run_pearson",
    "single_run_precision",
    "other_runs_pearson",
)


def step_entropy(counts: IntArray, offsets: IntArray) -> FloatArray:
    """Entropy of the labels that one run gives to each example over its steps, in nats: LE_s.

    Plug-in: -sum_k (n_k/N) ln(n_k/N), over N steps in place of N runs (Findings of ACL 2023,
    "Measuring and Mitigating Local Instability in Deep Neural Networks"). It grows with the number
    of steps, so compare only what was looked at equally often.

    Args:
        counts: How often each class was predicted, example by example.
        offsets: Where the counts of each example begin, and the end: (examples + 1).

    Returns:
        Entropies, axes (examples); exactly 0 where one class was predicted at every step, NaN
        where no step was seen.
    """
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    n_steps = np.bincount(rows, weights=counts, minlength=len(offsets) - 1)
    shares = counts / n_steps[rows]
    entropy = np.bincount(rows, weights=-shares * np.log(shares), minlength=len(n_steps))
    return np.where(n_steps > 0, entropy, np.nan)


def mean_step_entropy(counts: IntArray, offsets: IntArray) -> float:
    """Mean of `step_entropy` over the examples that were seen.

    Args:
        counts: How often each class was predicted, example by example.
        offsets: Where the counts of each example begin, and the end: (examples + 1).

    Returns:
        Nats; NaN if no example was seen.
    """
    seen = np.diff(offsets) > 0
    return float(step_entropy(counts, offsets)[seen].mean()) if seen.any() else float("nan")


class Cartography(NamedTuple):
    """Where each example lies on the map of its data set (Swayamdipta et al., 2020).

    Args:
        confidence: Mean over steps of the gold label's probability.
        variability: Its standard deviation over steps, divided by N as published.
        correctness: Share of the steps at which the gold label was predicted.
    """

    confidence: FloatArray
    variability: FloatArray
    correctness: FloatArray


def correctness(
    counts: IntArray, classes: IntArray, offsets: IntArray, labels: IntArray
) -> FloatArray:
    """Share of the steps at which the gold label was predicted.

    Args:
        counts: How often each class was predicted, example by example.
        classes: Which classes these are.
        offsets: Where the counts of each example begin, and the end: (examples + 1).
        labels: Gold class of each example, negative where unknown.

    Returns:
        Shares in [0, 1], axes (examples); NaN where the label is unknown or no step was seen.
    """
    rows = np.repeat(np.arange(len(labels)), np.diff(offsets))
    n_steps = np.bincount(rows, weights=counts, minlength=len(labels))
    hits = np.where(classes == labels[rows], counts, 0)
    n_right = np.bincount(rows, weights=hits, minlength=len(labels))
    known = (n_steps > 0) & (labels >= 0)
    return np.where(known, n_right / np.maximum(n_steps, 1), np.nan)


class Moments(NamedTuple):
    """Mean and spread of some numbers for each example.

    Args:
        n: How many numbers.
        mean: Their mean.
        squares: Sum of their squared distances from it.
    """

    n: IntArray
    mean: FloatArray
    squares: FloatArray

    @property
    def sd(self) -> FloatArray:
        """Standard deviation, divided by n; NaN where there are no numbers."""
        variance = self.squares / np.maximum(self.n, 1)
        return np.where(self.n > 0, np.sqrt(variance), np.nan)


def merged_moments(first: Moments, second: Moments) -> Moments:
    """Moments of two sets of numbers together, by the formula of Chan, Golub and LeVeque (1979).

    Args:
        first: Of one set.
        second: Of the other; of a single number it is Welford's step.

    Returns:
        Of both; equal to one of them, to the bit, where the other is empty.
    """
    n = first.n + second.n
    share = second.n / np.maximum(n, 1)
    apart = second.mean - first.mean
    return Moments(
        n,
        first.mean + apart * share,
        first.squares + second.squares + apart**2 * (first.n * share),
    )
