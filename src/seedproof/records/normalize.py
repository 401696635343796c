"""Names of classes, gold labels and ids of examples, as people write them, in one form."""

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seedproof.errors import (
    ClassesError,
    DtypeError,
    DuplicateExampleError,
    MissingValueError,
    OptionError,
    SeedproofError,
    ShapeError,
    UnknownLabelError,
)
from seedproof.records.arrow import texts_to_arrow, to_arrow, to_numpy
from seedproof.records.location import is_unicode
from seedproof.records.probabilities import UNLABELED
from seedproof.records.shards import canonical_order, is_integer
from seedproof.typing import IntArray

# What the other of two classes is called, where no label says so.
OPPOSITES = {"1": "0", "0": "1", "true": "false", "True": "False", "yes": "no", "no": "yes"}


def column(values: npt.ArrayLike) -> npt.NDArray[np.generic]:
    """One value an example; numpy would turn a list of texts and NaN into texts alone."""
    if isinstance(values, np.ma.MaskedArray):
        found = values.data.astype(object)
        found[np.ma.getmaskarray(values)] = None
        return found
    return np.asarray(values, dtype=object if isinstance(values, list | tuple) else None)


def as_text(value: object) -> str | None:
    """A class or id as text; whole floats lose their ".0", and what is missing becomes None."""
    # pandas has its own NA, which is neither; we never import pandas.
    is_nan = type(value).__name__ == "NAType" or value != value  # noqa: PLR0124 - NaN of any type
    if value is None or is_nan:
        return None
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        value = int(value)
    return str(value)


def as_ids(ids: npt.ArrayLike | None, n_examples: int) -> pa.Array:
    """Ids as they are recorded: int64 if all are integers, else text; positions without them."""
    if ids is None:
        return to_arrow(np.arange(n_examples, dtype=np.int64))
    given = column(ids)
    if given.shape != (n_examples,):
        raise ShapeError(
            "Ids have shape {shape!s}, but there are {n_examples} examples. "
            "Give one id an example, shape ({n_examples},).",
            shape=given.shape,
            n_examples=n_examples,
        )
    if np.issubdtype(given.dtype, np.signedinteger):
        return to_arrow(given.astype(np.int64))
    names = [as_text(value) for value in given.tolist()]
    if None in names:
        raise MissingValueError(
            "The id of example {position} is missing. "
            "Give every example an id, or leave `ids` out.",
            position=names.index(None),
        )
    texts = [str(name) for name in names]
    if all(is_integer(text) for text in texts):
        return to_arrow([int(text) for text in texts], np.int64)
    check_text(texts)
    return texts_to_arrow(texts)


def canonical_rows(ids: pa.Array) -> IntArray:
    """Where each example of a record, which has ids in order, is among some; refuses equals."""
    import pyarrow.compute as pc

    order = pc.sort_indices(ids)
    ranked = ids.take(order)
    same = to_numpy(pc.equal(ranked[:-1], ranked[1:]))
    if same.any():
        twice = ranked[int(np.flatnonzero(same)[0])].as_py()
        raise DuplicateExampleError(
            "The id {twice!r} comes twice. Give every example its own id.", twice=twice
        )
    return to_numpy(order)


def class_names(classes: Sequence[str] | None, n_classes: int) -> tuple[str, ...]:
    """Names of all classes, their indices without them; refuses equal ones."""
    if n_classes < 2:
        raise ClassesError(
            "There is {n_classes} class. Probabilities need at least two: for a binary model give "
            "both, np.stack([1 - p, p], axis=-1).",
            n_classes=n_classes,
        )
    return unique_names(
        range(n_classes) if classes is None else classes, n_classes, "class", ClassesError
    )


def unique_names(
    given: Sequence[object], n: int, noun: str, error: type[SeedproofError]
) -> tuple[str, ...]:
    """Names as text, as many as are needed and all different."""
    names = tuple(map(str, given))
    if len(names) != n or len(set(names)) != n:
        raise error(
            "{n_names} different {noun} names were given, and {n_needed} are needed. "
            "Give one name for each.",
            n_names=len(set(names)),
            noun=noun,
            n_needed=n,
        )
    check_text(names)
    return names


