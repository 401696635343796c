"""Rows in any order on disk, gathered by run."""

import json
from dataclasses import asdict

import numpy as np
import pyarrow as pa
import pytest

from seedproof.records.partition import Partition, PartitionWriter, are_integers


def gather(folder, batches, buffer_bytes: int = 10**6) -> Partition:
    """Everything through the buffer, and once through JSON."""
    gatherer = PartitionWriter(folder, buffer_bytes=buffer_bytes)
    for batch in batches:
        gatherer.add(pa.record_batch(batch))
    return Partition(**json.loads(json.dumps(asdict(gatherer.close()))))


@pytest.mark.parametrize("buffer_bytes", [1, 10**6])
def test_each_run_gets_its_own_rows_back(tmp_path, buffer_bytes):
    """Names become indices in the order in which they are met, whatever the buffer holds."""
    batches = [
        {"r": ["b", "a", "b"], "e": ["1", "1", "2"], "l": ["x", None, "y"], "p0": [0.1, 0.2, 0.3]},
        {"r": ["a", "c"], "e": ["2", "7"], "l": ["y", "x"], "p0": [0.4, 0.5]},
    ]

    found = gather(tmp_path, batches, buffer_bytes)

    assert found.names == {"r": ["b", "a", "c"], "l": ["x", "y"], "y": []}
    assert (found.n_rows, found.rows) == (5, [2, 2, 1])
    assert len(found.files) == (2 if buffer_bytes == 1 else 1)
    rows = [
        [
            row
            for batch in found.batches(tmp_path, ["e", "l", "p0"], run)
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
    found = gather(tmp_path, [{"r": ["b", "a", "b"], "e": [3, 4, 5], "y": ["u", "v", "u"]}])

    rows = [row for batch in found.batches(tmp_path, ["e"]) for row in batch.to_pylist()]

    assert sorted(rows, key=lambda row: row["e"]) == [
        {"e": 3, "r": 0},
        {"e": 4, "r": 1},
        {"e": 5, "r": 0},
    ]


def test_a_large_run_is_cut_into_pieces(tmp_path, monkeypatch):
    """A record batch is read as a whole, so none is larger than a piece."""
    monkeypatch.setattr("seedproof.records.partition.PIECE_BYTES", 8 * 100)
    ids = np.arange(1000)

    found = gather(tmp_path, [{"r": ["a"] * 1000, "e": ids}])

    sizes = [len(batch) for batch in found.batches(tmp_path, ["e"], 0)]
    assert sizes == [100] * 10


def test_missing_values_are_counted(tmp_path):
    """Rows without a run go nowhere: they are refused afterwards."""
    found = gather(
        tmp_path, [{"r": ["a", None, "a"], "e": ["1", None, None], "y": ["u", "u", None]}]
    )

    assert found.missing == {"r": 1, "e": 2, "y": 1}
    assert found.rows == [2]


def test_too_many_names_are_noticed_while_reading(tmp_path, monkeypatch):
    """Nobody reads terabytes to hear that a column of texts has no classes."""
    monkeypatch.setattr("seedproof.records.partition.MAX_NAMES", 2)
    gatherer = PartitionWriter(tmp_path, buffer_bytes=10**6)

    gatherer.add(pa.record_batch({"r": ["a"] * 2, "e": [1, 2], "y": ["u", "v"]}))
    assert gatherer.too_many == ""
    gatherer.add(pa.record_batch({"r": ["a"] * 2, "e": [3, 4], "y": ["w", "z"]}))

    assert gatherer.too_many == "y"
    assert gatherer.close().names["y"] == ["u", "v", "w"]


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
def test_idsare_integers_if_nothing_of_their_text_is_lost(ids, expected):
    """Of at most eighteen digits."""
    assert are_integers(pa.array(ids, pa.string())) is expected
