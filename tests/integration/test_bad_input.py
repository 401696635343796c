"""A table of odd inputs: each works, or fails in one line with the code and fields of its error."""

import gzip
import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePath

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seedproof.errors import SeedproofError
from seedproof.messages import Message
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.schema import SCHEMA_VERSION, Kind, Layout
from seedproof.records.writer import RunWriter

NEWEST = ".".join(map(str, SCHEMA_VERSION))

Build = Callable[[Path], list[str]]

# Two runs, two examples; they disagree on the second one.
LABELS = "run,example,label,prediction\n0,1,yes,yes\n0,2,no,no\n1,1,yes,yes\n1,2,no,yes\n"
PROBS = "run,example,label,p_yes,p_no\n0,1,yes,.9,.1\n0,2,no,.2,.8\n1,1,yes,.8,.2\n1,2,no,.6,.4\n"
HALF_FLIPS = {"n_runs": 2, "n_examples": 2, "flip_rate": 0.5}
UNLABELED = {**HALF_FLIPS, "n_labeled": 0}

THREE_RUNS = np.array(
    [
        [[0.9, 0.1], [0.2, 0.8]],
        [[0.8, 0.2], [0.6, 0.4]],
        [[0.7, 0.3], [0.3, 0.7]],
    ]
)
THIRD_FLIPS = {"n_runs": 3, "n_examples": 2, "flip_rate": 1 / 3}
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00"

# What a message may never hold: a stack, our own SQL and column names, where we keep our files.
INTERNAL = re.compile(
    r"Traceback|File \"|\b[px]\d+\b|CAST\(|UNION ALL|held_|stream_|input-\d|/seedproof-\w+|\bVARCHAR\b"
)
START = "from seedproof.cli.main import main; main()"
# What is wrong, and what is allowed or to be done: more than one clause.
CLAUSES = re.compile(r"[.:;] \S")


@dataclass(frozen=True)
class Case:
    """An odd input and its expected result.

    `build` writes files into the current folder and returns the arguments after `measure`. An
    error must have the `code` and the `fields`, and its reason must quote `quotes`. Without a
    code, the summary must have the `figures`.
    """

    name: str
    build: Build
    code: str | None = None
    fields: dict[str, object] = field(default_factory=dict)
    quotes: str = ""
    figures: dict[str, float] = field(default_factory=dict)


def works(name: str, build: Build, figures: dict[str, float] | None = None) -> Case:
    """Return a case that gives figures; if omitted, those of the small table."""
    return Case(name, build, figures=HALF_FLIPS if figures is None else figures)


def fails(name: str, build: Build, code: str, quotes: str = "", **fields: object) -> Case:
    return Case(name, build, code, fields, quotes)


def file(content: str | bytes, *options: str, name: str = "table.csv") -> Build:
    def build(folder: Path) -> list[str]:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return [name, *options]

    return build


def files(contents: dict[str, str | bytes], *options: str) -> Build:
    def build(folder: Path) -> list[str]:
        for name, content in contents.items():
            file(content, name=name)(folder)
        return [*contents, *options]

    return build


def edited(table: str, old: str, new: str, *options: str) -> Build:
    """Replace a text everywhere in a table."""
    assert old in table
    return file(table.replace(old, new), *options)


def ids(first_id: str, second_id: str) -> Build:
    """Return the table of labels with other ids, quoted for CSV."""
    first, second = ('"' + name.replace('"', '""') + '"' for name in (first_id, second_id))
    lines = [
        line.replace(",1,", f",{first},").replace(",2,", f",{second},")
        for line in LABELS.splitlines(keepends=True)
    ]
    return file("".join(lines))


def parquet(columns: dict[str, object], *options: str) -> Build:
    def build(folder: Path) -> list[str]:
        table = pa.Table.from_arrays(
            [v if isinstance(v, pa.Array) else pa.array(v) for v in columns.values()],
            names=[name.rstrip("'") for name in columns],
        )
        pq.write_table(table, folder / "table.parquet")
        return ["table.parquet", *options]

    return build


def npz(*options: str, **arrays: object) -> Build:
    def build(folder: Path) -> list[str]:
        np.savez(folder / "arrays.npz", **arrays)
        return ["arrays.npz", *options]

    return build


def npz_each(**runs: dict[str, object]) -> Build:
    def build(folder: Path) -> list[str]:
        for name, arrays in runs.items():
            path = folder / f"{name}.npz"
            path.parent.mkdir(exist_ok=True)
            np.savez(path, **arrays)
        return [f"{name}.npz" for name in runs]

    return build


