"""Names of the classes that occur in a table, and how they are spelled."""

import re
from collections.abc import Mapping, Sequence

from seedproof.errors import ClassesError, DtypeError, UnknownLabelError
from seedproof.messages import Message
from seedproof.records.columns import measure_as
from seedproof.records.item_cells import SEPARATOR, refuse_lists
from seedproof.records.normalize import composed, index_names, unique_names
from seedproof.records.partition import MAX_NAMES
from seedproof.records.shards import canonical_order

MAX_CLASSES = MAX_NAMES
# More different numbers between 0 and 1 than this are probabilities, even if rounded.
MOST_ROUND = 10
NUMBER_TEXT = re.compile(r"^-?\d*\.?\d+(e[+-]?\d+)?$", re.IGNORECASE)
WHOLE_TEXT = re.compile(r"^(-?\d+)(\.0*)?$")


def find_classes(
    texts: Mapping[str, Sequence[str]],
    n_rows: int,
    of_columns: tuple[str, ...],
    named: Sequence[str] | None,
) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return the class names, and the class index of each spelling.

    Labels are `texts["l"]`, predictions `texts["y"]`; `of_columns` are the classes of probability
    columns, `named` those that the user gave.
    """
    _reject_regression(texts["y"], n_rows)
    refuse_lists(texts["y"])
    spelled = {*texts["l"], *texts["y"]}
    if len(spelled) > MAX_CLASSES:
        raise ClassesError(
            "There are more than {at_most:,} different predictions. Measure numbers with "
            "--value, free texts with --answer, and lists of labels with --set.",
            at_most=MAX_CLASSES,
        )
    whole, known_classes = _spellings(spelled), of_columns
    if named is not None:
        names = unique_names(named, len(named), "class", ClassesError)
        by_index = index_names(names)
        whole = {text: by_index.get(name, name) for text, name in whole.items()}
        known_classes = known_classes or tuple(canonical_order(sorted(names)))
    classes = known_classes or tuple(canonical_order(sorted(set(whole.values()))))
    place = {composed(name): i for i, name in enumerate(classes)}
    place |= {name: i for i, name in enumerate(classes)}
    spelling = {name: place.get(name, place.get(whole[name])) for name in spelled}
    unknown = sorted(name for name, index in spelling.items() if index is None)
    if unknown:
        _refuse_sets(unknown[0], of_columns)
        shown = ", ".join(classes[:5]) + (", …" if len(classes) > 5 else "")
        raise UnknownLabelError(
            "The label {label!r} is not one of the {n_classes} classes ({shown}). "
            "Spell labels like the classes in the column names.",
            label=unknown[0],
            n_classes=len(classes),
            shown=shown,
        )
    known = {name: index for name, index in spelling.items() if index is not None}
    labels, predicted = ({known[n] for n in texts[c]} for c in "ly")
    if labels and predicted and labels.isdisjoint(predicted):
        raise UnknownLabelError(
            "No label is ever predicted: labels such as {label!r}, predictions such "
            "as {prediction!r}. Use the same spelling for both.",
            label=min(texts["l"]),
            prediction=min(texts["y"]),
        )
    return classes, known


def _refuse_sets(label: str, of_columns: tuple[str, ...]) -> None:
    """Raise an error if a label joins several classes that have columns of probabilities."""
    names = {name.strip() for name in label.split(SEPARATOR)}
    if len(names) < 2 or not names <= {*of_columns}:
        return
    raise UnknownLabelError(
        "The label {label!r} names several of the {n_classes} classes. If several can be right at "
        "once, measure sets. {advice}",
        label=label,
        n_classes=len(of_columns),
        suggestion={"threshold": "0.5"},
        advice=Message("measure-sets", "Pass --threshold 0.5, or thresholds=0.5 in Python."),
    )


def _reject_regression(predictions: Sequence[str], n_rows: int) -> None:
    """Reject numbers that hardly ever repeat, and probabilities: they are not classes."""
    if len(predictions) > MOST_ROUND and all(NUMBER_TEXT.match(name) for name in predictions):
        numbers = [float(name) for name in predictions]
        if min(numbers) >= 0 and max(numbers) <= 1:
            raise DtypeError(
                "Predictions such as {prediction!r} look like probabilities. Name their class: "
                "--positive CLASS, or positive= in Python.",
                prediction=predictions[0],
                option="positive",
            )
    if len(predictions) <= n_rows / 2 or all(WHOLE_TEXT.match(name) for name in predictions):
        return
    if all(NUMBER_TEXT.match(name) for name in predictions):
        raise DtypeError(
            "Predictions such as {prediction!r} are numbers that hardly ever repeat. {advice}",
            prediction=predictions[0],
            option="value",
            **measure_as("value"),
        )


def _spellings(names: set[str]) -> dict[str, str]:
    """Return the class of each name: if all are numbers, "1" and "1.0" are the same class."""
    numeric = all(WHOLE_TEXT.match(name) for name in names)
    return {name: WHOLE_TEXT.sub(r"\1", name) if numeric else composed(name) for name in names}
