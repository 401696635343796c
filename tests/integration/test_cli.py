"""The command line: streams, exit codes and text."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "predictions.csv"
START = "from seedproof.cli.main import main; main()"


@pytest.fixture
def table(study, tmp_path):
    path = tmp_path / "table.csv"
    pa.csv.write_csv(study.table, path)
    return path


def test_version_is_that_of_the_package(seedproof):
    assert seedproof("--version") == (0, version("seedproof") + "\n", "")


def test_help_lists_the_verbs(seedproof):
    code, out, err = seedproof("--help")

    assert (code, err) == (0, "")
    verbs = {line.split()[0] for line in out.splitlines() if line.startswith("  ")}
    assert verbs >= {
        "blame", "compare", "decide", "demo", "doctor", "gate", "ingest", "measure", "plan",
        "report", "reproduce", "run", "status",
    }  # fmt: skip


def test_help_of_measure_lists_every_option(seedproof):
    code, out, _ = seedproof("measure", "--help")

    assert code == 0
    for option in (
        "--out", "--json", "--show", "--run", "--example", "--label", "--prediction", "--probs",
        "--arm", "--split", "--memory",
    ):  # fmt: skip
        assert option in out


def test_command_without_verb_shows_the_usage(seedproof):
    code, out, err = seedproof()

    assert code == 2
    assert "Usage: " in out + err


@pytest.mark.parametrize(
    "arguments", [["measure"], ["measure", "x.csv", "--nope"], ["mesure"]], ids=" ".join
)
def test_wrong_usage_exits_with_code_2_and_says_why_on_stderr(arguments, seedproof):
    code, out, err = seedproof(*arguments)

    assert (code, out) == (2, "")
    assert err.startswith("Usage: ")
    assert "Traceback" not in err


def test_json_prints_the_summary_and_nothing_else(table, seedproof):
    code, out, err = seedproof("measure", table, "--json")

    assert (code, err) == (0, "")
    summary = json.loads(out)
    assert summary["n_runs"] == 5
    assert summary["n_examples"] == 40
    assert summary["n_classes"] == 3
    for estimate in summary["metrics"].values():
        assert estimate.keys() == {"value", "low", "high", "over"}
        assert (estimate["low"] is None) == (estimate["high"] is None)


def test_json_and_the_file_of_out_are_the_same_bytes(table, seedproof, tmp_path):
    code, out, _ = seedproof("measure", table, "--json", "--out", "out")

    assert code == 0
    assert (tmp_path / "out" / "summary.json").read_text(encoding="utf-8") == out


def test_summary_has_no_path_or_version(table, seedproof, tmp_path):
    """So equal predictions give equal bytes."""
    _, out, _ = seedproof("measure", table, "--json")

    assert str(tmp_path) not in out
    assert table.name not in out
    assert version("seedproof") not in out
    assert out.endswith("}\n")


def test_out_writes_the_examples_with_a_fixed_schema(table, seedproof, tmp_path):
    """One row per example, in the order of ids, with the user's own columns last."""
    code, out, err = seedproof("measure", table, "--out", "deep/er")

    assert code == 0
    assert "summary.json" in err
    assert "flip_rate" in out
    examples = pq.read_table(tmp_path / "deep" / "er" / "examples.parquet")
    assert examples.schema.remove_metadata() == pa.schema(
        {
            "example": pa.int64(),
            "label": pa.string(),
            "consensus": pa.string(),
            "consensus_share": pa.float64(),
            "flip_rate": pa.float64(),
            "label_entropy": pa.float64(),
            "label_entropy_corrected": pa.float64(),
            "correct_share": pa.float64(),
            "probability_mean": pa.float64(),
            "probability_sd": pa.float64(),
            "text": pa.string(),
        }
    )
    assert examples.column("example").to_pylist() == list(range(0, 400, 10))


def test_out_replaces_earlier_files(table, seedproof):
    for _ in range(2):
        assert seedproof("measure", table, "--json", "--out", "out")[0] == 0


