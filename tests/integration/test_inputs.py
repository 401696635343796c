"""Every input format gives the same figures, in any order of rows."""

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import seedproof as sp
from seedproof.errors import DtypeError
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.schema import Kind, Layout
from seedproof.records.writer import RunWriter
from seedproof.testing.errors import WithFields


def write_csv(
    table: pa.Table, path: Path, separator: str = ",", packing: str | None = None
) -> Path:
    options = pa.csv.WriteOptions(delimiter=separator)
    with pa.output_stream(str(path), compression=packing) as out:
        pa.csv.write_csv(table, out, options)
    return path


def write_jsonl(table: pa.Table, path: Path) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    return path


def write_parquet(table: pa.Table, path: Path) -> Path:
    pq.write_table(table, path)
    return path


def one_file_per_run(table: pa.Table, folder: Path, write, ending: str) -> list[str]:
    """Write one file per run, named after it, in reverse order."""
    paths = []
    for run in reversed(range(5)):
        rows = table.filter(pc.equal(table.column("run"), run)).drop_columns("run")
        paths.append(str(write(rows, folder / f"{run}{ending}")))
    return paths


def write_store(study, folder: Path) -> Path:
    place, layout = Location.of(folder), Layout(Kind.PROBS, study.classes)
    StudyManifest("mine", layout.rows_per_group).write(place)
    ids = pa.array(np.arange(40) * 10)
    for index, probs in enumerate(study.probs):
        run = RunManifest(f"id{index}", str(index))
        with RunWriter(place, run, layout, rows_per_group=layout.rows_per_group) as writer:
            writer.write(ids, study.labels, probs)
    return folder


def write_npz(study, path: Path) -> Path:
    np.savez(
        path, probs=study.probs, labels=study.labels, ids=np.arange(40) * 10, classes=study.classes
    )
    return path


def write_npz_each(study, folder: Path) -> list[Path]:
    paths = []
    for index in (3, 1, 0, 4, 2):
        paths.append(folder / f"{index}.npz")
        labels, ids = study.labels, np.arange(40) * 10
        np.savez(paths[-1], probs=study.probs[index], labels=labels, ids=ids, classes=study.classes)
    return paths


def arrays(study, values) -> sp.Report:
    ids = np.arange(40) * 10
    return sp.measure(values, labels=study.labels, ids=ids, classes=study.classes)


