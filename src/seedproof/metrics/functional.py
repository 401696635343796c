"""The metrics as plain functions: arrays in, a number out.

They return the values that `sp.measure` reports, without intervals. Predictions are class indices
or names with axes (runs, examples), probabilities have the axes (runs, examples, classes).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from seedproof.errors import DtypeError, ShapeError, TooFewRunsError
from seedproof.metrics.accumulator import ClassFamily
from seedproof.metrics.accuracy import Accuracy
from seedproof.metrics.batch import Batch, batch_rows
from seedproof.metrics.block_statistic import BinnedGaps, BlockJackknife
from seedproof.metrics.calibration import Calibration
from seedproof.metrics.confidence import Confidence
from seedproof.metrics.divergence import Divergence
from seedproof.metrics.entropy import Entropy
from seedproof.metrics.flips import Flips
from seedproof.metrics.statistic import (
    MeanOverExamples,
    MeanOverPairs,
    MeanOverRuns,
    SpreadOverRuns,
    Statistic,
    ValueOnly,
)
from seedproof.typing import IntArray


def flip_rate(predictions: npt.ArrayLike) -> float:
    """Share of the pairs of runs that disagree, averaged over examples.

    Args:
        predictions: Classes, axes (runs, examples).

    Returns:
        A rate in [0, 1].

    Examples:
        >>> from seedproof.metrics import flip_rate
        >>> flip_rate([[0, 1, 1, 0], [0, 1, 0, 0]])
        0.25
    """
    return _of_predictions(Flips, "flip_rate", predictions)


def net_flip_rate(predictions: npt.ArrayLike) -> float:
    """Distance between the class shares of two runs, averaged over pairs: flips that do not cancel.

    Args:
        predictions: Classes, axes (runs, examples).

    Returns:
        A rate in [0, 1], at most the flip rate.

    Examples:
        >>> from seedproof.metrics import net_flip_rate
        >>> net_flip_rate([["a", "b"], ["b", "a"]])
        0.0
    """
    return _of_predictions(Flips, "net_flip_rate", predictions)


def ambiguity(predictions: npt.ArrayLike) -> float:
    """Share of the examples on which not all runs agree.

    Args:
        predictions: Classes, axes (runs, examples).

    Returns:
        A share in [0, 1].

    Examples:
        >>> from seedproof.metrics import ambiguity
        >>> ambiguity([[0, 1], [0, 1], [0, 0]])
        0.5
    """
    return _of_predictions(Flips, "ambiguity", predictions)


def discrepancy(predictions: npt.ArrayLike) -> float:
    """Share of the examples on which the two runs that differ most disagree.

    Args:
        predictions: Classes, axes (runs, examples).

    Returns:
        A share in [0, 1].

    Examples:
        >>> from seedproof.metrics import discrepancy
        >>> discrepancy([[0, 1], [0, 1], [1, 0]])
        1.0
    """
    return _of_predictions(Flips, "discrepancy", predictions)


def label_entropy(predictions: npt.ArrayLike) -> float:
    """Entropy of the classes that the runs predict, in nats, averaged over examples.

    It grows with the number of runs: compare only values from equally many runs.

    Args:
        predictions: Classes, axes (runs, examples).

    Returns:
        Nats, 0 where all runs agree.

    Examples:
        >>> from seedproof.metrics import label_entropy
        >>> round(label_entropy([["a", "b"], ["a", "a"]]), 3)
        0.347
    """
    return _of_predictions(Entropy, "label_entropy", predictions)


def accuracy_sd(predictions: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Standard deviation over runs of the accuracy.

    Args:
        predictions: Classes, axes (runs, examples).
        labels: Gold classes, axes (examples).

    Returns:
        A standard deviation of shares, with runs - 1 in the denominator.

    Examples:
        >>> from seedproof.metrics import accuracy_sd
        >>> round(accuracy_sd([[0, 1], [0, 0]], labels=[0, 1]), 3)
        0.354
    """
    return _of_predictions(Accuracy, "accuracy_sd", predictions, labels)


