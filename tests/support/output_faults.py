"""Kills of commands that write results, at random moments, for tests and for benchmarks/faults.py.

Afterwards the old result is there or the new one, whole; the same command then succeeds, and leaves
nothing but its result.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import numpy as np

from seedproof.integrations.trial_records import TRIALS, _Records
from seedproof.records.location import Location
from seedproof.records.manifest import loaded
from support.faults import COMMAND, Trial, fill, require, small_disk

N_KILLS = 30
# Every fifth kill may be noticed by the command, which then cleans up itself.
N_APART = 5
SECONDS = 300.0
# Calls that may fail, and how many of them are tried one by one.
CALLS = ("write", "fsync", "mkdir", "rename", "renameat2", "linkat", "openat")
N_CALLS = 100
# Free blocks of a full disk, per trial.
BLOCKS_PER_POINT = 64
# Loading takes longer than a command; each command is a fork of a process that has loaded these.
CONTEXT = get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [
        "pytest",
        "pyarrow.parquet",
        "seedproof.cli.measure",
        "seedproof.cli.compare",
        "seedproof.cli.gate",
        "seedproof.cli.decide",
        "seedproof.cli.main",
        "seedproof.api",
        "seedproof.report.document",
        "seedproof.report.html",
        "seedproof.integrations.trial_records",
        "seedproof.integrations.trial_verdicts",
        "support.output_faults",
    ]
)
LEFTOVER = re.compile(r"\.seedproof-[0-9a-f]{32}|.*\.[0-9a-f]{32}")
SUITE = """
import pytest

@pytest.mark.trials(8, min_pass_rate=0.5)
def test_always(trial):
    assert trial.seed >= 0
