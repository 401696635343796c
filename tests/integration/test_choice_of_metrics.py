"""Whoever asks for little reads little."""

from dataclasses import astuple

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

CLASSES = tuple(f"class {i}" for i in range(8))
ROWS = 1000


def drawn() -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of five runs, and labels."""
    rng = np.random.default_rng(0)
    return rng.dirichlet(np.ones(8), (5, 3 * ROWS)).astype(np.float32), rng.integers(0, 8, 3 * ROWS)


@pytest.fixture
def store(tmp_path):
    """Five runs of 3,000 examples with probabilities, in three row groups."""
    probs, labels = drawn()
    place = Location.of(tmp_path / "store")
    StudyManifest("choice", rows_per_group=ROWS).write(place)
    for run, values in enumerate(probs):
        manifest = RunManifest(run_id=f"run-{run}", name=str(run))
        layout = Layout(Kind.PROBS, CLASSES)
        with RunWriter(place, manifest, layout, rows_per_group=ROWS) as writer:
            writer.write(pa.array(np.arange(3 * ROWS)), labels, values)
    return tmp_path / "store"


@pytest.fixture
def damage(store):
    """Breaks a page of one column of one run."""

    def break_page(column: str) -> None:
        part = sorted(store.rglob("part-*.parquet"))[0]
        group = pq.read_metadata(part).row_group(1)
        names = [group.column(i).path_in_schema for i in range(group.num_columns)]
        chunk = group.column(names.index(column))
        start = chunk.dictionary_page_offset or chunk.data_page_offset
        content = bytearray(part.read_bytes())
        content[start + chunk.total_compressed_size - 5] ^= 0xFF
        part.write_bytes(bytes(content))

    return break_page


def test_figures_that_were_asked_for_are_those_of_the_whole(store):
    """What nobody asked for is not there."""
    whole = sp.measure(store)
    some = sp.measure(store, metrics=["accuracy", "flip_rate"])

    for name in ("flip_rate", "label_entropy", "accuracy", "accuracy_sd"):
        assert astuple(some[name])[:3] == pytest.approx(astuple(whole[name])[:3], rel=1e-12)
    assert "probability_sd" in whole.measurement.metrics
    assert not {"probability_sd", "ece", "nll", "predictive_kl"} & set(some.measurement.metrics)
    assert some.measurement.notes == (
        "Measured as asked: accuracy, flip_rate. The rest is left out.",
    )
    assert "No probabilities were given" not in str(some)


def test_probabilities_are_not_even_read_for_flips(store, damage):
    """A damaged page of them does no harm; one of the predictions does."""
    before = sp.measure(store, metrics=["flip_rate", "accuracy"])

    damage("probs")

    with pytest.raises(DamagedStoreError, match="Row group 1"):
        sp.measure(store)
    after = sp.measure(store, metrics=["flip_rate", "accuracy"])
    assert after.to_json() == before.to_json()

    damage("prediction")
    with pytest.raises(DamagedStoreError, match="Row group 1"):
        sp.measure(store, metrics=["flip_rate"])


def test_row_groups_of_predictions_that_traded_places_are_refused(store):
    """Their digests tell, although no probability is read."""
    part = sorted(store.rglob("part-*.parquet"))[0]
    rows = pq.ParquetFile(part)
    chunks = [rows.metadata.row_group(i).column(3) for i in range(2)]
    content = bytearray(part.read_bytes())
    spans = []
    for chunk in chunks:
        start = min(chunk.dictionary_page_offset or chunk.data_page_offset, chunk.data_page_offset)
        spans.append(slice(start, start + chunk.total_compressed_size))
    first, second = (bytes(content[span]) for span in spans)
    if len(first) != len(second):
        pytest.skip("pages of different sizes cannot trade places")
    content[spans[0]], content[spans[1]] = second, first
    part.write_bytes(bytes(content))

    with pytest.raises(DamagedStoreError, match="row group"):
        sp.measure(store, metrics=["flip_rate"])


def test_arrays_have_the_same_choice(store):
    """And the same figures as a store of them."""
    probs, labels = drawn()

    found = sp.measure(probs, labels=labels, classes=CLASSES, metrics=["ece"])

    stored = sp.measure(store, metrics=["ece"])
    assert list(found.measurement.metrics) == list(stored.measurement.metrics)
    assert found["ece"].value == pytest.approx(stored["ece"].value, rel=1e-12)
    assert "ece" in found.measurement.metrics
    assert "nll" not in found.measurement.metrics


def test_the_report_of_a_choice_is_written(store, tmp_path):
    """Page, summary and examples without what was left out."""
    sp.measure(store, metrics=["accuracy"]).save(tmp_path / "out")

    columns = pq.read_schema(tmp_path / "out" / "examples.parquet").names
    assert "correct_share" in columns
    assert "probability_sd" not in columns
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Measured as asked: accuracy" in page


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ([], "No metric was asked for"),
        ("flip_rate", r"Give a list: \['flip_rate'\]"),
        (["hidden_probability"], "needs top classes"),
    ],
)
def test_a_choice_that_cannot_be_met_is_refused(store, metrics, message):
    """Before anything is read."""
    with pytest.raises(OptionError, match=message):
        sp.measure(Location.of(store), metrics=metrics)