def probability_sd(probs: npt.ArrayLike, labels: npt.ArrayLike | None = None) -> float:
    """Standard deviation over runs of the gold class's probability, averaged over examples.

    Args:
        probs: Probabilities, axes (runs, examples, classes).
        labels: Gold class indices, axes (examples); the class of most runs if omitted.

    Returns:
        A standard deviation of at most 0.71.

    Examples:
        >>> from seedproof.metrics import probability_sd
        >>> round(probability_sd([[[0.5, 0.5]], [[0.7, 0.3]]], labels=[0]), 3)
        0.141
    """
    return _of_probs(Confidence, "probability_sd", probs, labels)


def predictive_kl(probs: npt.ArrayLike) -> float:
    """Kullback-Leibler divergence between two runs, in nats, averaged over pairs and examples.

    Args:
        probs: Probabilities, axes (runs, examples, classes).

    Returns:
        Nats of at least 0.

    Examples:
        >>> from seedproof.metrics import predictive_kl
        >>> round(predictive_kl([[[0.5, 0.5]], [[0.7, 0.3]]]), 3)
        0.085
    """
    return _of_probs(Divergence, "predictive_kl", probs)


def predictive_js(probs: npt.ArrayLike) -> float:
    """Jensen-Shannon divergence of all runs, in nats, averaged over examples.

    Args:
        probs: Probabilities, axes (runs, examples, classes).

    Returns:
        Nats of at least 0; times runs / (runs - 1), so that it does not depend on their number.

    Examples:
        >>> from seedproof.metrics import predictive_js
        >>> round(predictive_js([[[0.5, 0.5]], [[0.7, 0.3]]]), 3)
        0.042
    """
    return _of_probs(Divergence, "predictive_js", probs)


