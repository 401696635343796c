"""Studies with failing runs, on the command line."""

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from seedproof.cli.run import STOPPED
from seedproof.testing.engines import becomes_true, processes_with

START = "from seedproof.cli.main import main; main()"
REASON = "the loss is not a number"
# What goes wrong is in files next to the module: a change of its code would be refused.
MODULE = """
import os, signal, time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent

def train(run):
    with (HERE / "began").open("a") as file:
        file.write(run.name + "\\n")
    trouble = HERE / f"trouble-{run.name}"
    match trouble.read_text() if trouble.exists() else "none":
        case "raise":
            raise ValueError("{REASON}")
        case "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        case "sleep":
            time.sleep(600)
        case "pause":
            time.sleep(0.5)
    probs = run.rng("init").dirichlet([1.0, 1.0, 1.0], 20)
    run.log_predictions("test", probs=probs, labels=np.arange(20) % 3)
"""


@pytest.fixture
def start(tmp_path, mark, without_torch):  # noqa: ARG001 - both are in the environment
    """Return a function that starts the command line in a folder with the module `work`."""
    (tmp_path / "work.py").write_text(MODULE.replace("{REASON}", REASON), encoding="utf-8")
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", START, *map(str, arguments)],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def call(start):
    """Return a function that returns exit code, stdout and stderr of a command."""

    def call(*arguments: object) -> tuple[int, str, str]:
        process = start(*arguments)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    return call


def trouble(folder: Path, **kinds: str) -> None:
    """From now on, let these runs fail, and no others."""
    for path in folder.glob("trouble-*"):
        path.unlink()
    for name, kind in kinds.items():
        (folder / f"trouble-{name.removeprefix('run')}").write_text(kind, encoding="utf-8")


def begun(folder: Path) -> Counter[str]:
    """Count the starts of each run."""
    path = folder / "began"
    return Counter(path.read_text(encoding="utf-8").split() if path.exists() else [])


def words_of(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def statuses(out: str) -> dict[str, str]:
    """Return the status of each run from `seedproof status --json`."""
    return {run["run"]: run["status"] for run in json.loads(out)["runs"]}


def test_exception_crash_and_timeout_are_distinguished(call, seedproof, tmp_path, mark):
    """The other runs finish."""
    trouble(tmp_path, run1="raise", run2="crash", run3="sleep")
    command = ("run", "work:train", "--seeds", 5, "--workers", 2, "--retries", 1, "--timeout", 8)

    code, out, err = call(*command)
    _, status, _ = seedproof("status", "runs", "--json")

    assert (code, out) == (4, "")
    assert statuses(status) == {
        "0": "finished", "1": "failed", "2": "killed", "3": "timeout", "4": "finished",
    }  # fmt: skip
    runs = {run["run"]: run for run in json.loads(status)["runs"]}
    assert runs["1"]["message"] == f"ValueError: {REASON}"
    assert REASON in runs["1"]["traceback"]
    assert {"SIGKILL", "2"} <= words_of(runs["2"]["message"])
    assert {"8", "s"} <= words_of(runs["3"]["message"])
    for name in ("1", "2", "3"):
        assert runs[name]["message"] in err
    assert runs["0"]["message"] == runs["0"]["traceback"] == ""
    assert begun(tmp_path) == {"0": 1, "1": 1, "2": 2, "3": 1, "4": 1}

    # What failed is tried again, and what is finished is not.
    trouble(tmp_path, run2="raise")
    code, _, err = call(*command)
    _, status, _ = seedproof("status", "runs", "--json")

    assert code == 4
    assert Counter(statuses(status).values()) == {"finished": 4, "failed": 1}
    assert begun(tmp_path) == {"0": 1, "1": 2, "2": 3, "3": 2, "4": 1}
    assert becomes_true(lambda: not processes_with(mark))


def test_single_run_can_be_made_by_its_index(call, seedproof, refused, tmp_path):
    """For job arrays."""
    code, _, err = call("run", "work:train", "--seeds", 3, "--only", 1)
    _, status, _ = seedproof("status", "runs", "--json")

    assert code == 0, err
    assert statuses(status) == {"0": "waiting", "1": "finished", "2": "waiting"}
    assert begun(tmp_path) == {"1": 1}

    error = refused("run", "work:train", "--seeds", 3, "--only", 3)

    assert error.code == "SP115"
    assert (error.fields["only"], error.fields["highest"]) == (3, 2)


def test_exit_code_of_a_single_run_is_its_own(call, tmp_path):
    trouble(tmp_path, run0="raise")

    codes = [call("run", "work:train", "--seeds", 2, "--only", index)[0] for index in (0, 1)]

    assert codes == [4, 0]


def test_interrupt_stops_everything_and_keeps_finished_runs(start, call, seedproof, tmp_path, mark):
    """Exit code 130."""
    trouble(tmp_path, run1="sleep", run2="sleep")
    command = ("run", "work:train", "--seeds", 3, "--workers", 2)

    process = start(*command)
    assert becomes_true(lambda: begun(tmp_path).keys() == {"0", "1", "2"}, within=60)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)

    assert (process.returncode, out) == (130, "")
    assert err.endswith(f"{STOPPED}\n")
    assert "Traceback" not in err
    assert becomes_true(lambda: not processes_with(mark), within=3)
    assert statuses(seedproof("status", "runs", "--json")[1]) == {
        "0": "finished", "1": "waiting", "2": "waiting",
    }  # fmt: skip

    trouble(tmp_path)
    assert call(*command)[0] == 0
    assert begun(tmp_path) == {"0": 1, "1": 2, "2": 2}


def test_two_coordinators_share_the_work(start, seedproof, tmp_path, mark):
    """Each run is trained once; both wait for the end, and the store is complete."""
    names = [str(seed) for seed in range(5)]
    trouble(tmp_path, **{f"run{name}": "pause" for name in names})
    command = ("run", "work:train", "--seeds", 5, "--workers", 1)

    first, second = start(*command), start(*command)
    messages = [process.communicate(timeout=120)[1] for process in (first, second)]

    assert [first.returncode, second.returncode] == [0, 0], messages
    assert begun(tmp_path) == dict.fromkeys(names, 1)
    assert statuses(seedproof("status", "runs", "--json")[1]) == dict.fromkeys(names, "finished")
    assert len(list(tmp_path.glob("runs/runs/*/run.json"))) == 5
    assert len(list(tmp_path.glob("runs/runs/*/predictions/test/*.parquet"))) == 5
    code, out, err = seedproof("measure", "runs", "--json")
    assert (code, json.loads(out)["n_runs"]) == (0, 5), err
    assert becomes_true(lambda: not processes_with(mark))


def test_no_process_outlives_a_coordinator_killed_by_sigkill(start, tmp_path, mark):
    """Not even processes that its runs wait for."""
    trouble(tmp_path, run0="sleep", run1="sleep")
    process = start("run", "work:train", "--seeds", 2, "--workers", 2)
    assert becomes_true(lambda: begun(tmp_path).keys() == {"0", "1"}, within=60)
    assert len(processes_with(mark)) == 5  # the coordinator, two workers, two guardians
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)

    assert becomes_true(lambda: not processes_with(mark), within=3)
