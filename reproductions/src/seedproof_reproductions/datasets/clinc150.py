"""CLINC150: which of 150 intents has a request? Larson et al., 2019."""

from pathlib import Path
from typing import Any

from seedproof_reproductions.datasets.cache import Source, fetch, local_file, note_on_bytes
from seedproof_reproductions.datasets.intents import (
    IntentData,
    Row,
    intent_data,
    read_json,
    unreadable,
)

LOCAL = "clinc150/data_full.json"
PUBLIC = Source(
    "https://raw.githubusercontent.com/clinc/oos-eval/"
    "828f8093932c8fe6ca7936c3d2e52903b1c523de/data/data_full.json",
    "sha256:36923c3705a59e08fe9c3883d8bc2dd966ef93e22cb78ac41171782a698d56e0",
)
# What the file calls the splits.
SPLITS = {"train": "train", "dev": "val", "test": "test"}
LAYOUT = "the splits train, val and test, each a list of pairs of a text and its intent"


def load() -> IntentData:
    """CLINC150 as published; requests that are out of scope are left out, as in the paper.

    Returns:
        15,000 utterances to train on, 3,000 to choose by and 4,500 to test on.
    """
    path = local_file(LOCAL) or fetch(PUBLIC, folder="clinc150", local=LOCAL)
    content = read_json(path.read_bytes(), where=str(path))
    # Ids are unique over all splits: the position in the file, one split after the other.
    splits: dict[str, list[Row]] = {}
    start = 0
    for split, name in SPLITS.items():
        splits[split] = _rows(content, name, start=start, path=path)
        start += len(splits[split])
    return intent_data(
        "clinc150",
        splits,
        places={split: f"The split {name!r} of {path}" for split, name in SPLITS.items()},
        notes=note_on_bytes(path, PUBLIC),
    )


def _rows(content: Any, name: str, *, start: int, path: Path) -> list[Row]:  # noqa: ANN401 - JSON
    rows = content.get(name) if isinstance(content, dict) else None
    if not isinstance(rows, list) or not all(_is_pair(row) for row in rows):
        raise unreadable(path, LAYOUT)
    return [(start + place, text, intent) for place, (text, intent) in enumerate(rows)]


def _is_pair(row: object) -> bool:
    return isinstance(row, list) and len(row) == 2 and all(isinstance(one, str) for one in row)
