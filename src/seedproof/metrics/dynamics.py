"""Figures of one run over its steps: entropy of its labels, and the map of its examples.

Counts are sparse: `offsets` says where the classes of each example begin and end, as in a ragged
array, and a class that was never predicted takes no place.
"""

from typing import NamedTuple

import numpy as np

from seedproof.typing import FloatArray, IntArray

# Figures of a store whose runs were traced over their steps.
DYNAMICS_NAMES = ("single_run_entropy",)


def step_entropy(counts: IntArray, offsets: IntArray) -> FloatArray:
    """Return the entropy of the labels that one run gives to each example, in nats: LE_s.

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


class Cartography(NamedTuple):
    """Positions of examples on the map of their data set (Swayamdipta et al., 2020).

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
    """Return the share of the steps at which the gold label was predicted.

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
