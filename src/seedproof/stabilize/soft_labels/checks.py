"""Check the probabilities, labels and rows that users give, and convert them to CPU tensors.

The tensors may share memory with the input.
"""

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
    """Return numbers as float64, detached from their graph."""
    if isinstance(values, Tensor):
        return values.detach().to(device="cpu", dtype=torch.float64)
    numbers = np.asarray(values, dtype=np.float64)
    # Torch warns about read-only arrays, such as those of a mapped file.
    return torch.from_numpy(numbers if numbers.flags.writeable else numbers.copy())


def as_weights(values: Any) -> Tensor:  # noqa: ANN401 - as above
    """Return numbers of at least 0 as float64, with the classes on the last of two or more axes."""
    weights = as_doubles(values)
    if weights.ndim < 2:
        raise ShapeError(
            "Probabilities of shape {shape!s} were given. Pass two axes, examples and classes.",
            shape=tuple(weights.shape),
        )
    is_bad = ~(torch.isfinite(weights) & (weights >= 0.0))
    if is_bad.any():
        raise ProbabilityError(
            "{probability} is not a probability. Pass the output of a softmax, not its logits.",
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
    """Return distributions as float64, axes (examples, classes).

    Rows must sum to 1 within `tolerance`. If omitted, it depends on the type of the values.
    """
    probs = as_weights(values)
    if tuple(probs.shape) != (n_examples, n_classes):
        raise ShapeError(
            "Probabilities of shape {shape!s} were given for {n_examples} example(s) "
            "and {n_classes} classes. Pass the shape ({n_examples}, {n_classes}).",
            shape=tuple(probs.shape),
            n_examples=n_examples,
            n_classes=n_classes,
        )
    sums = probs.sum(dim=1)
    tolerance = sum_tolerance(values) if tolerance is None else tolerance
    is_off = (sums - 1.0).abs() > tolerance
    if is_off.any():
        raise ProbabilityError(
            "The probabilities of an example sum to {sum:.4g}, not to 1 (±{tolerance:g}). "
            "Pass the output of a softmax over all classes.",
            sum=float(sums[is_off][0]),
            tolerance=tolerance,
        )
    return probs


def as_labels(values: Any, *, n_classes: int) -> Tensor:  # noqa: ANN401 - as above
    """Return gold classes as int64, with one axis."""
    if not is_count(n_classes, 2):
        raise ClassesError(
            "n_classes is {n_classes!r}. Pass a whole number, 2 or more.", n_classes=n_classes
        )
    labels = _whole_numbers(values, "labels")
    is_bad = (labels < 0) | (labels >= n_classes)
    if is_bad.any():
        raise UnknownLabelError(
            "The label {label} is not one of the classes 0 to {highest}. "
            "Pass class indices that start at 0, or a larger n_classes.",
            label=int(labels[is_bad][0]),
            highest=n_classes - 1,
        )
    return labels


def as_rows(values: Any, *, n_examples: int) -> Tensor:  # noqa: ANN401 - as above
    """Return positions of examples as int64, with one axis."""
    rows = _whole_numbers(values, "rows")
    is_bad = (rows < 0) | (rows >= n_examples)
    if is_bad.any():
        raise OptionError(
            "There is no row {row}: rows go from 0 to {highest}. "
            "Pass positions in the training set, not ids.",
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
                "{argument} contains {label!r}. Pass whole numbers of at least 0.",
                argument=name,
                label=array.ravel()[0],
            )
        numbers = torch.from_numpy(array)
    if numbers.ndim != 1:
        raise ShapeError(
            "{argument} has the shape {shape!s}. Pass one axis, examples.",
            argument=name,
            shape=tuple(numbers.shape),
        )
    # An empty list is a tensor of floats.
    if numbers.numel() and (numbers.is_floating_point() or numbers.dtype == torch.bool):
        raise DtypeError(
            "{argument} has the type {dtype}. Pass whole numbers.",
            argument=name,
            dtype=numbers.dtype,
        )
    return numbers.to(torch.int64)


def check_share(value: float, name: str) -> None:
    """Raise an OptionError unless a number is between 0 and 1."""
    if not 0.0 <= value <= 1.0:
        raise OptionError(
            "{option} is {number!r}. Pass a number from 0 to 1.", option=name, number=value
        )
