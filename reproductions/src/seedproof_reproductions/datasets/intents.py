"""The intent data sets of the Findings 2023 paper: CLINC150 and MASSIVE, English.

CLINC150 (Larson et al., 2019) has 150 intents; requests that are out of scope are left out, as in
the paper. MASSIVE (FitzGerald et al., 2022) has 18 domains, the first word of the intent's name.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from seedproof.errors import EmptyInputError, ShapeError, UnknownLabelError, UnreadableError
from seedproof.typing import IntArray
from seedproof_reproductions.datasets.files import digest_notes, public_file

# Id, text and class of an utterance.
Row: TypeAlias = tuple[int, str, str]
REMEDY = "Put the published file in its place, or move it away to have it fetched."
# What the files call the splits.
CLINC150_SPLITS = {"train": "train", "dev": "val", "test": "test"}
CLINC150_LAYOUT = "the splits train, val and test, each a list of pairs of a text and its intent"
MASSIVE_SPLITS = {"train": "train", "dev": "validation", "test": "test"}
MASSIVE_LAYOUT = "a number as id, and texts as text and label_text, in each line"


@dataclass(frozen=True, eq=False)
class Utterances:
    """One split of a data set."""

    ids: IntArray
    texts: tuple[str, ...]
    labels: IntArray

    def __post_init__(self) -> None:
        sizes = {len(self.ids), len(self.texts), len(self.labels)}
        if len(sizes) != 1:
            raise ShapeError(
                "Ids, texts and labels have different lengths: {sizes}. "
                "Give one of each per example.",
                sizes=sorted(sizes),
            )

    def __len__(self) -> int:
        return len(self.labels)

    def sample(self, n: int | None, *, seed: int) -> "Utterances":
        """Draw a fixed random part of so many utterances, in their order; None is all."""
        if n is None or n >= len(self):
            return self
        where = np.sort(np.random.default_rng(seed).permutation(len(self))[:n])
        return Utterances(self.ids[where], tuple(self.texts[i] for i in where), self.labels[where])


@dataclass(frozen=True, eq=False)
class IntentData:
    """A data set of utterances."""

    name: str
    classes: tuple[str, ...]
    train: Utterances
    dev: Utterances
    test: Utterances
    notes: tuple[str, ...] = ()

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)


def load_clinc150() -> IntentData:
    """Load CLINC150: 15,000 utterances to train on, 3,000 to choose by and 4,500 to test on."""
    path = "clinc150/data_full.json"
    file = public_file(path)
    content = _read_json(file.read_bytes(), where=str(file))
    # Ids are unique over all splits: the position in the file, one split after the other.
    splits: dict[str, list[Row]] = {}
    start = 0
    for split, name in CLINC150_SPLITS.items():
        rows = content.get(name) if isinstance(content, dict) else None
        if not isinstance(rows, list) or not all(_is_pair(row) for row in rows):
            raise _wrong_layout(file, CLINC150_LAYOUT)
        splits[split] = [(start + i, text, intent) for i, (text, intent) in enumerate(rows)]
        start += len(rows)
    places = {split: f"The split {name!r} of {file}" for split, name in CLINC150_SPLITS.items()}
    return _intent_data("clinc150", splits, places, digest_notes(file, path))


def load_massive() -> IntentData:
    """Load MASSIVE: 11,514 utterances to train on, 2,033 to choose by and 2,974 to test on."""
    paths = {split: f"massive/{name}.jsonl" for split, name in MASSIVE_SPLITS.items()}
    files = {split: public_file(path) for split, path in paths.items()}
    splits = {split: _read_lines(file) for split, file in files.items()}
    notes = [note for split in files for note in digest_notes(files[split], paths[split])]
    places = {split: str(file) for split, file in files.items()}
    return _intent_data("massive", splits, places, tuple(notes))


LOADERS = {"clinc150": load_clinc150, "massive": load_massive}


def _read_json(text: bytes, *, where: str) -> Any:  # noqa: ANN401 - whatever the file holds
    try:
        return json.loads(text)
    except ValueError as error:
        raise UnreadableError(
            "{where} is not JSON ({reason}). {remedy}",
            where=where,
            reason=str(error),
            remedy=REMEDY,
        ) from error


def _wrong_layout(where: str | Path, layout: str) -> UnreadableError:
    return UnreadableError(
        "{where} is not laid out as published: it needs {layout}. {remedy}",
        where=where,
        layout=layout,
        remedy=REMEDY,
    )


def _is_pair(row: object) -> bool:
    return isinstance(row, list) and len(row) == 2 and all(isinstance(text, str) for text in row)


def _read_lines(file: Path) -> list[Row]:
    rows = []
    with file.open("rb") as lines:
        for place, line in enumerate(lines, start=1):
            where = f"Line {place} of {file}"
            row = _read_json(line, where=where)
            try:
                number, text, intent = int(row["id"]), row["text"], row["label_text"]
            except (KeyError, TypeError, ValueError) as error:
                raise _wrong_layout(where, MASSIVE_LAYOUT) from error
            if not (isinstance(text, str) and isinstance(intent, str)):
                raise _wrong_layout(where, MASSIVE_LAYOUT)
            rows.append((number, text, intent.split("_")[0]))
    return rows


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
