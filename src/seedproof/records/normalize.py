"""Class names, gold labels and example ids in one form, however the user writes them."""

import unicodedata
from collections import Counter
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
from seedproof.messages import Message
from seedproof.records.arrow import texts_to_arrow, to_arrow, to_numpy
from seedproof.records.location import is_unicode
from seedproof.records.probabilities import UNLABELED
from seedproof.records.shards import canonical_order, is_integer
from seedproof.typing import IntArray

# Names that a note lists.
MOST_SHOWN = 10
# Name of the other of two classes, if no label shows it.
OPPOSITES = {"1": "0", "0": "1", "true": "false", "True": "False", "yes": "no", "no": "yes"}


def column(values: npt.ArrayLike) -> npt.NDArray[np.generic]:
    """Return one value per example; numpy would turn a list of texts and NaN into texts alone."""
    if isinstance(values, np.ma.MaskedArray):
        filled = values.data.astype(object)
        filled[np.ma.getmaskarray(values)] = None
        return filled
    return np.asarray(values, dtype=object if isinstance(values, list | tuple) else None)


def sized_column(values: npt.ArrayLike, n_examples: int, name: str) -> npt.NDArray[np.generic]:
    """Return one value per example, as they were given."""
    array = column(values)
    if array.shape != (n_examples,):
        raise ShapeError(
            "{name!r} has shape {shape!s}, but there are {n_examples} examples. "
            "Pass one value per example, shape ({n_examples},).",
            name=name,
            shape=array.shape,
            n_examples=n_examples,
        )
    return array


def as_text(value: object) -> str | None:
    """Return a class or id as text; whole floats lose their ".0", missing values become None."""
    # pandas has its own NA, and we never import pandas.
    is_nan = type(value).__name__ == "NAType" or value != value  # noqa: PLR0124 - NaN of any type
    if value is None or is_nan:
        return None
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        value = int(value)
    return str(value)


def as_ids(ids: npt.ArrayLike | None, n_examples: int) -> pa.Array:
    """Return ids as they are recorded: int64 if all are integers, else text."""
    if ids is None:
        return to_arrow(np.arange(n_examples, dtype=np.int64))
    given = sized_column(ids, n_examples, "ids")
    if np.issubdtype(given.dtype, np.signedinteger):
        return to_arrow(given.astype(np.int64))
    names = [as_text(value) for value in given.tolist()]
    if np.issubdtype(given.dtype, np.floating) and np.nanmax(np.abs(given), initial=0) > 2.0**53:
        raise DtypeError(
            "`ids` has numbers above 2^53 that are not exact. Pass integers or texts.",
            keyword="ids",
        )
    if None in names:
        raise MissingValueError(
            "The id of example {position} is missing. Give every example an id, or omit `ids`.",
            position=names.index(None),
        )
    texts = [composed(str(name)) for name in names]
    if all(is_integer(text) for text in texts):
        return to_arrow([int(text) for text in texts], np.int64)
    check_text(texts)
    return texts_to_arrow(texts)


def canonical_rows(ids: pa.Array) -> IntArray:
    """Return the order that sorts ids, which must all be different."""
    import pyarrow.compute as pc

    order = pc.sort_indices(ids)
    ranked = ids.take(order)
    same = to_numpy(pc.equal(ranked[:-1], ranked[1:]))
    if same.any():
        raise DuplicateExampleError(
            "The id {twice!r} appears twice. Give every example its own id.",
            twice=ranked[int(np.flatnonzero(same)[0])].as_py(),
        )
    return to_numpy(order)


def class_names(classes: Sequence[str] | None, n_classes: int) -> tuple[str, ...]:
    """Return the names of all classes, or their indices if they have none."""
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
    """Return n different names as text."""
    names = tuple(map(str, given))
    if len(names) != n or len(set(names)) != n:
        raise error(
            "{n_names} different {noun} names were given, and {n_needed} are needed. "
            "Pass one name for each.",
            n_names=len(set(names)),
            noun=noun,
            n_needed=n,
        )
    check_text(names)
    return names


def check_text(names: Collection[str]) -> None:
    """Reject names that a file cannot hold."""
    if not is_unicode("".join(names)):
        broken = next(name for name in names if not is_unicode(name))
        raise DtypeError(
            "{name!r} is not valid Unicode: it contains an unpaired surrogate. Rename it.",
            name=broken,
        )


def as_labels(labels: npt.ArrayLike, n_examples: int) -> npt.NDArray[np.generic]:
    """Return gold labels, one per example, as they were given."""
    return sized_column(labels, n_examples, "labels")


