"""Ingest of tables of any library and format."""

import ast
import json
import os
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seedproof
from seedproof.errors import (
    ClassesError,
    ColumnError,
    DtypeError,
    EmptyInputError,
    LabelConflictError,
    MissingExampleError,
    NotFoundError,
    ProbabilityError,
    SeedproofError,
    StoreError,
    UnreadableError,
)
from seedproof.records.columns import Columns
from seedproof.records.ingest import Ingest, _translated_errors, may_pass
from seedproof.records.location import Location
from seedproof.records.partition import PartitionWriter
from seedproof.records.reader import Store
from seedproof.records.scan import Scan
from seedproof.records.schema import Kind
from seedproof.records.tables import TableOptions
from seedproof.testing.errors import WithFields

ROWS = {
    "run": ["a", "a", "b", "b"],
    "example": [2, 1, 1, 2],
    "label": ["x", "y", "y", "x"],
    "prediction": ["x", "x", "y", "x"],
}


@pytest.fixture
def ingest(tmp_path):
    """Writes tables into a store and opens it."""

    def run(*tables, memory: int = 10**9, progress=None, **called: str):
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        place = Location.of(tmp_path / "store")
        options = TableOptions(Columns(**called), memory)
        notes = Ingest(options, scratch=scratch, progress=progress).run(list(tables), place)
        return Store(place), notes

    return run


def test_rows_are_sorted_into_runs(ingest):
    """By run, then by id; labels and predictions as indices into the classes."""
    store, notes = ingest(pa.table(ROWS))
    shards = store.shards()
    shard = shards.shard(0)

    assert notes == ()
    assert (shards.runs, shards.classes, shards.kind) == (("a", "b"), ("x", "y"), Kind.LABELS)
    assert shard.ids.to_pylist() == [1, 2]
    assert shard.labels.tolist() == [1, 0]
    assert [run.tolist() for run in shard.predictions] == [[0, 0], [1, 0]]


def test_extras_are_kept_with_the_first_run_alone(ingest):
    """Facts about examples are stored once, as text."""
    table = pa.table(ROWS | {"text": ["two", "one", "one", "two"], "size": [2, 1, 1, 2]})
    store, _ = ingest(table)

    first, second = (
        pq.read_schema(next((Path(str(store.location)) / "runs" / run.run_id).rglob("*.parquet")))
        for run in store.runs
    )

    assert store.shards().shard(0).extras.to_pydict() == {
        "text": ["one", "two"],
        "size": ["1", "2"],
    }
    assert "extra.text" in first.names
    assert "extra.text" not in second.names


def test_extras_that_differ_between_runs_are_left_out_with_a_note(ingest):
    """A loss or a time belongs to the run, not to the example."""
    table = pa.table(ROWS | {"text": ["two", "one", "one", "two"], "loss": [0.1, 0.2, 0.3, 0.4]})

    store, notes = ingest(table)

    assert [(note.code, note.fields) for note in notes] == [
        ("columns-left-out", {"columns": ("loss",)})
    ]
    assert [str(note) for note in notes] == [str(note) for note in store.notes]
    assert store.shards().shard(0).extras.column_names == ["text"]


def test_missing_extra_is_not_a_difference(ingest):
    """Some runs may not have logged it."""
    store, notes = ingest(pa.table(ROWS | {"text": ["two", None, "one", None]}))

    assert notes == ()
    assert store.shards().shard(0).extras.column_names == ["text"]


def test_both_predictions_and_probabilities_give_a_note(ingest):
    """It says which of the two was used."""
    table = pa.table(ROWS | {"p_x": [0.9, 0.8, 0.1, 0.6], "p_y": [0.1, 0.2, 0.9, 0.4]})

    store, notes = ingest(table)

    assert store.shards().kind is Kind.PROBS
    assert [(note.code, note.fields) for note in notes] == [
        ("predictions-from-probabilities", {"column": "prediction"}),
        ("columns-left-out", {"columns": ("prediction",)}),
    ]


