"""Small stores of explained runs."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seedproof.records.explanations import write_explanations
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.reader import Store
from seedproof.records.schema import Kind, Layout
from seedproof.records.writer import PredictionsWriter
from seedproof.typing import FloatArray, IntArray

SPLIT = "test"


def write_explained(
    place: Location,
    ids: Sequence[int | str],
    scores: Sequence[FloatArray],
    *,
    arm: str = "none",
    method: str = "lime",
    probs: FloatArray | IntArray | None = None,
    predicted: Sequence[int | str] | None = None,
    classes: tuple[str, ...] = ("no", "yes"),
    rows: int = 4,
) -> Store:
    """Add the runs of one arm to a store, which is created if needed.

    Scores have the axes (runs, draws, tokens) for each of the `ids`; run r has seed r in all arms.
    `probs` are probabilities (runs, examples, classes), classes (runs, examples), or None for no
    predictions. `predicted` are the ids of predicted examples; if omitted, the explained ones.
    """
    if not Store.is_at(place):
        StudyManifest("small", rows).write(place)
    for run_idx in range(len(scores[0])):
        folder = place / "runs" / f"{arm}-{run_idx}"
        lines = [
            {
                "example": example,
                "tokens": [f"w{i}" for i in range(runs.shape[2])],
                "scores": runs[run_idx, draw],
                "draw": draw,
            }
            for example, runs in zip(ids, scores, strict=True)
            for draw in range(runs.shape[1])
        ]
        parts = [write_explanations(folder, SPLIT, method, lines)]
        if probs is not None:
            of_run, names = probs[run_idx], list(ids if predicted is None else predicted)
            kind = Kind.LABELS if of_run.ndim == 1 else Kind.PROBS
            writer = PredictionsWriter(
                folder,
                Layout(kind, classes, text_ids=isinstance(names[0], str)),
                run=str(run_idx),
                rows_per_group=rows,
                split=SPLIT,
            )
            writer.write(pa.array(names), np.full(len(names), -1, dtype=np.int32), of_run)
            parts += writer.close()
        RunManifest(
            f"{arm}-{run_idx}", str(run_idx), tuple(parts), arm=arm, seeds={"all": run_idx}
        ).commit(folder)
    return Store(place)
