"""Soft labels from gold labels, from models, and from both: float64 tensors on the CPU.

They are made once, before a training; `soft_cross_entropy` moves a batch's rows to the model.
"""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from seedproof.errors import EmptyInputError, OptionError, ProbabilityError, ShapeError
from seedproof.records.checks import sum_tolerance
from seedproof.stabilize.soft_labels.checks import (
    as_labels,
    as_probs,
    as_weights,
    check_share,
)


def one_hot(labels: Any, *, n_classes: int) -> Tensor:  # noqa: ANN401 - tensors, arrays, lists
    """Gold labels as probabilities: 1 for the gold class, 0 for the others.

    Args:
        labels: Gold classes.
        n_classes: How many classes there are.

    Returns:
        Axes (examples, classes).

    Raises:
        UnknownLabelError: A label is none of the classes.
    """
    gold = as_labels(labels, n_classes=n_classes)
    return functional.one_hot(gold, n_classes).to(torch.float64)


def smoothed(labels: Any, *, n_classes: int, alpha: float) -> Tensor:  # noqa: ANN401 - as above
    """Uniform label smoothing: (1 − α)·y + α/K.

    The share α is spread over *all* K classes, the gold one among them, which is left with
    1 − α + α/K (Szegedy et al. 2016; so do torch's `label_smoothing` and the 2023 paper). The
    other convention spreads α over the K − 1 other classes.

    Args:
        labels: Gold classes.
        n_classes: K, how many classes there are.
        alpha: From 0, which changes nothing, to 1, where nothing of the label is left.

    Returns:
        Axes (examples, classes).

    Raises:
        OptionError: alpha is no share.
        UnknownLabelError: A label is none of the classes.
    """
    check_share(alpha, "alpha")
    return one_hot(labels, n_classes=n_classes) * (1.0 - alpha) + alpha / n_classes


def raised(probs: Any, *, power: float) -> Tensor:  # noqa: ANN401 - as above
    """Probabilities raised to a power and normalized again: q = p^T / Σ p^T.

    T is an exponent, the inverse of the usual temperature: 0.5 flattens, as a temperature of 2
    would, 1 changes nothing, and 2 sharpens. What is 0 stays 0, and a row is divided by its
    largest entry before, so that nothing underflows to 0/0. A row need not sum to 1 before.

    Args:
        probs: Probabilities, axes (…, classes).
        power: T, above 0.

    Returns:
        The same shape; each row sums to 1.

    Raises:
        OptionError: The power is not above 0, or infinite.
        ProbabilityError: A row is all zeros, or holds what is no probability.
    """
    if not (power > 0.0 and math.isfinite(power)):
        raise OptionError("power is {power!r}. Give a number above 0; 0.5 flattens.", power=power)
    weights = as_weights(probs)
    largest = weights.amax(dim=-1, keepdim=True)
    is_empty = largest == 0.0
    if is_empty.any():
        raise ProbabilityError(
            "{n_empty} row(s) of probabilities are all zeros: they say nothing "
            "about the classes. Leave them out, or use their gold labels.",
            n_empty=int(is_empty.sum()),
        )
    powers = (weights / largest) ** power
    return powers / powers.sum(dim=-1, keepdim=True)


def ensemble(probs_of_models: Iterable[Any], *, power: float = 0.5) -> Tensor:
    """Soft labels from several models: the mean of their probabilities, raised to a power.

    Models weigh alike. They are taken one after the other, so that a generator which loads or
    trains them holds one in memory.

    Args:
        probs_of_models: For each model its probabilities, axes (examples, classes).
        power: See `raised`; 0.5 is the 2023 paper's, and 1 is the mean itself.

    Returns:
        Axes (examples, classes).

    Raises:
        EmptyInputError: There is no model.
        ShapeError: Models give different shapes.
        ProbabilityError: A row of a model is no distribution.
    """
    total, n_models = torch.empty(0), 0
    for given in probs_of_models:
        weights = as_weights(given)
        if weights.ndim != 2 or (n_models and weights.shape != total.shape):
            raise ShapeError(
                "Model {n_models} gives probabilities of shape {shape!s}. "
                "Give the same examples and classes, in the same order, for each.",
                n_models=n_models,
                shape=tuple(weights.shape),
            )
        n_examples, n_classes = weights.shape
        tolerance = sum_tolerance(given)
        probs = as_probs(weights, n_examples=n_examples, n_classes=n_classes, tolerance=tolerance)
        # A clone: what was given may share its memory.
        total = total.add_(probs) if n_models else probs.clone()
        n_models += 1
        # Otherwise they would still be here while the next model is made.
        del given, weights, probs
    if not n_models:
        raise EmptyInputError("There is no model in the ensemble. Give at least one.")
    return raised(total / n_models, power=power)


def mixed(labels: Any, probs: Any, *, weight: float) -> Tensor:  # noqa: ANN401 - as above
    """Gold labels mixed with a model's probabilities: (1 − w)·y + w·p.

    With the probabilities of the deployed model this is distillation against churn: it is
    equivalent to a limit on how far the new model may move from it, and a larger weight is a
    tighter limit (Jiang et al. 2021, arXiv:2106.02654).

    Args:
        labels: Gold classes.
        probs: What the deployed model says of the same examples, axes (examples, classes).
        weight: w, that of the model: 0 are the gold labels, 1 is the model alone.

    Returns:
        Axes (examples, classes).

    Raises:
        OptionError: The weight is no share.
        ShapeError: There are other examples.
        ProbabilityError: A row is no distribution.
        UnknownLabelError: A label is none of the classes.
    """
    check_share(weight, "weight")
    weights = as_weights(probs)
    gold = one_hot(labels, n_classes=weights.shape[-1])
    n_examples, n_classes = gold.shape
    tolerance = sum_tolerance(probs)
    model = as_probs(weights, n_examples=n_examples, n_classes=n_classes, tolerance=tolerance)
    return (1.0 - weight) * gold + weight * model