@pytest.mark.parametrize(("excess", "fine"), [(0.008, True), (0.013, False)])
def test_half_precision_has_a_larger_tolerance(ingest, excess, fine):
    """A hundredth in streams of float16, which DuckDB does not have."""
    probs = np.array([0.5, 0.5, 0.25, 0.75], dtype=np.float16)
    other = (1 - probs + np.array([0, 0, 0, excess])).astype(np.float16)
    table = pa.table(ROWS).drop_columns("prediction")
    table = table.append_column("p_x", pa.array(probs)).append_column("p_y", pa.array(other))

    if fine:
        assert ingest(table)[0].shards().n_examples == 2
    else:
        with pytest.raises(ProbabilityError, check=WithFields(sum=1.012939453125, tolerance=0.01)):
            ingest(table)


@pytest.mark.parametrize(
    ("limit", "error", "fields"),
    [
        ("class_names.MAX_CLASSES", ClassesError, {}),
        ("sort.MAX_RUNS", ColumnError, {"column": "run"}),
    ],
)
def test_too_many_different_values_are_refused(ingest, monkeypatch, limit, error, fields):
    """Regression outputs and free text are not classes, ids of examples are not runs."""
    monkeypatch.setattr(f"seedproof.records.{limit}", 1)

    with pytest.raises(error, check=WithFields(at_most=1, **fields)):
        ingest(pa.table(ROWS))


def test_progress_reports_each_phase_to_its_end(ingest):
    """Reading in hundredths of a table, sorting and writing in rows."""
    seen = []

    ingest(pa.table(ROWS), progress=lambda *report: seen.append(report))

    for phase, total in (("reading", 100), ("sorting", 4), ("writing", 4)):
        reports = [(done, of) for name, done, of in seen if name == phase]
        assert reports[-1] == (total, total)
        assert reports == sorted(reports)
    # Two runs: the second is sorted after the first is written.
    assert seen.index(("writing", 2, 4)) < seen.index(("sorting", 4, 4))


def test_committed_run_is_kept(ingest, tmp_path):
    """Files of an uncommitted run are deleted."""
    store, _ = ingest(pa.table(ROWS))
    first, second = (tmp_path / "store" / "runs" / run.run_id for run in store.runs)
    kept = (first / "run.json").stat().st_mtime_ns
    (second / "run.json").unlink()
    (tmp_path / "store" / "study.json").unlink()
    again = Ingest(TableOptions(memory=10**9), scratch=tmp_path)

    again.run([pa.table(ROWS)], Location.of(tmp_path / "store"))

    assert (first / "run.json").stat().st_mtime_ns == kept
    assert len(list(second.rglob("*.parquet"))) == 1
    assert Store(Location.of(tmp_path / "store")).shards().runs == ("a", "b")


@pytest.mark.parametrize(("other", "n_bytes"), [(np.float16, 4), (np.float64, 8)])
def test_probabilities_stay_half_if_all_are(ingest, other, n_bytes):
    """With mixed precision, nothing is rounded."""
    probs = np.array([0.5, 0.5, 0.25, 0.75])
    table = pa.table(ROWS).drop_columns("prediction")
    table = table.append_column("p_x", pa.array(probs.astype(np.float16)))

    store, _ = ingest(table.append_column("p_y", pa.array((1 - probs).astype(other))))

    part = next((Path(str(store.location)) / "runs").rglob("*.parquet"))
    assert pq.read_schema(part).field("probs").type == pa.binary(n_bytes)
    expected = [[[0.5, 0.5]] * 2, [[0.25, 0.75], [0.75, 0.25]]]
    assert store.shards().shard(0).probs.tolist() == expected


def test_a_table_that_changes_while_it_is_read_is_refused(ingest, tmp_path):
    """Two versions are never mixed."""
    path = tmp_path / "t.csv"
    path.write_text("run,example,prediction\n0,1,a\n1,1,b\n", encoding="utf-8")

    def write_to_it(phase: str, *_: int) -> None:
        if phase == "reading":
            path.write_text("run,example,prediction\n0,1,b\n1,1,b\n2,1,b\n", encoding="utf-8")

    with pytest.raises(UnreadableError, check=WithFields(table=path)):
        ingest(path, progress=write_to_it)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.jsonl", "t.parquet", "The table"])
