"""Inputs that crashed, hung or were misread are refused by name, or read as they are meant."""

import json
import os
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import seedproof as sp
from seedproof.errors import DamagedStoreError, DtypeError, OptionError, UnreadableError
from seedproof.logs import log_files, runs_in
from seedproof.logs.mlflow import _downloads as downloads
from seedproof.logs.wandb import _tables as tables_of
from seedproof.predictions.readers import TABLE_SUFFIXES
from seedproof.records.checks import extreme_number
from seedproof.records.drafts import is_temporary
from seedproof.records.normalize import composed, joined_names
from seedproof.records.number_tables import TooLargeError
from seedproof.records.row_counts import MOST_NESTED, check_nesting

LOGS = Path(__file__).parents[2] / "examples" / "logs"
ROWS = [(run, example, (run + example) % 2) for run in range(3) for example in range(20)]


def lines(path, value=lambda example: example, further=""):
    """Write JSON lines of three runs."""
    rows = [
        f'{{"run": {run}, "example": {json.dumps(value(example))}, "prediction": "{label}"{further}}}'
        for run, example, label in ROWS
    ]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_pipes_and_devices_are_refused(tmp_path, refused):
    """Opening a pipe waits for its other end."""
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "table.csv").write_text("id,seed_0,seed_1\n1,a,b\n")

    for words in ([tmp_path / "pipe.csv"], [tmp_path / "table.csv", tmp_path / "pipe.csv"]):
        error = refused("measure", *words)
        assert (error.code, error.fields["problem"]) == ("SP102", "special")
    assert refused("measure", "/dev/zero").fields["path"] == "/dev/zero"