def jsonl(*rows: dict[str, object] | str) -> Build:
    """Write JSON lines; text is written unchanged."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    return file("\n".join(lines) + "\n", name="table.jsonl")


def store(break_it: Callable[[Path], None] | None = None, *options: str, n_runs: int = 2) -> Build:
    """Write a store, then damage it."""

    def build(folder: Path) -> list[str]:
        place = Location.of(folder / "store")
        layout = Layout(Kind.LABELS, ("no", "yes"))
        StudyManifest("small", layout.rows_per_group).write(place)
        for index in range(n_runs):
            run = RunManifest(f"id{index}", str(index), arm="none" if index < 2 else "other")
            with RunWriter(place, run, layout, rows_per_group=layout.rows_per_group) as writer:
                labels = np.array([1, 0], dtype=np.int32)
                writer.write(pa.array([1, 2]), labels, np.array([1, index % 2], dtype=np.int32))
        if break_it is not None:
            break_it(folder / "store")
        return ["store", *options]

    return build


def part_of(folder: Path) -> Path:
    return next((folder / "runs" / "id1").rglob("part-*.parquet"))


def flip_byte(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 0xFF
    path.write_bytes(bytes(content))


def flip_page(path: Path) -> None:
    """Change the last byte of the first column's page."""
    chunk = pq.read_metadata(path).row_group(0).column(2)
    flip_byte(path, chunk.data_page_offset + chunk.total_compressed_size - 1)


def half_precision(stray: float) -> dict[str, object]:
    """Return float16 columns whose second row sums to about one plus `stray`."""
    return {
        "run": ["0", "0", "1", "1"],
        "example": [1, 2, 1, 2],
        "p_yes": pa.array(np.array([0.9, 0.2, 0.8, 0.6], dtype=np.float16)),
        "p_no": pa.array(np.array([0.1, 0.8 + stray, 0.2, 0.4], dtype=np.float16)),
    }


def columns(**changed: object) -> dict[str, object]:
    table = {
        "run": ["0", "0", "1", "1"],
        "example": [1, 2, 1, 2],
        "label": ["yes", "no", "yes", "no"],
        "prediction": ["yes", "no", "yes", "yes"],
    }
    return table | changed


def many_class_columns(folder: Path) -> list[str]:
    names = [f"p_class_number_{i:05}" for i in range(10_000)]
    sure = ["0"] * 10_000
    lines = [",".join(["run", "example", *names])]
    for run in range(2):
        for example in range(2):
            row = list(sure)
            row[run * example] = "1"
            lines.append(",".join([str(run), str(example), *row]))
    (folder / "wide.csv").write_text("\n".join(lines) + "\n")
    return ["wide.csv"]


def many_class_labels(spelling: str) -> Build:
    rows = [
        f"{run},{i},{spelling % i},{spelling % (i if run else 0)}"
        for run in range(2)
        for i in range(10_000)
    ]
    return file("run,example,label,prediction\n" + "\n".join(rows) + "\n")


def ragged_npz(folder: Path) -> list[str]:
    """Write runs with different numbers of examples, which numpy can only pickle."""
    ragged = np.empty(2, dtype=object)
    ragged[:] = [np.ones((2, 2)) / 2, np.ones((3, 2)) / 2]
    np.savez(folder / "arrays.npz", probs=ragged)
    return ["arrays.npz"]


def truncated(build: Build, keep: float) -> Build:
    """Truncate the file of another builder."""

    def cut(folder: Path) -> list[str]:
        arguments = build(folder)
        path = folder / arguments[0]
        content = path.read_bytes()
        path.write_bytes(content[: int(len(content) * keep)])
        return arguments

    return cut


def npy_named_npz(folder: Path) -> list[str]:
    with (folder / "arrays.npz").open("wb") as out:
        np.save(out, THREE_RUNS)
    return ["arrays.npz"]


def damaged_member(folder: Path) -> list[str]:
    """Write an npz with damaged compressed bytes, an error of zlib and not of the zip reader."""
    np.savez_compressed(folder / "arrays.npz", probs=np.tile(THREE_RUNS, (1, 500, 1)))
    path = folder / "arrays.npz"
    with zipfile.ZipFile(path) as content:
        info = content.infolist()[0]
    start = info.header_offset + 30 + len(info.filename) + 20
    data = bytearray(path.read_bytes())
    data[start : start + 40] = b"\xff" * 40
    path.write_bytes(bytes(data))
    return ["arrays.npz"]


def a_folder(name: str) -> Build:
    def build(folder: Path) -> list[str]:
        (folder / name).mkdir()
        return [name]

    return build


def out_is_a_file(folder: Path) -> list[str]:
    (folder / "taken").write_text("here")
    return [*file(LABELS)(folder), "--out", "taken"]


def packed(content: str) -> bytes:
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as out:
        out.write(content.encode())
    return buffer.getvalue()


ROWS = [
    {"run": run, "example": example, "label": label, "prediction": prediction}
    for run, example, label, prediction in [
        (0, 1, "yes", "yes"),
        (0, 2, "no", "no"),
        (1, 1, "yes", "yes"),
        (1, 2, "no", "yes"),
    ]
]
NO_RUN = "example,label,prediction\n1,yes,yes\n2,no,{}\n"
FIRST_RUN, SECOND_RUN = NO_RUN.format("no"), NO_RUN.format("yes")