def test_reader_that_loses_a_row_is_detected(ingest, tmp_path, monkeypatch, name):
    """Rows are counted independently, and the error has both numbers."""
    path = tmp_path / name
    lines = ["run,example,prediction", "a,1,x", "a,2,y", "b,1,x", "b,2,x"]
    if name.endswith("parquet"):
        pq.write_table(pa.table(ROWS), path)
    elif name.endswith("jsonl"):
        path.write_text(
            "\n".join(
                json.dumps({"run": r, "example": e, "prediction": "x"}) for r in "ab" for e in "12"
            )
        )
    else:
        with pa.output_stream(path) as file:  # packs by the ending
            file.write("\n".join(lines).encode())

    select = Scan.select
    monkeypatch.setattr(Scan, "select", lambda *a, **k: f"{select(*a, **k)} LIMIT 3")

    with pytest.raises(UnreadableError, check=WithFields(file=name, n_rows=4, n_read=3)):
        ingest(pa.table(ROWS) if name == "The table" else path)


def test_row_that_sorting_loses_is_detected(ingest, monkeypatch):
    """The run is not committed."""
    note = PartitionWriter._note

    def count_one_more(self, run, batch_idx, n_rows):
        note(self, run, batch_idx, n_rows)
        self.partition.rows[run] += 1

    monkeypatch.setattr(PartitionWriter, "_note", count_one_more)

    with pytest.raises(StoreError, check=WithFields(run="a", n_read=3, n_written=2)):
        ingest(pa.table(ROWS))


@pytest.mark.parametrize("place", ["first", "middle", "last", "only"])
def test_a_row_longer_than_the_usual_buffer_is_read(ingest, tmp_path, place):
    """The reader gets a buffer that holds it."""
    long = "x" * 20_000_000
    rows = [] if place == "only" else [f"{i},x,text" for i in range(4)]
    rows.insert({"first": 0, "middle": 2, "last": 4, "only": 0}[place], f"9,y,{long}")
    for run in "ab":
        (tmp_path / f"{run}.csv").write_text("\n".join(["example,prediction,text", *rows]))

    store, _ = ingest(tmp_path / "a.csv", tmp_path / "b.csv")

    shards = store.shards()
    assert shards.n_examples == len(rows)
    assert long in shards.shard(0).extras["text"].to_pylist()


def test_blank_lines_are_not_rows(ingest, tmp_path):
    """As in DuckDB, so that the counts agree."""
    path = tmp_path / "t.csv"
    path.write_text("run,example,prediction\n\na,1,x\n\n\nb,1,x\n\n")

    assert ingest(path)[0].shards().n_examples == 1


def test_integer_ids_of_any_width_are_integers(ingest):
    """Also where one file has them as text."""
    narrow = pa.table({"example": pa.array([2, 10], pa.int8()), "prediction": ["x", "y"]})
    text = pa.table({"example": ["10", "2"], "prediction": ["x", "y"]})

    store, _ = ingest(narrow, text)

    assert store.shards().shard(0).ids.to_pylist() == [2, 10]


def test_dictionary_columns_are_read(ingest):
    """Categories of pandas and polars."""
    table = pa.table({name: pa.array(column) for name, column in ROWS.items()})
    for name in ("run", "label", "prediction"):
        index = table.column_names.index(name)
        table = table.set_column(index, name, table.column(name).dictionary_encode())

    assert ingest(table)[0].shards().classes == ("x", "y")


@pytest.mark.parametrize("keep", ["examples", "labels"])
def test_a_difference_in_a_large_table_is_explained(ingest, keep):
    """More rows than a batch of DuckDB: it is queried again after the reader is closed."""
    n_examples, n_runs = 60_000, 3
    labels = np.tile(np.arange(n_examples) % 3, n_runs)
    table = {
        "run": np.repeat(np.arange(n_runs), n_examples),
        "example": np.tile(np.arange(n_examples), n_runs),
        "label": labels,
        "prediction": labels[::-1].copy(),
    }
    if keep == "labels":
        kept = np.arange(len(labels)) != n_examples + 7
        table = {name: values[kept] for name, values in table.items()}
        error, fields = MissingExampleError, {"run": "1", "n_missing": 1, "n_examples": 60_000}
    else:
        labels[n_examples + 7] = 0
        error, fields = LabelConflictError, {"label": "0", "other_label": "1"}

    with pytest.raises(error, check=WithFields(example=7, **fields)):
        ingest(pa.table(table))