"""
# Words of each command, with the name of its input in place of {}.
WORDS: Mapping[str, Sequence[str]] = {
    "measure": ("measure", "{}.csv", "--out", "out", "--pairs"),
    "compare": ("compare", "first.csv", "{}.csv", "--out", "out"),
    "gate": (
        "gate", "{}.csv", "--max", "flip_rate=0.5", "--junit", "out/gate.xml", "--markdown",
        "out/gate.md",
    ),
    "decide": (
        "decide", "first.csv", "{}.csv", "--metric", "accuracy", "--ledger", "out/decisions.jsonl",
    ),
    "plugin": ("test_suite.py", "--seedproof-key", "{}", "--seedproof-folder", "out"),
}  # fmt: skip
CODES = {"gate": {0, 1, 3}, "decide": {0, 1, 3}}


def kill_output(kind: str) -> Trial:
    """Return a trial that kills a command of a kind, and repeats it."""

    def trial(folder: Path, number: int) -> Mapping[str, object]:
        rng = np.random.default_rng(number)
        program = _Program(kind, folder)
        old = program.restore()
        start = time.monotonic()
        # pytest itself does not clean up at this signal.
        is_terminated = kind != "plugin" and number % N_APART == N_APART - 1
        process = program.start("third")
        if number % 2:  # while files are written
            program.wait_for_a_draft(process)
            time.sleep(rng.choice([0.0, rng.uniform(0, 0.05)]))
        else:
            process.join(rng.uniform(0.0, 1.2) * seconds_of(kind))
        if is_terminated:
            process.terminate()
        else:
            process.kill()
        code = ended(process)
        killed_after = time.monotonic() - start
        state = program.require_whole(old)
        if is_terminated:
            require(code in {130, *program.codes}, f"code {code}")
            program.require_clean()
        program.run("third")
        require(program.require_whole(old) == "new", "the repeated command changed nothing")
        program.require_clean()
        return {"kind": kind, "state": state, "killed_after": round(killed_after, 2)}

    return trial


def ended(process: ForkServerProcess) -> int:
    """Wait for the end of a command, and return its exit code."""
    process.join(SECONDS)
    require(process.exitcode is not None, "the command does not end")
    return int(process.exitcode or 0)


def _command(folder: Path, kind: str, words: Sequence[str]) -> None:
    """Run a command in this process, which was forked from one that has loaded everything."""
    os.chdir(folder)
    os.environ |= environment(folder)
    tempfile.tempdir = None
    number = os.open("messages", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(number, 1)
    os.dup2(number, 2)
    if kind == "plugin":
        import pytest

        options = ("-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", ".")
        sys.exit(pytest.main([*options, *words]))
    from seedproof.cli.main import main

    sys.argv = ["seedproof", *words]
    main()


def fail_write(folder: Path, number: int) -> Mapping[str, object]:
    """Let one call fail that writes, forces to the disk or renames, with a full disk as reason."""
    program = _Program("measure", folder)
    old = program.restore()
    call, count = CALLS[number % len(CALLS)], number // len(CALLS) + 1
    words = [word.replace("{}", "third") for word in WORDS["measure"]]
    done = subprocess.run(
        [
            *("strace", "--follow-forks", "--output", os.devnull),
            f"--inject={call}:error=ENOSPC:when={count}",
            *(sys.executable, "-B", "-c", COMMAND, *words),
        ],
        cwd=folder,
        env=os.environ | environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    state = program.require_whole(old)
    require("Traceback" not in done.stderr, done.stderr)
    require(done.returncode in {0, 2}, f"exit code {done.returncode}: {done.stderr}")
    require(done.returncode == 2 or state == "new", "a success without a result")
    program.require_clean()
    program.run("third")
    require(program.require_whole(old) == "new", "the repeated command changed nothing")
    return {"call": call, "count": count, "state": state, "exit_code": done.returncode}


def fill_disk_of_report(folder: Path, number: int) -> Mapping[str, object]:
    """Write a report on a disk with room for a few blocks, which then gets more."""
    with small_disk(folder / "disk") as disk:
        work = disk / "work"
        work.mkdir()
        # What the command prints is not on the full disk.
        (work / "messages").symlink_to(folder / "messages")
        program = _Program("measure", work)
        old = program.restore()
        ballast = fill(disk, except_blocks=number * BLOCKS_PER_POINT)
        code = ended(program.start("third"))
        messages = (folder / "messages").read_text(encoding="utf-8")
        state = program.require_whole(old)
        require("Traceback" not in messages, messages)
        require(code in {0, 2}, f"exit code {code}: {messages}")
        require((code == 0) == (state == "new"), f"exit code {code}, and the {state} result")
        program.require_clean()
        ballast.unlink()
        program.run("third")
        require(program.require_whole(old) == "new", "the repeated command changed nothing")
        program.require_clean()
    return {"exit_code": code, "state": state, "message": messages.strip().splitlines()[-1:]}


def environment(folder: Path) -> dict[str, str]:
    """Return the variables of a command."""
    return {"TMPDIR": str(folder / "tmp"), "SOURCE_DATE_EPOCH": "0", "PYTEST_ADDOPTS": ""}


class _Program:
    """A command in a folder, with a folder of its own for temporary files."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.folder = kind, folder
        self.codes = CODES.get(kind, {0})
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        write_tables(folder)

    def start(self, name: str) -> ForkServerProcess:
        """Start the command with an input."""
        words = [word.replace("{}", name) for word in WORDS[self.kind]]
        process = CONTEXT.Process(target=_command, args=(self.folder, self.kind, words))
        process.start()
        return process

    def run(self, name: str) -> None:
        """Run the command to its end, which must be a good one."""
        code = ended(self.start(name))
        messages = (self.folder / "messages").read_text(encoding="utf-8")
        require(code in self.codes, f"exit code {code}: {messages}")
        require("not kept" not in messages, messages)

    def restore(self) -> dict[str, bytes]:
        """Write the result of an undisturbed command, and return its files."""
        old = _undisturbed(self.kind)[0]
        for name, content in old.items():
            (self.folder / "out" / name).parent.mkdir(exist_ok=True)
            (self.folder / "out" / name).write_bytes(content)
        return old

    def wait_for_a_draft(self, process: ForkServerProcess) -> None:
        """Wait until the command has begun to write, or has ended."""
        places = (self.folder, self.folder / "out")
        while process.is_alive():
            names = [path.name for place in places if place.is_dir() for path in place.iterdir()]
            if any(map(LEFTOVER.fullmatch, names)):
                return
            time.sleep(0.0002)

    def seconds_until_changed(self, old: Mapping[str, bytes], process: ForkServerProcess) -> float:
        """Return after how many seconds the command has another result than before.

        It goes on for as long again, above all pytest: kills after that moment change nothing.
        """
        start = time.monotonic()
        while process.is_alive():
            with suppress(FileNotFoundError):  # while files are replaced
                if self.contents() != old:
                    break
            time.sleep(0.001)
        return time.monotonic() - start

    def contents(self) -> dict[str, bytes]:
        """Return all files of the result, without drafts."""
        out = self.folder / "out"
        return {
            path.relative_to(out).as_posix(): path.read_bytes()
            for path in sorted(out.rglob("*"))
            if path.is_file() and not any(map(LEFTOVER.fullmatch, path.relative_to(out).parts))
        }

    def require_whole(self, old: Mapping[str, bytes]) -> str:
        """Check that the result is the old or the new one, and return which of both."""
        now = self.contents()
        if self.kind == "plugin":
            loaded(_Records, Location.of(self.folder / "out") / TRIALS)  # refuses what is damaged
            return "old" if now[TRIALS] == old[TRIALS] else "new"
        if self.kind == "decide":
            before, after = old["decisions.jsonl"], now["decisions.jsonl"]
            complete = after[: after.rfind(b"\n") + 1]
            require(complete.startswith(before), "a line of the ledger is lost")
            lines = [json.loads(line) for line in complete.splitlines()]
            require(lines[0]["event"] == "loop", "the ledger has no beginning")
            # The first line of a candidate is a whole step: its decision may come later.
            return "new" if lines[-1]["event"] in {"keep", "discard"} and after != before else "old"
        new = result_of(self.kind)
        if self.kind == "gate":  # two files, each of which is whole
            require(now.keys() == new.keys(), f"files {sorted(now)}")
            are_whole = all(now[name] in {old[name], new[name]} for name in new)
            require(are_whole, "a file is cut off")
        else:
            require(now in (dict(old), new), f"neither result: {sorted(now)}")
        return "new" if now == new else "old"

    def require_clean(self) -> None:
        """Check that no draft and no temporary folder is left."""
        left = [path for path in self.folder.rglob("*") if LEFTOVER.fullmatch(path.name)]
        left += self.temporary.glob("seedproof-*")
        require(not left, f"left: {left}")


