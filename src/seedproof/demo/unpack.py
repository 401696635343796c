"""Write the bundle as an ordinary store, in a folder without other files."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from seedproof.demo.bundle import Bundle
from seedproof.errors import OptionError
from seedproof.records.arrow import to_arrow
from seedproof.records.explanations import write_explanations
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest
from seedproof.records.reader import Store
from seedproof.records.schema import Kind, Layout
from seedproof.records.writer import PredictionsWriter
from seedproof.typing import FloatArray

STORE = "store"
# Fact of a run that identifies its bundle.
BUNDLE_FACT = "bundle"
MAX_NAMED = 3


def unpack(bundle: Bundle, folder: Path) -> Path:
    """Write the bundle's runs to a store below a folder; keep runs that exist."""
    place = folder / STORE
    location = Location.of(place)
    if not _is_ours(bundle, location):
        _check_empty(folder)
        bundle.study.write(location)
    for run_idx, run in enumerate(bundle.runs):
        if not (location / "runs" / run.run_id / "run.json").is_file():
            _write_run(bundle, run_idx, run, location)
    return place


def _is_ours(bundle: Bundle, store: Location) -> bool:
    """Return whether a store was unpacked from this bundle, at least in part."""
    if not Store.is_at(store):
        return False
    opened = Store(store)
    return opened.study == bundle.study and all(
        run.facts.get(BUNDLE_FACT) == bundle.digest for run in opened.runs
    )


def _check_empty(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise OptionError(
            "{folder!r} is a file. Choose a new folder with --out.",
            folder=str(folder),
            option="--out",
        )
    names = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    if names:
        more = " and {n_more} more" if len(names) > MAX_NAMED else ""
        raise OptionError(
            f"{{folder!r}} has files that this demo did not write: {{files}}{more}. "
            "Choose another folder with --out, or delete this one if an earlier version wrote it.",
            folder=str(folder),
            files=tuple(names[:MAX_NAMED]),
            n_more=max(0, len(names) - MAX_NAMED),
            option="--out",
        )


def _write_run(bundle: Bundle, run_idx: int, run: RunManifest, store: Location) -> None:
    folder = store / "runs" / run.run_id
    layout = Layout(Kind.PROBS, bundle.classes)
    writer = PredictionsWriter(
        folder,
        layout,
        run=run.name,
        rows_per_group=layout.rows_per_group,
        split=bundle.split,
    )
    second = bundle.probs[run_idx]
    probs = np.stack([1 - second, second], axis=1)
    writer.write(to_arrow(bundle.ids, np.int64), bundle.labels, probs)
    rows = list(_explanations(bundle, bundle.scores[run_idx]))
    explained = write_explanations(folder, bundle.split, bundle.method, rows)
    facts = {**run.facts, BUNDLE_FACT: bundle.digest}
    replace(run, parts=(*writer.close(), explained), facts=facts).commit(folder)


def _explanations(bundle: Bundle, scores: FloatArray) -> Iterator[dict[str, Any]]:
    """Yield the explanations of one run; tokens are positions: word 1, w2, w3 and so on."""
    ends = np.cumsum(bundle.lengths, dtype=np.int64)
    for example, end, length in zip(
        bundle.ids[bundle.explained], ends, bundle.lengths, strict=True
    ):
        yield {
            "example": int(example),
            "tokens": ["word 1", *(f"w{place}" for place in range(2, length + 1))],
            "scores": scores[end - length : end].astype(np.float32),
            "draw": 0,
        }
