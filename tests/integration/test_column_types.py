"""Columns of any type of Arrow: read, left out with a note, or refused by name."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seedproof as sp
from seedproof.errors import DtypeError, UnreadableError

ANSWERS = {
    "value": {"value": [1.0, 2.0, 3.0, 4.0]},
    "prediction": {"prediction": ["a", "b", "a", "a"]},
    "answer": {"answer": ["a", "b", "a", "a"]},
    "set": {"set": ["a", "b", "a", "a"]},
    "item": {"item": ["a", "b", "a", "a"], "rank": [1, 1, 1, 1]},
}
TYPES = {
    "list": pa.array([[1], [2], None, [1]]),
    "object": pa.array([{"a": 1}] * 4),
    "mapping": pa.array([[("a", 1)]] * 4, pa.map_(pa.string(), pa.int64())),
    "bytes": pa.array([b"a", b"\xff", b"a", b"a"]),
    "duration": pa.array([1, 2, 3, 4], pa.duration("s")),
    "half": pa.array([1.0, 2.0, 3.0, 4.0], pa.float16()),
    "large": pa.array([2**64 - 1, 1, 2, 3], pa.uint64()),
    "views": pa.array(["a", "b", "c", "d"], pa.string_view()),
    "nulls": pa.nulls(4),
}


@pytest.mark.parametrize("kind", ANSWERS)
@pytest.mark.parametrize("name", TYPES)
def test_column_of_any_type_has_no_traceback(kind, name):
    """As a further column, and as one with a role."""
    for role in ("further", "example", "run", "label", "target", "relevance", kind):
        columns = {"run": ["a", "b", "a", "b"], "example": ["x", "x", "y", "y"], **ANSWERS[kind]}
        table = pa.table(columns | {role: TYPES[name]})
        try:
            read = sp.Predictions.load(table)
        except sp.SeedproofError:
            assert role != "further"
            continue
        assert read.n_examples == (4 if role == "example" else 2)


@pytest.mark.parametrize("kind", ANSWERS)
def test_further_objects_in_lines_are_left_out(kind, tmp_path):
    """As logs have them next to each number."""
    table = pa.table(
        {"run": ["a", "b", "a", "b"], "example": ["x", "x", "y", "y"], **ANSWERS[kind]}
    )
    rows = [row | {"meta": {"tags": [{"b": n}]}} for n, row in enumerate(table.to_pylist())]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    read = sp.Predictions.load(file)

    assert read.n_examples == 2
    (names,) = (note.fields["columns"] for note in read.notes if note.code == "columns-left-out")
    assert names == ("meta",)


@pytest.mark.parametrize("kind", ANSWERS)
def test_lists_in_place_of_an_answer_are_refused(kind):
    lists = pa.array([{"a": 1}, {"a": 2}, {"a": 3}, {"a": 4}])
    table = pa.table({"run": ["a", "b", "a", "b"], "example": ["x", "x", "y", "y"]})
    table = table.append_column(kind, lists).append_column("rank", pa.array([1, 1, 1, 1]))

    with pytest.raises(DtypeError):
        sp.Predictions.load(table.drop_columns("rank") if kind != "item" else table)


@pytest.mark.parametrize("depth", [30, 90, 300, 3_000])
@pytest.mark.parametrize("is_list", [True, False], ids=["lists", "objects"])
def test_deep_types_of_parquet_end_no_process(depth, is_list, tmp_path):
    """Parquet's own reader refuses more than 100 levels; what it reads is left out."""
    kind = pa.int64()
    for _ in range(depth):
        kind = pa.list_(kind) if is_list else pa.struct([("a", kind)])
    columns = {"run": ["a", "b"], "example": ["x", "x"], "value": [1.0, 2.0]}
    table = pa.table(columns | {"deep": pa.nulls(2, kind)})
    pq.write_table(table, tmp_path / "deep.parquet")
    if depth > 90 or (is_list and depth > 30):
        with pytest.raises(UnreadableError):
            sp.Predictions.load(tmp_path / "deep.parquet")
        return
    read = sp.Predictions.load(tmp_path / "deep.parquet")

    assert [note.code for note in read.notes] == ["columns-left-out"]