def write_tables(folder: Path) -> None:
    """Write three tables, of which the second and third give other results."""
    (folder / "test_suite.py").write_text(SUITE, encoding="utf-8")
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 60)
    for name, share in (("first", 0.3), ("second", 0.3), ("third", 0.25)):
        rows = ["run,example,label,prediction"]
        for run in range(10):
            wrong = rng.random(len(labels)) < share
            predicted = np.where(wrong, (labels + 1) % 3, labels)
            rows += [
                f"{run},{example},{label},{answer}"
                for example, (label, answer) in enumerate(zip(labels, predicted, strict=True))
            ]
        (folder / f"{name}.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


@cache
def _undisturbed(kind: str) -> tuple[dict[str, bytes], dict[str, bytes], float]:
    folder = Path(tempfile.mkdtemp(prefix="undisturbed-"))
    try:
        program = _Program(kind, folder)
        program.run("second")
        old, process = program.contents(), program.start("third")
        seconds = program.seconds_until_changed(old, process)
        require(ended(process) in program.codes, "the command fails")
        return old, program.contents(), seconds
    finally:
        shutil.rmtree(folder)


def result_of(kind: str) -> dict[str, bytes]:
    """Return the files of an undisturbed command."""
    return _undisturbed(kind)[1]


def seconds_of(kind: str) -> float:
    """Return how long an undisturbed command takes until its result is there."""
    return _undisturbed(kind)[2]


OUTPUT_FAULTS: Mapping[str, Callable[[Path, int], Mapping[str, object]]] = {
    f"kill output {kind}": kill_output(kind) for kind in WORDS
}
