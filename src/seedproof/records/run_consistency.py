"""Whether two runs hold the same examples: from their footers alone, and where they do not."""

from collections.abc import Sequence
from itertools import zip_longest

from seedproof.errors import InputError, LabelConflictError, MissingExampleError
from seedproof.messages import Message
from seedproof.records.run_reader import RunReader
from seedproof.records.schema import Group, Kind


def check_alike(first: RunReader, other: RunReader) -> None:
    """See that two runs can be measured together."""
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
    # Digests are of indices: with other classes, names are compared when they are read.
    alike = other.classes == first.classes
    for index, (mine, theirs) in enumerate(zip_longest(first.groups, other.groups)):
        if mine is None or theirs is None or _examples(mine) != _examples(theirs):
            raise _other_examples(first, other, index)
        differ = mine.labels_digest != theirs.labels_digest
        if mine.n_labeled != theirs.n_labeled or (alike and differ):
            raise label_conflict(first, other, index)


def largest_alike(readers: Sequence[RunReader]) -> list[RunReader]:
    """The most runs that hold the same examples; of equally many those with the first run."""
    groups: list[list[RunReader]] = []
    for reader in readers:
        fitting = next((group for group in groups if _is_alike(group[0], reader)), None)
        if fitting is None:
            groups.append([reader])
        else:
            fitting.append(reader)
    return max(groups, key=len, default=[])


def _is_alike(first: RunReader, other: RunReader) -> bool:
    try:
        check_alike(first, other)
    except InputError:
        return False
    return True


def _examples(group: Group) -> tuple[int, str]:
    return group.rows, group.ids_digest


def _other_examples(first: RunReader, other: RunReader, index: int) -> MissingExampleError:
    """What to raise where a row group of two runs holds different examples."""
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
    found: list[object] = reader.read(index, ["example"]).column("example").to_pylist()
    return found


def _difference(mine: list[object], theirs: list[object]) -> Message:
    """Return how the ids of one row group differ from those of another."""
    known = set(mine)
    strange = [example for example in theirs if example not in known]
    if not strange and len(theirs) == len(mine):
        return Message("other-order", "has the same ids in another order")
    if not strange:
        return Message(
            "fewer-examples",
            "has {n_examples:,} of these {n_expected:,} examples",
            n_examples=len(theirs),
            n_expected=len(mine),
        )
    if len(strange) == len(theirs):
        return Message(
            "no-common-example",
            "has none of these examples, but others such as {example!r}",
            example=strange[0],
        )
    return Message(
        "other-examples",
        "has {n_examples:,} other examples, such as {example!r}",
        n_examples=len(strange),
        example=strange[0],
    )


def label_conflict(
    first: RunReader, other: RunReader, index: int | None = None
) -> LabelConflictError:
    """What to raise where two runs have different gold labels."""
    names = {"run": first.run.name, "other_run": other.run.name}
    if index is None:
        return LabelConflictError(
            "The runs {run!r} and {other_run!r} have different gold labels. "
            "An example has one right answer: log the same labels in every run.",
            **names,
        )
    return LabelConflictError(
        "The runs {run!r} and {other_run!r} have different gold labels, such as in {row_group}. "
        "An example has one right answer: log the same labels in every run.",
        **names,
        row_group=other.name_of(index),
    )
