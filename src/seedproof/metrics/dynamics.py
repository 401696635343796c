"""Figures of one run over its steps: label entropy, and the coordinates of dataset cartography.

Counts say how often each class was predicted. They are sparse: classes that were never predicted
are left out, and those of example i are at `offsets[i]` up to `offsets[i + 1]`.
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
    of steps, so compare only examples with equally many. NaN where no step was recorded.
    """
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    n_steps = np.bincount(rows, weights=counts, minlength=len(offsets) - 1)
    shares = counts / n_steps[rows]
    entropy = np.bincount(rows, weights=-shares * np.log(shares), minlength=len(n_steps))
    return np.where(n_steps > 0, entropy, np.nan)


class Cartography(NamedTuple):
    """Coordinates of examples in dataset cartography (Swayamdipta et al., 2020)."""

    confidence: FloatArray  # mean over steps of the gold label's probability
    variability: FloatArray  # its standard deviation over steps, divided by N as published
    correctness: FloatArray  # share of the steps at which the gold label was predicted


def correctness(
    counts: IntArray, classes: IntArray, offsets: IntArray, labels: IntArray
) -> FloatArray:
    """Return the share of the steps at which the gold label was predicted, per example.

    `classes` are those of `counts`; `labels` are negative where unknown. NaN where the label is
    unknown or no step was recorded.
    """
    rows = np.repeat(np.arange(len(labels)), np.diff(offsets))
    n_steps = np.bincount(rows, weights=counts, minlength=len(labels))
    hits = np.where(classes == labels[rows], counts, 0)
    n_right = np.bincount(rows, weights=hits, minlength=len(labels))
    known = (n_steps > 0) & (labels >= 0)
    return np.where(known, n_right / np.maximum(n_steps, 1), np.nan)