class Foreign:
    """A table of another library with the Arrow interface."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


WAYS = {
    "csv": lambda study, folder: sp.measure(write_csv(study.table, folder / "t.csv")),
    "txt": lambda study, folder: sp.measure(write_csv(study.table, folder / "t.txt")),
    "tsv": lambda study, folder: sp.measure(write_csv(study.table, folder / "t.tsv", "\t")),
    "semicolons": lambda study, folder: sp.measure(write_csv(study.table, folder / "t.csv", ";")),
    "csv-gz": lambda study, folder: sp.measure(write_csv(study.table, folder / "t.csv.gz", ",", "gzip")),
    "csv-zst": lambda study, folder: sp.measure(write_csv(study.table, folder / "t.csv.zst", ",", "zstd")),
    "tsv-gz": lambda study, folder: sp.measure(write_csv(study.table, folder / "t.tsv.gz", "\t", "gzip")),
    "parquet": lambda study, folder: sp.measure(write_parquet(study.table, folder / "t.parquet")),
    "jsonl": lambda study, folder: sp.measure(write_jsonl(study.table, folder / "t.jsonl")),
    "csv-each": lambda study, folder: sp.measure(one_file_per_run(study.table, folder, write_csv, ".csv")),
    "parquet-each": lambda study, folder: sp.measure(one_file_per_run(study.table, folder, write_parquet, ".parquet")),
    "jsonl-each": lambda study, folder: sp.measure(one_file_per_run(study.table, folder, write_jsonl, ".ndjson")),
    "text-path": lambda study, folder: sp.measure(str(write_csv(study.table, folder / "t.csv"))),
    "two-long-files": lambda study, folder: sp.measure(
        [write_csv(study.table.slice(0, 90), folder / "a.csv"), write_parquet(study.table.slice(90), folder / "b.parquet")]
    ),
    "npz": lambda study, folder: sp.measure(write_npz(study, folder / "t.npz")),
    "npz-each": lambda study, folder: sp.measure(write_npz_each(study, folder)),
    "numpy": lambda study, _: arrays(study, study.probs),
    "numpy-float32": lambda study, _: arrays(study, study.probs.astype(np.float32)),
    "numpy-float16": lambda study, _: arrays(study, study.probs.astype(np.float16)),
    "list-of-arrays": lambda study, _: arrays(study, list(study.probs)),
    "nested-lists": lambda study, _: arrays(study, study.probs.tolist()),
    "pandas": lambda study, _: sp.measure(study.table.to_pandas()),
    "pandas-categories": lambda study, _: sp.measure(study.table.to_pandas().astype({"label": "category"})),
    "polars": lambda study, _: sp.measure(pl.from_arrow(study.table)),
    "pyarrow": lambda study, _: sp.measure(study.table),
    "record-batches": lambda study, _: sp.measure(study.table.to_reader(max_chunksize=7)),
    "duckdb": lambda study, _: sp.measure(duckdb.connect().from_arrow(study.table)),
    "foreign": lambda study, _: sp.measure(Foreign(study.table)),
    "store": lambda study, folder: sp.measure(write_store(study, folder / "store")),
    "store-url": lambda study, folder: sp.measure(f"file://{write_store(study, folder / 'store')}"),
}  # fmt: skip


@pytest.fixture(scope="session")
def expected(study):
    return arrays(study, study.probs).to_json()


@pytest.mark.parametrize("way", WAYS)
def test_every_input_format_gives_the_same_summary(way, study, expected, tmp_path):
    """The same bytes: ids, classes, runs and every figure with its interval."""
    assert WAYS[way](study, tmp_path).to_json() == expected


def test_figures_equal_those_of_a_slow_loop(study):
    predictions = study.probs.argmax(axis=2)
    pairs = [(a, b) for a in range(5) for b in range(a)]
    flips = np.mean([np.mean(predictions[a] != predictions[b]) for a, b in pairs])

    report = sp.measure(study.table)

    assert 0 < flips < 1
    assert report["flip_rate"].value == pytest.approx(flips, rel=1e-12)
    assert report["accuracy"].value == pytest.approx(
        np.mean(predictions == study.labels), rel=1e-12
    )


def shuffled(table: pa.Table, seed: int) -> pa.Table:
    return table.take(pa.array(np.random.default_rng(seed).permutation(len(table))))


ORDERS = {
    "rows-shuffled": lambda table: shuffled(table, 1),
    "rows-shuffled-otherwise": lambda table: shuffled(table, 2),
    "runs-reversed": lambda table: pa.concat_tables([table.slice(40 * run, 40) for run in range(4, -1, -1)]),
    "columns-reversed": lambda table: table.select(table.column_names[::-1]),
    "all-of-it": lambda table: shuffled(table, 3).select(table.column_names[::-1]),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["integers", "texts", "predictions"])
@pytest.mark.parametrize("order", ORDERS)
def test_order_of_rows_does_not_matter(order, kind, study, tmp_path, seedproof):
    """`summary.json` byte for byte, `examples.parquet` row by row.

    Without probabilities, classes are in canonical order, not in order of appearance.
    """
    table = study.table
    if kind == "texts":
        names = pa.array([f"{'aéZ'[e % 3]}-{e}" for e in table.column("example").to_pylist()])
        table = table.set_column(1, "example", names)
    elif kind == "predictions":
        predicted = [study.classes[i] for i in study.probs.argmax(axis=2).ravel()]
        table = table.append_column("prediction", pa.array(predicted))
    shuffled_table = ORDERS[order](table)
    if kind == "predictions":
        probs = ["p_cat", "p_dog", "p_fox"]
        table, shuffled_table = table.drop_columns(probs), shuffled_table.drop_columns(probs)

    for name, rows in (("first", table), ("second", shuffled_table)):
        write_csv(rows, tmp_path / f"{name}.csv")
        assert seedproof("measure", f"{name}.csv", "--out", name)[0] == 0

    first, second = (tmp_path / name for name in ("first", "second"))
    assert (first / "summary.json").read_bytes() == (second / "summary.json").read_bytes()
    assert pq.read_table(first / "examples.parquet").equals(
        pq.read_table(second / "examples.parquet")
    )


def test_order_of_files_does_not_matter(study, tmp_path, seedproof):
    paths = one_file_per_run(study.table, tmp_path, write_csv, ".csv")

    summaries = [seedproof("measure", "--json", *given)[1] for given in (paths, paths[::-1])]

    assert summaries[0] == summaries[1]


def test_predictions_without_probabilities_give_the_other_figures(study):
    full = sp.measure(study.probs, labels=study.labels)

    bare = sp.measure(study.probs.argmax(axis=2), labels=study.labels)

    for name in ("flip_rate", "label_entropy", "accuracy", "accuracy_sd", "ambiguity"):
        assert bare[name] == full[name]
    assert {"probability_sd", "predictive_kl", "ece"}.isdisjoint(bare.metrics)


def test_data_without_labels_give_the_other_figures(study):
    full = sp.measure(study.table)

    bare = sp.measure(study.table.drop_columns("label"))

    for name in ("flip_rate", "label_entropy", "predictive_kl", "predictive_js"):
        assert bare[name] == full[name]
    assert {"accuracy", "ece", "nll", "brier"}.isdisjoint(bare.metrics)


def test_partly_labeled_data_use_all_examples_for_flips(study):
    """And the labeled ones for accuracy."""
    labels = pa.array(study.table.column("label").to_pylist())
    known = pc.less(study.table.column("example"), 100)
    table = study.table.set_column(2, "label", pc.if_else(known, labels, None))

    report = sp.measure(table)

    assert report.measurement.n_labeled == 10
    predictions = study.probs.argmax(axis=2)
    expected = np.mean(predictions[:, :10] == study.labels[:10])
    assert report["accuracy"].value == pytest.approx(expected, rel=1e-12)
    assert report["flip_rate"] == sp.measure(study.table)["flip_rate"]


@pytest.mark.parametrize("where", ["python", "command"])
def test_columns_may_have_other_names(where, study, expected, tmp_path, seedproof):
    names = {"run": "seed", "example": "id", "label": "gold"} | {
        f"p_{c}": f"prob: {c}" for c in study.classes
    }
    table = study.table.rename_columns([names.get(n, n) for n in study.table.column_names])
    path = write_csv(table, tmp_path / "t.csv")

    if where == "python":
        columns = sp.Columns(run="seed", example="id", label="gold", probs="prob: ")
        report = sp.measure(path, columns=columns).to_json()
    else:
        options = ("--run", "seed", "--example", "id", "--label", "gold", "--probs", "prob: ")
        _, report, _ = seedproof("measure", path, "--json", *options)

    assert report == expected


def test_prediction_column_may_have_another_name():
    table = pa.table({"run": [0, 1], "example": [1, 1], "guess": ["a", "b"]})

    assert sp.measure(table, columns=sp.Columns(prediction="guess"))["flip_rate"].value == 1


def test_further_columns_are_in_the_examples(study):
    texts = sp.measure(study.table).examples.column("text")

    assert texts.to_pylist() == study.table.column("text")[:40].to_pylist()


@pytest.mark.parametrize("options", [[], ["--json"], ["--out", "out"]], ids=" ".join)
def test_texts_are_not_shown_by_default(options, study, secret, tmp_path, seedproof):
    path = write_csv(study.table, tmp_path / "t.csv")

    code, out, err = seedproof("measure", path, *options)

    assert code == 0
    assert secret not in out + err
    for file in (tmp_path / "out").glob("*[!t]"):  # all but examples.parquet
        assert secret not in file.read_text(encoding="utf-8"), file


def test_texts_are_shown_on_request(study, secret, tmp_path, seedproof):
    """`--show text` adds a column to the least stable examples, and nothing to the summary."""
    path = write_csv(study.table, tmp_path / "t.csv")

    code, out, _ = seedproof("measure", path, "--show", "text", "--out", "out")

    assert code == 0
    assert secret in out
    assert secret not in (tmp_path / "out" / "summary.json").read_text(encoding="utf-8")


def test_note_on_skipped_columns_has_names_but_no_values(study, secret, seedproof, tmp_path):
    losses = pa.array([f"{secret} {i}" for i in range(len(study.table))])
    path = write_csv(study.table.append_column("loss", losses), tmp_path / "t.csv")

    _, out, _ = seedproof("measure", path)

    assert "'loss'" in out
    assert secret not in out


def test_tables_are_read_without_pandas_and_polars(study, tmp_path):
    path = write_csv(study.table, tmp_path / "t.csv")
    code = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in ('pandas', 'polars'): raise ModuleNotFoundError(name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "import pyarrow.csv, seedproof\n"
        f"table = pyarrow.csv.read_csv({str(path)!r})\n"
        f"one, two = seedproof.measure(table), seedproof.measure({str(path)!r})\n"
        "assert one.to_json() == two.to_json() and str(one)\n"
        "assert 'pandas' not in sys.modules and 'polars' not in sys.modules\n"
    )

    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_missing_labels_of_pandas_are_unknown():
    """NaN in a column of numbers is an unknown label, and 1.0 is class 1."""
    frame = pd.DataFrame(
        {"run": [0, 0, 1, 1], "example": [1, 2, 1, 2], "label": [1, np.nan, 1, np.nan], "prediction": [1, 0, 1, 1]}
    )  # fmt: skip

    report = sp.measure(frame)

    assert report.measurement.n_labeled == 1
    assert report.measurement.classes == ("0", "1")


CHILD = """
import sys
from seedproof.cli.main import main
sys.argv = ["seedproof", "measure", sys.argv[1], "--memory", "100MB", "--json"]
try:
    main()
