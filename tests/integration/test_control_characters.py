"""No control character of data, names, options or a script reaches the terminal."""

import json
import os
import re
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seedproof.exit_codes import ExitCode
from seedproof.records.manifest import sealed
from seedproof.terminal import UNSAFE

slow = pytest.mark.skipif(
    os.environ.get("SEEDPROOF_FULL") != "1", reason="slow; SEEDPROOF_FULL=1 runs it"
)
# A link, write to the clipboard, clear the screen, the same in one byte, and reversed text.
ATTACK = "\x1b]8;;http://x\x1b\\k\x1b]52;c;cm0=\x07\x1b[2J\x9b2J\x9d0;t\x9c\u202eevil\u2066\x7f\x08"
NAME = ATTACK.replace("/", "_")  # for files
# Colors, moves of the cursor, erased lines, and the return to the start of a line.
OF_RICH = re.compile(r"\x1b\[[0-9;?]*[mAKhl]|\r")
SCRIPT = f"""
import sys
import warnings
import numpy as np
import seedproof as sp

run = sp.current_run()
attack = {ATTACK!r}
print(attack)
print(attack, file=sys.stderr)
warnings.warn(attack)
run.log_scalar("loss" + attack, 1.0)
if run.arm.startswith("bad"):
    raise ValueError(attack)
answers = np.random.default_rng(0).integers(0, 2, 50)
answers[run.rng("init").integers(0, 50, 9)] ^= 1
run.log_predictions(
    "test",
    predictions=answers,
    labels=[0, 1] * 25,
    classes=["a" + attack, "b" + attack],
    ids=[f"{{i}}{{attack}}" for i in range(50)],
)
"""


@pytest.fixture
def check(seedproof):
    """Return a function that runs a command and checks all of its output."""

    def run(*command, codes=(0, 1, 3)):
        code, out, err = seedproof(*command)
        assert code in codes, err
        assert not UNSAFE.search(out), out
        assert not UNSAFE.search(err), err
        return out, err

    return run


@pytest.fixture
def table(tmp_path):
    """Return a table with attacks in its name, columns, runs, examples, classes and texts."""
    runs, examples = np.divmod(np.arange(180), 30)
    letters = np.array([f"a{ATTACK}", f"b{ATTACK}"])
    columns = {
        "run": [f"{run}{ATTACK}" for run in runs],
        "example": [f"{example}{ATTACK}" for example in examples],
        "label": letters[examples % 2],
        "prediction": letters[(examples + (examples % 7 == runs)) % 2],
        f"text{ATTACK}": [f"{example % 3}{ATTACK}" for example in examples],
    }
    path = tmp_path / f"table{NAME}.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def test_tables(check, table, tmp_path):
    text, other = f"text{ATTACK}", tmp_path / f"other{NAME}.parquet"
    shutil.copy(table, other)
    check("measure", table, "--show", text, "--slice", text, "--out", tmp_path / f"out{NAME}")
    out, _ = check("measure", table, "--json")
    assert json.loads(out)["runs"][0] == f"0{ATTACK}"
    check("compare", table, other, "--show", text, codes=(0, 1, 2, 3))
    check("compare", "--old", table, "--new", other)
    check("gate", table, "--max", "flip_rate=0.5", "--markdown", "-")
    check("gate", table, "--max", "flip_rate=0.5", "--junit", tmp_path / "j.xml", "--json")
    check("decide", table, other, "--ledger", tmp_path / f"loop{NAME}.jsonl", codes=(2,))
    check("plan", "--pilot", table, "--detect", "0.1")
    check("report", table, "--figure", "votes", "--out", tmp_path / f"votes{NAME}.svg")
    check("ingest", table, "--out", tmp_path / f"store{NAME}")
    check("measure", tmp_path / f"store{NAME}")


@pytest.mark.usefixtures("without_torch")
def test_study_and_its_tracebacks(check, tmp_path):
    script = tmp_path / f"train{NAME}.py"
    script.write_text(SCRIPT, encoding="utf-8")
    arms = f"none{ATTACK},bad{ATTACK}"
    how = ("--seeds", "2", "--arms", arms, "--name", f"study{ATTACK}", "--store", "store")
    follow = ("--follow", f"loss{ATTACK}")
    for engine in ("serial", "processes"):
        check("run", script, *how, "--engine", engine, *follow, codes=(4,))
    _, err = check("run", script, *how, "--engine", "serial", "--timeout", "x", codes=(2,))
    assert err

    out, _ = check("status", "store", "--tracebacks", "--all")
    assert out.count("ValueError") >= 2
    out, _ = check("status", "store", "--json")
    assert ATTACK in json.loads(out)["runs"][1]["traceback"]
    check("measure", "store", "--arm", f"none{ATTACK}", "--out", "out")
    check("measure", "store", "--out", "every")
    check("measure", "store", "--arm", ATTACK, codes=(2,))
    check("compare", "store", codes=(0, 1, 2, 3))
    check("blame", "store", codes=(2,))


@pytest.mark.usefixtures("without_torch")
@pytest.mark.parametrize("arm", ["bad", pytest.param("none", marks=slow)])
def test_doctor(check, tmp_path, arm):
    script = tmp_path / f"train{NAME}.py"
    script.write_text(SCRIPT, encoding="utf-8")

    check("doctor", script, "--arm", f"{arm}{ATTACK}", codes=(4 if arm == "bad" else 0,))


def test_live_table_has_only_its_own_sequences(seedproof, monkeypatch, tmp_path):
    """Colors and moves of the cursor by whole lines, on a terminal."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
    arms = f"none{ATTACK},bad{ATTACK}"

    _, out, err = seedproof("run", "train.py", "--seeds", "2", "--arms", arms, "--engine", "serial")
    _, shown, _ = seedproof("status", "runs", "--tracebacks")

    assert "\x1b[" in err
    assert "\x1b[" in shown
    assert not UNSAFE.search(OF_RICH.sub("", out + err + shown))


def test_manifests(check, tmp_path):
    """Control characters that no seedproof has written."""
    plan = {"target": ATTACK, "arms": [ATTACK], "arguments": [ATTACK], "threads": 1}
    plan |= {"seeds": {"kind": ATTACK, "levels": {ATTACK: 1}, "root": 0}, "deterministic": True}
    store = tmp_path / "store"
    store.mkdir()
    for change in ({}, {"seeds": {"kind": "all", "levels": {"init": 2}, "root": 0}}):
        content = {"name": ATTACK, "rows_per_group": None, "plan": plan | change}
        (store / "study.json").write_bytes(sealed(content))
        for verb in ("measure", "status", "compare", "blame"):
            check(verb, "store", codes=(0, 2))
    shutil.rmtree(store)


def test_command_line(check):
    """Names of verbs, options, files and values that do not exist."""
    check(ATTACK, codes=(2,))
    check("measure", f"--{ATTACK}", codes=(2,))
    check("measure", f"none{NAME}.csv", codes=(2,))
    check("measure", f"none{NAME}", "--metrics", ATTACK, codes=(2,))
    check("run", f"none{NAME}.py", codes=(2,))
    check("gate", f"none{NAME}", "--max", f"{ATTACK}=1", codes=(2,))
    check("plan", "--sd", ATTACK, codes=(2,))


def test_unexpected_error_is_a_traceback_without_control_characters(check, monkeypatch):
    def fail(*_, **__):
        raise KeyError(ATTACK)

    monkeypatch.setattr("seedproof.api.plan.plan", fail)

    _, err = check("plan", "--sd", "0.1", "--detect", "0.1", codes=(ExitCode.INTERNAL_ERROR,))

    assert "KeyError" in err
