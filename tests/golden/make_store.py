"""Make the golden store of the schema version that this seedproof writes.

    python tests/golden/make_store.py

It writes `store-<version>/` and `store-<version>.json` with the values that every later seedproof
must read from it. Run it once per new version, never again for an old one.
"""

import json
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch
from uuid import UUID

import numpy as np
import pyarrow as pa

from seedproof.records.explanations import write_explanations
from seedproof.records.items import NO_ITEM, Relevance, sorted_items
from seedproof.records.location import Location
from seedproof.records.manifest import FailureManifest, RecordedFile, RunManifest, StudyManifest
from seedproof.records.schema import VALUE_COLUMNS, Kind, Layout, version_text
from seedproof.records.text_answers import TextAnswers
from seedproof.records.text_records import reference_lists, text_columns
from seedproof.records.writer import PredictionsWriter
from seedproof.seeds import SeedPlan
from seedproof.training.spec import RunSpec, StudySpec

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
# An arm for each kind; the third run of two of them stopped, and that of the last never began.
STUDY = StudySpec(
    "golden", "train.py", SeedPlan.all(3), tuple(map(str, VALUE_COLUMNS)), ("--lr", "0.1")
)
STOPPED = {"probs": "failed", "top": "killed"}
# Examples of each split; a second split is enough for one arm.
SPLITS = {
    "probs": {"test": 7, "dev": 3},
    "top": {"test": 7},
    "labels": {"test": 7},
    # Exact in single precision on the first split, and not on the second.
    "numbers": {"test": 7, "dev": 3},
    "rankings": {"test": 7},
    "sets": {"test": 7},
    # With references and meanings on the first split, and marks on the second.
    "texts": {"test": 7, "dev": 3},
}
TARGETS = [0.5, 1.0, None, 0.25, 0.1, -3.0, 0.875]
WORDS = ("Cat!", "", "füchse 🦊")
TOKENS = [["a", "🙂"], [], ["ein", "zwei", "drei"]]
SCORES = [[0.5, -0.25], [], [1.0, 0.0, -1.0]]


def main() -> None:
    """Write the store and its values."""
    place = Location.of(HERE / f"store-{version_text()}")
    StudyManifest(STUDY.name, plan=STUDY.as_json()).write(place)
    for run in STUDY.runs():
        if int(run.name) < len(EIGHTHS):
            write_run(place, run)
        elif run.arm in STOPPED:
            write_failure(place, run, STOPPED[run.arm])
    expected = {kind: values_of(kind) for kind in VALUE_COLUMNS}
    text = json.dumps(expected, indent=1, ensure_ascii=False)
    (HERE / f"store-{version_text()}.json").write_text(text + "\n", encoding="utf-8")


def write_run(place: Location, run: RunSpec) -> None:
    """Write a finished run with predictions and explanations."""
    folder = place / "runs" / run.run_id
    kind = Kind(run.arm)
    n_top = 2 if kind is Kind.TOP else 0
    extras = (("text", pa.string()),) if kind is Kind.PROBS else ()
    classes = () if kind in {Kind.NUMBERS, Kind.TEXTS} else CLASSES
    layout = Layout(kind, classes, kind is Kind.LABELS, n_top, extras)
    if kind.has_items:
        # Runs number items differently, and their longest lists differ; only rankings have grades.
        names = CLASSES if run.name == "0" else CLASSES[::-1]
        layout = replace(layout, classes=names, n_top=3, graded=kind is Kind.RANKINGS)
    probs = np.array(EIGHTHS[int(run.name)], dtype=np.float32) / 8
    rows = explanations_of(kind)
    RunManifest(
        run_id=run.run_id,
        name=run.name,
        arm=run.arm,
        parts=(
            *(
                part
                for split, n_rows in SPLITS[run.arm].items()
                for part in write_split(folder, run.name, layout, probs[:n_rows], split=split)
            ),
            write_explanations(folder, "test", "lime", rows),
        ),
        seeds=run.seeds,
        facts={"versions": {"golden": "1"}, "code": {"train.py": "00ff"}, "seconds": 1.5},
        scalars={"loss": 0.5},
    ).commit(folder)


def write_split(
    folder: Location, run: str, layout: Layout, probs: np.ndarray, *, split: str
) -> tuple[RecordedFile, ...]:
    """Write the predictions on one split, in row groups that follow the layout."""
    n_rows = len(probs)
    ids = pa.array(ids_of(layout.kind)[:n_rows])
    extras = [pa.array(texts()[:n_rows])] if layout.extras else []
    gold, values = np.array(LABELS[:n_rows]), as_values(layout.kind, probs)
    if layout.kind.has_items:
        place = np.array([*(layout.classes.index(name) for name in CLASSES), NO_ITEM])
        values = place[values] if layout.kind is Kind.RANKINGS else sorted_items(place[values])
        grades = np.where(gold < 0, 0.0, gold + 1.0)[:, np.newaxis] if layout.graded else None
        gold = Relevance(place[gold][:, np.newaxis], gold >= 0, grades)
    if layout.kind is Kind.NUMBERS:
        gold = np.array(TARGETS[:n_rows], dtype=np.float64)
        if split == "dev":
            layout, values = replace(layout, double=True), values / 5
    if layout.kind is Kind.TEXTS:
        layout = replace(layout, by_meaning=split == "test", judged=split == "dev")
        answers = answers_of(probs, split)
        gold, values = reference_lists(answers.right), text_columns(answers)
    writer = PredictionsWriter(
        folder, layout, run=run, rows_per_group=layout.rows_per_group, split=split
    )
    writer.write(ids, gold, values, extras)
    return writer.close()


