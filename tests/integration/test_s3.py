"""A store on an object store: written, read and measured over S3, on loopback."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seedproof as sp
from seedproof.errors import DamagedStoreError, NotFoundError
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.reader import Store
from seedproof.records.schema import Kind, Layout
from seedproof.records.writer import RunWriter
from seedproof.testing.errors import WithFields


@pytest.fixture
def written(url, study):
    """Write the study to a store on S3, in several row groups."""

    def write(path: str) -> Location:
        place, layout = Location.of(url(path)), Layout(Kind.PROBS, study.classes)
        StudyManifest("far away", rows_per_group=16).write(place)
        for index, probs in enumerate(study.probs):
            run = RunManifest(f"id{index}", str(index))
            with RunWriter(place, run, layout, rows_per_group=16) as writer:
                writer.write(pa.array(np.arange(40) * 10), study.labels, probs)
        return place

    return write


def test_store_on_s3_returns_what_was_written(written, study):
    place = written("round/trip")

    shards = Store(place).shards()
    parts = [shards.shard(index) for index in range(shards.n_shards)]

    assert not place.is_local
    assert shards.runs == ("0", "1", "2", "3", "4")
    assert [len(shard) for shard in parts] == [16, 16, 8]
    for run, probs in enumerate(study.probs):
        values = np.concatenate([shard.probs[run] for shard in parts])
        np.testing.assert_array_equal(values, probs.astype(np.float32))


def test_store_on_s3_gives_the_figures_of_the_arrays(written, url, study):
    written("measured")

    report = sp.measure(url("measured"))

    ids = np.arange(40) * 10
    local = sp.measure(study.probs, labels=study.labels, ids=ids, classes=study.classes)
    assert report.metrics.keys() == local.metrics.keys()
    for name, estimate in report.metrics.items():
        # Shards of 16 rows are added up in another order than one shard of 40.
        assert estimate.value == pytest.approx(local[name].value, rel=1e-12)


def test_command_reads_and_writes_s3(written, url, seedproof):
    written("source")

    code, out, err = seedproof("measure", url("source"), "--json")

    assert (code, err) == (0, "")
    assert json.loads(out)["n_examples"] == 40
    sp.measure(url("source")).save(url("target"))
    target = Location.of(url("target"))
    assert (target / "summary.json").read_bytes().decode() == out
    with target.files.open_input_file((target / "examples.parquet").path) as file:
        assert len(pq.read_table(file)) == 40


def test_second_commit_wins_on_s3(written, study):
    """Object stores have no exclusive creation: both attempts are valid, the last one counts."""
    place = written("twice")

    layout = Layout(Kind.PROBS, study.classes)
    with RunWriter(place, RunManifest("id0", "0"), layout, rows_per_group=16) as writer:
        writer.write(pa.array(np.arange(40) * 10), study.labels, study.probs[1])

    shard = Store(place).shards().shard(0)
    np.testing.assert_array_equal(shard.probs[0], study.probs[1][:16].astype(np.float32))


def test_uncommitted_run_does_not_exist_on_s3(written):
    place = written("without")
    place.files.delete_file((place / "runs" / "id2" / "run.json").path)

    assert Store(place).shards().runs == ("0", "1", "3", "4")


def test_missing_part_is_detected_on_s3(written):
    place = written("lost")
    (part,) = Store(place).runs[0].parts
    place.files.delete_file((place / "runs" / "id0" / part.path).path)

    with pytest.raises(DamagedStoreError, check=WithFields(run="0")):
        Store(place).shards()


@pytest.mark.parametrize("path", ["nothing/here", ""])
def test_missing_store_on_s3_is_reported(url, path):
    """A folder without `study.json`, or the bucket itself."""
    with pytest.raises(NotFoundError) as caught:
        sp.measure(url(path))

    assert any(str(value).endswith("study.json") for value in caught.value.fields.values())
