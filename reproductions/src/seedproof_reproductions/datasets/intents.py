"""The intent data sets of the Findings 2023 paper: CLINC150 and MASSIVE, English.

CLINC150 (Larson et al., 2019) has 150 intents; requests that are out of scope are left out, as in
the paper. MASSIVE (FitzGerald et al., 2022) has 18 domains, the first word of the intent's name.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias

import numpy as np

from seedproof.errors import EmptyInputError, UnknownLabelError, UnreadableError
from seedproof.typing import IntArray
from seedproof_reproductions.datasets.files import LAYOUTS, digest_notes, public_file
from seedproof_reproductions.datasets.texts import Dataset, Examples

# Id, text and class of an utterance.
Row: TypeAlias = tuple[int, str, str]
REMEDY = "Put the published file in its place, or move it away to have it fetched."
# What the files call the splits.
CLINC150_SPLITS = {"train": "train", "dev": "val", "test": "test"}
MASSIVE_SPLITS = {"train": "train", "dev": "validation", "test": "test"}


@dataclass(frozen=True, eq=False)
class Utterances(Examples):
    """Utterances as they were written."""

    ids: IntArray
    texts: tuple[str, ...]
    labels: IntArray

    def sample(self, n: int | None, *, seed: int) -> "Utterances":
        """Draw a fixed random part of so many utterances, in their order; None is all."""
        if n is None or n >= len(self):
            return self
        return self.at(np.sort(np.random.default_rng(seed).permutation(len(self))[:n]))


class IntentData(Dataset[Utterances]):
    """A data set of utterances."""


def load_clinc150() -> IntentData:
    """Load CLINC150: 15,000 utterances to train on, 3,000 to choose by and 4,500 to test on."""
    path = "clinc150/data_full.json"
    file = public_file(path)
    # Ids are unique over all splits: the position in the file, one split after the other.
    number = count()
    with _laid_out_as_published(str(file), LAYOUTS["clinc150"]):
        content = json.loads(file.read_bytes())
        splits = {
            split: [_clinc150_row(next(number), row) for row in content[name]]
            for split, name in CLINC150_SPLITS.items()
        }
    places = {split: f"The split {name!r} of {file}" for split, name in CLINC150_SPLITS.items()}
    return _intent_data("clinc150", splits, places, digest_notes(file, path))


def load_massive() -> IntentData:
    """Load MASSIVE: 11,514 utterances to train on, 2,033 to choose by and 2,974 to test on."""
    paths = {split: f"massive/{name}.jsonl" for split, name in MASSIVE_SPLITS.items()}
    files = {split: public_file(path) for split, path in paths.items()}
    splits: dict[str, list[Row]] = {split: [] for split in files}
    for split, file in files.items():
        for place, line in enumerate(file.read_bytes().splitlines(), start=1):
            with _laid_out_as_published(f"Line {place} of {file}", LAYOUTS["massive"]):
                splits[split].append(_massive_row(json.loads(line)))
    notes = [note for split in files for note in digest_notes(files[split], paths[split])]
    places = {split: str(file) for split, file in files.items()}
    return _intent_data("massive", splits, places, tuple(notes))


LOADERS = {"clinc150": load_clinc150, "massive": load_massive}


@contextmanager
def _laid_out_as_published(where: str, layout: str) -> Iterator[None]:
    """Raise an `UnreadableError` if what is read inside has another layout."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        raise UnreadableError(
            "{where} is not laid out as published: it needs {layout}. {remedy}",
            where=where,
            layout=layout,
            remedy=REMEDY,
        ) from error


def _clinc150_row(number: int, row: object) -> Row:
    match row:
        case [str(text), str(intent)]:
            return number, text, intent
    raise TypeError(row)


def _massive_row(row: object) -> Row:
    match row:
        case {"id": number, "text": str(text), "label_text": str(intent)}:
            return int(number), text, intent.split("_")[0]
    raise TypeError(row)


def _intent_data(
    name: str,
    splits: Mapping[str, Sequence[Row]],
    places: Mapping[str, str],
    notes: tuple[str, ...],
) -> IntentData:
    """Make a data set whose classes are those of its training split, by their names."""
    for split, rows in splits.items():
        if not rows:
            raise EmptyInputError(
                "{place} has no utterances. {remedy}", place=places[split], remedy=REMEDY
            )
    classes = tuple(sorted({kind for _, _, kind in splits["train"]}))
    indices = {kind: index for index, kind in enumerate(classes)}
    for split, rows in splits.items():
        unknown = next((kind for _, _, kind in rows if kind not in indices), None)
        if unknown is not None:
            raise UnknownLabelError(
                "{place} has the class {unknown!r}, and {other_place} has not: one of "
                "them is damaged or incomplete. {remedy}",
                place=places[split],
                unknown=unknown,
                other_place=places["train"],
                remedy=REMEDY,
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