def test_piped_text_is_plain_and_narrow(study, tmp_path, seedproof):
    """No escape codes, no trailing spaces, 80 columns; sentences first, then the table."""
    long = {
        "cat": "a class whose name is longer than a line of eighty columns would ever hold " * 2
    }
    names = [
        f"p_{long.get(n[2:], n[2:])}" if n.startswith("p_") else n for n in study.table.column_names
    ]
    table = study.table.rename_columns(names).drop_columns("label")
    pa.csv.write_csv(table, tmp_path / "table.csv")

    code, out, err = seedproof("measure", "table.csv", "--show", "text")

    assert (code, err) == (0, "")
    assert "\x1b" not in out
    for line in out.splitlines():
        assert len(line) <= 80, line
        assert line == line.rstrip()
    paragraphs = out.split("\n\n")
    (table_idx,) = (i for i, text in enumerate(paragraphs) if "\nflip_rate " in text)
    assert table_idx > 2


def test_escape_codes_in_ids_are_not_printed(seedproof, tmp_path):
    rows = "".join(f"{run},\x1b[31mred\x1b]0;title\x07,{'ab'[run]}\n" for run in range(2))
    (tmp_path / "t.csv").write_text(f"run,example,prediction\n{rows}")

    code, out, _ = seedproof("measure", "t.csv")

    assert code == 0
    assert "red" in out
    assert "\x1b" not in out
    assert "\x07" not in out


def test_names_in_errors_are_not_interpreted_as_markup(seedproof, tmp_path):
    (tmp_path / "t.csv").write_text(
        "run,example,prediction\n0,[red]:smile:,a\n0,[red]:smile:,a\n1,1,b\n"
    )

    _, _, err = seedproof("measure", "t.csv")

    assert "'[red]:smile:'" in err


@pytest.mark.skipif(not EXAMPLE.is_file(), reason="the examples are not part of this installation")
def test_example_of_the_readme_works(seedproof, tmp_path):
    code, _, _ = seedproof("measure", EXAMPLE, "--out", "out")

    assert code == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    sizes = (summary["n_runs"], summary["n_examples"], summary["n_classes"])
    assert sizes == (10, 1821, 2)
    assert summary["metrics"]["flip_rate"]["value"] == pytest.approx(0.105, abs=5e-4)
    assert summary["metrics"]["accuracy"]["value"] == pytest.approx(0.835, abs=5e-4)


FRUGAL = """
import shutil
import sys
import numpy as np
import seedproof as sp

def train(run):
    probs = run.rng("init").dirichlet([1.0, 1.0, 1.0], 20)
    run.log_predictions("test", probs=probs, labels=np.arange(20) % 3, ids=[f"a{i}" for i in range(20)])

study = sp.Study("small", train, seeds=3, arms=["one", "two"], store="runs")
study.run("serial", progress=False)
print(study.status())
loaded = {"torch", "pandas", "scipy"} & sys.modules.keys()
assert not loaded, f"to train: {loaded}"
study.measure(arm="one").save("one")
study.compare().save("both")
sp.measure(sys.argv[1]).save("table")
shutil.copytree("runs", "again")
sp.compare_versions("runs", "again", arm="one")
loaded = {"torch", "pandas"} & sys.modules.keys()
assert not loaded, f"to measure: {loaded}"
"""