CASES = [
    # Probabilities.
    fails("nan-probability", edited(PROBS, ".2,.8", "nan,.8"), "SP110", example=2, run="0", probability=float("nan")),
    fails("infinite-probability", edited(PROBS, ".2,.8", ".2,inf"), "SP110", example=2, run="0", probability=float("inf")),
    fails("infinities-that-cancel", edited(PROBS, ".2,.8", "inf,-inf"), "SP110", example=2, run="0", probability=-float("inf")),
    fails("negative-probability", edited(PROBS, ".2,.8", "-.2,1.2"), "SP110", example=2, run="0", probability=-0.2),
    fails("sum-far-from-one", edited(PROBS, ".2,.8", ".2,.9"), "SP110", example=2, run="0", sum=1.1),
    works("sum-just-within-the-limit", edited(PROBS, ".2,.8", ".2,.8009")),
    fails("sum-just-beyond-the-limit", edited(PROBS, ".2,.8", ".2,.8011"), "SP110", example=2, run="0", sum=1.0011),
    works("half-precision-within-its-limit", parquet(half_precision(0.008)), UNLABELED),
    fails("half-precision-beyond-its-limit", parquet(half_precision(0.013)), "SP110", example=2, run="0", sum=1.01294, tolerance=0.01),
    works("half-precision-npz-within", npz(probs=(THREE_RUNS * 1.008).astype("f2")), THIRD_FLIPS),
    fails("half-precision-npz-beyond", npz(probs=(THREE_RUNS * 1.013).astype("f2")), "SP110", example=0, run="0", sum=1.01294, tolerance=0.01),
    fails("logits", edited(PROBS, ".2,.8", "3.5,7.25"), "SP110", example=2, run="0", sum=10.75),
    fails("probability-beyond-float32", edited(PROBS, ".2,.8", "1e300,.8"), "SP112", tables=("table.csv",), quotes="1e+300"),
    fails("text-in-a-probability-column", edited(PROBS, ".2,.8", "high,.8"), "SP112", tables=("table.csv",), quotes="high"),
    fails("text-in-a-parquet-probability", parquet(columns(p_yes=[".9", "high", ".8", ".6"], p_no=[0.1, 0.8, 0.2, 0.4])), "SP112", tables=("table.parquet",), quotes="high"),
    fails("decimal-comma", file(PROBS.replace(",", ";").replace(";.", ";0,")), "SP112", tables=("table.csv",), quotes="0,"),
    fails("no-probability-in-a-cell", edited(PROBS, ".2,.8", ",.8"), "SP114", example=2, run="0", column="p_yes"),
    works("one-probability-column", edited(PROBS, "p_no", "other")),
    fails("list-as-probability", parquet(columns(p_yes=[[1.0]] * 4, p_no=[0.5] * 4)), "SP112", column="p_yes", table="table.parquet"),
    works("both-prediction-and-probabilities", file(PROBS.replace("label,", "prediction,")), UNLABELED),
    works("probabilities-as-text", parquet(columns(p_yes=[".9", ".2", ".8", ".6"], p_no=[".1", ".8", ".2", ".4"]))),
    # Which rows there are.
    fails("the-same-row-twice", file(LABELS + "1,2,no,yes\n"), "SP106", example=2, run="1"),
    fails("the-same-example-twice", file(LABELS + "1,2,no,no\n"), "SP106", example=2, run="1"),
    fails("example-missing-in-a-run", edited(LABELS, "1,2,no,yes\n", ""), "SP107", run="1", n_missing=1, n_examples=2, example="2"),
    fails("other-examples-in-a-run", edited(LABELS, "1,2,", "1,3,"), "SP107", run="0", n_missing=1, n_examples=3, example="3"),
    fails("labels-differ-between-runs", edited(LABELS, "1,2,no", "1,2,yes"), "SP108", example="2", label="no", other_label="yes"),
    fails("label-in-one-run-only", edited(LABELS, "1,2,no", "1,2,"), "SP108", example="2", label="no", other_label=None),
    fails("one-run", edited(LABELS, "\n1,", "\n0,1"), "SP105", run="0"),
    works("one-class", edited(LABELS.replace("no", "yes"), "run", "run"), {"flip_rate": 0, "n_classes": 1, "accuracy": 1}),
    fails("header-alone", file("run,example,label,prediction\n"), "SP104"),
    fails("header-without-line-end", file("run,example,prediction"), "SP104"),
    fails("no-rows-in-parquet", parquet({"run": pa.array([], "string"), "example": pa.array([], "int64"), "prediction": pa.array([], "string")}), "SP104"),
    fails("empty-file", file(""), "SP104", file="table.csv"),
    fails("blank-file", file("\n \n\n"), "SP104", file="table.csv"),
    fails("blank-line-before-the-header", file("\n" + LABELS), "SP102", file="table.csv"),
    works("blank-lines-at-the-end", file(LABELS + "\n\n")),
    # Labels and classes.
    fails("label-outside-the-classes", edited(PROBS, "2,no", "2,perhaps"), "SP109", label="perhaps", n_classes=2),
    works("labels-1.0-and-classes-1", edited(PROBS.replace("yes", "1").replace("no", "0"), "1,1,.", "1,1.0,."), {**HALF_FLIPS, "accuracy": 0.75}),
    works("predictions-1.0-and-labels-1", file("run,example,label,prediction\n0,1,1,1.0\n0,2,0,0.0\n1,1,1,1.0\n1,2,0,1.0\n"), {**HALF_FLIPS, "accuracy": 0.75, "n_classes": 2}),
    fails("labels-never-predicted", file(LABELS.replace(",yes,", ",1,").replace(",no,", ",0,")), "SP109", label="0", prediction="no"),
    works("no-labels", file(LABELS.replace("label", "gold")), UNLABELED),
    works("partly-labeled", edited(LABELS, "2,no,", "2,,"), {**HALF_FLIPS, "n_labeled": 1, "accuracy": 1}),
    works("missing-float-labels", parquet(columns(label=[1.0, float("nan"), 1.0, float("nan")], prediction=[1, 0, 1, 1])), {**HALF_FLIPS, "n_labeled": 1}),
    works("boolean-predictions", parquet(columns(label=[True, False, True, False], prediction=[True, False, True, True])), {**HALF_FLIPS, "accuracy": 0.75}),
    fails("list-as-prediction", parquet(columns(prediction=[["yes"], ["no"], ["yes"], ["yes", "no"]])), "SP112", column="prediction", table="table.parquet"),
    works("ten-thousand-class-columns", many_class_columns, {"n_runs": 2, "n_classes": 10_000, "flip_rate": 0.5}),
    works("ten-thousand-labels", many_class_labels("answer %d"), {"n_classes": 10_000, "flip_rate": 0.9999}),
    works("ten-thousand-whole-floats", many_class_labels("%d.0"), {"n_classes": 10_000, "flip_rate": 0.9999}),
    # Empty cells.
    fails("empty-run", edited(LABELS, "\n1,2", "\n,2"), "SP114", column="run", n_missing=1, n_rows=4),
    fails("empty-id", edited(LABELS, "1,2,no", "1,,no"), "SP114", column="example", n_missing=1, n_rows=4),
    fails("empty-prediction", edited(LABELS, "2,no,yes", "2,no,"), "SP114", column="prediction", n_missing=1, n_rows=4),
    fails("run-that-is-not-a-number", parquet(columns(run=[0.0, 0.0, 1.0, float("nan")])), "SP114", column="run", n_missing=1, n_rows=4),
    works("runs-as-floats", parquet(columns(run=[0.0, 0.0, 1.0, 1.0]))),
    # Ids.
    works("ids-of-mixed-types", ids("1", "one")),
    works("float-ids", ids("1.5", "2.5")),
    works("float-ids-in-parquet", parquet(columns(example=[1.0, 2.5, 1.0, 2.5]))),
    works("infinite-id", parquet(columns(example=[1.0, float("inf"), 1.0, float("inf")]))),
    fails("id-that-is-not-a-number", parquet(columns(example=[1.0, float("nan"), 1.0, float("nan")])), "SP114", column="example", n_missing=2, n_rows=4),
    works("ids-with-leading-zeros", ids("01", "1")),
    works("negative-ids", ids("-1", "-0")),
    works("ids-beyond-int64", ids("9223372036854775808", "9223372036854775809")),
    works("ids-beyond-int64-in-parquet", parquet(columns(example=pa.array([2**64 - 1, 2**64 - 2] * 2, pa.uint64())))),
    works("ids-with-line-ends", ids("one\ntwo", "one\r\ntwo")),
    works("ids-with-separators-and-quotes", ids('a,"b",c', "';|\t")),
    works("ids-with-html", ids("<script>alert(1)</script>", "<b>&amp;")),
    works("ids-with-emoji", ids("🙂", "👩‍🔬")),
    works("ids-with-spaces", ids(" 1", "1")),
    works("ids-with-sql", ids("'; DROP TABLE rows; --", '" OR 1=1 --')),
    works("ids-with-rich-markup", ids("[red]a[/red]", "[/]")),
    works("ids-that-a-spreadsheet-would-run", ids("=1+1", "@SUM(A1)")),
    works("very-long-ids", ids("a" * 100_000, "a" * 99_999 + "b")),
    works("ids-with-nul", parquet(columns(example=["a\0b", "a\0c", "a\0b", "a\0c"]))),
    works("ids-as-dates", parquet(columns(example=pa.array([1, 2, 1, 2], pa.date32())))),
    # Columns.
    works("unknown-columns", file(LABELS.replace("\n", ",free text\n"))),
    fails("doubled-column", file(LABELS.replace("label", "prediction")), "SP103", table="table.csv", column="prediction"),
    fails("doubled-column-in-parquet", parquet(columns() | {"prediction'": ["yes"] * 4}), "SP103", table="table.parquet", column="prediction"),
    fails("columns-that-differ-by-case", file(LABELS.replace("label", "Prediction")), "SP103", table="table.csv", column="prediction"),
    works("column-without-a-name", file("," + LABELS.replace("\n", "\n7,", 4))),
    works("ids-by-that-name", edited(LABELS, "example", "id")),
    fails("no-column-of-ids", edited(LABELS, "example", "document"), "SP103", table="table.csv", column="example", columns=("run", "document", "label", "prediction"), option="--example"),
    fails("no-column-of-runs", edited(LABELS, "run,", "seed,"), "SP103", table="table.csv", column="run", columns=("seed", "example", "label", "prediction")),
    fails("neither-prediction-nor-probabilities", edited(LABELS, "prediction", "guess"), "SP103", table="table.csv", prediction="prediction", probs="p_", columns=("run", "example", "label", "guess")),
    fails("named-column-is-not-there", file(LABELS, "--label", "gold"), "SP103", table="table.csv", column="gold", columns=("run", "example", "label", "prediction"), option="--label"),
    works("column-names-with-sql", edited(LABELS, "prediction", '"x""; DROP TABLE rows; --"', "--prediction", 'x"; DROP TABLE rows; --')),
    works("class-names-with-quotes", file(PROBS.replace("p_yes", "p_it's").replace("p_no", '"p_""no"""').replace("label", "gold")), UNLABELED),
    works("probability-prefix-that-fits-other-columns", edited(PROBS, "p_", "", "--probs", "")),
    # Files.
    fails("no-such-file", lambda _: ["nowhere.csv"], "SP101", path="nowhere.csv"),
    fails("a-folder", a_folder("things"), "SP101", path="things"),
    fails("a-folder-named-csv", a_folder("things.csv"), "SP101", path="things.csv"),
    fails("a-folder-named-npz", a_folder("things.npz"), "SP101", path="things.npz"),
    fails("unknown-ending", file(LABELS, name="table.xlsx"), "SP102", file="table.xlsx"),
    fails("no-ending", file(LABELS, name="table"), "SP102", file="table"),
    fails("truncated-parquet", truncated(parquet(columns()), 0.7), "SP102", tables=("table.parquet",)),
    fails("empty-parquet", file("", name="table.parquet"), "SP102", tables=("table.parquet",)),
    fails("csv-named-parquet", file(LABELS, name="table.parquet"), "SP102", tables=("table.parquet",)),
    fails("picture-named-csv", file(PNG * 50), "SP102", file="table.csv"),
    fails("utf-16", file(LABELS.encode("utf-16")), "SP102", file="table.csv"),
    fails("latin-1", file(LABELS.replace("yes", "für").encode("latin-1")), "SP102", file="table.csv", start=34),
    fails("latin-1-after-the-header", file(LABELS.encode() * 40_000 + b"1,9,\xfc,\xfc\n" * 90_000), "SP102", file="table.csv", start=2_960_004),
    works("byte-order-mark", file("\ufeff" + LABELS)),
    works("windows-line-ends", file(LABELS.replace("\n", "\r\n"))),
    works("old-mac-line-ends", file(LABELS.replace("\n", "\r"))),
    works("mixed-line-ends", file(LABELS.replace("\n", "\r\n", 2))),
    fails("nul-in-a-text-table", ids("a\0b", "c"), "SP102", file="table.csv"),
    works("very-long-line", ids("a" * 2_100_000, "b")),
    works("line-over-the-usual-buffer", ids("a" * 9_000_000, "b")),
    works("no-last-line-end", file(LABELS.rstrip("\n"))),
    works("pipes-between-columns", file(LABELS.replace(",", "|"))),
    works("upper-case-ending", file(LABELS, name="TABLE.CSV")),
    fails("too-few-fields", edited(LABELS, "0,2,no,no", "0,2,no"), "SP102", line=3, tables=("table.csv",), reason="other-number-of-fields"),
    fails("too-many-fields", edited(LABELS, "0,2,no,no", "0,2,no,no,no"), "SP102", line=3, tables=("table.csv",), reason="other-number-of-fields"),
    fails("unclosed-quote", edited(LABELS, "0,2,no", '0,"2,no'), "SP102", line=3, tables=("table.csv",), reason="open-quote"),
    fails("unclosed-quote-in-the-header", file('"run,example,prediction\n' + "0,1,yes\n" * 40_000), "SP102", file="table.csv"),
    fails("not-gzip", file(LABELS, name="table.csv.gz"), "SP102", file="table.csv.gz"),
    fails("truncated-gzip", file(packed(LABELS * 2000)[:-40], name="table.csv.gz"), "SP102", file="table.csv.gz"),
    fails("a-web-address", lambda _: ["https://example.org/table.csv"], "SP101", location="https://example.org/table.csv"),
    # Names of files.
    works("file-name-with-spaces", file(LABELS, name="my table.csv")),
    works("file-name-with-brackets", file(LABELS, name="table[1].csv")),
    works("file-name-with-quotes", file(LABELS, name="it's \"mine\".csv")),
    works("file-name-with-globs", file(LABELS, name="ta*b?le.[x].csv")),
    works("file-name-with-braces", file(LABELS, name="{a,b}.csv")),
    works("file-name-with-non-ascii", file(LABELS, name="Tafel-ü-表.csv")),
    works("file-name-with-percent", file(LABELS, name="100%25.csv")),
    works("folder-name-like-a-partition", file(LABELS, name="run=3/table.csv")),
    works("npz-name-with-globs", lambda folder: [(folder / npz(probs=THREE_RUNS)(folder)[0]).rename(folder / "a[1]*.npz").name], THIRD_FLIPS),
    # JSON lines.
    works("json-lines", jsonl(*ROWS)),
    works("blank-json-lines", jsonl(*ROWS[:2], "", *ROWS[2:])),
    fails("broken-json-line", jsonl(*ROWS, '{"run": 1, "example": '), "SP102", tables=("table.jsonl",)),
    fails("json-prediction-missing", jsonl(*ROWS[:3], {"run": 1, "example": 2, "label": "no"}), "SP114", column="prediction", n_missing=1, n_rows=4),
    works("json-labels-missing", jsonl(*({**row, "label": None} for row in ROWS)), UNLABELED),
    works("json-label-key-missing-in-places", jsonl(*({k: v for k, v in row.items() if k != "label" or row["example"] == 1} for row in ROWS)), {**HALF_FLIPS, "n_labeled": 1}),
    works("further-nested-json", jsonl(*({**row, "more": {"deep": [1, 2]}} for row in ROWS))),
    fails("nested-json-probability", jsonl(*({**row, "p_a": {"deep": 1}, "p_b": 1} for row in ROWS)), "SP112", tables=("table.jsonl",), quotes="deep"),
    fails("json-numbers", jsonl("1", "2"), "SP102", file="table.jsonl", line=1),
    fails("json-list", file(json.dumps(ROWS), name="table.json"), "SP102", file="table.json", line=1),
    fails("empty-json-key", jsonl(*({**row, "": 1} for row in ROWS)), "SP103", file="table.jsonl", key=""),
    fails("json-key-with-a-quote", jsonl(*({**row, 'a"b': 1} for row in ROWS)), "SP103", file="table.jsonl", key='a"b'),
    works("json-keys-with-signs", jsonl(*({**row, "a.b": 1, "$": 2, "it's": 3, "back\\slash": 4} for row in ROWS))),
    fails("empty-json", file("", name="table.jsonl"), "SP104", file="table.jsonl"),
    # Several files.
    works("one-file-per-run", files({"first.csv": FIRST_RUN, "second.csv": SECOND_RUN})),
    works("files-of-one-name-in-two-folders", files({"a/t.csv": FIRST_RUN, "b/t.csv": SECOND_RUN})),
    works("files-of-one-stem", files({"t.csv": FIRST_RUN, "t.tsv": SECOND_RUN.replace(",", "\t")})),
    fails("files-with-other-columns", files({"a.csv": FIRST_RUN, "b.csv": LABELS}), "SP103", table="a.csv", other_table="b.csv"),
    fails("labels-in-one-file-only", files({"a.csv": FIRST_RUN, "b.csv": SECOND_RUN.replace("label", "gold")}), "SP103", table="a.csv", other_table="b.csv"),
    fails("one-file-without-run", file(FIRST_RUN), "SP103", table="table.csv", column="run", columns=("example", "label", "prediction")),
    fails("one-of-the-files-is-missing", lambda folder: [*file(FIRST_RUN)(folder), "gone.csv"], "SP101", path="gone.csv"),
    fails("the-same-file-twice", lambda folder: file(LABELS)(folder) * 2, "SP115", path="table.csv"),
    fails("npz-with-csv", lambda folder: [*npz(probs=THREE_RUNS)(folder), *file(LABELS)(folder)], "SP102", file="table.csv"),
    # npz files.
    works("npz", npz(probs=THREE_RUNS, labels=[0, 1]), {**THIRD_FLIPS, "accuracy": 5 / 6}),
    fails("ragged-npz", ragged_npz, "SP102", file="arrays.npz"),
    fails("python-objects-in-npz", npz(probs=np.array([{"a": 1}, None], dtype=object)), "SP102", file="arrays.npz"),
    fails("truncated-npz", truncated(npz(probs=THREE_RUNS), 0.5), "SP102", file="arrays.npz"),
    fails("damaged-npz-member", damaged_member, "SP102", file="arrays.npz"),
    fails("not-an-npz", file(LABELS, name="arrays.npz"), "SP102", file="arrays.npz"),
    fails("npy-named-npz", npy_named_npz, "SP102", file="arrays.npz"),
    fails("empty-npz", file("", name="arrays.npz"), "SP102", file="arrays.npz"),
    fails("npz-without-probs", npz(scores=THREE_RUNS), "SP103", file="arrays.npz", arrays="scores"),
    fails("npz-of-one-axis", npz(probs=np.ones(3)), "SP111", shape=(3,), dtype="float64"),
    fails("npz-of-no-axis", npz(probs=np.float64(1.0)), "SP111", shape=(), dtype="float64"),
    fails("npz-of-two-axes", npz(probs=THREE_RUNS[:, :, 0]), "SP111", shape=(3, 2)),
    fails("npz-of-four-axes", npz(probs=THREE_RUNS[None]), "SP111", shape=(1, 3, 2, 2), dtype="float64"),
    fails("complex-npz", npz(probs=THREE_RUNS.astype(complex)), "SP112", dtype="complex128"),
    fails("integer-npz-of-three-axes", npz(probs=np.ones((2, 2, 2), dtype=int)), "SP112", dtype="int64"),
    fails("nan-in-npz", npz(probs=np.where(THREE_RUNS == 0.8, np.nan, THREE_RUNS)), "SP110", example=1, run="0", probability=float("nan")),
    fails("npz-beyond-float32", npz(probs=np.where(THREE_RUNS == 0.8, 1e300, THREE_RUNS)), "SP110", example=1, run="0", probability=float("inf")),
    fails("npz-infinities-that-cancel", npz(probs=THREE_RUNS * [np.inf, -np.inf]), "SP110", example=0, run="0", probability=float("inf")),
    fails("npz-of-one-run", npz(probs=THREE_RUNS[:1]), "SP105", n_runs=1),
    fails("npz-of-no-examples", npz(probs=THREE_RUNS[:, :0]), "SP104", shape=(3, 0, 2)),
    fails("npz-of-one-class", npz(probs=THREE_RUNS[:, :, :1]), "SP113", n_classes=1),
    works("text-predictions-in-npz", npz(predictions=[["a", "b"], ["a", "a"]], labels=["a", "b"]), HALF_FLIPS),
    works("boolean-predictions-in-npz", npz(predictions=[[True, False], [True, True]], labels=[1, 0]), {**HALF_FLIPS, "accuracy": 0.75}),
    works("predictions-of-minus-one-and-one", npz(predictions=[[-1, 1], [1, 1]], labels=[-1, 1]), {**HALF_FLIPS, "n_labeled": 2, "accuracy": 0.75}),
    works("negative-labels-are-unknown", npz(probs=THREE_RUNS, labels=[0, -100]), {**THIRD_FLIPS, "n_labeled": 1}),
    works("negative-labels-of-predictions", npz(predictions=[[0, 1], [0, 0]], labels=[0, -100]), {**HALF_FLIPS, "n_labeled": 1, "n_classes": 2}),
    works("whole-float-labels", npz(probs=THREE_RUNS, labels=[0.0, np.nan]), {**THIRD_FLIPS, "n_labeled": 1}),
    fails("label-index-too-large", npz(probs=THREE_RUNS, labels=[0, 2]), "SP109", label="2", n_classes=2),
    fails("labels-of-another-length", npz(probs=THREE_RUNS, labels=[0, 1, 1, 0]), "SP111", shape=(4,), n_examples=2),
    fails("ids-twice-in-npz", npz(probs=THREE_RUNS, ids=["a", "a"]), "SP106", twice="a"),
    fails("ids-of-another-length", npz(probs=THREE_RUNS, ids=[1, 2, 3]), "SP111", shape=(3,), n_examples=2),
    fails("class-names-too-few", npz(probs=THREE_RUNS, classes=["a"]), "SP113", n_names=1, noun="class", n_needed=2),
    works("class-names-with-label-indices", npz(probs=THREE_RUNS, classes=["a", "b"], labels=[0, 1]), {**THIRD_FLIPS, "accuracy": 5 / 6}),
    fails("run-names-twice", npz(probs=THREE_RUNS, runs=["a", "a", "b"]), "SP111", n_names=2, noun="run", n_needed=3),
    works("npz-ids-beyond-int64", npz(probs=THREE_RUNS, ids=np.array([2**64 - 1, 1], dtype=np.uint64)), THIRD_FLIPS),
    works("one-npz-per-run", npz_each(b={"probs": THREE_RUNS[1]}, a={"probs": THREE_RUNS[0]}), UNLABELED),
    works("one-npz-per-run-partly-labeled", npz_each(a={"probs": THREE_RUNS[0], "labels": [0, np.nan]}, b={"probs": THREE_RUNS[1], "labels": [0, np.nan]}), {**HALF_FLIPS, "n_labeled": 1}),
    works("npz-of-one-stem", npz_each(**{"a/t": {"probs": THREE_RUNS[0]}, "b/t": {"probs": THREE_RUNS[1]}}), UNLABELED),
    fails("npz-files-of-other-shapes", npz_each(a={"probs": THREE_RUNS[0]}, b={"probs": THREE_RUNS[1][:1]}), "SP111", file="b.npz", other_file="a.npz"),
    fails("npz-files-of-other-labels", npz_each(a={"probs": THREE_RUNS[0], "labels": [0, 1]}, b={"probs": THREE_RUNS[1], "labels": [1, 1]}), "SP100", file="b.npz", other_file="a.npz", array="labels"),
    fails("npz-files-with-labels-in-one", npz_each(a={"probs": THREE_RUNS[0], "labels": [0, 1]}, b={"probs": THREE_RUNS[1]}), "SP100", file="b.npz", other_file="a.npz", array="labels"),
    fails("npz-files-of-other-ids", npz_each(a={"probs": THREE_RUNS[0], "ids": ["a", "b"]}, b={"probs": THREE_RUNS[1], "ids": ["a", "b", "c"]}), "SP100", file="b.npz", other_file="a.npz", array="ids"),
    fails("npz-files-of-all-runs", npz_each(a={"probs": THREE_RUNS}, b={"probs": THREE_RUNS}), "SP111", shape=(2, 3, 2, 2), dtype="float64"),
    # Options.
    fails("memory-too-small", file(LABELS, "--memory", "1"), "SP115", memory="1"),
    fails("memory-is-a-word", file(LABELS, "--memory", "banana"), "SP115", memory="banana"),
    fails("memory-below-zero", file(LABELS, "--memory", "-4GB"), "SP115", memory="-4GB"),
    fails("arm-of-a-table", file(LABELS, "--arm", "none"), "SP115", option="arm", kinds=("table",)),
    fails("split-of-an-npz", npz("--split", "test", probs=THREE_RUNS), "SP115", option="split", kinds=("npz",)),
    fails("column-name-for-an-npz", npz("--label", "gold", probs=THREE_RUNS), "SP115", option="columns", kinds=("npz",)),
    fails("show-an-unknown-column", file(LABELS, "--show", "text"), "SP103", column="text", known=()),
    fails("out-is-a-file", out_is_a_file, "SP115", folder="taken"),
    # Stores.
    works("store", store()),
    fails("store-without-its-manifest", store(lambda path: (path / "study.json").unlink()), "SP101", path="store"),
    fails("store-with-a-changed-page", store(lambda path: flip_page(part_of(path))), "SP201", row_group=0, run="1"),
    fails("store-with-a-changed-footer", store(lambda path: flip_byte(part_of(path), -20)), "SP201", run="1"),
    fails("store-with-a-changed-manifest", store(lambda path: flip_byte(path / "runs" / "id1" / "run.json", 40)), "SP201", path="run.json"),
    fails("store-with-a-changed-study", store(lambda path: flip_byte(path / "study.json", 20)), "SP201", path="study.json"),
    fails("store-without-a-part", store(lambda path: part_of(path).unlink()), "SP201", run="1"),
    fails("store-of-a-newer-version", store(lambda path: _change(path / "study.json", f'"{NEWEST}"', '"1.999"')), "SP202", version="1.999"),
    fails("store-of-one-run", store(n_runs=1), "SP105", arm="none", n_runs=1),
    fails("store-of-no-run", store(n_runs=0), "SP105"),
    fails("arm-of-one-run", store(None, "--arm", "other", n_runs=3), "SP105", arm="other", n_runs=1),
    fails("unknown-arm", store(None, "--arm", "aswa"), "SP115", noun="arm", given="aswa", known=("none",)),
    fails("unknown-split", store(None, "--split", "test"), "SP115", noun="split", given="test", known=("all",)),
    fails("store-with-a-table", lambda folder: [*store()(folder), *file(LABELS)(folder)], "SP101", path="store"),
]  # fmt: skip


