"""Aligned explanations of all runs: read as written, or an error names the run and file."""

import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from seedproof.errors import (
    DamagedStoreError,
    MissingExampleError,
    NotFoundError,
    TooFewRunsError,
)
from seedproof.records import explanation_shards, explanations
from seedproof.records.explanation_shards import open_explanations
from seedproof.records.explanations import write_explanations
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.reader import Store
from seedproof.records.schema import Group, ids_digest
from seedproof.records.writer import PartWriter
from seedproof.testing.errors import WithFields

GOLDEN = Path(__file__).parents[2] / "golden" / "store-1.1"
TEXT = ["so", "wird", "das", "nichts", "🙂"]


def row(example, n_tokens, run_idx, *, draw=0, **changes):
    """One explanation with different scores for each run and draw."""
    scores = np.arange(n_tokens) + 100 * run_idx + 10 * draw + 0.5
    whole = {"example": example, "tokens": TEXT[:n_tokens], "scores": scores, "draw": draw}
    return whole | changes


def usual(run_idx):
    """Three examples, one of them without a token."""
    return [row(7, 3, run_idx), row(8, 0, run_idx), row(20, 5, run_idx)]


@pytest.fixture
def make(tmp_path):
    """Makes a store: for each run its rows by method; a run with None was not explained."""

    def make_store(runs, *, method="lime", arm="none", split="test"):
        place = Location.of(tmp_path / "store")
        if not Store.is_at(place):
            StudyManifest("small").write(place)
        for run_idx, rows in enumerate(runs):
            name = f"{arm}{run_idx}"
            folder = place / "runs" / name
            parts = () if rows is None else (write_explanations(folder, split, method, rows),)
            RunManifest(name, str(run_idx), parts, arm=arm).commit(folder)
        return Store(place)

    return make_store


def opened(store, *, method="lime"):
    """The explanations of the usual arm."""
    return open_explanations(store, arm="none", split="test", method=method)


def file_of(store, run_id):
    """The only file of a run."""
    return next(Path(store.location.path, "runs", run_id).rglob("*.parquet"))


def test_all_runs_are_read_as_one_array(make):
    """Ids, tokens, lengths, and the scores of each run in one array."""
    source = opened(make([usual(0), usual(1)]))

    shard = source.shard(0)

    assert (source.runs, source.n_shards, len(shard)) == (("0", "1"), 1, 3)
    assert shard.ids.to_pylist() == [7, 8, 20]
    assert shard.tokens.to_pylist() == [TEXT[:3], [], TEXT]
    assert shard.lengths.tolist() == [3, 0, 5]
    assert shard.n_draws.tolist() == [1, 1, 1]
    assert shard.scores.tolist() == [
        [0.5, 1.5, 2.5, 0.5, 1.5, 2.5, 3.5, 4.5],
        [100.5, 101.5, 102.5, 100.5, 101.5, 102.5, 103.5, 104.5],
    ]


def test_draws_of_an_example_are_adjacent(make):
    """Not every example needs two."""
    runs = [[row("a", 2, r, draw=d) for d in (0, 1)] + [row("b", 1, r)] for r in (0, 1)]

    shard = opened(make(runs)).shard(0)

    assert shard.ids.to_pylist() == ["a", "b"]
    assert shard.n_draws.tolist() == [2, 1]
    assert shard.scores[0].tolist() == [0.5, 1.5, 10.5, 11.5, 0.5]


@pytest.mark.parametrize("rows_per_group", [1, 2, 3, 4, 100])
def test_an_example_belongs_to_the_row_group_that_it_begins_in(make, monkeypatch, rows_per_group):
    """Its draws may continue in the next groups; nothing is lost or doubled."""
    monkeypatch.setattr(explanations, "ROWS_PER_GROUP", rows_per_group)
    draws = {1: 1, 2: 3, 3: 2, 4: 1, 5: 4}
    runs = [
        [row(example, 2, r, draw=d) for example, n in draws.items() for d in range(n)]
        for r in (0, 1)
    ]
    source = opened(make(runs))

    shards = [source.shard(index) for index in range(source.n_shards)]

    assert [i for shard in shards for i in shard.ids.to_pylist()] == list(draws)
    assert [n for shard in shards for n in shard.n_draws.tolist()] == list(draws.values())
    scores = np.concatenate([shard.scores for shard in shards], axis=1)
    expected = [x + 10 * d for n in draws.values() for d in range(n) for x in (0.5, 1.5)]
    assert scores[0].tolist() == expected
    assert scores[1].tolist() == [100 + x for x in expected]


