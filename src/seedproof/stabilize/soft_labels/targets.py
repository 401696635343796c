"""Soft labels from gold labels, from models, and from both, as float64 tensors on the CPU.

Compute them once, before training; `soft_cross_entropy` moves a batch's rows to the model.
"""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from seedproof.errors import EmptyInputError, OptionError, ProbabilityError, ShapeError
from seedproof.records.checks import sum_tolerance
from seedproof.stabilize.soft_labels.checks import as_labels, as_probs, as_weights, check_share


def one_hot(labels: Any, *, n_classes: int) -> Tensor:  # noqa: ANN401 - tensors, arrays, lists
    """Return gold labels as probabilities: 1 for the gold class, 0 for the others."""
    gold = as_labels(labels, n_classes=n_classes)
    return functional.one_hot(gold, n_classes).to(torch.float64)


def smoothed(labels: Any, *, n_classes: int, alpha: float) -> Tensor:  # noqa: ANN401 - as above
    """Return uniformly smoothed labels: (1 − α)·y + α/K.

    The share α is spread over *all* K classes, so the gold class keeps 1 − α + α/K (Szegedy et al.
    2016, torch's `label_smoothing`, and the 2023 paper). The other convention spreads α over the
    K − 1 other classes.

    Args:
        labels: Gold classes.
        n_classes: K, the number of classes.
        alpha: From 0, which changes nothing, to 1, which ignores the label.

    Returns:
        Axes (examples, classes).

    Raises:
        OptionError: alpha is not between 0 and 1.
        UnknownLabelError: A label is not one of the classes.
    """
    check_share(alpha, "alpha")
    return one_hot(labels, n_classes=n_classes) * (1.0 - alpha) + alpha / n_classes


def raised(probs: Any, *, power: float) -> Tensor:  # noqa: ANN401 - as above
    """Return probabilities raised to a power and normalized: q = p^T / Σ p^T.

    T is an exponent, the inverse of the usual temperature: 0.5 flattens, like a temperature of 2,
    1 changes nothing, and 2 sharpens. Zeros stay 0. Each row is first divided by its largest
    entry, so that nothing underflows to 0/0; it need not sum to 1.

    Args:
        probs: Probabilities, axes (…, classes).
        power: T, above 0.

    Returns:
        The same shape; each row sums to 1.

    Raises:
        OptionError: The power is not above 0, or infinite.
        ProbabilityError: A row is all zeros, or contains a value that is not a probability.
    """
    if not (power > 0.0 and math.isfinite(power)):
        raise OptionError("power is {power!r}. Pass a number above 0; 0.5 flattens.", power=power)
    weights = as_weights(probs)
    largest = weights.amax(dim=-1, keepdim=True)
    is_empty = largest == 0.0
    if is_empty.any():
        raise ProbabilityError(
            "{n_empty} row(s) of probabilities are all zeros. Leave them out, or use their "
            "gold labels.",
            n_empty=int(is_empty.sum()),
        )
    powers = (weights / largest) ** power
    return powers / powers.sum(dim=-1, keepdim=True)


def ensemble(probs_of_models: Iterable[Any], *, power: float = 0.5) -> Tensor:
    """Return soft labels from several models: the mean of their probabilities, raised to a power.

    All models have the same weight. They are read one after the other, so a generator that loads
    or trains them keeps only one in memory.

    Args:
        probs_of_models: The probabilities of each model, axes (examples, classes).
        power: See `raised`; 0.5 is the 2023 paper's, 1 gives the mean itself.

    Returns:
        Axes (examples, classes).

    Raises:
        EmptyInputError: There are no models.
        ShapeError: The models' shapes differ.
        ProbabilityError: A row of a model is not a distribution.
    """
    total, n_models = torch.empty(0), 0
    for given in probs_of_models:
        weights = as_weights(given)
        if weights.ndim != 2 or (n_models and weights.shape != total.shape):
            raise ShapeError(
                "Model {n_models} has probabilities of shape {shape!s}. "
                "Pass the same examples and classes, in the same order, for each.",
                n_models=n_models,
                shape=tuple(weights.shape),
            )
        n_examples, n_classes = weights.shape
        tolerance = sum_tolerance(given)
        probs = as_probs(weights, n_examples=n_examples, n_classes=n_classes, tolerance=tolerance)
        # A clone, because the input may share its memory.
        total = total.add_(probs) if n_models else probs.clone()
        n_models += 1
        # Free the memory before the next model is made.
        del given, weights, probs
    if not n_models:
        raise EmptyInputError("The ensemble has no models. Pass at least one.")
    return raised(total / n_models, power=power)


def mixed(labels: Any, probs: Any, *, weight: float) -> Tensor:  # noqa: ANN401 - as above
    """Return gold labels mixed with a model's probabilities: (1 − w)·y + w·p.

    With the probabilities of the deployed model this is distillation against churn: it is
    equivalent to a limit on how far the new model may move from it, and a larger weight is a
    tighter limit (Jiang et al. 2021, arXiv:2106.02654).

    Args:
        labels: Gold classes.
        probs: Predictions of the deployed model for the same examples, axes (examples, classes).
        weight: w, the weight of the model: 0 gives the gold labels, 1 the model alone.

    Returns:
        Axes (examples, classes).

    Raises:
        OptionError: The weight is not between 0 and 1.
        ShapeError: Labels and probabilities belong to different examples.
        ProbabilityError: A row is not a distribution.
        UnknownLabelError: A label is not one of the classes.
    """
    check_share(weight, "weight")
    weights = as_weights(probs)
    gold = one_hot(labels, n_classes=weights.shape[-1])
    n_examples, n_classes = gold.shape
    tolerance = sum_tolerance(probs)
    model = as_probs(weights, n_examples=n_examples, n_classes=n_classes, tolerance=tolerance)
    return (1.0 - weight) * gold + weight * model
