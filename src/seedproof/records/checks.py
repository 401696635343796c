"""Checks of predictions before they become a record."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.errors import (
    DtypeError,
    DuplicateExampleError,
    InputError,
    MissingValueError,
    ProbabilityError,
    UnknownLabelError,
)
from seedproof.messages import Message
from seedproof.records.arrow import to_numpy
from seedproof.records.items import NO_ITEM
from seedproof.typing import FloatArray, IntArray

# Softmax outputs sum to one within rounding. Half precision has three digits.
SUM_TOLERANCE = 1e-3
HALF_SUM_TOLERANCE = 1e-2

# Eighth powers of larger numbers overflow in the variances of variances, and fourth powers of
# smaller ones vanish.
LARGEST, SMALLEST = 1e37, 1e-75
SIZES = (
    "The size of a number must be below {largest:g} and, unless it is 0, above {smallest:g}: pass "
    "numbers in another unit."
)

# Names a row in messages, with fields such as the run and the example.
Where = Callable[[int], Message]


def example_of(run: str, example: object) -> Message:
    """Return the name of an example of a run, for messages."""
    return Message("example", "Example {example!r} of run {run!r}", example=example, run=run)


def _at(where: Where, row: int) -> dict[str, object]:
    """Return fields of an error that is about a row."""
    place = where(row)
    return {"where": place, **place.fields}


def sum_tolerance(values: object) -> float:
    """Return the tolerance of sums of probabilities, by their type."""
    # Both kinds of half precision; numpy knows only one.
    is_half = "float16" in str(getattr(values, "dtype", ""))
    return HALF_SUM_TOLERANCE if is_half else SUM_TOLERANCE


def check_probs(probs: FloatArray, where: Where, *, tolerance: float = SUM_TOLERANCE) -> None:
    """Raise an error if a row is not a probability distribution."""
    # Sums in double precision: 10,000 float32 terms may be off by more than the tolerance.
    with np.errstate(invalid="ignore"):  # infinities of both signs are rejected below
        sums = probs.sum(axis=1, dtype=np.float64)
    fine = np.asarray(np.abs(sums - 1.0) <= tolerance)  # False for NaN and infinity
    if fine.all() and probs.min(initial=0.0) >= 0.0:
        return
    negative = np.asarray((probs < 0.0).any(axis=1))
    row = int(np.flatnonzero(~fine | negative)[0])
    values = probs[row]
    if not np.isfinite(values).all():
        raise ProbabilityError(
            "{where} has the probability {probability}. Every probability must be a finite number: "
            "look for a division by zero or an overflow before the softmax.",
            **_at(where, row),
            probability=values[~np.isfinite(values)][0],
        )
    if negative[row]:
        raise ProbabilityError(
            "{where} has the probability {probability:.6g}, which is below 0. "
            "If these are logits, apply a softmax first.",
            **_at(where, row),
            probability=values.min(),
        )
    call = "sp.measure(probs, thresholds=0.5)"
    raise ProbabilityError(
        "{where} has probabilities that sum to {sum:.6g}, not 1 (±{tolerance:g}). "
        "If these are logits, apply a softmax first; if classes are missing, add their columns. If "
        "several classes can be right at once, measure sets. {advice}",
        **_at(where, row),
        sum=sums[row],
        tolerance=tolerance,
        suggestion={"threshold": "0.5"},
        call=call,
        advice=Message("measure-sets", "Try: {call}", call=call),
    )


def check_top(
    classes: IntArray, probs: FloatArray, where: Where, *, n_classes: int, tolerance: float
) -> None:
    """Raise an error if rows are not the most probable classes with their probabilities."""
    ranked = np.sort(classes, axis=1)
    fine = ((probs >= 0.0) & np.isfinite(probs)).all(axis=1)
    fine &= probs.sum(axis=1, dtype=np.float64) <= 1 + tolerance
    fine &= (ranked[:, 1:] != ranked[:, :-1]).all(axis=1)
    if not fine.all():
        row = int(np.flatnonzero(~fine)[0])
        raise ProbabilityError(
            "{where} has the top classes {classes} with the probabilities "
            "{probs}. Pass different classes whose probabilities sum to 1 at most.",
            **_at(where, row),
            classes=classes[row].tolist(),
            probs=probs[row].tolist(),
        )
    # The missing probability must fit into the other classes, each at most the least of these.
    missing = 1.0 - probs.sum(axis=1, dtype=np.float64)
    room = (n_classes - classes.shape[1]) * probs.min(axis=1).astype(np.float64)
    fits = missing <= room + tolerance
    if not fits.all():
        row = int(np.flatnonzero(~fits)[0])
        raise ProbabilityError(
            "{where} has top classes with the probabilities {probs}, but the rest, {missing:.3g}, "
            "does not fit into {n_hidden} less probable classes. Pass the most probable classes, "
            "after the softmax.",
            **_at(where, row),
            probs=probs[row].tolist(),
            n_hidden=n_classes - classes.shape[1],
            missing=missing[row],
        )


def check_numbers(numbers: FloatArray, where: Where) -> None:
    """Raise an error if a number is missing, infinite, or of a size that cannot be squared."""
    is_finite = np.isfinite(numbers)
    if is_finite.all():
        _check_sizes(numbers, where)
        return
    row = int(np.flatnonzero(~is_finite)[0])
    error = MissingValueError if np.isnan(numbers[row]) else DtypeError
    raise error(
        "{where} has the number {number}. Every number must be finite: fill it in, or leave the "
        "example out of every run.",
        **_at(where, row),
        number=float(numbers[row]),
    )


def check_targets(targets: FloatArray, where: Where) -> None:
    """Raise an error if a target is infinite; unknown targets are NaN."""
    is_infinite = np.isinf(targets)
    if is_infinite.any():
        row = int(np.flatnonzero(is_infinite)[0])
        raise DtypeError(
            "{where} has the target {number}. Pass a finite number, or None if it is unknown.",
            **_at(where, row),
            number=float(targets[row]),
        )
    _check_sizes(targets, where)


def extreme_number(
    numbers: FloatArray, *, largest: float = LARGEST, smallest: float = SMALLEST
) -> int | None:
    """Return the position of a number whose powers overflow or vanish; None if there is none."""
    sizes = np.abs(numbers)
    is_extreme = (sizes >= largest) | ((sizes <= smallest) & (sizes > 0))
    return int(np.flatnonzero(is_extreme)[0]) if is_extreme.any() else None


def _check_sizes(numbers: FloatArray, where: Where) -> None:
    row = extreme_number(numbers)
    if row is not None:
        raise DtypeError(
            "{where} has the number {number:g}. " + SIZES,
            **_at(where, row),
            number=float(numbers[row]),
            largest=LARGEST,
            smallest=SMALLEST,
        )


def check_classes(indices: IntArray, n_classes: int, where: Where, *, least: int = 0) -> None:
    """Raise an error if a class index is out of range."""
    wrong = (indices < least) | (indices >= n_classes)
    if not wrong.any():
        return
    row = int(np.argwhere(wrong)[0][0])
    raise UnknownLabelError(
        "{where} has the class index {class_idx}, but there are {n_classes} classes. "
        "Pass indices from {least} to {highest}.",
        **_at(where, row),
        class_idx=int(indices[wrong][0]),
        n_classes=n_classes,
        least=least,
        highest=n_classes - 1,
    )


def check_items(items: IntArray, n_items: int, where: Where, *, are_sets: bool) -> None:
    """Raise an error if rows are not lists or sets of known items, padded at their end."""
    is_item = items != NO_ITEM
    fine = ((items >= NO_ITEM) & (items < n_items)).all(axis=1)
    fine &= (is_item[:, :-1] >= is_item[:, 1:]).all(axis=1)
    ranked = items if are_sets else np.sort(items, axis=1)
    rises = (ranked[:, 1:] > ranked[:, :-1]) | (ranked[:, 1:] == NO_ITEM)
    fine &= rises.all(axis=1)
    if fine.all():
        return
    row = int(np.flatnonzero(~fine)[0])
    raise UnknownLabelError(
        "{where} has the items {items}. Pass places from 0 to {highest}, each once"
        + (", in ascending order" if are_sets else "")
        + ", with {no_item} after the last.",
        **_at(where, row),
        items=items[row].tolist(),
        highest=n_items - 1,
        no_item=NO_ITEM,
    )


def check_ascending(ids: pa.Array, before: pa.Scalar | None, where: Where) -> None:
    """Raise an error if ids are missing, repeated or not ascending."""
    if ids.null_count:
        raise MissingValueError(
            "{where} has no id. Give it one.",
            **_at(where, pc.index(ids.is_null(), value=True).as_py()),
        )
    if before is not None:
        ids = pa.concat_arrays([pa.repeat(before, 1), ids])
    rises = to_numpy(pc.less(ids[:-1], ids[1:]))
    if rises.all():
        return
    row = int(np.flatnonzero(~rises)[0])
    if ids[row].as_py() == ids[row + 1].as_py():
        raise DuplicateExampleError(
            "{where} appears twice. "
            "Give each run one row per example; if several runs share a name, rename them.",
            **_at(where, row + (before is None)),
        )
    raise InputError(
        "{where} is out of order: records are sorted by id. "
        "Log in the ascending order of ids (text by its bytes), or a whole split in one call.",
        **_at(where, row + (before is None)),
    )