def check_text(names: Collection[str]) -> None:
    """Accept names that a file can hold."""
    if not is_unicode("".join(names)):
        broken = next(name for name in names if not is_unicode(name))
        raise DtypeError(
            "{name!r} is no text: it holds half of a character, which UTF-8 cannot write. "
            "Rename it.",
            name=broken,
        )


def as_labels(labels: npt.ArrayLike, n_examples: int) -> npt.NDArray[np.generic]:
    """Gold labels, one an example, as they were given."""
    gold = column(labels)
    if gold.shape != (n_examples,):
        raise ShapeError(
            "Labels have shape {shape!s}, but there are {n_examples} examples. "
            "Give one label an example, shape ({n_examples},).",
            shape=gold.shape,
            n_examples=n_examples,
        )
    return gold


def label_names(gold: npt.NDArray[np.generic], classes: Collection[str]) -> list[str | None]:
    """Labels as text; None where unknown, which a negative number says if it is no class."""

    def one(value: object) -> str | None:
        name = as_text(value)
        negative = isinstance(value, int | float) and value < 0
        return None if negative and name not in classes else name

    return [one(value) for value in gold.tolist()]


def class_places(classes: Sequence[str]) -> dict[str, int]:
    """Index of each class, by its name; by its index as well, unless names are numbers, too."""
    by_name = {name: i for i, name in enumerate(classes)}
    return {index: by_name[name] for index, name in index_names(classes).items()} | by_name


def index_names(classes: Sequence[str]) -> dict[str, str]:
    """Name of each class by its index as text; empty where names are numbers themselves."""
    if any(is_integer(name) for name in classes):
        return {}
    return {str(index): name for index, name in enumerate(classes)}


def both_classes(
    positive: str, labels: Collection[str], classes: Sequence[str] | None = None
) -> tuple[str, tuple[str, ...]]:
    """Names of two classes, of which one is known."""
    if classes is not None:
        names = unique_names(classes, 2, "class", ClassesError)
        place = class_places(names).get(positive)
        if place is None:
            raise OptionError(
                "`{option}` is {positive!r}, which is none of the classes {classes}.",
                option="positive",
                positive=positive,
                classes=names,
            )
        return names[place], tuple(canonical_order(sorted(names)))
    opposite = OPPOSITES.get(positive, f"not {positive}")
    others = sorted({*labels} - {positive})
    if len(others) > 1 or (others and positive not in labels and others != [opposite]):
        raise UnknownLabelError(
            "The probability is that of {positive!r} against one other class, and the labels are "
            "{labels}. Name the positive class as the labels do: --positive CLASS, or positive= in "
            "Python; with more than two classes give one probability per class.",
            positive=positive,
            labels=tuple(sorted(labels)[:5]),
        )
    other = others[0] if others else opposite
    return positive, tuple(canonical_order(sorted([positive, other])))


def label_indices(gold: npt.NDArray[np.generic], classes: tuple[str, ...]) -> IntArray:
    """Gold labels as class indices; numbers are names where a class has a number for its name."""
    plain = classes == tuple(map(str, range(len(classes))))
    if plain and np.issubdtype(gold.dtype, np.integer) and gold.max(initial=0) < len(classes):
        return np.where(np.less(gold, 0), UNLABELED, gold).astype(np.int32)
    place = class_places(classes)
    names = label_names(gold, place)
    unknown = next((name for name in names if name is not None and name not in place), None)
    if unknown is not None:
        shown = ", ".join(classes[:5]) + (", …" if len(classes) > 5 else "")
        raise UnknownLabelError(
            "The label {label!r} is none of the {n_classes} classes ({shown}). "
            "Give class indices, or names that are in `classes`.",
            label=unknown,
            n_classes=len(classes),
            shown=shown,
        )
    codes = [UNLABELED if name is None else place[name] for name in names]
    return np.array(codes, dtype=np.int32)