def label_codes(
    gold: npt.NDArray[np.generic], classes: Collection[str]
) -> tuple[list[str | None], IntArray]:
    """Return labels as text, and the position of each example's label among them.

    A label is None where it is unknown: missing, or negative and not a class.
    """

    def is_unknown(value: object, name: str | None) -> bool:
        return isinstance(value, int | float) and value < 0 and name not in classes

    if gold.dtype == object:  # values of several types have no order
        distinct, codes = gold, np.arange(len(gold))
    else:
        distinct, codes = np.unique(gold, return_inverse=True)
    named = [(value, as_text(value)) for value in distinct.tolist()]
    return [None if is_unknown(value, name) else name for value, name in named], codes


def composed(name: str) -> str:
    """Return a name whose letters with accents are one character each, as in Unicode's form C."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def composed_texts(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return texts of a column in Unicode's form C; most are ASCII, and stay as they are."""
    import pyarrow.compute as pc

    is_plain = not pa.types.is_string(texts.type) or pc.all(pc.string_is_ascii(texts)).as_py()
    return texts if is_plain is not False else pc.utf8_normalize(texts, form="NFC")


def accented_names(texts: pa.Array | pa.ChunkedArray) -> set[str]:
    """Return the distinct texts of a column that have other letters than those of ASCII."""
    import pyarrow.compute as pc

    if not pa.types.is_string(texts.type):
        return set()
    accented = texts.filter(pc.invert(pc.string_is_ascii(texts)))
    return {*pc.unique(accented.drop_null()).to_pylist()}


def joined_names(names: Collection[str], noun: str = "classes") -> tuple[Message, ...]:
    """Return a note if names differ only in how their letters are composed: they look alike."""
    forms = Counter(map(composed, set(names)))
    joined = tuple(sorted(form for form, count in forms.items() if count > 1))
    if not joined:
        return ()
    return (
        Message(
            "joined-names",
            "Names of {noun} that differ only in how letters such as é are composed are the same "
            "(Unicode NFC): {names}{more}.",
            noun=noun,
            names=joined[:MOST_SHOWN],
            more=f" and {len(joined) - MOST_SHOWN:,} more" * (len(joined) > MOST_SHOWN),
        ),
    )


def class_places(classes: Sequence[str]) -> dict[str, int]:
    """Return the index of each class by its name, and by its index unless names are numbers."""
    by_name = {name: i for i, name in enumerate(classes)}
    return {index: by_name[name] for index, name in index_names(classes).items()} | by_name


def index_names(classes: Sequence[str]) -> dict[str, str]:
    """Return the name of each class by its index as text; empty if names are numbers."""
    if any(is_integer(name) for name in classes):
        return {}
    return {str(index): name for index, name in enumerate(classes)}


def both_classes(
    positive: str, labels: Collection[str], classes: Sequence[str] | None = None
) -> tuple[str, tuple[str, ...]]:
    """Return the names of two classes, of which one is known."""
    if classes is not None:
        names = unique_names(classes, 2, "class", ClassesError)
        place = class_places(names).get(positive)
        if place is None:
            raise OptionError(
                "`{option}` is {positive!r}, which is not one of the classes {classes}.",
                option="positive",
                positive=positive,
                classes=names,
            )
        return names[place], tuple(canonical_order(sorted(names)))
    opposite = OPPOSITES.get(positive, f"not {positive}")
    others = sorted({*labels} - {positive})
    if len(others) > 1 or (others and positive not in labels and others != [opposite]):
        raise UnknownLabelError(
            "A single probability column describes {positive!r} and one other class, but the "
            "labels are {labels}. The positive class must match a label: --positive CLASS, or "
            "positive= in Python. With more than two classes, pass one probability per class.",
            positive=positive,
            labels=tuple(sorted(labels)[:5]),
        )
    other = others[0] if others else opposite
    return positive, tuple(canonical_order(sorted([positive, other])))


def label_indices(gold: npt.NDArray[np.generic], classes: tuple[str, ...]) -> IntArray:
    """Return gold labels as class indices; numbers are names if a class has a number as name."""
    plain = classes == tuple(map(str, range(len(classes))))
    if plain and np.issubdtype(gold.dtype, np.integer) and gold.max(initial=0) < len(classes):
        return np.where(np.less(gold, 0), UNLABELED, gold).astype(np.int32)
    place = class_places(classes)
    names, codes = label_codes(gold, place)
    unknown = next((name for name in names if name is not None and name not in place), None)
    if unknown is not None:
        shown = ", ".join(classes[:5]) + (", …" if len(classes) > 5 else "")
        raise UnknownLabelError(
            "The label {label!r} is not one of the {n_classes} classes ({shown}). "
            "Pass class indices, or names that are in `classes`.",
            label=unknown,
            n_classes=len(classes),
            shown=shown,
        )
    indices = [UNLABELED if name is None else place[name] for name in names]
    return np.array(indices, dtype=np.int32)[codes]
