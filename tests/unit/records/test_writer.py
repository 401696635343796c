"""Row groups of one size, digests in the footer, and `run.json` as the commit."""

import json
from dataclasses import replace
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedproof.errors import (
    DtypeError,
    DuplicateExampleError,
    InputError,
    MissingValueError,
    ProbabilityError,
    RunExistsError,
    UnknownLabelError,
)
from seedproof.records.items import Relevance
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest
from seedproof.records.reader import Store
from seedproof.records.run_reader import RunReader
from seedproof.records.schema import (
    VALUE_COLUMNS,
    Kind,
    Layout,
    digest,
    ids_digest,
    labels_digest,
)
from seedproof.records.writer import FOOTER_KEY, RunWriter
from seedproof.testing.errors import WithFields

CLASSES = ("cat", "dog", "fox")
LABELS = Layout(Kind.LABELS, CLASSES)
N_ROWS = 95


def footer_of(path: Path) -> dict:
    """Return our part of a Parquet file's footer."""
    return json.loads(pq.read_metadata(path).metadata[FOOTER_KEY.encode()])


@pytest.fixture
def rows(draw_values):
    """Ids, labels and probabilities of one run."""
    rng = np.random.default_rng(3)
    labels = rng.integers(-1, 3, N_ROWS).astype(np.int32)
    return pa.array(range(N_ROWS)), labels, draw_values(Kind.PROBS, N_ROWS, rng)


@pytest.mark.parametrize("kind", list(VALUE_COLUMNS))
def test_groups_have_one_size_however_rows_arrive(kind, tmp_path, draw_values, write_run):
    """One row at a time, all at once or anything between: the same groups, the same digests."""
    rng = np.random.default_rng(4)
    n_top = 2 if kind is Kind.TOP else len(CLASSES)
    layout = Layout(
        kind, CLASSES, n_top=n_top, graded=kind.has_items, by_meaning=kind is Kind.TEXTS
    )
    ids, labels = pa.array(range(N_ROWS)), np.zeros(N_ROWS, dtype=np.int32)
    values = draw_values(kind, N_ROWS, rng)
    ways = {
        "at-once": (),
        "by-one": tuple(range(1, N_ROWS)),
        "by-group": (20, 40, 60, 80),
        "odd": (3, 19, 20, 21, 77),
        "with-empty": (0, 30, 30, 30, 95),
    }

    written = {
        name: write_run(Location.of(tmp_path), layout, ids, labels, values, name=name, ends=ends)
        for name, ends in ways.items()
    }

    tables = []
    for name, writer in written.items():
        assert [group.rows for group in writer.groups] == [20, 20, 20, 20, 15]
        assert writer.groups == written["at-once"].groups
        (part,) = (tmp_path / "runs" / f"id{name}").rglob("*.parquet")
        meta = pq.read_metadata(part)
        assert [meta.row_group(i).num_rows for i in range(5)] == [20, 20, 20, 20, 15]
        tables.append(pq.read_table(part))
    assert all(table.equals(tables[0]) for table in tables)


@given(st.lists(st.integers(0, N_ROWS), max_size=12).map(sorted))
def test_batches_do_not_change_the_groups(ends):
    """Any split of the same rows into batches gives the same groups."""
    ids, labels = pa.array(range(N_ROWS)), np.arange(N_ROWS, dtype=np.int32) % 3
    groups = []
    for cuts in ([], ends):
        writer = RunWriter(Location.of("unused"), RunManifest("x", "x"), LABELS, rows_per_group=96)
        bounds = [0, *cuts, N_ROWS]
        for start, stop in pairwise(bounds):
            writer.write(ids[start:stop], labels[start:stop], labels[start:stop])
        groups.append(pa.concat_tables(writer._waiting).combine_chunks())

    assert groups[0].equals(groups[1])


def test_the_footer_has_a_digest_of_ids_and_labels_for_each_group(tmp_path, rows, write_run):
    """Alignment is checked by it, without reading a row."""
    ids, labels, probs = rows
    write_run(Location.of(tmp_path), Layout(Kind.PROBS, CLASSES), ids, labels, probs)

    (part,) = tmp_path.rglob("*.parquet")
    footer = footer_of(part)

    assert footer["schema"] == "1.6"
    assert footer["kind"] == "probs"
    assert footer["classes"] == list(CLASSES)
    expected = [
        [
            len(labels[start : start + 20]),
            int((labels[start : start + 20] >= 0).sum()),
            ids_digest(ids[start : start + 20]),
            labels_digest(labels[start : start + 20]),
            # The first and the last row: a few are enough to distinguish groups.
            digest(np.concatenate([probs[start], probs[start : start + 20][-1]]).tobytes()),
            digest(probs[start : start + 20].argmax(axis=1).astype("<i4").tobytes()),
        ]
        for start in range(0, N_ROWS, 20)
    ]
    assert footer["groups"] == expected


