"""Ranked lists and sets in stores: what runs log is what is read, whatever their items are."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seedproof as sp
from seedproof.errors import (
    DamagedStoreError,
    DuplicateExampleError,
    LabelConflictError,
    MissingExampleError,
    OptionError,
    ShapeError,
)
from seedproof.training.logbook import Logbook

# Ray takes long to start.
FULL = os.environ.get("SEEDPROOF_FULL") == "1"
KINDS = {"rankings": "relevant", "sets": "labels"}


def write(place, kind, runs, *, right=None, ids=None, batches=1, **options):
    """Write one run per element of `runs`, in several batches."""

    def log(run: sp.Run) -> None:
        index = int(run.name)
        n_examples = len(runs[index])
        for rows in np.array_split(np.arange(n_examples), batches):
            chosen = slice(rows[0], rows[-1] + 1)
            known = {} if right is None else {KINDS[kind]: right[index][chosen]}
            known |= {} if ids is None else {"ids": ids[index][chosen]}
            run.log_predictions("test", **{kind: runs[index][chosen]}, **known, **options)

    sp.Study("lists", log, seeds=len(runs), store=place).run(engine="serial")
    return place


def content(loaded):
    """Return ids, items and right items with grades, by name."""
    source = loaded.source
    rows = []
    for index in range(source.n_shards):
        shard = source.shard(index)
        right = shard.relevance
        for row, example in enumerate(shard.ids.to_pylist()):
            items = [[source.classes[i] for i in run[row] if i >= 0] for run in shard.items]
            grades = None
            if right is not None and right.is_known[row]:
                pairs = zip(right.items[row], right.all_grades[row], strict=True)
                grades = {source.classes[i]: grade for i, grade in pairs if i >= 0}
            rows.append((example, items, grades))
    return rows


def drawn(rng, kind, *, n_runs=3, n_examples=7):
    """Return drawn lists of runs with different items, and right items, some unknown."""
    pools = [rng.permutation(["a", "b", "é", "7", "30", "x y", "ü|"])[:5] for _ in range(n_runs)]
    runs = [
        [rng.permutation(pool)[: rng.integers(0, 5)].tolist() for _ in range(n_examples)]
        for pool in pools
    ]
    right = [
        None if rng.random() < 0.2 else {str(i): float(rng.integers(1, 4)) for i in rng.permutation(9)[:2]}
        for _ in range(n_examples)
    ]  # fmt: skip
    if kind == "sets" or rng.random() < 0.5:
        right = [None if grades is None else list(grades) for grades in right]
    return runs, right


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", range(4))
def test_stores_hold_what_memory_holds(kind, case, tmp_path, monkeypatch):
    """Several row groups and batches; runs with other items, and other longest lists."""
    monkeypatch.setattr("seedproof.records.schema.ITEM_GROUP_ROWS", 3)
    runs, right = drawn(np.random.default_rng(case), kind)
    in_memory = sp.Predictions.load(runs, kind=kind, **{KINDS[kind]: right})

    store = write(tmp_path, kind, runs, right=[right] * len(runs), batches=1 + case % 3)
    loaded = sp.Predictions.load(store)

    assert loaded.source.n_shards == 3
    assert content(loaded) == content(in_memory)
    assert loaded.classes == in_memory.classes
    assert (loaded.kind, loaded.n_labeled) == (kind, in_memory.n_labeled)
    assert content(loaded.first(2)) == [(e, items[:2], r) for e, items, r in content(in_memory)]


def test_arrays_are_logged_in_batches_of_any_width(tmp_path):
    def log_arrays(run: sp.Run) -> None:
        run.log_predictions("test", rankings=np.array([[5, 3, 1]]))
        run.log_predictions("test", rankings=np.array([[2, 7], [1, -1]]))

    store = tmp_path
    sp.Study("arrays", log_arrays, seeds=2, store=store).run(engine="serial")
    items = [items[0] for _, items, _ in content(sp.Predictions.load(store))]
    assert items == [["5", "3", "1"], ["2", "7"], ["1"]]


def test_flags_are_logged_with_the_names_of_labels(tmp_path):
    flags = [np.array([[1, 0, 1], [0, 0, 0]]), np.array([[0, 1, 0], [1, 1, 1]])]
    gold = [np.array([[1, 0, 0], [0, 0, 0]])] * 2

    store = write(tmp_path, "sets", flags, right=gold, classes=["z", "y", "x"])

    assert content(sp.Predictions.load(store)) == [
        (0, [["x", "z"], ["y"]], {"z": 1.0}),
        (1, [[], ["x", "y", "z"]], {}),
    ]


def test_runs_with_other_right_items_are_refused(tmp_path):
    runs = [[["a"], ["b"]], [["c"], ["b"]]]
    store = write(tmp_path, "rankings", runs, right=[[["a"], None], [["c"], None]])

    with pytest.raises(LabelConflictError):
        sp.Predictions.load(store)


def test_common_examples_are_read_on_request(tmp_path):
    runs, ids = [[["b"], ["a"], ["c"]], [["10"], ["b"]]], [[1, 2, 3], [3, 1]]
    store = write(tmp_path, "sets", runs, ids=ids, right=[[["x"], [], None], [None, ["x"]]])

    with pytest.raises(MissingExampleError):
        sp.Predictions.load(store)
    loaded = sp.Predictions.load(store, common_examples=True)
    assert content(loaded) == [(1, [["b"], ["b"]], {"x": 1.0}), (3, [["c"], ["10"]], None)]
    conflict = write(
        tmp_path / "c", "sets", runs, ids=ids, right=[[["x"], [], None], [None, ["y"]]]
    )
    with pytest.raises(LabelConflictError):
        content(sp.Predictions.load(conflict, common_examples=True))


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"rankings": [["a", "a"]]}, DuplicateExampleError),
        ({"rankings": [["a"]], "labels": [["a"]]}, OptionError),
        ({"sets": [["a"]], "targets": [0]}, OptionError),
        ({"sets": [["a"]], "predictions": [0]}, OptionError),
        ({"sets": [["a"]], "labels": [["a"], ["b"]]}, ShapeError),
    ],
)
def test_wrong_logs_are_refused(given, error):
    log = Logbook("run", None, checks_at_once=True)

    with pytest.raises(error):
        log.add_predictions("test", **given)


def test_batches_of_arrays_and_lists_are_not_mixed():
    log = Logbook("run", None)
    log.add_predictions("test", rankings=np.array([[2, 7], [1, -1]]))

    with pytest.raises(ShapeError):
        log.add_predictions("test", rankings=[[2, 7], [1]])


@pytest.mark.parametrize("column", ["items", "relevant"])
def test_changed_bytes_are_noticed(column, tmp_path):
    """A part whose rows were replaced by others does not pass."""
    store = write(tmp_path, "rankings", [[["a", "b"]], [["b", "a"]]], right=[[["a"]], [["a"]]])
    path = min(store.rglob("*.parquet"))
    table = pq.read_table(path)
    place = table.column_names.index(column)
    field = table.schema.field(column)
    other = pa.array([b"\x01" * 8 if column == "items" else [1]], field.type)
    pq.write_table(table.set_column(place, field, other), path)

    with pytest.raises(DamagedStoreError):
        content(sp.Predictions.load(store))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("engine", ["processes", *(["ray"] if FULL else [])])
def test_engines_give_the_same_bytes(kind, engine, tmp_path, monkeypatch):
    monkeypatch.setattr("seedproof.records.schema.ITEM_GROUP_ROWS", 20)
    runs, right = drawn(np.random.default_rng(0), kind, n_examples=60)
    store = write(tmp_path, kind, runs, right=[right] * len(runs))

    here = sp.measure(store)
    there = sp.measure(store, engine=engine, workers=2)

    assert there.to_json() == here.to_json()
    assert there.examples.equals(here.examples)
    in_memory = sp.measure(runs, kind=kind, **{KINDS[kind]: right})
    assert here.summary()["metrics"] == in_memory.summary()["metrics"]
