"""Selecting few metrics reads little data."""

from dataclasses import astuple
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seedproof as sp
from seedproof.errors import DamagedStoreError, OptionError
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.schema import Kind, Layout
from seedproof.records.writer import RunWriter
from seedproof.testing.errors import WithFields

CLASSES = tuple(f"class {i}" for i in range(8))
ROWS = 1000


def drawn() -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities of five runs, and labels."""
    rng = np.random.default_rng(0)
    return rng.dirichlet(np.ones(8), (5, 3 * ROWS)).astype(np.float32), rng.integers(0, 8, 3 * ROWS)


@pytest.fixture
def store(tmp_path):
    """Return a store of five runs of 3,000 examples with probabilities, in three row groups."""
    return written(tmp_path / "store", *drawn())


def written(path: Path, probs: np.ndarray, labels: np.ndarray) -> Path:
    place = Location.of(path)
    StudyManifest("choice", rows_per_group=ROWS).write(place)
    for run, values in enumerate(probs):
        manifest = RunManifest(run_id=f"run-{run}", name=str(run))
        layout = Layout(Kind.PROBS, CLASSES)
        with RunWriter(place, manifest, layout, rows_per_group=ROWS) as writer:
            writer.write(pa.array(np.arange(3 * ROWS)), labels, values)
    return path


@pytest.fixture
def damage(store):
    """Damage a page of one column of one run."""

    def break_page(column: str) -> None:
        part = min(store.rglob("part-*.parquet"))
        group = pq.read_metadata(part).row_group(1)
        names = [group.column(i).path_in_schema for i in range(group.num_columns)]
        chunk = group.column(names.index(column))
        start = chunk.dictionary_page_offset or chunk.data_page_offset
        content = bytearray(part.read_bytes())
        content[start + chunk.total_compressed_size - 5] ^= 0xFF
        part.write_bytes(bytes(content))

    return break_page


def test_selected_figures_equal_those_of_the_full_report(store):
    whole = sp.measure(store)
    some = sp.measure(store, metrics=["accuracy", "flip_rate"])

    for name in ("flip_rate", "label_entropy", "accuracy", "accuracy_sd"):
        assert astuple(some[name])[:3] == pytest.approx(astuple(whole[name])[:3], rel=1e-12)
    assert "probability_sd" in whole.measurement.metrics
    assert not {"probability_sd", "ece", "nll", "predictive_kl"} & set(some.measurement.metrics)
    (note,) = some.measurement.notes
    assert (note.code, note.fields["metrics"]) == ("some-metrics", ("accuracy", "flip_rate"))


def test_probabilities_are_not_read_for_flips(store, damage):
    """A damaged page of probabilities does not matter; one of predictions does."""
    before = sp.measure(store, metrics=["flip_rate", "accuracy"])

    damage("probs")

    with pytest.raises(DamagedStoreError, check=WithFields(row_group=1, run="0")):
        sp.measure(store)
    after = sp.measure(store, metrics=["flip_rate", "accuracy"])
    assert after.to_json() == before.to_json()

    damage("prediction")
    with pytest.raises(DamagedStoreError, check=WithFields(row_group=1, run="0")):
        sp.measure(store, metrics=["flip_rate"])


def test_swapped_row_groups_of_predictions_are_refused(tmp_path):
    """By their digests, although no probabilities are read."""
    probs, labels = drawn()
    # Patterns of one length: 0 1 2 … in the first row group, … 2 1 0 in the second.
    upward = np.eye(8, dtype=np.float32)[np.arange(ROWS) % 8]
    probs[0, :ROWS], probs[0, ROWS : 2 * ROWS] = upward, upward[:, ::-1]
    store = written(tmp_path / "store", probs, labels)
    part = next((store / "runs" / "run-0").rglob("part-*.parquet"))
    metadata = pq.read_metadata(part)
    chunks = [metadata.row_group(index).column(3) for index in range(2)]
    assert [chunk.path_in_schema for chunk in chunks] == ["prediction"] * 2
    assert chunks[0].total_compressed_size == chunks[1].total_compressed_size
    starts = [chunk.dictionary_page_offset or chunk.data_page_offset for chunk in chunks]
    first, second = (slice(at, at + chunks[0].total_compressed_size) for at in starts)
    content = bytearray(part.read_bytes())
    content[first], content[second] = content[second], content[first]
    part.write_bytes(bytes(content))

    with pytest.raises(DamagedStoreError, check=WithFields(row_group=0, run="0")):
        sp.measure(store, metrics=["flip_rate"])


def test_selection_works_for_arrays_as_for_stores(store):
    probs, labels = drawn()

    report = sp.measure(probs, labels=labels, classes=CLASSES, metrics=["ece"])

    stored = sp.measure(store, metrics=["ece"])
    assert list(report.measurement.metrics) == list(stored.measurement.metrics)
    assert report["ece"].value == pytest.approx(stored["ece"].value, rel=1e-12)
    assert "ece" in report.measurement.metrics
    assert "nll" not in report.measurement.metrics


def test_report_of_selected_figures_is_saved(store, tmp_path):
    report = sp.measure(store, metrics=["accuracy"])
    report.save(tmp_path / "out")

    columns = pq.read_schema(tmp_path / "out" / "examples.parquet").names
    assert "correct_share" in columns
    assert "probability_sd" not in columns
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert str(report.measurement.notes[0]) in page


@pytest.mark.parametrize(
    ("metrics", "fields"),
    [
        ([], {"metrics": ()}),
        ("flip_rate", {"metrics": "flip_rate"}),
        (["hidden_probability"], {"metric": "hidden_probability"}),
        (["flip_rate", "explanation_kl"], {"metric": "explanation_kl"}),
        (["single_run_entropy"], {"metric": "single_run_entropy"}),
    ],
    ids=["none", "text", "top", "explanations", "dynamics"],
)
def test_impossible_selection_is_refused_before_reading(store, metrics, fields):
    with pytest.raises(OptionError, check=WithFields(**fields)):
        sp.measure(Location.of(store), metrics=metrics)