def answers_of(probs: np.ndarray, split: str) -> TextAnswers:
    """Return the texts of one run: none where a class is certain, which is its meaning."""
    best = probs.argmax(axis=1)
    texts = np.array(
        [WORDS[place] if p < 1 else None for place, p in zip(best, probs.max(axis=1), strict=True)],
        dtype=object,
    )
    if split == "dev":
        marks = np.where(np.array(LABELS[: len(best)]) < 0, np.nan, best == LABELS[: len(best)])
        return TextAnswers(texts[np.newaxis], correct=marks[np.newaxis].astype(np.float64))
    right = [() if label < 0 else (WORDS[label], "x") for label in LABELS[: len(best)]]
    return TextAnswers(texts[np.newaxis], np.array([CLASSES], dtype=object)[:, best], right)


def write_failure(place: Location, run: RunSpec, status: str) -> None:
    """Write a run that did not finish, with half of a file that no manifest lists."""
    folder = place / "runs" / run.run_id
    failure = FailureManifest(
        run.run_id, run.name, run.arm, status, "ValueError: no data", "Traceback …", attempts=3
    )
    failure.write(folder)
    half = folder / "predictions" / "test"
    half.make_folder()
    with (half / "part-00000000-00000.parquet").open_write() as file:
        file.write(b"PAR1 and no more")


def values_of(kind: Kind) -> dict[str, object]:
    """Return the values that a reader must give for one arm."""
    probs = np.array(EIGHTHS) / 8
    if kind is Kind.NUMBERS:
        return {
            "ids": ids_of(kind),
            "targets": TARGETS,
            "numbers": probs[:, :, 0].tolist(),
            "dev": (probs[:, :3, 0] / 5).tolist(),
            "mean": 43 / 112,
            "explanations": explanations_of(kind),
        }
    if kind is Kind.TEXTS:
        of_test, of_dev = (
            [answers_of(of_run[:n], split) for of_run in probs]
            for split, n in SPLITS["texts"].items()
        )
        return {
            "ids": ids_of(kind),
            "texts": [answers.texts[0].tolist() for answers in of_test],
            "equivalent": [np.asarray(answers.equivalent)[0].tolist() for answers in of_test],
            "references": of_test[0].right,
            "dev": [np.asarray(answers.correct)[0].tolist() for answers in of_dev],
            "flip_rate": 3 / 7,
            "accuracy": 10 / 12,
            "explanations": explanations_of(kind),
        }
    if kind.has_items:
        return {
            "ids": ids_of(kind),
            "items": [as_values(kind, of_run).tolist() for of_run in probs],
            "relevant": [None if label < 0 else [label] for label in LABELS],
            "grades": [label + 1.0 if kind is Kind.RANKINGS else 1.0 for label in LABELS],
            "explanations": explanations_of(kind),
        }
    return {
        "ids": ids_of(kind),
        "labels": LABELS,
        "probs": probs.tolist() if kind is Kind.PROBS else None,
        "predictions": None if kind is Kind.PROBS else probs.argmax(axis=2).tolist(),
        "extras": {"text": texts()} if kind is Kind.PROBS else None,
        "explanations": explanations_of(kind),
        "flip_rate": 3 / 7,
        "accuracy": 10 / 12,
    }


def explanations_of(kind: Kind) -> list[dict[str, object]]:
    """Return the explanations of a run."""
    return [
        {"example": example, "tokens": tokens, "scores": scores, "draw": draw}
        for example, tokens, scores in zip(ids_of(kind)[:3], TOKENS, SCORES, strict=True)
        for draw in range(2)
    ]


def ids_of(kind: Kind) -> list[object]:
    """Return text ids where only predicted classes are kept, to have both types."""
    return list(TEXT_IDS if kind is Kind.LABELS else INTEGER_IDS)


def texts() -> list[str | None]:
    """Return a further column."""
    return ["one", None, "<b>three</b>", "", "five", "six", "seven"]


def as_values(kind: Kind, probs: np.ndarray) -> object:
    """Return probabilities in the form of a kind."""
    if kind is Kind.NUMBERS:
        return probs[:, 0].astype(np.float64)
    if kind is Kind.PROBS:
        return probs
    if kind is Kind.LABELS:
        return probs.argmax(axis=1)
    if kind.has_items:
        # Classes that are possible, or the likely ones.
        order = np.argsort(-probs, axis=1, kind="stable").astype(np.int32)
        is_item = np.take_along_axis(probs, order, axis=1) > (0 if kind is Kind.RANKINGS else 0.3)
        items = np.where(is_item, order, np.int32(NO_ITEM))
        return items if kind is Kind.RANKINGS else sorted_items(items)
    # Stable, so that the first among equals is the one that argmax would give.
    top = np.argsort(-probs, axis=1, kind="stable")[:, :2]
    return top, np.take_along_axis(probs, top, axis=1)


if __name__ == "__main__":
    # The names of files are part of what is stored: no random numbers. Row groups of 24 bytes,
    # which is two rows of three probabilities, and two groups a part.
    with (
        patch("seedproof.records.writer.uuid4", lambda: UUID(int=0)),
        patch("seedproof.records.explanations.uuid4", lambda: UUID(int=0)),
        patch("seedproof.records.explanations.ROWS_PER_GROUP", 4),
        patch("seedproof.records.schema.GROUP_BYTES", 24),
        patch("seedproof.records.schema.ITEM_GROUP_ROWS", 2),
        patch("seedproof.records.schema.TEXT_GROUP_ROWS", 2),
        patch("seedproof.records.writer.GROUPS_PER_PART", 2),
    ):
        main()