def test_minimum_memory_is_enough(ingest):
    """800,000 rows in random order under 100 MB, most of which the libraries themselves take."""
    n_rows = 400_000
    rng = np.random.default_rng(5)
    order = rng.permutation(2 * n_rows)
    runs = np.repeat(np.arange(2), n_rows)[order]
    table = {
        "run": runs,
        "example": np.tile(np.arange(n_rows), 2)[order],
        "p_a": np.where(runs == 0, 0.25, 0.75),
        "p_b": np.where(runs == 0, 0.75, 0.25),
    }

    store, _ = ingest(pa.table(table), memory=10**8)

    shards = store.shards()
    assert shards.n_examples == n_rows
    assert [float(run[-1, 0]) for run in shards.shard(shards.n_shards - 1).probs] == [0.25, 0.75]


def test_nothing_is_downloaded(tmp_path):
    """DuckDB may not install or load extensions, and spills into the scratch folder."""
    ingest = Ingest(TableOptions(memory=10**9), scratch=tmp_path)

    def setting(name: str) -> str:
        return str(ingest._db.execute(f"SELECT current_setting('{name}')").fetchall()[0][0])

    assert setting("autoinstall_known_extensions") == "False"
    assert setting("autoload_known_extensions") == "False"
    assert setting("enable_progress_bar_print") == "False"
    assert setting("temp_directory") == str(tmp_path / "spill")
    assert setting("memory_limit") == "457.7 MiB"  # 60 % of what the libraries leave of 1 GB


def test_threads_have_the_memory_they_need(tmp_path, monkeypatch):
    """With little memory there are few threads; DuckDB would run out of it otherwise."""
    monkeypatch.setattr("os.cpu_count", lambda: 64)

    for memory, n_threads in ((10**8, 1), (10**9, 3), (10**12, 64)):
        ingest = Ingest(TableOptions(memory=memory), scratch=tmp_path)
        threads = ingest._db.execute("SELECT current_setting('threads')").fetchall()
        assert threads == [(n_threads,)]


@pytest.mark.parametrize(
    ("table", "error", "fields"),
    [
        (pa.table(ROWS).drop_columns("run"), ColumnError, {"column": "run", "columns": ("example", "label", "prediction")}),
        (pa.table(ROWS).slice(0, 0), EmptyInputError, {}),
        (pa.chunked_array([[1, 2]]), UnreadableError, {}),
        (pa.table([[1], [1], [1]], names=["run", "example", "example"]), ColumnError, {"column": "example"}),
        (Path("nowhere.csv"), NotFoundError, {"path": "nowhere.csv"}),
    ],
    ids=["no-run", "no-rows", "no-table", "doubled", "no-file"],
)  # fmt: skip
def test_invalid_tables_are_refused(ingest, table, error, fields):
    """With an error of seedproof."""
    with pytest.raises(error, check=WithFields(**fields)):
        ingest(table)


CSV = "Invalid Input Error: CSV Error on Line: 7\nOriginal Line: secret\n"