def _change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def check_line(case: Case, exit_code: int, out: str, err: str) -> None:
    """Check for one line on stderr with the code, the problem and the remedy."""
    assert exit_code == 2, (out, err)
    assert out == ""
    assert err.count("\n") == 1, err
    assert err.startswith(f"error {case.code}: "), err
    message = err.removeprefix(f"error {case.code}: ").strip()
    assert not INTERNAL.search(message), message
    assert CLAUSES.search(message), message


def check_fields(case: Case, error: SeedproofError) -> None:
    reason = error.fields.get("reason")
    fields = {**(reason.fields if isinstance(reason, Message) else {}), **error.fields}
    for name, expected in case.fields.items():
        is_float = isinstance(expected, float)
        wanted = pytest.approx(expected, rel=1e-5, nan_ok=True) if is_float else expected
        assert plain(fields[name]) == wanted, (name, fields)
    assert case.quotes in str(reason)


def plain(value: object) -> object:
    """Return a field as in the table: the code of a message, the name of a location."""
    if isinstance(value, Message):
        return value.code
    return PurePath(value.path).name if isinstance(value, Location) else value


def check_summary(case: Case, exit_code: int, out: str, err: str) -> None:
    assert (exit_code, err) == (0, ""), err
    summary = json.loads(out)
    for name, expected in case.figures.items():
        result = summary[name] if name in summary else summary["metrics"][name]["value"]
        assert result == pytest.approx(expected, rel=1e-9), name


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_odd_input_works_or_is_refused_in_one_line(case, seedproof, refused, tmp_path):
    """Exit code 0 and the correct figure, or 2, nothing on stdout, and one line with its code."""
    arguments = case.build(tmp_path)

    if case.code is None:
        check_summary(case, *seedproof("measure", "--json", *arguments))
    else:
        error = refused("measure", *arguments)
        check_line(case, 2, "", f"error {error.code}: {error}\n")
        check_fields(case, error)


def test_table_has_at_least_sixty_cases_with_unique_names():
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize(
    "name", ["nan-probability", "ids-with-nul", "picture-named-csv", "ragged-npz", "no-such-file"]
)
def test_installed_command_behaves_like_the_one_in_process(name, tmp_path):
    case = next(case for case in CASES if case.name == name)
    arguments = case.build(tmp_path)

    done = subprocess.run(
        [sys.executable, "-c", START, "measure", "--json", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )

    if case.code is None:
        check_summary(case, done.returncode, done.stdout, done.stderr)
    else:
        check_line(case, done.returncode, "", done.stderr)
        document = json.loads(done.stdout)
        assert (document["exit_code"], document["error"]["code"]) == (2, case.code)
