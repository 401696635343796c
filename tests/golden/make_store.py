"""Make the golden store of the schema version that this seedproof writes.

    python tests/golden/make_store.py

It writes `store-<version>/` and, beside it, `store-<version>.json` with the values that every later
seedproof must read from it. Run it once for each new version; never again for an old one.
"""

import json
from pathlib import Path
from unittest.mock import patch
from uuid import UUID

import numpy as np
import pyarrow as pa

from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.schema import Kind, Layout, version_text
from seedproof.records.writer import RunWriter

HERE = Path(__file__).parent
CLASSES = ("cat", "dog", "füchse 🦊")
LABELS = [0, 1, 2, -1, 2, 1, 0]
INTEGER_IDS = [-3, 0, 1, 2, 10, 11, 2**62]
TEXT_IDS = ["", "01", "1", "a\nb", "z", "é", "🙂"]
# Eighths are exact in float32, so nothing depends on rounding.
EIGHTHS = [
    [[5, 2, 1], [1, 6, 1], [0, 0, 8], [4, 3, 1], [1, 1, 6], [3, 4, 1], [7, 1, 0]],
    [[3, 4, 1], [1, 6, 1], [0, 1, 7], [3, 4, 1], [5, 1, 2], [3, 4, 1], [7, 0, 1]],
]


def main() -> None:
    """Write the store and what it holds."""
    place = Location.of(HERE / f"store-{version_text()}")
    StudyManifest("golden", rows_per_group=2, plan={"vary": ["init"], "runs": 2}).write(place)
    expected = {arm: write_arm(place, arm) for arm in Kind}
    text = json.dumps(expected, indent=1, ensure_ascii=False)
    (HERE / f"store-{version_text()}.json").write_text(text + "\n", encoding="utf-8")


def write_arm(place: Location, kind: Kind) -> dict[str, object]:
    """Two runs of one kind, and the values that a reader must give."""
    text_ids = kind is Kind.LABELS
    extras = (("text", pa.string()),) if kind is Kind.PROBS else ()
    layout = Layout(kind, CLASSES, text_ids, n_top=2 if kind is Kind.TOP else 0, extras=extras)
    ids = pa.array(TEXT_IDS if text_ids else INTEGER_IDS)
    texts = ["one", None, "<b>three</b>", "", "five", "six", "seven"]
    for seed, eighths in enumerate(EIGHTHS):
        run = RunManifest(
            run_id=f"{kind}-{seed}",
            name=str(seed),
            arm=str(kind),
            seeds={"init": seed},
            facts={"versions": {"golden": "1"}},
            scalars={"loss": 0.5},
        )
        with RunWriter(place, run, layout, rows_per_group=2, split="test") as writer:
            values = as_values(kind, np.array(eighths, dtype=np.float32) / 8)
            writer.write(ids, np.array(LABELS), values, [pa.array(texts)] if extras else [])
    probs = np.array(EIGHTHS) / 8
    return {
        "ids": ids.to_pylist(),
        "labels": LABELS,
        "probs": probs.tolist() if kind is Kind.PROBS else None,
        "predictions": None if kind is Kind.PROBS else probs.argmax(axis=2).tolist(),
        "extras": {"text": texts} if extras else None,
        "flip_rate": 3 / 7,
        "accuracy": 10 / 12,
    }


def as_values(kind: Kind, probs: np.ndarray) -> object:
    """Probabilities in the form that a kind keeps."""
    if kind is Kind.PROBS:
        return probs
    if kind is Kind.LABELS:
        return probs.argmax(axis=1)
    # Stable, so that the first among equals is the one that argmax would give.
    top = np.argsort(-probs, axis=1, kind="stable")[:, :2]
    return top, np.take_along_axis(probs, top, axis=1)


if __name__ == "__main__":
    # The names of files are part of what is stored: no random numbers, two groups a part.
    fixed = patch("seedproof.records.writer.uuid4", lambda: UUID(int=0))
    with fixed, patch("seedproof.records.writer.GROUPS_PER_PART", 2):
        main()
