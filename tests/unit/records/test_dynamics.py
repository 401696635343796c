"""Records of training dynamics: a file with digests."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seedproof.errors import DamagedStoreError, NotFoundError
from seedproof.records import dynamics
from seedproof.records.dynamics import DynamicsRecord, dynamics_of, write_dynamics
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest
from seedproof.records.schema import ids_digest, labels_digest
from seedproof.records.writer import FOOTER_KEY
from seedproof.testing.errors import WithFields

ARRAYS = ("labels", "n_steps", "offsets", "classes", "counts", "gold_mean", "gold_sd")


def record(**others):
    """Five examples: one never seen, one unlabeled, one without a known probability."""
    given = {
        "ids": pa.array(["a", "b", "c", "d", "é"]),
        "labels": np.array([2, -1, 0, 1, 1], dtype=np.int32),
        "n_steps": np.array([4, 3, 0, 2, 7], dtype=np.int32),
        "offsets": np.array([0, 2, 3, 3, 5, 6]),
        "classes": np.array([0, 2, 1, 0, 1, 1], dtype=np.int32),
        "counts": np.array([1, 3, 3, 1, 1, 7], dtype=np.int32),
        "gold_mean": np.array([0.1 + 0.2, np.nan, np.nan, 0.5, 1.0]),
        "gold_sd": np.array([1 / 3, np.nan, np.nan, 0.25, 0.0]),
        "class_names": ("cat", "dog", "fox"),
    }
    return DynamicsRecord(**(given | others))


@pytest.fixture
def store(tmp_path):
    """An empty store."""
    return Location.of(tmp_path)


@pytest.fixture
def write(store):
    """Writes dynamics of run 7."""

    def write_one(written, split="dev"):
        part = write_dynamics(store / "runs" / "id0", split, written)
        return RunManifest("id0", "7", (part,))

    return write_one


@pytest.fixture(params=[2, 4096], ids=["several-groups", "one-group"])
def _size_of_groups(request, monkeypatch):
    monkeypatch.setattr(dynamics, "ROWS_PER_GROUP", request.param)


def file_of(store, run):
    """The only file of a run."""
    return Path(store.path) / "runs" / "id0" / run.parts[0].path


@pytest.mark.usefixtures("_size_of_groups")
@pytest.mark.parametrize("ids", [["a", "b", "c", "d", "é"], [-1, 2, 3, 10, 20]])
def test_dynamics_are_read_exactly_as_written(store, write, ids):
    """Every array, and unknown values; text and integer ids; in one row group or in several."""
    written = record(ids=pa.array(ids))

    read = dynamics_of(store, write(written), "dev")

    assert read.ids.equals(written.ids)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(read, name), getattr(written, name), err_msg=name)
    assert read.class_names == written.class_names
    assert len(read) == 5


def test_columns_have_the_documented_types(store, write):
    """Other programs may read it: only classes that were predicted take a place."""
    run = write(record())

    table = pq.read_table(file_of(store, run))

    integers = pa.list_(pa.field("element", pa.int32()))
    assert {field.name: field.type for field in table.schema} == {
        "example": pa.string(),
        "label": pa.int32(),
        "n_steps": pa.int32(),
        "classes": integers,
        "counts": integers,
        "gold_mean": pa.float64(),
        "gold_sd": pa.float64(),
    }
    assert {field.name for field in table.schema if field.nullable} == {
        "label", "gold_mean", "gold_sd",
    }  # fmt: skip
    assert [tuple(row.values()) for row in table.slice(0, 3).to_pylist()] == [
        ("a", 2, 4, [0, 2], [1, 3], 0.1 + 0.2, 1 / 3),
        ("b", None, 3, [1], [3], None, None),
        ("c", 0, 0, [], [], None, None),
    ]


def test_footer_describes_the_file(store, write, monkeypatch):
    """Kind, classes, no curve, and digests of ids and labels like those of predictions."""
    monkeypatch.setattr(dynamics, "ROWS_PER_GROUP", 3)
    run = write(record())

    footer = json.loads(pq.read_metadata(file_of(store, run)).metadata[FOOTER_KEY.encode()])

    assert run.parts[0].path.startswith("dynamics/dev/part-")
    assert footer["part"] == f"id0/{run.parts[0].path}"
    assert (footer["kind"], footer["classes"]) == ("dynamics", ["cat", "dog", "fox"])
    assert footer["curve"] is None
    first, second = footer["groups"]
    assert first[:4] == [3, 2, ids_digest(record().ids[:3]), labels_digest(record().labels[:3])]
    assert second[:2] == [2, 2]


@pytest.mark.parametrize("split", ["test", "de", "dev2"])
def test_split_without_dynamics_is_not_found(store, write, split):
    """The error names the run and the known splits; a run may have none."""
    for run, known in ((write(record()), ("dev",)), (RunManifest("id0", "7", ()), ())):
        expected = WithFields(run="7", arm="none", split=split, known=known)
        with pytest.raises(NotFoundError, check=expected):
            dynamics_of(store, run, split)


def test_damaged_bytes_are_detected(store, write, flip_byte):
    """Every 13th byte of the file: page, header or footer. Otherwise the values are the same."""
    run = write(record())
    file = file_of(store, run)
    whole = file.read_bytes()

    messages, n_tried = [], 0
    for position in range(4, len(whole), 13):
        n_tried += 1
        flip_byte(file, position)
        try:
            read = dynamics_of(store, run, "dev")
        except DamagedStoreError as error:
            messages.append(str(error))
        else:
            for name in ARRAYS:
                np.testing.assert_array_equal(getattr(read, name), getattr(record(), name))
        file.write_bytes(whole)

    assert len(messages) > 0.9 * n_tried
    assert all(file.name in message and "run '7'" in message for message in messages)


@pytest.mark.parametrize(
    "change",
    [
        {"labels": np.array([2, -1, 0, 1, 2], dtype=np.int32)},
        {"n_steps": np.array([4, 3, 0, 2, 8], dtype=np.int32)},
        {"classes": np.array([0, 2, 1, 0, 1, 2], dtype=np.int32)},
        {"counts": np.array([1, 3, 3, 1, 1, 8], dtype=np.int32)},
        {"gold_mean": np.array([0.3, np.nan, np.nan, 0.5, 1.0])},
        {"gold_sd": np.array([0.3, np.nan, np.nan, 0.25, 0.0])},
        {"offsets": np.array([0, 1, 3, 3, 5, 6])},
    ],
    ids=lambda change: next(iter(change)),
)
def test_values_that_differ_from_the_footer_are_damage(store, write, monkeypatch, change):
    """Two pages of the same size could be swapped, and each would be valid by itself."""
    group = dynamics._group(record())
    monkeypatch.setattr(dynamics, "_group", lambda _: group)
    run = write(record(**change))
    monkeypatch.undo()

    with pytest.raises(DamagedStoreError, check=WithFields(row_group=0, run="7")):
        dynamics_of(store, run, "dev")


def with_shifted_counts(columns):
    """Return the same counts, split at other places than the classes."""
    shifted = pa.array([0, 1, 3, 3, 5, 6], pa.int32())
    return [*columns[:4], pa.ListArray.from_arrays(shifted, columns[4].values), *columns[5:]]


def with_null_class(columns):
    """Return a class that is null; the header of a page, which says so, has no checksum."""
    items = pa.array([None, *columns[3].values.to_pylist()[1:]], pa.int32())
    emptied = pa.ListArray.from_arrays(columns[3].offsets, items)
    return [*columns[:3], emptied, *columns[4:]]


@pytest.mark.parametrize("damage", [with_shifted_counts, with_null_class])
def test_lists_that_do_not_match_are_damage(store, write, monkeypatch, damage):
    """Although each column is valid by itself."""
    columns_of = dynamics._columns
    monkeypatch.setattr(dynamics, "_columns", lambda rows: damage(columns_of(rows)))
    run = write(record())

    with pytest.raises(DamagedStoreError, check=WithFields(row_group=0, run="7")):
        dynamics_of(store, run, "dev")
