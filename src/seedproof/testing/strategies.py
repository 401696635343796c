"""Hypothesis strategies for predictions and probabilities of several runs, with edge cases.

Half of the arrays are built by Hypothesis, number by number, and shrink well: constant, tied, with
exact zeros and ones. The other half come from a seeded generator and look like real predictions.
"""

from typing import Literal, TypeAlias

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from seedproof.metrics.batch import Batch
from seedproof.records.probabilities import UNLABELED
from seedproof.typing import FloatArray, IntArray

Known: TypeAlias = Literal["some", "all"]
Labels: TypeAlias = Literal["none"] | Known

MAX_RUNS = 8
MAX_EXAMPLES = 30
MAX_CLASSES = 6


def class_counts() -> st.SearchStrategy[int]:
    """Draw a number of classes, from 2 to 6."""
    return st.integers(2, MAX_CLASSES)


@st.composite
def predictions(
    draw: st.DrawFn,
    *,
    n_classes: int = 3,
    min_runs: int = 2,
    max_runs: int = MAX_RUNS,
    min_examples: int = 1,
    max_examples: int = MAX_EXAMPLES,
) -> IntArray:
    """Draw predicted classes of several runs, axes (runs, examples)."""
    n_runs = draw(st.integers(min_runs, max_runs))
    n_examples = draw(st.integers(min_examples, max_examples))
    return draw(_predictions((n_runs, n_examples), n_classes))


@st.composite
def probabilities(
    draw: st.DrawFn,
    *,
    n_classes: int = 3,
    min_runs: int = 2,
    max_runs: int = MAX_RUNS,
    min_examples: int = 1,
    max_examples: int = MAX_EXAMPLES,
) -> FloatArray:
    """Draw float64 or float32 distributions of several runs, axes (runs, examples, classes).

    They include exact zeros and ones, ties and identical runs; rows sum to one up to rounding.
    """
    n_runs = draw(st.integers(min_runs, max_runs))
    n_examples = draw(st.integers(min_examples, max_examples))
    return draw(_probabilities((n_runs, n_examples, n_classes)))


@st.composite
def labels(draw: st.DrawFn, *, n_examples: int, n_classes: int, known: Known = "all") -> IntArray:
    """Draw gold classes, axes (examples); with "some", any number but not all are `UNLABELED`."""
    gold = draw(arrays(np.int64, n_examples, elements=st.integers(0, n_classes - 1)))
    if known == "some":
        hidden = draw(arrays(np.bool_, n_examples))
        hidden[draw(st.integers(0, n_examples - 1))] = False
        gold[hidden] = UNLABELED
    return gold


@st.composite
def batches(
    draw: st.DrawFn,
    *,
    known: Labels | None = None,
    with_probs: bool | None = None,
    min_runs: int = 2,
    max_runs: int = MAX_RUNS,
    min_examples: int = 1,
    max_examples: int = MAX_EXAMPLES,
) -> Batch:
    """Draw batches of 2 to 6 classes, with or without labels and probabilities.

    With `known="some"`, at least one label is known. Options that are omitted are drawn.
    """
    n_classes = draw(class_counts())
    n_runs = draw(st.integers(min_runs, max_runs))
    n_examples = draw(st.integers(min_examples, max_examples))
    kinds: tuple[Labels, ...] = ("none", "some", "all") if known is None else (known,)
    kind = draw(st.sampled_from(kinds))
    gold = None
    if kind != "none":
        gold = draw(labels(n_examples=n_examples, n_classes=n_classes, known=kind))
    if draw(st.booleans()) if with_probs is None else with_probs:
        probs = draw(_probabilities((n_runs, n_examples, n_classes)))
        return Batch.from_probs(probs, gold)
    predicted = draw(_predictions((n_runs, n_examples), n_classes))
    return Batch(predicted, n_classes=n_classes, labels=gold)


@st.composite
def _predictions(draw: st.DrawFn, shape: tuple[int, int], n_classes: int) -> IntArray:
    if draw(st.booleans()):
        return draw(arrays(np.int64, shape, elements=st.integers(0, n_classes - 1)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    usual = rng.integers(0, n_classes, shape[1])
    flipped = rng.random(shape) < rng.random(shape[1])
    return np.where(flipped, rng.integers(0, n_classes, shape), usual)


@st.composite
def _probabilities(draw: st.DrawFn, shape: tuple[int, int, int]) -> FloatArray:
    if draw(st.booleans()):
        parts = draw(arrays(np.int64, shape, elements=st.integers(0, 20))).astype(np.float64)
        parts[parts.sum(axis=2) == 0] = 1.0  # all zeros: make the classes equal
    else:
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        usual = rng.normal(0.0, draw(st.sampled_from([0.5, 3.0])), shape[1:])
        parts = np.exp(usual + rng.normal(0.0, draw(st.sampled_from([0.0, 0.1, 1.0])), shape))
    probs: FloatArray = parts / parts.sum(axis=2, keepdims=True)
    return probs.astype(draw(st.sampled_from(["float64", "float32"])))