def test_files_of_two_runs_have_different_footers(tmp_path, rows, write_run):
    """Runs of one shape may differ only in their values; the footer names the run."""
    ids, labels, probs = rows
    for name in ("0", "1"):
        write_run(Location.of(tmp_path), Layout(Kind.PROBS, CLASSES), ids, labels, probs, name=name)

    parts = [next((tmp_path / "runs" / name).rglob("*.parquet")) for name in ("id0", "id1")]
    footers = [footer_of(part) for part in parts]

    assert footers[0].pop("part") != footers[1].pop("part")
    assert footers[0] == footers[1]


def test_the_manifest_lists_each_part_with_its_size_and_digest(tmp_path, rows, write_run):
    """So a copy can be checked byte by byte."""
    ids, labels, probs = rows
    writer = write_run(Location.of(tmp_path), Layout(Kind.PROBS, CLASSES), ids, labels, probs)
    folder = tmp_path / "runs" / writer.run.run_id

    (part,) = RunManifest.load(Location.of(folder)).parts
    content = (folder / part.path).read_bytes()

    assert part.rows == N_ROWS
    assert part.size == len(content)
    assert part.digest == blake2b(content, digest_size=16).hexdigest()
    tail = content[-part.footer_size :]
    assert part.footer_digest == blake2b(tail, digest_size=16).hexdigest()
    assert tail.endswith(b"PAR1")
    assert part.path.startswith("predictions/all/part-")


@pytest.mark.parametrize(("groups_per_part", "sizes"), [(2, [40, 40, 15]), (5, [95])])
def test_long_runs_have_several_parts(
    tmp_path, rows, write_run, monkeypatch, *, groups_per_part, sizes
):
    """A file has a fixed number of groups, and is never empty; all rows are in order."""
    monkeypatch.setattr("seedproof.records.writer.GROUPS_PER_PART", groups_per_part)
    ids, labels, probs = rows
    write_run(Location.of(tmp_path), Layout(Kind.PROBS, CLASSES), ids, labels, probs, ends=(50,))

    run = RunManifest.load(Location.of(tmp_path / "runs" / "id0"))

    assert [part.rows for part in run.parts] == sizes
    tables = [pq.read_table(tmp_path / "runs" / "id0" / part.path) for part in run.parts]
    assert pa.concat_tables(tables).column("example").to_pylist() == list(range(N_ROWS))


def test_values_are_plain_and_the_rest_is_packed(tmp_path, rows, write_run):
    """Probabilities are read at the speed of the disk; pages carry checksums."""
    ids, labels, probs = rows
    layout = Layout(Kind.PROBS, CLASSES, extras=(("text", pa.string()),))
    texts = (pa.array([f"text {i}" for i in range(N_ROWS)]),)
    write_run(Location.of(tmp_path), layout, ids, labels, probs, extras=texts)

    (part,) = tmp_path.rglob("*.parquet")
    group = pq.read_metadata(part).row_group(0)

    packed = {group.column(i).path_in_schema: group.column(i).compression for i in range(5)}
    assert packed == {
        "example": "ZSTD",
        "label": "ZSTD",
        "probs": "UNCOMPRESSED",
        "prediction": "ZSTD",
        "extra.text": "ZSTD",
    }


def test_nothing_exists_before_the_commit(tmp_path, rows):
    """A worker that crashes leaves files that no reader sees."""
    ids, labels, probs = rows
    (tmp_path / "study.json").touch()
    layout = Layout(Kind.PROBS, CLASSES)
    writer = RunWriter(Location.of(tmp_path), RunManifest("a", "a"), layout, rows_per_group=20)

    writer.write(ids, labels, probs)

    assert list(tmp_path.rglob("*.parquet"))
    assert not list(tmp_path.rglob("run.json"))
    writer.commit()
    assert len(list(tmp_path.rglob("run.json"))) == 1


