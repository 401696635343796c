"""MASSIVE, English: which of 18 domains has a request? FitzGerald et al., 2022."""

from pathlib import Path

from seedproof_reproductions.datasets.cache import Source, fetch, local_file, note_on_bytes
from seedproof_reproductions.datasets.intents import (
    IntentData,
    Row,
    intent_data,
    read_json,
    unreadable,
)

_FOLDER = (
    "https://raw.githubusercontent.com/muaaznoor/IntentClassificationLSTM/"
    "75c796d911419c8fd4ba52c77cb7d8edcd4a5dfa/data"
)
PUBLIC = {
    "train": Source(
        f"{_FOLDER}/train.jsonl",
        "sha256:5d7acab7dd4ec9f8253dec8571eafd75fa8fc4ef64ad401ef2ac6907d277e1a8",
    ),
    "validation": Source(
        f"{_FOLDER}/validation.jsonl",
        "sha256:616da8f9a9c33e72ae57f64bac4804f87b92f71712ef7f348f576032f7bf9c6d",
    ),
    "test": Source(
        f"{_FOLDER}/test.jsonl",
        "sha256:946947a0e8de7f120bc643b2892f54638673b9fe97b627a67305ca5f2d93c3c2",
    ),
}
# What the files call the splits.
SPLITS = {"train": "train", "dev": "validation", "test": "test"}
LAYOUT = "a number as id, and texts as text and label_text, in each line"


def load() -> IntentData:
    """The English part, as published; the domain is the first word of the intent's name.

    Returns:
        11,514 utterances to train on, 2,033 to choose by and 2,974 to test on.
    """
    paths = {split: _path(name) for split, name in SPLITS.items()}
    notes = [note_on_bytes(path, PUBLIC[SPLITS[split]]) for split, path in paths.items()]
    return intent_data(
        "massive",
        {split: _read(path) for split, path in paths.items()},
        places={split: str(path) for split, path in paths.items()},
        notes=tuple(note for found in notes for note in found),
    )


def _path(name: str) -> Path:
    local = f"massive/{name}.jsonl"
    return local_file(local) or fetch(PUBLIC[name], folder="massive", local=local)


def _read(path: Path) -> list[Row]:
    with path.open("rb") as lines:
        return [
            _row(line, where=f"Line {place} of {path}") for place, line in enumerate(lines, start=1)
        ]


def _row(line: bytes, *, where: str) -> Row:
    row = read_json(line, where=where)
    try:
        number, text, intent = int(row["id"]), row["text"], row["label_text"]
    except (KeyError, TypeError, ValueError) as error:
        raise unreadable(where, LAYOUT) from error
    if not (isinstance(text, str) and isinstance(intent, str)):
        raise unreadable(where, LAYOUT)
    return number, text, intent.split("_")[0]