finally:
    # Of this process alone; getrusage also counts what the parent held when it forked.
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(int(peak.split()[1]) // 1024, file=sys.stderr)
"""


def large_table(n_examples: int, n_runs: int, *, with_text: bool) -> pa.Table:
    rng = np.random.default_rng(6)
    order = rng.permutation(n_examples * n_runs)
    runs, examples = order // n_examples, order % n_examples
    half = rng.integers(0, 65, len(order)).astype(np.float32) / 64
    table = pa.table(
        {"run": runs, "example": examples, "label": examples % 2, "p_0": half, "p_1": 1 - half}
    )
    if with_text:
        texts = pa.array(
            [f"the text of example {i}, somewhat longer than its id" for i in range(n_examples)]
        )
        table = table.append_column("text", texts.take(pa.array(examples)))
    return table


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize(
    ("ending", "n_examples", "with_text"),
    [("parquet", 600_000, False), ("csv", 200_000, True)],
    ids=["parquet", "csv-with-text"],
)
def test_tables_larger_than_the_memory_are_sorted_on_disk(ending, n_examples, with_text, tmp_path):
    """3 M rows, or 1 M with texts, with --memory 100MB: no more than 700 MB in total."""
    table = large_table(n_examples, 5, with_text=with_text)
    path = tmp_path / f"large.{ending}"
    (write_parquet if ending == "parquet" else write_csv)(table, path)

    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["n_examples"] == n_examples
    assert int(done.stderr) < 700


def test_regression_is_refused(tmp_path):
    """Numbers that never repeat are not classes: a flip rate of 1 would be meaningless."""
    rng = np.random.default_rng(0)
    rows = "".join(f"{run},{i},{rng.normal():.5f}\n" for run in range(2) for i in range(40))
    (tmp_path / "t.csv").write_text(f"run,example,prediction\n{rows}")

    with pytest.raises(DtypeError, check=WithFields(prediction="0.12573")):
        sp.measure(tmp_path / "t.csv")