def ece(probs: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Expected calibration error with 15 bins of equal width, averaged over runs.

    The gap between accuracy and confidence of each bin, weighted by its share of the examples: Guo
    et al. (2017), ICML. Chance adds to it, the more the fewer examples there are.

    Args:
        probs: Probabilities, axes (runs, examples, classes).
        labels: Gold class indices, axes (examples).

    Returns:
        An error in [0, 1].

    Examples:
        >>> from seedproof.metrics import ece
        >>> sure = [[[0.9, 0.1]] * 100] * 2
        >>> round(ece(sure, labels=[0] * 70 + [1] * 30), 2)
        0.2
    """
    return _of_probs(Calibration, "ece", probs, labels)


def ece_corrected(probs: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Expected calibration error without the part that chance adds, averaged over runs.

    It estimates the error on all examples of this kind.

    Args:
        probs: Probabilities, axes (runs, examples, classes).
        labels: Gold class indices, axes (examples).

    Returns:
        An error in [0, 1], at most that of `ece`.

    Examples:
        >>> from seedproof.metrics import ece, ece_corrected
        >>> sure = [[[0.9, 0.1]] * 100] * 2
        >>> labels = [0] * 88 + [1] * 12
        >>> round(ece(sure, labels), 3), round(ece_corrected(sure, labels), 3)
        (0.02, 0.0)
    """
    return _of_probs(Calibration, "ece_corrected", probs, labels)


def churn(old: npt.ArrayLike, new: npt.ArrayLike) -> float:
    """Share of the examples on which a new version predicts a different class than the old one.

    Args:
        old: Classes, axes (examples), or (runs, examples).
        new: Classes of the same examples, with the same axes.

    Returns:
        A share in [0, 1], averaged over all pairs of an old and a new run.

    Examples:
        >>> from seedproof.metrics import churn
        >>> churn(["a", "b", "b", "a"], ["a", "b", "a", "a"])
        0.25
    """
    before, after = np.atleast_2d(np.asarray(old)), np.atleast_2d(np.asarray(new))
    if before.ndim != 2 or after.ndim != 2 or before.shape[1] != after.shape[1]:
        raise ShapeError(
            "The versions have the shapes {old} and {new}. Pass the classes of the same examples.",
            old=before.shape,
            new=after.shape,
        )
    return float(np.mean([(after != run).mean() for run in before]))


def _of_predictions(
    family: type[ClassFamily],
    name: str,
    predictions: npt.ArrayLike,
    labels: npt.ArrayLike | None = None,
) -> float:
    given = np.asarray(predictions)
    if given.ndim != 2 or given.dtype.kind not in "iubUSO":
        raise ShapeError(
            "Predictions are classes with the axes (runs, examples), and these are {dtype} of "
            "shape {shape}.",
            dtype=given.dtype,
            shape=given.shape,
        )
    names = given.ravel()
    if labels is not None:
        names = np.concatenate([names, _as_labels(labels, given.shape[1])])
    classes, inverse = np.unique(names, return_inverse=True)
    indices, n_classes = inverse.astype(np.int32), max(2, len(classes))
    answers = indices[: given.size].reshape(given.shape)
    gold = None if labels is None else indices[given.size :]

    def batch(rows: slice) -> Batch:
        some = np.ascontiguousarray(answers[:, rows])
        return Batch(some, n_classes=n_classes, labels=None if gold is None else gold[rows])

    return _value(family(len(answers), n_classes), name, answers, batch)


def _of_probs(
    family: type[ClassFamily],
    name: str,
    probs: npt.ArrayLike,
    labels: npt.ArrayLike | None = None,
) -> float:
    given = np.asarray(probs)
    if given.ndim != 3 or given.dtype.kind != "f":
        raise ShapeError(
            "Probabilities are floats with the axes (runs, examples, classes), and these are "
            "{dtype} of shape {shape}.",
            dtype=given.dtype,
            shape=given.shape,
        )
    n_runs, n_examples, n_classes = given.shape
    gold = None if labels is None else _as_indices(labels, n_examples, n_classes)

    def batch(rows: slice) -> Batch:
        return Batch.from_probs(given[:, rows], None if gold is None else gold[rows])

    return _value(family(n_runs, n_classes), name, given, batch)


def _as_labels(labels: npt.ArrayLike, n_examples: int) -> npt.NDArray[np.generic]:
    gold = np.asarray(labels)
    if gold.shape != (n_examples,):
        raise ShapeError(
            "Labels have the shape {shape}. Pass one for each of the {n_examples} examples.",
            shape=gold.shape,
            n_examples=n_examples,
        )
    return gold


def _as_indices(labels: npt.ArrayLike, n_examples: int, n_classes: int) -> IntArray:
    gold = _as_labels(labels, n_examples)
    if gold.dtype.kind not in "iu" or not np.isin(gold, np.arange(n_classes)).all():
        raise DtypeError(
            "Labels must be indices of the {n_classes} classes, from 0 on.", n_classes=n_classes
        )
    return np.asarray(gold, dtype=np.int32)


def _value(
    total: ClassFamily, name: str, values: npt.NDArray[Any], batch: Callable[[slice], Batch]
) -> float:
    """Return one figure over all examples, in batches that fit into the cache."""
    if len(values) < 2 or values.shape[1] == 0:
        raise TooFewRunsError(
            "Flips can be measured only with two or more runs. Pass at least 2 runs."
        )
    n_rows = batch_rows(values[:, 0].size)
    for start in range(0, values.shape[1], n_rows):
        total.update(batch(slice(start, start + n_rows)))
    return _as_float(total.result()[name])


def _as_float(statistic: Statistic) -> float:
    match statistic:
        case MeanOverExamples() | BinnedGaps() | BlockJackknife() | ValueOnly():
            return float(statistic.value)
        case MeanOverRuns():
            return float(statistic.values.mean())
        case SpreadOverRuns():
            return float(statistic.values.std(ddof=1))
        case MeanOverPairs():
            n_runs = len(statistic.matrix)
            return float(statistic.matrix.sum() / (n_runs * (n_runs - 1)))
    raise TypeError(f"{type(statistic).__name__} has no single value")
