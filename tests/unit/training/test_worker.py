"""A run is trained once, by one process at a time, and its output is logged."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.fs
import pytest

from seedproof.engines import ProcessEngine, n_cores
from seedproof.errors import CodeChangedError, RunError
from seedproof.records.location import Location
from seedproof.records.locks import is_locked, locked
from seedproof.records.manifest import RunManifest
from seedproof.records.schema import digest
from seedproof.seeds import SeedPlan
from seedproof.testing.errors import WithFields
from seedproof.training.run import Run
from seedproof.training.spec import StudySpec
from seedproof.training.target import FunctionTarget, ScriptTarget
from seedproof.training.worker import Trained, TrainRun, output_to

SPECS = StudySpec("small", "train.py", SeedPlan.all(3), arguments=("-v",)).runs()


@pytest.fixture
def store(tmp_path):
    """Return an empty store."""
    return Location.of(tmp_path / "store")


@pytest.fixture
def program():
    """Run a program in its own process."""
    started = []

    def program(text, *arguments):
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(text), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield program
    for process in started:
        process.kill()
        process.wait()
        for channel in (process.stdin, process.stdout, process.stderr):
            channel.close()


def folder_of(store, spec):
    """Return the folder of a run."""
    return store / "runs" / spec.run_id


def task_of(store, train, **settings):
    """Return a task that trains a function."""
    return TrainRun(store, FunctionTarget(train), {}, is_alone=False, **settings)


HOLD = """
import sys
from seedproof.records.location import Location
from seedproof.records.locks import locked

