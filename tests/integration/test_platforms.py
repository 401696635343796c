"""Systems without the calls of POSIX: everything but work in processes goes on."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "predictions.csv"
# A program that makes Linux look like Windows to seedproof, and starts its command line. Other
# libraries are loaded before, as theirs for Windows are not installed.
WINDOWS = """
import fcntl, os, pathlib, select, signal, sys, types
import cloudpickle, duckdb, jinja2, numpy, pyarrow.dataset, pyarrow.parquet, rich.console
import rich.markup, rich.progress, rich.table, rich.text, scipy.optimize, scipy.special
import scipy.stats, subprocess, tempfile, threadpoolctl, typer, typer.core, typer.main, vl_convert

def locking(number, mode, n_bytes):
    kind = {0: fcntl.LOCK_UN, 2: fcntl.LOCK_EX | fcntl.LOCK_NB}[mode]
    fcntl.lockf(number, kind, n_bytes, os.lseek(number, 0, os.SEEK_CUR))

msvcrt = types.ModuleType("msvcrt")
msvcrt.LK_UNLCK, msvcrt.LK_NBLCK, msvcrt.locking = 0, 2, locking
sys.modules["msvcrt"] = msvcrt
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None  # an import raises ModuleNotFoundError
for module, names in {
    os: "fork getpgrp getuid geteuid killpg sched_getaffinity setsid waitid WNOHANG WNOWAIT O_ASYNC",
    select: "epoll poll",
    signal: "SIGALRM SIGHUP SIGKILL setitimer ITIMER_REAL",
}.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
sys.platform = "win32"

from seedproof.cli.main import main
main()
"""
TRAINING = """
import numpy as np

def train(run):
    probs = run.rng("init").dirichlet([1.0, 1.0], 20)
    run.log_predictions("test", probs=probs, labels=np.arange(20) % 2)
"""


@pytest.fixture
def windows(tmp_path):
    """Return a function that runs a command where the calls of POSIX are missing."""
    (tmp_path / "work.py").write_text(TRAINING, encoding="utf-8")

    def call(*arguments: object) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-c", WINDOWS, *map(str, arguments)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return call


def test_measuring_needs_no_posix(windows, tmp_path):
    """Also the page, and the ingest of a table, which locks its store."""
    code, _, err = windows("measure", EXAMPLE, "--out", "report")
    assert code == 0, err
    code, _, err = windows("ingest", EXAMPLE, "--out", "store")
    assert code == 0, err

    summary = json.loads((tmp_path / "report" / "summary.json").read_text(encoding="utf-8"))
    assert summary["n_runs"] == len(list(tmp_path.glob("store/runs/*/run.json"))) == 10
    assert not (tmp_path / "store" / "claim").exists()


def test_work_in_processes_is_refused_by_name(windows, tmp_path):
    """Before anything is written; the serial engine trains."""
    code, _, err = windows("run", "work:train", "--seeds", 2)

    assert code == 2
    assert err.startswith("error SP506: ")
    assert "os.fork" in err
    assert not (tmp_path / "runs").exists()
    code, _, err = windows("run", "work:train", "--seeds", 2, "--engine", "serial")
    assert code == 0, err
    assert len(list(tmp_path.glob("runs/runs/*/run.json"))) == 2