@pytest.mark.parametrize(
    ("raised", "expected", "code", "fields"),
    [
        (duckdb.ConversionException("Conversion Error: cast 'a'\nmore"), DtypeError, "recorded", {"text": "cast 'a'"}),
        (OSError("Conversion Error: cast 'a'"), DtypeError, "recorded", {"text": "cast 'a'"}),
        (OSError(28, "full"), StoreError, "recorded", {"text": "[Errno 28] full"}),
        (duckdb.IOException(f"IO Error: {os.strerror(28)}"), StoreError, "recorded", {"text": f"IO Error: {os.strerror(28)}"}),
        (OSError(13, "denied"), UnreadableError, "recorded", {"text": "[Errno 13] denied"}),
        (pa.ArrowInvalid("footer."), UnreadableError, "recorded", {"text": "footer"}),
        (duckdb.InvalidInputException(f"{CSV}other"), UnreadableError, "invalid-line", {"line": 7}),
        (duckdb.InvalidInputException(f"{CSV}Expected Number of Columns: 3"), UnreadableError, "other-number-of-fields", {"line": 7}),
        (duckdb.InvalidInputException(f"{CSV}Value with unterminated quote"), UnreadableError, "open-quote", {"line": 7}),
        (duckdb.InvalidInputException(f"{CSV}Invalid unicode"), UnreadableError, "no-utf-8", {"line": 7}),
        (OSError(f"{CSV}Maximum line size of"), UnreadableError, "long-line", {"line": 7, "megabytes": 8}),
        (duckdb.InvalidInputException("The CSV Parser state machine"), UnreadableError, "mixed-line-ends", {}),
        (duckdb.InvalidInputException("The Parallel CSV Reader"), UnreadableError, "long-line", {"megabytes": 8}),
    ],
    ids=[
        "conversion", "conversion-through-arrow", "disk", "disk-of-duckdb", "permission", "arrow", "csv", "fields",
        "quote", "unicode", "long", "line-ends", "long-in-parallel",
    ],
)  # fmt: skip
def test_errors_of_duckdb_and_arrow_are_translated(raised, expected, code, fields):
    """With the table and a reason; lines of a table are never quoted."""
    with (
        pytest.raises(expected, check=WithFields(tables=("t.csv",))) as error,
        _translated_errors([Path("t.csv")]),
    ):
        raise raised

    reason = error.value.fields["reason"]
    assert type(error.value) is expected
    assert reason.code == code
    assert fields.items() <= reason.fields.items()
    assert "secret" not in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "raised",
    [
        duckdb.OutOfMemoryException("failed to pin block"),
        OSError("Out of Memory Error: failed to pin block"),
    ],
    ids=["duckdb", "arrow"],
)
def test_too_little_memory_names_the_option(raised):
    """By DuckDB's class, or by its text if Arrow passes it on."""
    expected = WithFields(tables=("t.csv",), option="--memory")
    with (
        pytest.raises(UnreadableError, check=expected) as error,
        _translated_errors([Path("t.csv")]),
    ):
        raise raised

    assert may_pass(error.value)


@pytest.mark.parametrize(
    "raised", [RuntimeError("a bug"), NotFoundError("{path}", path="x")], ids=["bug", "ours"]
)
def test_other_errors_pass_through(raised):
    """Bugs, and errors of seedproof."""
    with pytest.raises(type(raised)) as error, _translated_errors([Path("t.csv")]):
        raise raised

    assert error.value is raised
    assert not may_pass(error.value)


@pytest.mark.parametrize(
    ("raised", "passes"),
    [
        (OSError(28, "full"), True),
        (OSError(24, "too many files"), True),
        (OSError(13, "denied"), False),
        (duckdb.IOException(f"IO Error: {os.strerror(28)}"), True),
        (duckdb.OutOfMemoryException("x"), True),
        (duckdb.ConversionException("x"), False),
        (pa.ArrowInvalid("x"), False),
    ],
    ids=["disk", "files", "permission", "disk-of-duckdb", "memory", "conversion", "arrow"],
)
def test_transient_errors_may_be_retried(raised, passes):
    """A full disk or too little memory, not a damaged table; also as the cause of our error."""
    with pytest.raises(SeedproofError) as error, _translated_errors([Path("t.csv")]):
        raise raised

    assert may_pass(raised) == may_pass(error.value) == passes


def test_a_name_with_pattern_signs_is_a_plain_file(ingest, tmp_path):
    """`*` in a file name does not match other files."""
    content = "run,example,prediction\n0,1,a\n1,1,b\n"
    (tmp_path / "t*.csv").write_text(content)
    (tmp_path / "t1.csv").write_text("run,example,prediction\n0,9,a\n1,9,b\n")

    store, _ = ingest(tmp_path / "t*.csv")

    assert store.shards().shard(0).ids.to_pylist() == [1]


def test_records_never_import_pickle():
    """Nothing in a store is ever unpickled."""
    folder = Path(seedproof.__file__).parent / "records"
    forbidden = {"pickle", "cloudpickle", "dill", "marshal", "shelve", "joblib"}

    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names = {(node.module or "").split(".")[0]}
            else:
                continue
            assert names.isdisjoint(forbidden), path


@pytest.mark.parametrize(
    "error",
    [
        duckdb.InterruptException("INTERRUPT Error: Interrupted!"),
        OSError("INTERRUPT Error: Interrupted!"),  # as Arrow passes it on
        pa.ArrowCancelled("Operation cancelled"),
        RuntimeError("Query interrupted"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_interrupt_stays_an_interrupt(error):
    """In all forms that DuckDB and Arrow give Ctrl-C."""
    with pytest.raises(KeyboardInterrupt), _translated_errors([Path("t.csv")]):
        raise error