@pytest.mark.parametrize("n_rows", [0, N_ROWS], ids=["before-the-first-group", "after"])
def test_error_while_writing_leaves_no_run(make_store, rows, n_rows):
    """`with RunWriter` commits only after success; files that were written are not listed."""
    store = make_store()

    def fail() -> None:
        bad, layout = RunManifest("bad", "bad"), store.layout
        with RunWriter(store.place, bad, layout, rows_per_group=20) as writer:
            writer.write(*(column[:n_rows] for column in rows))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert [run.name for run in store.open().runs] == ["0", "1"]
    assert bool(list((store.path / "runs" / "bad").rglob("*.parquet"))) == (n_rows > 0)


def test_a_run_is_committed_once(make_store, write_run):
    """Records are never overwritten: the second commit fails, the first one stays readable."""
    store = make_store()
    before = store.read()

    taken = WithFields(path=str(store.path / "runs" / "id0" / "run.json"))
    with pytest.raises(RunExistsError, check=taken):
        write_run(store.place, store.layout, store.ids, store.labels, store.values[1], name="0")

    assert store.read() == before
    assert len(store.parts(0)) == 2  # the second attempt wrote into a file of its own


def test_a_run_without_rows_is_committed_without_parts(tmp_path):
    """A run that failed early leaves its manifest, and nothing else."""
    run = RunManifest("early", "early", status="failed")

    with RunWriter(Location.of(tmp_path), run, LABELS, rows_per_group=20):
        pass

    assert RunManifest.load(Location.of(tmp_path / "runs" / "early")) == run


def test_conditions_of_the_run_are_kept(tmp_path):
    """Arm, seeds, facts and scalars go into the commit."""
    facts = {"arm": "aswa", "seeds": {"init": 3}, "facts": {"gpu": "none"}, "scalars": {"x": 1}}
    run = RunManifest("a", "3", **facts)
    with RunWriter(Location.of(tmp_path), run, LABELS, rows_per_group=20, split="test") as writer:
        writer.write(pa.array([1]), np.array([0]), np.array([1]))

    loaded = RunManifest.load(Location.of(tmp_path / "runs" / "a"))

    assert replace(loaded, parts=()) == run
    assert loaded.parts[0].path.startswith("predictions/test/")


# Texts are given as Arrow arrays, which do not change.
@pytest.mark.parametrize("kind", [kind for kind in VALUE_COLUMNS if kind is not Kind.TEXTS])
def test_caller_may_reuse_its_arrays(tmp_path, kind):
    """Buffered rows are copies."""
    place, layout = Location.of(tmp_path), Layout(kind, CLASSES, n_top=2)
    labels, predictions = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int32)
    probs, top_classes = np.zeros((1, 3), np.float32), np.zeros((1, 2), np.int32)
    top_probs = np.array([[0.75, 0.25]], dtype=np.float32)
    numbers = np.zeros(1)
    values = {
        Kind.PROBS: probs, Kind.TOP: (top_classes, top_probs), Kind.LABELS: predictions,
        Kind.NUMBERS: numbers, Kind.RANKINGS: top_classes, Kind.SETS: top_classes[:, :1],
    }  # fmt: skip
    right = Relevance(labels[:, np.newaxis], np.ones(1, dtype=bool))
    with RunWriter(place, RunManifest("a", "a"), layout, rows_per_group=20) as writer:
        for index in range(3):
            labels[0] = predictions[0] = numbers[0] = index
            probs[0], top_classes[0] = np.eye(3)[index], [index, (index + 1) % 3]
            writer.write(pa.array([index]), right if kind.has_items else labels, values[kind])

    (part,) = tmp_path.rglob("*.parquet")

    reader = RunReader(place, RunManifest.load(place / "runs" / "a"), "all")
    table = pq.read_table(part)
    if kind.has_items:
        assert table.column("relevant").to_pylist() == [[0], [1], [2]]
        assert reader.items(0)[:, 0].tolist() == [0, 1, 2]
        return
    predicted = "value" if kind is Kind.NUMBERS else "prediction"
    assert table.column(predicted).to_pylist() == [0, 1, 2]
    assert table.column(kind.gold).to_pylist() == [0, 1, 2]
    if kind is Kind.PROBS:
        np.testing.assert_array_equal(reader.probs(0), np.eye(3))
    if kind is Kind.TOP:
        assert reader.top(0)[0].tolist() == [[0, 1], [1, 2], [2, 0]]


