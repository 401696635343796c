"""Probabilities, labels and rows as people give them: checked, and in one form."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from seedproof.errors import (
    ClassesError,
    DtypeError,
    OptionError,
    ProbabilityError,
    ShapeError,
    UnknownLabelError,
)
from seedproof.records.checks import sum_tolerance
from seedproof.typing import is_count


def as_doubles(values: Any) -> Tensor:  # noqa: ANN401 - tensors, arrays, lists
    """Numbers as float64 on the CPU.

    Args:
        values: A tensor, an array or nested lists; a tensor is taken off its graph.

    Returns:
        A tensor, which may share memory with what was given.
    """
    if isinstance(values, Tensor):
        return values.detach().to(device="cpu", dtype=torch.float64)
    numbers = np.asarray(values, dtype=np.float64)
    # Torch warns of arrays that must not be written to, such as those of a mapped file.
    return torch.from_numpy(numbers if numbers.flags.writeable else numbers.copy())


def as_weights(values: Any) -> Tensor:  # noqa: ANN401 - as above
    """Numbers from 0 on, as float64 on the CPU, with the classes on the last of two axes or more.

    Args:
        values: A tensor, an array or nested lists; a tensor is taken off its graph.

    Returns:
        A tensor, which may share memory with what was given.

    Raises:
        ShapeError: There are fewer than two axes.
        ProbabilityError: A number is negative, infinite or missing.
    """
    weights = as_doubles(values)
    if weights.ndim < 2:
        raise ShapeError(
            "Probabilities of shape {shape!s} were given. Give two axes, examples and classes.",
            shape=tuple(weights.shape),
        )
    is_bad = ~(torch.isfinite(weights) & (weights >= 0.0))
    if is_bad.any():
        raise ProbabilityError(
            "{probability} is no probability. "
            "Give what a softmax returns, and not the logits that go into it.",
            probability=float(weights[is_bad][0]),
        )
    return weights


def as_probs(
    values: Any,  # noqa: ANN401 - as above
    *,
    n_examples: int,
    n_classes: int,
    tolerance: float | None = None,
) -> Tensor:
    """Probabilities as float64 on the CPU, axes (examples, classes).

    Args:
        values: A tensor, an array or nested lists.
        n_examples: How many rows there must be.
        n_classes: How many columns there must be.
        tolerance: How far from one a row may sum to; by the type of the values without it.

    Returns:
        A tensor, which may share memory with what was given.

    Raises:
        ShapeError: There are more or fewer of them.
        ProbabilityError: A row is no distribution.
    """
    probs = as_weights(values)
    if tuple(probs.shape) != (n_examples, n_classes):
        raise ShapeError(
            "Probabilities of shape {shape!s} were given for {n_examples} example(s) "
            "and {n_classes} classes. Give the shape ({n_examples}, {n_classes}).",
            shape=tuple(probs.shape),
            n_examples=n_examples,
            n_classes=n_classes,
        )
    sums = probs.sum(dim=1)
    allowed = sum_tolerance(values) if tolerance is None else tolerance
    is_off = (sums - 1.0).abs() > allowed
    if is_off.any():
        raise ProbabilityError(
            "The probabilities of an example sum to {sum:.4g}, and not to 1 "
            "(±{tolerance:g}). "
            "Give what a softmax over all classes returns.",
            sum=float(sums[is_off][0]),
            tolerance=allowed,
        )
    return probs


def as_labels(values: Any, *, n_classes: int) -> Tensor:  # noqa: ANN401 - as above
    """Gold classes as int64 on the CPU.

    Args:
        values: A tensor, an array or a list of whole numbers.
        n_classes: How many classes there are.

    Returns:
        A tensor with one axis.

    Raises:
        DtypeError: They are no whole numbers.
        ShapeError: There is not one axis.
        UnknownLabelError: One is none of the classes.
    """
    if not is_count(n_classes, 2):
        raise ClassesError(
            "n_classes is {n_classes!r}. Give a whole number, 2 or more.", n_classes=n_classes
        )
    labels = _whole_numbers(values, "labels")
    is_bad = (labels < 0) | (labels >= n_classes)
    if is_bad.any():
        raise UnknownLabelError(
            "The label {label} is none of the classes 0 to {highest}. "
            "Give class indices that count from 0, or all classes as n_classes.",
            label=int(labels[is_bad][0]),
            highest=n_classes - 1,
        )
    return labels


def as_rows(values: Any, *, n_examples: int) -> Tensor:  # noqa: ANN401 - as above
    """Positions of examples as int64 on the CPU.

    Args:
        values: A tensor, an array or a list of whole numbers.
        n_examples: How many examples there are.

    Returns:
        A tensor with one axis.

    Raises:
        DtypeError: They are no whole numbers.
        ShapeError: There is not one axis.
        OptionError: One is of no example; negative ones do not count from the end.
    """
    rows = _whole_numbers(values, "rows")
    is_bad = (rows < 0) | (rows >= n_examples)
    if is_bad.any():
        raise OptionError(
            "Row {row} is of no example: rows go from 0 to {highest}. "
            "Give positions in the training set, and not ids.",
            row=int(rows[is_bad][0]),
            highest=n_examples - 1,
        )
    return rows


def _whole_numbers(values: Any, name: str) -> Tensor:  # noqa: ANN401 - as above
    if isinstance(values, Tensor):
        numbers = values.detach().cpu()
    else:
        array = np.array(values)
        if array.dtype.kind not in "biuf":
            raise DtypeError(
                "{argument} holds {label!r}. Give whole numbers, from 0 on.",
                argument=name,
                label=array.ravel()[0],
            )
        numbers = torch.from_numpy(array)
    if numbers.ndim != 1:
        raise ShapeError(
            "{argument} has the shape {shape!s}. Give one axis, examples.",
            argument=name,
            shape=tuple(numbers.shape),
        )
    # An empty list is a tensor of floats.
    if numbers.numel() and (numbers.is_floating_point() or numbers.dtype == torch.bool):
        raise DtypeError(
            "{argument} is of type {dtype}. Give whole numbers.",
            argument=name,
            dtype=numbers.dtype,
        )
    return numbers.to(torch.int64)


def check_share(value: float, name: str) -> None:
    """Refuse a number that is no share.

    Args:
        value: The number.
        name: What it is called.

    Raises:
        OptionError: It is not between 0 and 1.
    """
    if not 0.0 <= value <= 1.0:
        raise OptionError(
            "{option} is {number!r}. Give a number from 0 to 1.", option=name, number=value
        )