with locked(Location.of(sys.argv[1])) as has_lock:
    print(has_lock, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("end", ["leaves", "is killed"])
def test_lock_excludes_other_processes_and_ends_with_its_own(end, store, program):
    """However the process ends."""
    folder = folder_of(store, SPECS[0])
    assert not is_locked(folder)
    holder = program(HOLD, folder)
    assert holder.stdout.readline() == "True\n"

    assert is_locked(folder)
    with locked(folder) as has_lock:
        assert not has_lock
    assert is_locked(folder)
    if end == "leaves":
        holder.stdin.close()
        assert holder.wait(10) == 0
    else:
        os.kill(holder.pid, signal.SIGKILL)
        assert holder.wait(10) == -signal.SIGKILL

    assert not is_locked(folder)
    with locked(folder) as has_lock:
        assert has_lock


def test_locks_of_different_runs_are_independent(store):
    """Each run has its own."""
    with locked(folder_of(store, SPECS[0])), locked(folder_of(store, SPECS[1])) as has_lock:
        assert has_lock
        assert is_locked(folder_of(store, SPECS[1]))
        assert not is_locked(folder_of(store, SPECS[2]))


def test_lock_ends_with_an_exception(store):
    """A failed run may be retried by any process."""
    folder = folder_of(store, SPECS[0])

    with pytest.raises(ZeroDivisionError):
        task_of(store, lambda _: 1 / 0)(SPECS[0])

    assert not is_locked(folder)
    assert not (folder / "run.json").is_file()


def test_run_is_trained_and_committed(store):
    """The coordinator gets its scalars; the store has the rest."""
    began = datetime.now(UTC)
    seen = []

    def train(run):
        seen.append(run.seeds)
        run.log_scalar("loss", 0.25)

    trained = TrainRun(store, FunctionTarget(train), {"train": "00ff"}, is_alone=False)(SPECS[1])

    manifest = RunManifest.load(folder_of(store, SPECS[1]))
    facts = manifest.facts
    assert trained == Trained("finished", {"loss": 0.25}, facts["seconds"])
    assert seen == [SPECS[1].seeds]
    assert (manifest.run_id, manifest.name) == (SPECS[1].run_id, "1")
    assert (facts["target"], facts["arguments"]) == ("train.py", ["-v"])
    assert (facts["threads"], facts["deterministic"]) == (1, True)
    assert facts["code"]["train"] == "00ff"
    assert facts["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert {"numpy", "seedproof", "torch"} <= facts["versions"].keys()
    assert facts["hardware"]["cores"] == n_cores()
    # Whole seconds are recorded, so a fraction of one may be missing.
    assert -1 < (datetime.fromisoformat(facts["began"]) - began).total_seconds() < 60
    assert 0 <= facts["seconds"] < 60


def test_loaded_files_of_a_run_are_recorded(store, tmp_path):
    """The script and its modules, by their digests."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "sp_worker_lib.py").write_text("x = 1\n")
    script = "import sp_worker_lib, seedproof as sp\nsp.current_run().log_scalar('loss', 1)\n"
    (tmp_path / "code" / "train.py").write_text(script)
    target = ScriptTarget(str(tmp_path / "code" / "train.py"))

    try:
        TrainRun(store, target, target.code(), is_alone=False)(SPECS[0])
    finally:
        sys.modules.pop("sp_worker_lib", None)

    code = RunManifest.load(folder_of(store, SPECS[0])).facts["code"]
    assert code == {
        "sp_worker_lib.py": digest(b"x = 1\n"),
        "train.py": digest(script.encode()),
    }


def test_finished_run_is_not_trained_again(store):
    """Its result is returned."""
    seen = []

    def train(run):
        seen.append(run.name)
        run.log_scalar("loss", float(len(seen)))

    first, second = (task_of(store, train)(SPECS[0]) for _ in range(2))

    assert seen == ["0"]
    assert first == second
    assert second.scalars == {"loss": 1.0}


def test_run_of_another_process_is_not_trained(store):
    """The coordinator tries again later."""
    seen = []

    with locked(folder_of(store, SPECS[0])):
        trained = task_of(store, seen.append)(SPECS[0])

    assert trained == Trained("elsewhere", {}, 0.0)
    assert seen == []


def test_first_commit_is_kept_without_locks(store):
    """The other process returns its result."""

    def train(run):
        run.log_scalar("loss", 2.0)
        rival = Run(run.spec, run.folder)
        rival.log_scalar("loss", 1.0)
        rival.commit({"seconds": 7.0})

    trained = task_of(store, train)(SPECS[0])

    assert trained == Trained("finished", {"loss": 1.0}, 7.0)
    assert RunManifest.load(folder_of(store, SPECS[0])).scalars == {"loss": 1.0}


def test_script_that_was_saved_during_the_study_is_refused(store, tmp_path):
    """Otherwise runs of different code would be mixed."""
    script = tmp_path / "train.py"
    script.write_text("import seedproof as sp\nsp.current_run().log_scalar('loss', 1)\n")
    target = ScriptTarget(str(script))
    task = TrainRun(store, target, target.code(), is_alone=False)
    task(SPECS[0])

    script.write_text("raise SystemExit('trained by other code')\n")

    with pytest.raises(CodeChangedError, check=WithFields(name="train.py")):
        task(SPECS[1])
    assert not (folder_of(store, SPECS[1]) / "run.json").is_file()


def test_run_without_logs_is_not_finished(store):
    """There would be nothing to measure, and it would never be repeated."""
    target = FunctionTarget(lambda _: None)

    with pytest.raises(RunError):
        TrainRun(store, target, target.code(), is_alone=False)(SPECS[0])
    assert not (folder_of(store, SPECS[0]) / "run.json").is_file()


def test_lock_ends_even_if_a_forked_process_survives(tmp_path):
    """Workers of a data loader may outlive their run."""
    folder = Location.of(tmp_path / "run")
    with locked(folder) as has_lock:
        child = os.fork()
        if child == 0:
            time.sleep(30)
            os._exit(0)
    try:
        with locked(folder) as has_lock_again:
            assert has_lock
            assert has_lock_again
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_function_is_not_mistaken_for_a_file_of_its_name(store, tmp_path, monkeypatch):
    """The folder may have a program called `train`."""
    (tmp_path / "train").write_text("#!/bin/sh\n")
    monkeypatch.chdir(tmp_path)

    def train(run):
        run.log_scalar("loss", 1.0)

    train.__module__, train.__qualname__ = "__main__", "train"
    target = FunctionTarget(train)

    trained = TrainRun(store, target, target.code(), is_alone=False)(SPECS[0])

    assert trained.status == "finished"


def test_run_is_trained_without_locks(tmp_path):
    """An object store has none: two equal results may be produced, and one is kept."""
    # For us, such a filesystem is remote like an object store.
    elsewhere = pyarrow.fs.SubTreeFileSystem(str(tmp_path), pyarrow.fs.LocalFileSystem())
    store = Location(elsewhere, "bucket")
    folder_of(store, SPECS[0]).make_folder()

    with locked(folder_of(store, SPECS[0])) as has_lock:
        assert has_lock
        assert not is_locked(folder_of(store, SPECS[0]))
        trained = task_of(store, lambda run: run.log_scalar("loss", 1.0))(SPECS[0])

    assert trained.scalars == {"loss": 1.0}
    assert RunManifest.load(folder_of(store, SPECS[0])).scalars == {"loss": 1.0}


PRINT = """
import os, subprocess, sys
import pyarrow.fs
from seedproof.records.location import Location
from seedproof.training.worker import output_to

files = pyarrow.fs.LocalFileSystem()
if sys.argv[2] == "elsewhere":
    files = pyarrow.fs.SubTreeFileSystem(sys.argv[1], files)
print("before", flush=True)
try:
    with output_to(Location(files, sys.argv[3]), is_wanted=sys.argv[4] == "wanted"):
        print("printed")
        print("warned", file=sys.stderr)
        sys.stdout.flush()
        os.write(1, b"from native code\\n")
        subprocess.run(["echo", "from a child"], check=True)
        if sys.argv[5] == "fails":
            raise ValueError("no data")
except ValueError:
    pass
print("after")
"""
# What the program prints inside, sorted, and what it raises.
PRINTED = ["from a child", "from native code", "printed", "warned"]
RAISED = "ValueError: no data"


@pytest.mark.parametrize("end", ["ends", "fails"])
@pytest.mark.parametrize("place", ["local", "elsewhere"])
def test_output_of_a_run_goes_to_its_log(place, end, program, tmp_path):
    """Including native code and child processes; a second attempt continues the same file."""
    log = tmp_path / "runs" / "log.txt"
    if place == "elsewhere":
        log.parent.mkdir()
    path = log if place == "local" else "runs/log.txt"

    for n_attempts in (1, 2):
        process = program(PRINT, tmp_path, place, path, "wanted", end)
        assert process.communicate(timeout=30) == ("before\nafter\n", "")

        lines = log.read_text().splitlines()
        assert sorted(line for line in lines if line in PRINTED) == sorted(PRINTED * n_attempts)
        n_tracebacks = sum(line.startswith("Traceback") for line in lines)
        assert n_tracebacks == (n_attempts if end == "fails" else 0)
        assert (lines[-1] == RAISED) is (end == "fails")


def test_output_is_not_redirected_in_a_shared_process(tmp_path):
    """The serial engine supports breakpoints."""
    before = os.fstat(1)

    with output_to(Location.of(tmp_path / "log.txt"), is_wanted=False):
        assert os.fstat(1) == before

    assert not (tmp_path / "log.txt").exists()


def test_run_in_its_own_process_logs_its_output(store, tmp_path, capfd):
    """One run finishes and one raises, each with its own log."""
    script = tmp_path / "train.py"
    printed, reason = "this is run", "no data"
    script.write_text(
        "import seedproof as sp\n"
        "run = sp.current_run()\n"
        f"print('{printed}', run.name)\n"
        "run.log_scalar('loss', 1.0)\n"
        f"assert run.name == '0', '{reason}'\n"
    )
    target = ScriptTarget(str(script))
    task = TrainRun(store, target, target.code(), is_alone=True)

    outcomes = list(ProcessEngine(workers=2, retries=0).map(task, SPECS[:2]))

    done, failed = sorted(outcomes, key=lambda outcome: outcome.index)
    assert done.value().scalars == {"loss": 1.0}
    assert failed.failure.status == "failed"
    assert failed.failure.message.fields == {"error_type": "AssertionError", "reason": reason}
    logs = [Path(folder_of(store, spec).path, "log.txt").read_text() for spec in SPECS[:2]]
    assert logs[0] == f"{printed} 0\n"
    assert logs[1].startswith(f"{printed} 1\nTraceback")
    assert logs[1].endswith(f"AssertionError: {reason}\n")
    assert capfd.readouterr() == ("", "")