@pytest.mark.parametrize(
    ("kind", "ids", "labels", "values", "error", "fields"),
    [
        (Kind.LABELS, [1, 1], [0, 0], [0, 0], DuplicateExampleError, {"example": 1}),
        (Kind.LABELS, [2, 1], [0, 0], [0, 0], InputError, {"example": 1}),
        (Kind.LABELS, [1, None], [0, 0], [0, 0], MissingValueError, {"example": None}),
        (Kind.LABELS, [1, 2], [0, 3], [0, 0], UnknownLabelError, {"example": 2, "class_idx": 3}),
        (Kind.LABELS, [1, 2], [0, -2], [0, 0], UnknownLabelError, {"example": 2, "class_idx": -2}),
        (Kind.LABELS, [1, 2], [0, -1], [0, -1], UnknownLabelError, {"example": 2, "class_idx": -1}),
        (Kind.TOP, [1], [0], ([[0, 3]], [[0.5, 0.2]]), UnknownLabelError, {"example": 1, "class_idx": 3}),
        (Kind.PROBS, [1], [0], [[0.5, 0.5, 0.5]], ProbabilityError, {"example": 1, "sum": 1.5}),
        (Kind.NUMBERS, [1, 2], [0.0, 0.0], [0.5, -np.inf], DtypeError, {"example": 2, "number": -np.inf}),
        (Kind.NUMBERS, [1, 2], [np.nan, np.inf], [0.5, 1], DtypeError, {"example": 2, "number": np.inf}),
        (Kind.RANKINGS, [1, 2], None, [[2, 1], [1, 1]], UnknownLabelError, {"example": 2, "items": [1, 1]}),
        (Kind.RANKINGS, [1, 2], None, [[2, 1], [3, 1]], UnknownLabelError, {"example": 2, "highest": 2}),
        (Kind.RANKINGS, [1, 2], None, [[-1, 1], [2, 1]], UnknownLabelError, {"example": 1}),
        (Kind.SETS, [1, 2], None, [[1, 2], [2, 1]], UnknownLabelError, {"example": 2}),
    ],
    ids=["twice", "out-of-order", "no-id", "label-too-large", "label-too-small", "prediction", "top", "probs", "number", "target", "item-twice", "unknown-item", "gap", "set-out-of-order"],
)  # fmt: skip
def test_invalid_rows_are_refused(tmp_path, *, kind, ids, labels, values, error, fields):
    """The example and the run are named."""
    layout = Layout(kind, CLASSES, n_top=2)
    gold = Relevance.unknown(len(ids)) if kind.has_items else np.array(labels)
    values = tuple(map(np.array, values)) if kind is Kind.TOP else np.array(values)
    run = RunManifest("a", "seed 3")
    writer = RunWriter(Location.of(tmp_path), run, layout, rows_per_group=20)

    with pytest.raises(error, check=WithFields(run="seed 3", **fields)) as refused:
        writer.write(pa.array(ids, pa.int64()), gold, values)

    assert type(refused.value) is error


def test_tolerance_of_the_writer_is_used(tmp_path):
    """Half precision has a larger one."""
    probs = np.array([[0.5, 0.3, 0.205]], dtype=np.float32)
    for tolerance, fine in ((1e-2, True), (1e-3, False)):
        writer = RunWriter(
            Location.of(tmp_path / str(tolerance)),
            RunManifest("a", "a"),
            Layout(Kind.PROBS, CLASSES),
            rows_per_group=20,
            tolerance=tolerance,
        )
        if fine:
            writer.write(pa.array([1]), np.array([0]), probs)
        else:
            with pytest.raises(ProbabilityError):
                writer.write(pa.array([1]), np.array([0]), probs)


def test_two_attempts_at_once_write_into_files_of_their_own(make_store):
    """The first to commit wins; the files of the other are never listed."""
    store = make_store()
    attempts = [
        RunWriter(store.place, RunManifest("id9", "9"), store.layout, rows_per_group=20)
        for _ in range(2)
    ]
    for writer, values in zip(attempts, store.values, strict=True):
        writer.write(store.ids, store.labels, values)

    attempts[1].commit()
    with pytest.raises(RunExistsError):
        attempts[0].commit()

    shards = Store(store.place).shards()
    assert shards.runs == ("0", "1", "9")
    np.testing.assert_array_equal(shards.shard(0).probs[2], store.values[1][:20])