@pytest.mark.parametrize("opening", ['{"a": ', "["])
def test_deep_nesting_is_refused(opening, tmp_path):
    """Parsers crashed, in a column that nothing is measured of."""
    closing = "}" if "{" in opening else "]"
    deep = f', "other": {opening * 20_000}1{closing * 20_000}'
    table = lines(tmp_path / "deep.jsonl", further=deep)
    program = "import sys, seedproof as sp; sp.measure(sys.argv[1], columns=sp.Columns({}))"

    for columns in ("", "prediction='prediction', example='example'", "prediction='x.y'"):
        done = subprocess.run(
            [sys.executable, "-c", program.format(columns), str(table)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1, done.returncode
        assert "UnreadableError" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("text", "is_deep"),
    [
        ("[" * MOST_NESTED + "]" * MOST_NESTED, False),
        ("[" * (MOST_NESTED + 1) + "]" * (MOST_NESTED + 1), True),
        (json.dumps("[" * 1000), False),  # brackets in a text
        (json.dumps(["]"] * 1000), False),
        ('["]",' * 1000 + "1" + "]" * 1000, True),  # as if each level closed again
        (json.dumps('\\"[' * 1000), False),
        (json.dumps("\\" * 2**18 + '"' + "[" * 300), False),  # over the border of blocks
        ("[[]," * 50 + "[]" + "]" * 50, False),
    ],
)
def test_nesting_is_that_outside_of_texts(text, is_deep, tmp_path):
    (tmp_path / "a.jsonl").write_text(text + "\n", encoding="utf-8")

    if is_deep:
        with pytest.raises(UnreadableError):
            check_nesting(tmp_path / "a.jsonl")
    else:
        check_nesting(tmp_path / "a.jsonl")


def test_lists_of_many_objects_are_no_nesting(tmp_path):
    further = ', "other": ' + json.dumps([{"a": [1]}] * 500)

    report = sp.measure(lines(tmp_path / "wide.jsonl", further=further))

    assert report.measurement.n_examples == 20


@pytest.mark.parametrize(
    ("number", "is_extreme"),
    [(1e100, True), (-1e37, True), (9e36, False), (1e-75, True), (2e-75, False), (0.0, False)],
)
def test_numbers_whose_squares_are_none_are_refused(number, is_extreme):
    numbers = np.ones((3, 4))
    numbers[1, 2] = number
    table = pa.table(
        {"run": [0, 0, 1, 1], "example": [1, 2, 1, 2], "value": [1.0, 2.0, number, 3.0]}
    )

    assert (extreme_number(numbers.ravel()) is not None) == is_extreme
    if is_extreme:
        with pytest.raises(DtypeError):
            sp.measure(numbers)
        with pytest.raises(DtypeError):
            sp.measure(table, columns=sp.Columns(value="value"))
    else:
        sp.measure(numbers)


@pytest.mark.parametrize("number", [1e100, -1e200, 1e-100])
def test_single_numbers_per_run_have_a_wider_range(number):
    """Their squares must be numbers."""
    with pytest.raises(DtypeError):
        sp.measure_scalars(pa.table({"seed": [0, 1, 2], "loss": [1.0, number, 2.0]}))
    sp.measure_scalars(pa.table({"seed": [0, 1, 2], "loss": [1e99, 0.0, 2e-99]}))


def test_number_with_underscores_is_a_text(tmp_path, refused):
    (tmp_path / "a.csv").write_text("run,example,value\n0,1,1_000\n0,2,2\n1,1,3\n1,2,4\n")
    (tmp_path / "b.csv").write_text("seed,loss\n0,1_000\n1,2\n2,3\n")

    assert refused("measure", tmp_path / "a.csv", "--value", "value").code == "SP112"
    assert refused("measure", tmp_path / "b.csv", "--metrics", "loss").code.startswith("SP1")


def test_large_integers_as_ids_are_kept_apart_or_refused(tmp_path):
    """As doubles, 2^64 and 2^64 + 1 are one id."""
    ids = [2**64 + i for i in range(20)]
    table = lines(tmp_path / "ids.jsonl", value=lambda example: ids[example])
    assert sp.measure(table).examples["example"].to_pylist() == list(map(str, ids))

    numbers = np.arange(40.0).reshape(2, 20)
    assert sp.measure(numbers, ids=ids).examples["example"].to_pylist() == list(map(str, ids))
    with pytest.raises(DtypeError):
        sp.measure(numbers, ids=np.array(ids, dtype=float))


def test_large_integers_as_ids_of_numbers_are_refused(tmp_path):
    rows = [
        json.dumps({"run": run, "example": 2**64 + i, "value": run * i + 0.5})
        for run in range(2)
        for i in range(4)
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(rows) + "\n")

    with pytest.raises(DtypeError):
        sp.measure(tmp_path / "a.jsonl", columns=sp.Columns(value="value"))


COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"


@pytest.mark.parametrize("form", ["array", "table", "small", "lines"])
def test_composed_and_decomposed_letters_are_one_class(form, tmp_path):
    """With a note, since the input has two spellings."""
    classes = np.array([[COMPOSED, "tea"], [DECOMPOSED, "tea"], [COMPOSED, "tea"]])
    target = classes
    if form != "array":
        rows = [
            {"run": run, "example": i, "label": DECOMPOSED if i == 0 else "tea", "prediction": name}
            for run, names in enumerate(classes.tolist())
            for i, name in enumerate(names)
        ]
        target = pa.Table.from_pylist(rows)
    if form == "lines":
        target = tmp_path / "a.jsonl"
        target.write_text("\n".join(map(json.dumps, rows)) + "\n")

    report = sp.measure(target)

    assert report["flip_rate"].value == 0
    assert report.measurement.classes == (COMPOSED, "tea")
    assert "joined-names" in {note.code for note in report.measurement.notes}
    if form != "array":
        assert report["accuracy"].value == 1


KINDS_OF_NAMES = ("value", "answer", "prediction", "set", "item")


def named_cells(kind, name, other):
    """Return the cells of an answer, in which lists and sets have the name."""
    if kind == "value":
        return {"value": len(other)}
    if kind == "item":
        return {"item": name, "rank": 1}
    return {kind: f"{name}|{other}" if kind == "set" else other}


@pytest.mark.parametrize("memory", ["1GB", "in parts"])
@pytest.mark.parametrize("kind", KINDS_OF_NAMES)
def test_ids_and_items_in_two_forms_are_the_same(kind, memory, tmp_path, monkeypatch):
    """One run has composed letters, the other decomposed ones; a note says it once for each."""
    if memory == "in parts":

        def too_large(*_: object, **__: object) -> None:
            raise TooLargeError

        monkeypatch.setattr("seedproof.records.number_tables.read_table", too_large)
        monkeypatch.setattr("seedproof.records.item_tables.read_table", too_large)
    files = []
    for run, form in enumerate(("NFC", "NFD")):
        names = [unicodedata.normalize(form, name) for name in ("caf\u00e9", "\u00fcber", "tea")]
        others = ["blau", "rot", "rot"]
        rows = [
            {"example": name, **named_cells(kind, name, other)}
            for name, other in zip(names, others, strict=True)
        ]
        files.append(tmp_path / f"{run}.jsonl")
        files[-1].write_text("\n".join(map(json.dumps, rows)) + "\n")

    read = sp.Predictions.load(files)

    assert read.n_examples == 3
    notes = [note.fields for note in read.notes if note.code == "joined-names"]
    nouns = ["examples", "items"] if kind in {"set", "item"} else ["examples"]
    assert [fields["noun"] for fields in notes] == nouns
    assert all(fields["names"] == ("caf\u00e9", "\u00fcber") for fields in notes)


@pytest.mark.parametrize("form", ["npz", "npz-files", "array"])
@pytest.mark.parametrize("kind", ["classes", "items"])
def test_names_in_arrays_in_two_forms_are_the_same(kind, form, tmp_path):
    names = np.array([[[COMPOSED, "tea"], ["tea", "x"]], [[DECOMPOSED, "tea"], ["tea", "x"]]])
    if kind == "classes":
        names = names[:, :, 0]
    target = names
    if form == "npz":
        target = tmp_path / "runs.npz"
        np.savez(target, predictions=names)
    if form == "npz-files":
        target = [tmp_path / "a.npz", tmp_path / "b.npz"]
        for file, of_run, name in zip(target, names, (COMPOSED, DECOMPOSED), strict=True):
            np.savez(file, predictions=of_run, ids=np.array([name, "other"]))

    read = sp.Predictions.load(target)

    (note,) = read.notes
    assert (note.code, note.fields["noun"], note.fields["names"]) == (
        "joined-names",
        kind,
        (COMPOSED,),
    )
    assert DECOMPOSED not in read.source.classes


def test_names_in_one_form_need_no_note(tmp_path):
    """Decomposed everywhere: nothing is joined."""
    file = tmp_path / "rows.csv"
    rows = [f"{run},{DECOMPOSED}{n},1" for run in range(2) for n in range(3)]
    file.write_text("\n".join(["run,example,value", *rows]) + "\n")

    assert sp.Predictions.load(file).notes == ()


def test_names_that_differ_otherwise_stay_apart():
    assert joined_names(["e", "\u00e9", "E"]) == ()
    assert composed(DECOMPOSED) == COMPOSED
    assert sp.measure([["e", "e"], ["\u00e9", "e"]])["flip_rate"].value == 0.5


def test_date_that_is_no_number_is_refused(monkeypatch):
    for value in ("x", "1e5", str(10**20)):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", value)
        with pytest.raises(OptionError):
            sp.measure([[0, 1], [1, 1]]).to_html()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert "1970-01-01" in sp.measure([[0, 1], [1, 1]]).to_html()


@pytest.mark.skipif(os.name == "nt", reason="POSIX")
@pytest.mark.parametrize("words", [[], ["--json"]])
def test_closed_output_is_no_bug(words, tmp_path):
    """The command decides; unread output is not an error of the command."""
    (tmp_path / "a.csv").write_text("id,seed_0,seed_1\n1,a,b\n2,a,a\n")
    command = "from seedproof.cli.main import main; main()"
    line = [sys.executable, "-c", command, "measure", str(tmp_path / "a.csv"), *words]
    closed = subprocess.run(
        ["bash", "-c", '"$@" >&-', "-", *line],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )

    assert "Traceback" not in closed.stderr
    assert closed.returncode in {0, 2}


def test_link_out_of_a_run_of_wandb_is_not_followed(tmp_path):
    """The summary of a run names the files of its tables."""
    (tmp_path / "run" / "files").mkdir(parents=True)
    (tmp_path / "secret.table.json").write_text("{}")
    (tmp_path / "run" / "files" / "a.table.json").symlink_to(tmp_path / "secret.table.json")
    (tmp_path / "run" / "files" / "b.table.json").write_text("{}")

    def summary(name):
        return {"predictions": {"_type": "table-file", "path": name}}

    assert tables_of(tmp_path / "run", summary("b.table.json")).keys() == {"predictions"}
    with pytest.raises(DamagedStoreError):
        tables_of(tmp_path / "run", summary("a.table.json"))


def test_explanations_are_printed_without_texts():
    from seedproof.measurement.explanations import result

    measured = result.ExplanationMeasurement(
        method="lime",
        runs=("0", "1"),
        n_examples=1,
        metrics={},
        noise=None,
        n_repeated=0,
        agreed={},
        n_agreed=0,
        curves=None,
        unstable_examples=pa.table({"example": ["1"], "tokens": [["my", "secret"]]}),
        illustrations=pa.table({"tokens": [["my", "secret"]]}),
    )

    assert "secret" not in str({"lime": measured})
    assert "lime" in repr(measured)


def test_link_out_of_a_folder_of_tables_is_not_followed(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "secret.csv").write_text("id,prediction\n1,a\n")
    (tmp_path / "runs" / "0.csv").write_text("id,prediction\n1,a\n")
    (tmp_path / "runs" / "1.csv").symlink_to(tmp_path / "secret.csv")

    with pytest.raises(DamagedStoreError):
        sp.measure(tmp_path / "runs")


LINKED = {
    "hydra": ("by_number/0/.hydra/overrides.yaml", "by_number/1/predictions.csv"),
    "inspect/json": ("*.json",),
    "inspect/eval": ("*.eval",),
    "lm_eval/org__coin": ("samples_*.jsonl", "results_*.json"),
    "promptfoo": ("results.json",),
    "wandb": ("*/run-*.wandb", "*/files/media/table/*.table.json"),
}


@pytest.mark.parametrize(
    ("folder", "pattern"), [(x, pattern) for x in LINKED for pattern in LINKED[x]]
)
def test_link_out_of_a_folder_of_logs_is_not_followed(folder, pattern, tmp_path):
    """A link within the folder is one of its files."""
    shutil.copytree(LOGS / folder, tmp_path / "logs")
    target = tmp_path / "logs"
    file = min(target.glob(pattern))
    inside = file.with_name(f"{file.name}.moved")
    file.rename(inside)
    file.symlink_to(inside.name)
    assert groups_in(target / "by_number" if folder == "hydra" else target)

    file.unlink()
    inside.rename(tmp_path / "secret")
    file.symlink_to(tmp_path / "secret")
    with pytest.raises(DamagedStoreError):
        groups_in(target / "by_number" if folder == "hydra" else target)


def groups_in(target):
    """Return the arms and tasks of a folder of logs."""
    log = log_files([str(target)])
    return (runs_in(target, TABLE_SUFFIXES) if log is None else log.read()).groups()


def test_downloads_are_in_a_folder_that_the_next_command_removes():
    """As all temporary folders: a killed process leaves nothing for long."""
    assert is_temporary(downloads().path)
    assert downloads() is downloads()