def test_the_golden_store_is_read():
    """Written by an older version, in every arm."""
    store = Store(Location.of(GOLDEN))

    for arm in store.arms():
        source = open_explanations(store, arm=arm, split="test", method="lime")
        shards = [source.shard(index) for index in range(source.n_shards)]
        tokens = [words for shard in shards for words in shard.tokens.to_pylist()]
        scores = np.concatenate([shard.scores for shard in shards], axis=1)
        assert tokens == [["a", "🙂"], [], ["ein", "zwei", "drei"]]
        assert [n for shard in shards for n in shard.n_draws] == [2, 2, 2]
        assert scores[1].tolist() == [0.5, -0.25, 0.5, -0.25, 1.0, 0.0, -1.0, 1.0, 0.0, -1.0]


def test_a_source_travels_to_another_process(make):
    """Open files stay behind."""
    source = opened(make([usual(0), usual(1)]))
    source.shard(0)

    copy = pickle.loads(pickle.dumps(source))  # noqa: S301 - our own bytes

    np.testing.assert_array_equal(copy.shard(0).scores, source.shard(0).scores)


# --------------------------------------------------------------------------------- what there is


@pytest.mark.parametrize(
    ("runs", "method", "error", "fields"),
    [
        ([usual(0)], "lime", TooFewRunsError, {"study": "small", "n_runs": 1}),
        ([usual(0), None, usual(2)], "lime", NotFoundError, {"run": "1", "split": "test"}),
        ([usual(0), usual(1)], "gradient", NotFoundError, {"run": "0", "method": "gradient"}),
    ],
    ids=["one-run", "run-without-explanations", "unknown-method"],
)
def test_every_run_of_at_least_two_must_be_explained(make, runs, method, error, fields):
    """Measuring only the others would be another study."""
    with pytest.raises(error, check=WithFields(arm="none", **fields)):
        opened(make(runs), method=method)


# ------------------------------------------------------------------------------- what is not alike


@pytest.mark.parametrize(
    ("other", "example", "expected"),
    [
        ([row(7, 3, 1), row(9, 0, 1), row(20, 5, 1)], 9, 8),
        ([row(7, 3, 1), row(8, 0, 1)], None, 20),
        ([*usual(1), row(30, 1, 1)], 30, None),
        ([row(str(i) + "x", 1, 1) for i in (7, 8, 20)], "20x", 7),
    ],
    ids=["other", "fewer", "more", "texts"],
)
def test_a_run_with_other_examples_is_refused(make, other, example, expected):
    """Run, file and example are named; None stands for no further row."""
    store = make([usual(0), other])

    fields = {"run": "1", "other_run": "0", "example": example, "other_example": expected}
    with pytest.raises(MissingExampleError, check=WithFields(**fields)) as caught:
        opened(store)

    assert str(caught.value.fields["file"]) == str(file_of(store, "none1"))


@pytest.mark.parametrize(
    ("column", "cell", "usual_cell"),
    [("tokens", ["so", "wird", "was"], ["so", "wird", "das"]), ("draw", 3, 0)],
    ids=["tokens", "draw"],
)
def test_a_run_with_other_tokens_or_draws_is_refused(make, column, cell, usual_cell):
    """Scores of different tokens cannot be compared; run, file and example are named."""
    store = make([usual(0), [row(7, 3, 1) | {column: cell}, *usual(1)[1:]]])

    fields = {"example": 7, "column": column, "cell": cell, "other_cell": usual_cell}
    with pytest.raises(
        MissingExampleError, check=WithFields(run="1", other_run="0", **fields)
    ) as caught:
        opened(store).shard(0)

    assert str(caught.value.fields["file"]) == str(file_of(store, "none1"))
    assert str(cell) in str(caught.value)


def test_difference_in_a_later_row_group_of_an_example_is_reported(make, monkeypatch):
    """The second draw of example 2 is in the second row group."""
    monkeypatch.setattr(explanations, "ROWS_PER_GROUP", 2)
    runs = [
        [row(1, 1, r), row(2, 1, r), row(2, 1, r, draw=1, tokens=["ja" if r else "so"])]
        for r in (0, 1)
    ]

    with pytest.raises(MissingExampleError, check=WithFields(example=2, cell=["ja"], run="1")):
        opened(make(runs)).shard(0)


