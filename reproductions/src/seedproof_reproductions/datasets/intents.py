"""Short requests and what they ask for: utterances with the intent or domain of each."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from seedproof.errors import EmptyInputError, ShapeError, UnknownLabelError, UnreadableError
from seedproof.typing import IntArray

# Id, text and class of an utterance.
Row: TypeAlias = tuple[int, str, str]
REMEDY = "Put the published file in its place, or move it away to have it fetched."


@dataclass(frozen=True, eq=False)
class Utterances:
    """One split of a data set.

    Args:
        ids: Number of each utterance in its source: it does not change when some are left out.
        texts: The utterances as they were typed.
        labels: Gold class of each, as an index.
    """

    ids: IntArray
    texts: tuple[str, ...]
    labels: IntArray

    def __post_init__(self) -> None:
        sizes = {len(self.ids), len(self.texts), len(self.labels)}
        if len(sizes) != 1:
            raise ShapeError(
                f"Ids, texts and labels have different lengths: {sorted(sizes)}. "
                "Give one of each an example."
            )

    def __len__(self) -> int:
        return len(self.labels)

    def at(self, chosen: IntArray) -> "Utterances":
        """The utterances at some positions, with the ids that they had."""
        return Utterances(
            self.ids[chosen], tuple(self.texts[i] for i in chosen), self.labels[chosen]
        )

    def smaller(self, n: int | None, *, seed: int) -> "Utterances":
        """A fixed random part of so many utterances, in their order; all of them without a number.

        Args:
            n: How many.
            seed: Which part.

        Returns:
            At most as many as there are.
        """
        if n is None or n >= len(self):
            return self
        chosen = np.random.default_rng(seed).permutation(len(self))[:n]
        return self.at(np.sort(chosen))


@dataclass(frozen=True, eq=False)
class IntentData:
    """A data set of utterances.

    Args:
        name: What it is called.
        classes: Names of the classes, in the order of their indices.
        train: What is trained on.
        dev: What settings are chosen by.
        test: What is measured.
        notes: Where it differs from what was published.
    """

    name: str
    classes: tuple[str, ...]
    train: Utterances
    dev: Utterances
    test: Utterances
    notes: tuple[str, ...] = ()

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.classes)


def read_json(text: bytes, *, where: str) -> Any:  # noqa: ANN401 - whatever the file holds
    """What a file, or a line of it, says.

    Args:
        text: JSON.
        where: What it is called in the message.

    Returns:
        Plain data.

    Raises:
        UnreadableError: It is no JSON.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        raise UnreadableError(f"{where} is no JSON ({error}). {REMEDY}") from error


def intent_data(
    name: str,
    splits: Mapping[str, Sequence[Row]],
    *,
    places: Mapping[str, str],
    notes: tuple[str, ...] = (),
) -> IntentData:
    """A data set whose classes are those of its training split, by their names.

    Args:
        name: What it is called.
        splits: Rows of `train`, `dev` and `test`.
        places: What each split is called in messages.
        notes: Where it differs from what was published.

    Returns:
        The data set.

    Raises:
        EmptyInputError: A split has no rows.
        UnknownLabelError: A split has a class that the training split lacks.
    """
    for split, rows in splits.items():
        if not rows:
            raise EmptyInputError(f"{places[split]} has no utterances. {REMEDY}")
    classes = tuple(sorted({kind for _, _, kind in splits["train"]}))
    indices = {kind: index for index, kind in enumerate(classes)}
    for split, rows in splits.items():
        unknown = next((kind for _, _, kind in rows if kind not in indices), None)
        if unknown is not None:
            raise UnknownLabelError(
                f"{places[split]} has the class {unknown!r}, and {places['train']} has not: one of "
                f"them is damaged or cut short. {REMEDY}"
            )
    train, dev, test = (
        Utterances(
            ids=np.array([number for number, _, _ in splits[split]]),
            texts=tuple(text for _, text, _ in splits[split]),
            labels=np.array([indices[kind] for _, _, kind in splits[split]]),
        )
        for split in ("train", "dev", "test")
    )
    return IntentData(name, classes, train, dev, test, notes)


def unreadable(where: str | Path, layout: str) -> UnreadableError:
    """The error for a file that is JSON and not what it should be.

    Args:
        where: The file, or a line of it.
        layout: What it must look like.

    Returns:
        An error to raise.
    """
    return UnreadableError(f"{where} is not laid out as published: it needs {layout}. {REMEDY}")
