"""Rows in any order on disk, grouped by run."""

import json
from dataclasses import asdict

import numpy as np
import pyarrow as pa
import pytest

from seedproof.records.partition import Partition, PartitionWriter, are_integers


def write(folder, batches, buffer_bytes: int = 10**6) -> Partition:
    """Write batches, and pass the result through JSON."""
    writer = PartitionWriter(folder, buffer_bytes=buffer_bytes)
    for batch in batches:
        writer.add(pa.record_batch(batch))
    return Partition(**json.loads(json.dumps(asdict(writer.close()))))


@pytest.mark.parametrize("buffer_bytes", [1, 10**6])
def test_each_run_gets_its_own_rows_back(tmp_path, buffer_bytes):
    """Names become indices in order of appearance, whatever the size of the buffer."""
    batches = [
        {"r": ["b", "a", "b"], "e": ["1", "1", "2"], "l": ["x", None, "y"], "p0": [0.1, 0.2, 0.3]},
        {"r": ["a", "c"], "e": ["2", "7"], "l": ["y", "x"], "p0": [0.4, 0.5]},
    ]

    partition = write(tmp_path, batches, buffer_bytes)

    assert partition.names == {"r": ["b", "a", "c"], "l": ["x", "y"], "y": []}
    assert (partition.n_rows, partition.rows) == (5, [2, 2, 1])
    assert len(partition.files) == (2 if buffer_bytes == 1 else 1)
    rows = [
        [
            row
            for batch in partition.batches(tmp_path, ["e", "l", "p0"], run)
            for row in batch.to_pylist()
        ]
        for run in range(3)
    ]
    assert rows == [
        [{"e": "1", "l": 0, "p0": 0.1}, {"e": "2", "l": 1, "p0": 0.3}],
        [{"e": "1", "l": -1, "p0": 0.2}, {"e": "2", "l": 1, "p0": 0.4}],
        [{"e": "7", "l": 0, "p0": 0.5}],
    ]


def test_all_runs_together_carry_their_index(tmp_path):
    """Some columns of everything, in no order."""
    partition = write(tmp_path, [{"r": ["b", "a", "b"], "e": [3, 4, 5], "y": ["u", "v", "u"]}])

    rows = [row for batch in partition.batches(tmp_path, ["e"]) for row in batch.to_pylist()]

    assert sorted(rows, key=lambda row: row["e"]) == [
        {"e": 3, "r": 0},
        {"e": 4, "r": 1},
        {"e": 5, "r": 0},
    ]


def test_large_run_is_written_in_pieces(tmp_path, monkeypatch):
    """A record batch is read as a whole, so none is larger than a piece."""
    monkeypatch.setattr("seedproof.records.partition.PIECE_BYTES", 8 * 100)
    ids = np.arange(1000)

    partition = write(tmp_path, [{"r": ["a"] * 1000, "e": ids}])

    sizes = [len(batch) for batch in partition.batches(tmp_path, ["e"], 0)]
    assert sizes == [100] * 10


def test_missing_values_are_counted(tmp_path):
    """Rows without a run are not written; they are refused later."""
    partition = write(
        tmp_path, [{"r": ["a", None, "a"], "e": ["1", None, None], "y": ["u", "u", None]}]
    )

    assert partition.missing == {"r": 1, "e": 2, "y": 1, "a": 0}
    assert partition.rows == [2]


def test_too_many_names_are_noticed_while_reading(tmp_path, monkeypatch):
    """Before terabytes of free text are read."""
    monkeypatch.setattr("seedproof.records.partition.MAX_NAMES", 2)
    writer = PartitionWriter(tmp_path, buffer_bytes=10**6)

    writer.add(pa.record_batch({"r": ["a"] * 2, "e": [1, 2], "y": ["u", "v"]}))
    assert writer.too_many == ""
    writer.add(pa.record_batch({"r": ["a"] * 2, "e": [3, 4], "y": ["w", "z"]}))

    assert writer.too_many == "y"
    assert writer.close().names["y"] == ["u", "v", "w"]


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["0", "-1", "17"], True),
        (["1", None], True),
        ([None], True),
        (["9" * 18, "-" + "9" * 18], True),
        (["1" + "0" * 18], False),
        (["-1" + "0" * 18], False),
        (["9" * 30], False),
        (["007"], False),
        (["+1"], False),
        (["-0"], False),
        ([" 1"], False),
        (["1.0"], False),
        ([""], False),
        (["a"], False),
    ],
)
def test_ids_are_integers_if_no_text_is_lost(ids, expected):
    """Of at most eighteen digits."""
    assert are_integers(pa.array(ids, pa.string())) is expected
