"""Whether two runs hold the same examples: from their footers alone, and where they do not."""

from collections.abc import Sequence
from itertools import zip_longest

from seedproof.errors import InputError, LabelConflictError, MissingExampleError
from seedproof.records.run_reader import RunReader
from seedproof.records.schema import Group, Kind


def check_alike(first: RunReader, other: RunReader) -> None:
    """See that two runs can be measured together.

    Args:
        first: A run.
        other: Another one.

    Raises:
        InputError: One knows probabilities or classes that the other does not.
    """
    names = f"runs {first.run.name!r} and {other.run.name!r}"
    if other.kind is not first.kind:
        raise InputError(f"The {names} hold {first.kind} and {other.kind}: log one kind.")
    if other.kind is not Kind.LABELS and other.classes != first.classes:
        raise InputError(f"The {names} have different classes: log the same ones.")
    if other.n_top != first.n_top:
        raise InputError(
            f"The {names} keep the top {first.n_top} and the top {other.n_top} classes: log "
            "equally many."
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
    """The most runs that hold the same examples; of equally many those with the first run.

    Args:
        readers: The runs.

    Returns:
        Those that `check_alike` accepts together.
    """
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
    names = f"The runs {first.run.name!r} and {other.run.name!r} hold different examples"
    if index >= len(other.groups):
        return MissingExampleError(
            f"{names}: {first.name_of(index)} has no counterpart. Log the same ids in every run."
        )
    if index >= len(first.groups):
        return MissingExampleError(
            f"{names}: {other.name_of(index)} has no counterpart. Log the same ids in every run."
        )
    mine, theirs = (_ids(reader, index) for reader in (first, other))
    return MissingExampleError(
        f"{names}: {other.name_of(index)} {_difference(mine, theirs)}. "
        "Log the same ids in every run."
    )


def _ids(reader: RunReader, index: int) -> list[object]:
    found: list[object] = reader.read(index, ["example"]).column("example").to_pylist()
    return found


def _difference(mine: list[object], theirs: list[object]) -> str:
    """How the ids of one row group differ from those of another."""
    known = set(mine)
    strange = [example for example in theirs if example not in known]
    if not strange and len(theirs) == len(mine):
        return "has the same ids in another order"
    if not strange:
        return f"has {len(theirs):,} of these {len(mine):,} examples"
    if len(strange) == len(theirs):
        return f"has none of these examples, but others such as {strange[0]!r}"
    return f"has {len(strange):,} other examples, such as {strange[0]!r}"


def label_conflict(
    first: RunReader, other: RunReader, index: int | None = None
) -> LabelConflictError:
    """What to raise where two runs have different gold labels.

    Args:
        first: A run.
        other: Another one.
        index: In which row group.

    Returns:
        An error that names both.
    """
    where = "" if index is None else f", such as in {other.name_of(index)}"
    return LabelConflictError(
        f"The runs {first.run.name!r} and {other.run.name!r} have different gold labels{where}. "
        "An example has one right answer: log the same labels in every run."
    )
