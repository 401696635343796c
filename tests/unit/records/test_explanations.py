"""A score for each token of each example, in canonical order, in a file with digests."""

import json
from hashlib import blake2b
from pathlib import Path
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seedproof.errors import EmptyInputError
from seedproof.records import explanations
from seedproof.records.explanations import write_explanations
from seedproof.records.location import Location
from seedproof.records.schema import ids_digest
from seedproof.records.writer import FOOTER_KEY
from seedproof.testing.errors import WithFields


@pytest.fixture
def folder(tmp_path):
    """A run's folder."""
    return Location.of(tmp_path / "runs" / "id0")


def row(example, *, draw=0, tokens=("a", "b"), scores=(0.5, -1.0)):
    """One explanation."""
    return {
        "example": example,
        "tokens": list(tokens),
        "scores": np.array(scores, dtype=np.float32),
        "draw": draw,
    }


def read(folder, part):
    """Rows of a part, as plain data."""
    return pq.read_table(Path(folder.path) / part.path).to_pylist()


def footer_of(folder, part):
    """Return our part of the footer of a file."""
    metadata = pq.read_metadata(Path(folder.path) / part.path).metadata
    return json.loads(metadata[FOOTER_KEY.encode()])


def test_explanations_are_read_back_in_canonical_order(folder):
    """By example and then by draw, however they came."""
    rows = [row(10), row(9, draw=1), row(9, draw=0, tokens=["ß"], scores=[0.25])]

    part = write_explanations(folder, "test", "lime", rows)

    assert read(folder, part) == [
        {"example": 9, "tokens": ["ß"], "scores": [0.25], "draw": 0},
        {"example": 9, "tokens": ["a", "b"], "scores": [0.5, -1.0], "draw": 1},
        {"example": 10, "tokens": ["a", "b"], "scores": [0.5, -1.0], "draw": 0},
    ]


@pytest.mark.parametrize(
    ("ids", "ordered"),
    [
        ([10, 9, -1], [-1, 9, 10]),
        (["10", "9"], [9, 10]),
        (["b", "é", "B", "10"], ["10", "B", "b", "é"]),
        (["01", "1"], ["01", "1"]),
    ],
    ids=["numbers", "digits", "text", "leading-zero"],
)
def test_ids_are_numbers_or_text_as_in_predictions(ids, ordered, folder):
    """Numbers by value, text by its bytes; one text makes all of them text."""
    part = write_explanations(folder, "test", "lime", [row(example) for example in ids])

    assert [explanation["example"] for explanation in read(folder, part)] == ordered


def test_an_example_may_have_no_token(folder):
    """An empty text has an empty explanation."""
    part = write_explanations(folder, "test", "lime", [row(1, tokens=[], scores=[])])

    assert read(folder, part) == [{"example": 1, "tokens": [], "scores": [], "draw": 0}]


def test_columns_have_the_documented_types(folder):
    """Other programs may read it."""
    part = write_explanations(folder, "test", "lime", [row("a")])

    schema = pq.read_schema(Path(folder.path) / part.path)

    assert schema.names == ["example", "tokens", "scores", "draw"]
    assert [schema.field(name).nullable for name in schema.names] == [False] * 4
    assert schema.field("example").type == pa.string()
    assert schema.field("tokens").type.value_type == pa.string()
    assert schema.field("scores").type.value_type == pa.float32()
    assert schema.field("draw").type == pa.int32()


def test_part_has_the_path_size_and_digests_of_its_file(folder):
    """The path names split and method; size and digest are those of the file."""
    part = write_explanations(folder, "dev", "attention", [row(1), row(2)])

    content = (Path(folder.path) / part.path).read_bytes()
    assert part.path.split("/")[:3] == ["explanations", "dev", "attention"]
    assert (part.rows, part.size) == (2, len(content))
    assert part.digest == blake2b(content, digest_size=16).hexdigest()
    assert part.footer_digest == blake2b(content[-part.footer_size :], digest_size=16).hexdigest()


def test_the_footer_has_a_digest_of_ids_for_each_group(folder, monkeypatch):
    """Runs that explain the same examples have equal digests, group by group."""
    monkeypatch.setattr(explanations, "ROWS_PER_GROUP", 2)

    part = write_explanations(folder, "test", "lime", [row(i) for i in (5, 3, 4, 1, 2)])

    footer = footer_of(folder, part)
    assert (footer["schema"], footer["kind"], footer["method"]) == ("1.6", "explanations", "lime")
    assert footer["part"] == f"id0/{part.path}"
    assert footer["groups"] == [
        [len(ids), 0, ids_digest(pa.array(ids)), "", "", ""] for ids in ([1, 2], [3, 4], [5])
    ]
    assert pq.read_metadata(Path(folder.path) / part.path).num_row_groups == 3


def test_the_order_of_logging_changes_no_byte(folder, tmp_path, monkeypatch):
    """The same explanations make the same file."""
    monkeypatch.setattr(explanations, "uuid4", lambda: UUID(int=0))
    rows = [row(example, draw=draw) for example in ("a", "b") for draw in range(3)]
    elsewhere = Location.of(tmp_path / "other" / "id0")

    parts = [
        write_explanations(folder, "test", "lime", rows),
        write_explanations(elsewhere, "test", "lime", rows[::-1]),
    ]

    assert parts[0] == parts[1]


def test_two_attempts_never_write_into_each_others_files(folder):
    """Only the one that `run.json` lists exists."""
    first, second = (write_explanations(folder, "test", "lime", [row(1)]) for _ in range(2))

    assert first.path != second.path


def test_no_explanation_is_refused(folder):
    """An empty file would look like a result."""
    with pytest.raises(EmptyInputError, check=WithFields(method="lime", split="test")):
        write_explanations(folder, "test", "lime", [])
