"""Check from their footers that two runs hold the same examples, and locate differences."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import zip_longest

from seedproof.errors import InputError, LabelConflictError, MissingExampleError
from seedproof.messages import Message
from seedproof.records.run_reader import RunReader
from seedproof.records.schema import Kind


def check_alike(first: RunReader, other: RunReader) -> None:
    """Raise an error if two runs cannot be measured together."""
    names = {"run": first.run.name, "other_run": other.run.name}
    if other.kind is not first.kind:
        raise InputError(
            "The runs {run!r} and {other_run!r} hold {kind} and {other_kind}: log one kind.",
            **names,
            kind=first.kind,
            other_kind=other.kind,
        )
    if other.kind is not Kind.LABELS and other.classes != first.classes:
        raise InputError(
            "The runs {run!r} and {other_run!r} have different classes: log the same ones.",
            **names,
            classes=first.classes,
            other_classes=other.classes,
        )
    if other.n_top != first.n_top:
        raise InputError(
            "The runs {run!r} and {other_run!r} keep the top {n_top} and the top {other_n_top} "
            "classes: log equally many.",
            **names,
            n_top=first.n_top,
            other_n_top=other.n_top,
        )
    # Digests are of indices: if classes differ, labels are compared by name when they are read.
    same_classes = other.classes == first.classes
    for index, (group, others) in enumerate(zip_longest(first.groups, other.groups)):
        if (
            group is None
            or others is None
            or (group.rows, group.ids_digest) != (others.rows, others.ids_digest)
        ):
            raise _other_examples(first, other, index)
        same_labels = group.labels_digest == others.labels_digest
        if group.n_labeled != others.n_labeled or (same_classes and not same_labels):
            raise label_conflict(first, other, index)


def largest_alike(readers: Sequence[RunReader]) -> list[RunReader]:
    """Return the largest group of runs with the same examples; among equals the first."""
    groups: list[list[RunReader]] = []
    for reader in readers:
        for group in groups:
            with suppress(InputError):
                check_alike(group[0], reader)
                group.append(reader)
                break
        else:
            groups.append([reader])
    return max(groups, key=len, default=[])


def _other_examples(first: RunReader, other: RunReader, index: int) -> MissingExampleError:
    """Return the error for a row group with different examples in two runs."""
    if index < len(first.groups) and index < len(other.groups):
        longer = other
        difference = _difference(_ids(first, index), _ids(other, index))
    else:
        longer = first if index < len(first.groups) else other
        difference = Message("no-counterpart", "has no counterpart")
    return MissingExampleError(
        "The runs {run!r} and {other_run!r} hold different examples: {row_group} {difference}. "
        "Log the same ids in every run, or drop examples that some run lacks with "
        "--common-examples (common_examples=True in Python).",
        run=first.run.name,
        other_run=other.run.name,
        row_group=longer.name_of(index),
        difference=difference,
    )


def _ids(reader: RunReader, index: int) -> list[object]:
    return list(reader.read(index, ["example"]).column("example").to_pylist())


def _difference(expected: list[object], ids: list[object]) -> Message:
    """Return how the ids of one row group differ from those of another."""
    known = set(expected)
    new = [example for example in ids if example not in known]
    if not new and len(ids) == len(expected):
        return Message("other-order", "has the same ids in another order")
    if not new:
        return Message(
            "fewer-examples",
            "has {n_examples:,} of these {n_expected:,} examples",
            n_examples=len(ids),
            n_expected=len(expected),
        )
    if len(new) == len(ids):
        return Message(
            "no-common-example",
            "has none of these examples, but others such as {example!r}",
            example=new[0],
        )
    return Message(
        "other-examples",
        "has {n_examples:,} other examples, such as {example!r}",
        n_examples=len(new),
        example=new[0],
    )


def label_conflict(
    first: RunReader, other: RunReader, index: int | None = None
) -> LabelConflictError:
    """Return the error for two runs with different gold labels."""
    place = {} if index is None else {"row_group": other.name_of(index)}
    return LabelConflictError(
        "The runs {run!r} and {other_run!r} have different gold labels"
        + (", such as in {row_group}" if place else "")
        + ". An example has one right answer: log the same labels in every run.",
        run=first.run.name,
        other_run=other.run.name,
        **place,
    )
