"""A coordinator that is killed repeatedly: nothing is lost, duplicated or left running."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import seedproof as sp
from seedproof.testing.engines import becomes_true, processes_with

PROGRAM = Path(__file__).with_name("small_torch_study.py")
N_RUNS, N_KILLS = 12, 2
SLEEPERS = """
import ctypes, pathlib, subprocess, sys, time
from seedproof.engines import ProcessEngine

def sleep(item):
    subprocess.Popen(["sleep", "600"])
    pathlib.Path(sys.argv[1], str(item)).touch()
    if sys.argv[2:] == ["native"]:
        ctypes.PyDLL(None).sleep(600)  # holds the interpreter, as native code may
    time.sleep(600)

list(ProcessEngine(workers=2).map(sleep, range(4)))
"""


def start(*words: object) -> "subprocess.Popen[bytes]":
    """Start a program."""
    return subprocess.Popen([sys.executable, *map(str, words)], stderr=subprocess.DEVNULL)


def kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill one process."""
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def commits(store: Path) -> dict[str, tuple[int, int]]:
    """Return inode and time of the commit of each run."""
    stats = {path.parent.name: path.stat() for path in store.glob("runs/*/run.json")}
    return {run_id: (status.st_ino, status.st_mtime_ns) for run_id, status in stats.items()}


def summary(store: Path) -> bytes:
    """Return the bytes of `summary.json`."""
    sp.measure(store).save(store.with_suffix(".out"))
    return (store.with_suffix(".out") / "summary.json").read_bytes()


def test_no_process_outlives_a_killed_coordinator(tmp_path, mark):
    """Neither workers nor guardians, nor children of workers."""
    script, marks = tmp_path / "sleepers.py", tmp_path / "marks"
    script.write_text(SLEEPERS, encoding="utf-8")
    marks.mkdir()
    process = start(script, marks)
    try:
        assert becomes_true(lambda: len(list(marks.iterdir())) == 2, within=60)
        assert len(processes_with(mark)) == 7  # coordinator; worker, guardian and sleep, twice
    finally:
        kill(process)

    assert becomes_true(lambda: not processes_with(mark), within=3)
    assert {path.name for path in marks.iterdir()} == {"0", "1"}


def parent_and_command(pid: int) -> tuple[int, bytes]:
    """Return the parent and the command line of a process."""
    status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(status[1]), Path(f"/proc/{pid}/cmdline").read_bytes()


def guardians(coordinator: int, mark: str) -> set[int]:
    """Return the guardians: copies of the workers, which they have started."""
    processes = {pid: parent_and_command(pid) for pid in processes_with(mark)}
    return {
        pid
        for pid, (parent, command) in processes.items()
        if parent in processes
        and processes[parent][0] == coordinator
        and command == processes[parent][1]
    }


@pytest.mark.parametrize("kind", ["python", "native"])
def test_no_process_outlives_its_guardian_and_coordinator(tmp_path, mark, kind):
    """Workers that hold the interpreter and their children end, too."""
    script, marks = tmp_path / "sleepers.py", tmp_path / "marks"
    script.write_text(SLEEPERS, encoding="utf-8")
    marks.mkdir()
    process = start(script, marks, kind)
    try:
        assert becomes_true(lambda: len(list(marks.iterdir())) == 2, within=60)
        watching = guardians(process.pid, mark)
        assert len(watching) == 2
        for pid in watching:
            os.kill(pid, signal.SIGKILL)
        # The runs go on without them.
        assert becomes_true(lambda: not watching & processes_with(mark), within=3)
        assert len(processes_with(mark)) == 5
    finally:
        kill(process)

    assert becomes_true(lambda: not processes_with(mark), within=3)


def test_study_whose_coordinator_is_killed_gives_the_same_summary(tmp_path, mark):
    """Twelve runs, two kills at random."""
    rng = np.random.default_rng(12)
    store, undisturbed = tmp_path / "killed", tmp_path / "undisturbed"
    with start(PROGRAM, undisturbed, N_RUNS, "serial") as process:
        pass
    assert process.returncode == 0

    done: dict[str, tuple[int, int]] = {}
    for n_finished in (2, 6):
        process = start(PROGRAM, store, N_RUNS, "processes")
        try:
            assert becomes_true(lambda: len(commits(store)) >= n_finished, within=120)  # noqa: B023
            time.sleep(rng.uniform(0.0, 2.0))
        finally:
            kill(process)
        assert becomes_true(lambda: not processes_with(mark), within=3)
        finished = commits(store)
        assert n_finished <= len(finished) < N_RUNS
        # What is finished is not made again.
        assert finished.items() >= done.items()
        done = finished
    with start(PROGRAM, store, N_RUNS, "processes") as process:
        pass

    assert process.returncode == 0
    assert becomes_true(lambda: not processes_with(mark), within=3)
    assert commits(store).items() >= done.items()
    assert commits(store).keys() == commits(undisturbed).keys()
    assert len(commits(store)) == N_RUNS
    assert summary(store) == summary(undisturbed)
    began = Counter(store.with_suffix(".began").read_text(encoding="utf-8").split())
    assert len(began) == N_RUNS
    # Two at a time: no more than these were lost at each kill.
    assert began.total() <= N_RUNS + 2 * N_KILLS