def test_slow_dependencies_are_imported_only_where_needed(tmp_path):
    """Neither pandas nor torch for predictions; for training not even scipy."""
    done = subprocess.run(
        [sys.executable, "-c", FRUGAL, EXAMPLE],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


INTERRUPTED = """
import sys
from seedproof.records import small_tables
from seedproof.records.sort import SortedRows

small_tables.MEMORY_PART = 10**9  # every table is large

def never_ends(self):
    print("ready", file=sys.stderr, flush=True)
    while True:  # many short queries: DuckDB looks for signals between its own tasks only
        self._db.execute("SELECT sum(range % 7) FROM range(5000000)").fetchall()

SortedRows._count_rows = never_ends
from seedproof.cli.main import main
main()
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for a child")
def test_interrupt_exits_with_code_130(table):
    """Even during a query of DuckDB, and without a traceback."""
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, "measure", str(table)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stderr is not None
        assert child.stderr.readline() == "ready\n"
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        try:
            out, err = child.communicate(timeout=60)
        finally:
            child.kill()  # nothing happens if it has ended, as it should

    assert (child.returncode, out, err) == (130, "", "")


IMPATIENT = """
import seedproof.cli.progress as progress
progress.PATIENCE_SECONDS = {patience}
from seedproof.cli.main import main
main()
"""


def seen_on_a_terminal(arguments: list[str], stream: str) -> tuple[str, str]:
    """Return what a child writes to a terminal on one stream, and to a pipe on the other."""
    controller, terminal = os.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"}
    env.pop("NO_COLOR", None)
    other = {"stdout": "stderr", "stderr": "stdout"}[stream]
    with subprocess.Popen(
        [sys.executable, "-c", *arguments], env=env, **{stream: terminal, other: subprocess.PIPE}
    ) as child:
        os.close(terminal)
        seen = b""
        try:
            while piece := os.read(controller, 4096):
                seen += piece
        except OSError:  # Linux says so when the other side is closed
            pass
        os.close(controller)
        try:
            piped = b"".join(
                output for output in child.communicate(timeout=60) if output is not None
            )
        finally:
            child.kill()  # nothing happens if it has ended, as it should
    assert child.returncode == 0, seen
    return seen.decode(), piped.decode()


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("patience", "has_bar"), [(0, True), (1000, False)])
def test_only_a_long_wait_shows_a_progress_bar_on_a_terminal(patience, has_bar, table):
    """On stderr; stdout stays JSON."""
    command = [IMPATIENT.format(patience=patience), "measure", str(table), "--json"]

    seen, out = seen_on_a_terminal(command, "stderr")

    assert ("━" in seen) == ("\x1b[" in seen) == (seen != "") == has_bar
    assert json.loads(out)["n_runs"] == 5


def test_pipe_gets_no_progress_bar(table):
    done = subprocess.run(
        [sys.executable, "-c", IMPATIENT.format(patience=0), "measure", str(table), "--json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_terminal_gets_colors_and_a_pipe_does_not(table, seedproof):
    seen, _ = seen_on_a_terminal([START, "measure", str(table)], "stdout")
    _, piped, _ = seedproof("measure", table)

    assert "\x1b[" in seen
    assert "\x1b[" not in piped
    assert re.sub(r"\x1b\[[0-9;]*m", "", seen).split() == piped.split()


def test_measure_reports_each_class_and_each_value_of_a_slice(seedproof, tmp_path):
    """The same bytes in this process and in others, and a table of the slices."""
    table = pa.csv.read_csv(EXAMPLE)
    examples = table.column("example").to_pylist()
    path = tmp_path / "sliced.csv"
    sources = pa.array([("mail", "web", "phone")[example % 3] for example in examples])
    pa.csv.write_csv(table.append_column("source", sources), path)

    code, out, _ = seedproof("measure", path, "--slice", "source", "--json")
    parallel = seedproof("measure", path, "--slice", "source", "--json", "--engine", "processes")
    _, text, _ = seedproof("measure", path, "--slice", "source")

    summary = json.loads(out)
    assert code == 0
    assert parallel[:2] == (0, out)
    assert [group["name"] for group in summary["by_class"]] == ["negative", "positive"]
    assert [group["name"] for group in summary["slices"]["source"]] == ["mail", "phone", "web"]
    for groups in (summary["by_class"], summary["slices"]["source"]):
        assert sum(group["n_examples"] for group in groups) == summary["n_examples"]
    assert all(re.search(rf"^{name} +\d+ ", text, re.MULTILINE) for name in ("mail", "web"))
