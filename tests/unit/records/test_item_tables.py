"""Tables of ranked lists and sets, against a slow loop and by hand."""

import csv
import json

import numpy as np
import pyarrow as pa
import pytest

import seedproof as sp
from seedproof.errors import (
    ColumnError,
    DtypeError,
    DuplicateExampleError,
    InputError,
    LabelConflictError,
    MissingExampleError,
    MissingValueError,
    NotFoundError,
    OptionError,
    TooFewRunsError,
    UnreadableError,
)
from seedproof.records.resumable_ingest import ingest_tables
from seedproof.testing.errors import WithFields

HEADER = ["run", "user", "item", "score"]
ROWS = [
    ["a", "u1", "x", 3], ["a", "u1", "y", 2], ["a", "u2", "z", 5],
    ["b", "u1", "y", 4], ["b", "u1", "x", 4], ["b", "u2", "z", 1], ["b", "u2", "x", 0.5],
]  # fmt: skip


def write(path, header, rows):
    """Write a CSV file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def named(loaded):
    """Return the items by name: by run, then by example."""
    shard = loaded.source.shard(0)
    names = [*loaded.classes, None]
    return {
        run: {
            example: [names[item] for item in items if item >= 0]
            for example, items in zip(shard.ids.to_pylist(), of_run, strict=True)
        }
        for run, of_run in zip(loaded.runs, shard.items, strict=True)
    }


def right(loaded):
    """Return the grades of the right items by example; None where they are unknown."""
    shard = loaded.source.shard(0)
    grades = shard.relevance.all_grades
    return {
        example: {
            loaded.classes[item]: grades[row, place]
            for place, item in enumerate(shard.relevance.items[row])
            if item >= 0
        }
        if shard.relevance.is_known[row]
        else None
        for row, example in enumerate(shard.ids.to_pylist())
    }


def codes(loaded):
    """Return the codes of the notes."""
    return [note.code for note in loaded.notes]


def test_scores_order_items_and_ties_follow_the_names(tmp_path):
    loaded = sp.Predictions.load(write(tmp_path / "t.csv", HEADER, ROWS))

    assert (loaded.kind, loaded.classes) == ("rankings", ("x", "y", "z"))
    assert named(loaded) == {
        "a": {"u1": ["x", "y"], "u2": ["z"]},
        "b": {"u1": ["x", "y"], "u2": ["z", "x"]},
    }
    assert codes(loaded) == ["ties-by-name"]


@pytest.mark.parametrize("case", range(20))
def test_lists_equal_those_of_a_loop(case, tmp_path):
    """Drawn tables in any order of rows, with ranks or scores, and a limit of the lists."""
    rng = np.random.default_rng(case)
    runs, users = [f"r{i}" for i in range(3)], list(range(int(rng.integers(1, 6))))
    keep, has_ranks = int(rng.integers(1, 5)), case % 2 == 0
    rows, expected = [], {}
    for run in runs:
        for user in users:
            items = rng.permutation(12)[: rng.integers(1, 7)].tolist()
            keys = rng.integers(0, 4, len(items)).tolist()
            rows += [[run, user, item, key] for item, key in zip(items, keys, strict=True)]
            pairs = sorted(zip([k if has_ranks else -k for k in keys], items, strict=True))
            expected.setdefault(run, {})[user] = [str(item) for _, item in pairs][:keep]
    rng.shuffle(rows)
    order = "rank" if has_ranks else "score"
    table = write(tmp_path / "t.csv", ["run", "user", "item", order], rows)

    loaded = sp.Predictions.load(table, keep=keep)

    assert named(loaded) == expected


def test_ranks_come_before_scores_and_other_columns_are_kept(tmp_path):
    rows = [["a", "u", "x", 2, 9, "DE"], ["a", "u", "y", 1, 1, "DE"], ["b", "u", "x", 1, 9, "DE"]]
    table = write(tmp_path / "t.csv", [*HEADER[:3], "rank", "score", "country"], rows)

    loaded = sp.Predictions.load(table, slices=["country"])

    assert named(loaded) == {"a": {"u": ["y", "x"]}, "b": {"u": ["x"]}}
    assert loaded.source.extras == ("country",)


def test_right_items_come_from_a_column_and_from_rows_without_a_run(tmp_path):
    rows = [
        ["a", "u", "x", 1, 2], ["a", "u", "y", 2, 0], ["a", "v", "x", 1, ""],
        ["b", "u", "y", 1, 0], ["b", "v", "y", 1, ""], ["", "u", "z", "", 1],
    ]  # fmt: skip
    table = write(tmp_path / "t.csv", [*HEADER[:3], "rank", "relevance"], rows)

    loaded = sp.Predictions.load(table)

    assert right(loaded) == {"u": {"x": 2.0, "z": 1.0}, "v": None}
    assert loaded.n_labeled == 1


def test_right_items_come_from_a_second_table(tmp_path):
    table = write(tmp_path / "t.csv", HEADER, ROWS)
    relevant = write(tmp_path / "r.csv", ["user", "item"], [["u1", "x"], ["u1", "w"], ["u9", "x"]])

    loaded = sp.Predictions.load(table, relevant=relevant)

    assert right(loaded) == {"u1": {"x": 1.0, "w": 1.0}, "u2": None}
    assert "right-items-unused" in codes(loaded)
    frame = pa.table({"user": ["u1"], "item": ["x"], "grade": [3]})
    assert right(sp.Predictions.load(table, relevant=frame))["u1"] == {"x": 3.0}


def test_trec_runs_and_qrels(tmp_path):
    for name, lines in {
        "bm25.run": ["q1 Q0 d1 1 9.5 s", "q1 Q0 d2 2 9.0 s", "q2 Q0 d1 1 1 s"],
        "dense.run": ["q2 Q0 d3 1 2 s", "q1 Q0 d2 1 0.9 s", "q1 Q0 d1 2 0.8 s"],
        "qrels.txt": ["q1 0 d1 2", "q1 0 d2 0", "q3 0 d1 1"],
    }.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")

    files = [tmp_path / "bm25.run", tmp_path / "dense.run"]
    loaded = sp.Predictions.load(files, relevant=tmp_path / "qrels.txt")

    assert named(loaded) == {
        "bm25": {"q1": ["d1", "d2"], "q2": ["d1"]},
        "dense": {"q1": ["d2", "d1"], "q2": ["d3"]},
    }
    assert right(loaded) == {"q1": {"d1": 2.0}, "q2": None}
    (tmp_path / "dense.run").write_text("q1 Q0 d2 1 0.9 s\nq1 Q0 d2 1\n")
    with pytest.raises(UnreadableError):
        sp.Predictions.load(files)


SETS = [("a", 1, ["p", "q"], ["p"]), ("a", 2, [], []), ("b", 1, ["q"], ["p"]), ("b", 2, ["r"], [])]


@pytest.mark.parametrize("form", ["jsonl", "parquet", "json-cells", "joined"])
def test_sets_are_read_from_lists_in_every_form(form, tmp_path):
    path = tmp_path / ("t.jsonl" if form == "jsonl" else "t.csv")
    header = ["run", "id", "labels", "gold"]
    if form == "jsonl":
        lines = [json.dumps(dict(zip(header, row, strict=True))) for row in SETS]
        path.write_text("\n".join(lines))
    elif form == "json-cells":
        write(path, header, [(r, i, json.dumps(s), json.dumps(g)) for r, i, s, g in SETS])
    elif form == "joined":
        write(path, header, [(r, i, "|".join(s), "|".join(g) or "[]") for r, i, s, g in SETS])
    columns = dict(zip(header, map(list, zip(*SETS, strict=True)), strict=True))

    loaded = sp.Predictions.load(pa.table(columns) if form == "parquet" else path)

    assert named(loaded) == {"a": {1: ["p", "q"], 2: []}, "b": {1: ["q"], 2: ["r"]}}
    assert right(loaded) == {1: {"p": 1.0}, 2: {}}


def test_sets_may_have_one_label_per_row(tmp_path):
    rows = [["a", 1, "p"], ["a", 1, "q"], ["a", 2, ""], ["b", 1, "q"], ["b", 2, "p"]]
    table = write(tmp_path / "t.csv", ["run", "id", "genre"], rows)

    loaded = sp.Predictions.load(table, columns=sp.Columns(set="genre"))

    assert named(loaded) == {"a": {1: ["p", "q"], 2: []}, "b": {1: ["q"], 2: ["p"]}}


def test_spans_are_items_and_a_document_without_one_has_none(tmp_path):
    rows = [["a", "d1", 0, 5, "PER"], ["b", "d1", 0, 5, "PER"], ["b", "d2", 7, 9, "LOC"],
            ["", "d3", 1, 2, "ORG"]]  # fmt: skip
    table = write(tmp_path / "t.csv", ["run", "document", "start", "end", "type"], rows)

    loaded = sp.Predictions.load(table)

    assert named(loaded) == {
        "a": {"d1": ["0:5:PER"], "d2": [], "d3": []},
        "b": {"d1": ["0:5:PER"], "d2": ["7:9:LOC"], "d3": []},
    }
    assert right(loaded) == {"d1": {}, "d2": {}, "d3": {"1:2:ORG": 1.0}}


def test_tags_become_spans_clustered_by_document(tmp_path):
    header = ["run", "id", "document", "tags", "gold"]
    rows = [["a", 1, "d", "B-PER I-PER O", "B-PER O O"], ["b", 1, "d", "B-PER O O", "B-PER O O"]]

    loaded = sp.Predictions.load(write(tmp_path / "t.csv", header, rows))

    assert named(loaded) == {"a": {1: ["0:2:PER"]}, "b": {1: ["0:1:PER"]}}
    assert right(loaded) == {1: {"0:1:PER": 1.0}}
    assert loaded.clusters == "document"


def test_trials_are_recognized(tmp_path):
    rows = [[trial, *row[1:]] for trial, row in zip("0001111", ROWS, strict=True)]

    loaded = sp.Predictions.load(write(tmp_path / "t.csv", ["trial", *HEADER[1:]], rows))

    assert loaded.repeats == "trials"
    assert sp.measure(loaded).measurement.repeats == "trials"


@pytest.mark.parametrize(
    "read",
    [sp.Predictions.load, lambda table: ingest_tables([table], table.parent / "store")],
    ids=["load", "ingest"],
)
def test_trials_of_several_runs_are_refused(tmp_path, read):
    """Counted as runs, they would make intervals over runs too narrow."""
    rows = [[run, trial, "u1", "x", 1] for run in "ab" for trial in "01"]
    table = write(tmp_path / "t.csv", ["run", "trial", *HEADER[1:]], rows)

    with pytest.raises(OptionError, check=WithFields(option="trial", inner="trial", outer="run")):
        read(table)


@pytest.mark.parametrize(
    ("header", "rows", "options", "error"),
    [
        (HEADER, [*ROWS, ["b", "u2", "z", 9]], {}, DuplicateExampleError),
        (HEADER, [*ROWS, ["b", "u2", "w", ""]], {}, MissingValueError),
        (HEADER, [*ROWS, ["b", "u2", "w", "high"]], {}, DtypeError),
        (HEADER, [*ROWS, ["b", "u3", "w", 1]], {}, MissingExampleError),
        (HEADER, ROWS[:3], {}, TooFewRunsError),
        (HEADER[1:], [row[1:] for row in ROWS[:3]], {}, ColumnError),
        (HEADER, ROWS, {"columns": sp.Columns(item="product")}, ColumnError),
        (HEADER[:3], [row[:3] for row in ROWS], {"columns": sp.Columns(rank="place")}, ColumnError),
        (HEADER, ROWS, {"keep": 0}, OptionError),
        (HEADER, ROWS, {"relevant": "none.csv"}, NotFoundError),
        (HEADER, ROWS, {"relevant": [["x"], ["y"]]}, OptionError),
        (HEADER, ROWS, {"relevant": pa.table({"user": ["other"], "item": ["x"]})}, MissingExampleError),
        (HEADER, ROWS, {"relevant": pa.table({"user": ["u1"], "thing": ["x"]})}, ColumnError),
        ([*HEADER, "relevance"], [[*row, i] for i, row in enumerate(ROWS)], {}, LabelConflictError),
        (["run", "id", "labels"], [["a", 1, "[1"], ["b", 1, "[]"]], {}, DtypeError),
        (["run", "id", "labels"], [["a", 1, "p|q"], ["a", 1, "q"], ["b", 1, "q"]], {}, DuplicateExampleError),
        (["run", "id", "labels", "gold"], [["a", 1, "p", "p|q"], ["b", 1, "q", "p"]], {}, LabelConflictError),
    ],
)  # fmt: skip
def test_wrong_tables_are_refused(header, rows, options, error, tmp_path):
    table = write(tmp_path / "t.csv", header, rows)

    with pytest.raises(error):
        sp.measure(table, **options)


def test_tables_with_other_columns_are_refused(tmp_path):
    first = write(tmp_path / "a.csv", HEADER[1:], [row[1:] for row in ROWS[:3]])
    other = write(tmp_path / "b.csv", ["user", "item", "rank"], [["u1", "x", 1], ["u2", "x", 1]])

    with pytest.raises(ColumnError):
        sp.Predictions.load([first, other])


def test_common_examples_are_kept_on_request(tmp_path):
    table = write(tmp_path / "t.csv", HEADER, [*ROWS, ["b", "u3", "w", 1]])

    loaded = sp.Predictions.load(table, common_examples=True)

    assert loaded.source.shard(0).ids.to_pylist() == ["u1", "u2"]
    assert "examples-dropped" in codes(loaded)


@pytest.mark.parametrize(
    "header",
    [
        ["run", "id", "labels", "answer"],
        ["run", "item", "score"],
        ["run", "example", "item", "score", "value"],
        ["run", "example", "item", "score", "prediction"],
        ["id", "labels", "seed_0", "seed_1"],
    ],
)
def test_tables_of_other_kinds_are_not_taken_for_lists(header, tmp_path):
    table = write(tmp_path / "t.csv", header, [["a", 1, 1, 1, 1][: len(header)]])

    try:
        loaded = sp.Predictions.load(table)
    except InputError:
        return
    assert loaded.kind not in {"rankings", "sets"}


@pytest.mark.parametrize("form", ["text", "list"])
def test_lists_of_labels_as_classes_lead_to_sets(form):
    table = pa.table(
        {
            "run": [0, 0, 1, 1],
            "id": [1, 2, 1, 2],
            "prediction": ['["a", "b"]', "[]", '["a"]', '["c"]']
            if form == "text"
            else [["a", "b"], [], ["a"], ["c"]],
        }
    )

    fields = {"option": "set"} if form == "text" else {"column": "prediction"}
    with pytest.raises(DtypeError, check=WithFields(**fields)):
        sp.measure(table)
    assert sp.measure(table, columns=sp.Columns(set="prediction"))["set_flips"].value == 1.0