def test_draws_of_one_example_must_have_the_same_tokens(make):
    """Otherwise the noise of the explainer cannot be measured."""
    runs = [[row(1, 2, r), row(1, 3, r, draw=1)] for r in (0, 1)]

    with pytest.raises(
        MissingExampleError,
        check=WithFields(example=1, run="0", other_tokens=TEXT[:2], tokens=TEXT[:3]),
    ) as caught:
        opened(make(runs)).shard(0)

    assert str(TEXT[:2]) in str(caught.value)


def test_runs_with_different_row_groups_are_refused(make, monkeypatch):
    """Row groups of all runs have the same bounds."""
    monkeypatch.setattr(explanations, "ROWS_PER_GROUP", 2)
    make([usual(0)])
    monkeypatch.setattr(explanations, "ROWS_PER_GROUP", 3)
    place = Location.of(Path(make([]).location.path))
    folder = place / "runs" / "none1"
    part = write_explanations(folder, "test", "lime", usual(1))
    RunManifest("none1", "1", (part,)).commit(folder)

    with pytest.raises(MissingExampleError, check=WithFields(run="0", other_run="1")):
        opened(Store(place))


@pytest.mark.parametrize("cut", [1, 2, 3, 100])
def test_only_first_draws_are_used_if_some_runs_lack_others(make, monkeypatch, cut):
    """Whatever the row groups; the note names the run that lacks draws."""
    monkeypatch.setattr(explanations, "ROWS_PER_GROUP", 4)
    monkeypatch.setattr(explanation_shards, "ROWS_PER_GROUP", cut)
    draws = [{1: 2, 2: 1, 3: 3, 4: 1, 5: 1}, dict.fromkeys(range(1, 6), 1)]
    runs = [
        [row(example, 2, r, draw=d) for example, n in draws[r].items() for d in range(n)]
        for r in (0, 1)
    ]

    source = opened(make(runs))
    shards = [source.shard(index) for index in range(source.n_shards)]

    assert [i for shard in shards for i in shard.ids.to_pylist()] == [1, 2, 3, 4, 5]
    assert all((shard.n_draws == 1).all() for shard in shards)
    scores = np.concatenate([shard.scores for shard in shards], axis=1)
    assert scores.tolist() == [[0.5, 1.5] * 5, [100.5, 101.5] * 5]
    assert [(note.code, note.fields["runs"]) for note in source.notes] == [("fewer-draws", ("1",))]


def test_fewer_draws_of_other_examples_are_refused(make):
    """The error is about the examples, not the draws."""
    runs = [[row(1, 2, 0), row(1, 2, 0, draw=1), row(2, 2, 0)], [row(1, 2, 1), row(3, 2, 1)]]

    with pytest.raises(
        MissingExampleError, check=WithFields(run="1", example=3, other_run="0", other_example=2)
    ):
        opened(make(runs))


# ----------------------------------------------------------------------------------------- damage


def test_every_flipped_byte_of_a_file_is_noticed_or_harmless(make, flip_byte):
    """A reader returns the committed scores, or an error."""
    store = make([usual(0), usual(1)])
    path = file_of(store, "none1")
    content = path.read_bytes()
    expected = opened(store).shard(0).scores
    noticed = 0

    for position in range(0, len(content), 7):
        flip_byte(path, position)
        try:
            np.testing.assert_array_equal(opened(store).shard(0).scores, expected)
        except (DamagedStoreError, MissingExampleError):
            noticed += 1
        path.write_bytes(content)

    assert noticed > len(content) / 7 / 2  # pages and the footer make most of the file


def test_other_number_of_scores_than_tokens_is_damage(make):
    """The header of a page has the number of values, and no checksum."""
    store = make([usual(0)])
    folder = store.location / "runs" / "none1"
    schema = pa.schema(
        [
            ("example", pa.int64()),
            ("tokens", pa.list_(pa.string())),
            ("scores", pa.list_(pa.float32())),
            ("draw", pa.int32()),
        ]
    )
    rows = [explanation | {"scores": [0.0]} for explanation in usual(1)]
    writer = PartWriter(folder, "explanations/test/lime/part-0.parquet", schema)
    digest = ids_digest(pa.array([explanation["example"] for explanation in rows]))
    writer.write(pa.Table.from_pylist(rows, schema=schema), Group(len(rows), 0, digest, ""))
    RunManifest("none1", "1", (writer.close({}),)).commit(folder)

    with pytest.raises(DamagedStoreError, check=WithFields(row_group=0, run="1")):
        opened(Store(store.location)).shard(0)
