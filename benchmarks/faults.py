"""Faults, many times each, with a table of trials that a second call continues.

    PYTHONPATH=tests python benchmarks/faults.py [--table faults.json] [--minutes 60] [--only NAME]

Each row of the table is a kind of fault with its number of trials and of failures. After each trial
nothing may be lost, done twice or left running:

- `plans`: three coordinators add arms and seeds to one plan at the same moment (200 trials).
- `commands`: two whole commands with different arms and seeds start at the same moment on one store
  (50 trials); every planned run must be trained exactly once.
- `guardian`: the guardians, then the coordinator of a study are killed (50 trials).
- `worker`: a worker is killed at a random moment, and the run is retried (50 trials).
- `coordinator`: the coordinator is killed at a random moment, and the command repeated (50 trials).

Crashes that lose unsynced writes are in tests/integration/test_power_failure.py, which has all of
their orders.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import numpy as np

from seedproof.records.location import Location
from seedproof.records.manifest import StudyManifest
from seedproof.seeds import SeedPlan
from seedproof.testing.engines import becomes_true, processes_with
from seedproof.training.resume import enter, planned
from seedproof.training.spec import StudySpec
from support.processes import at_once

MARK = "SEEDPROOF_FAULTS"
START = "from seedproof.cli.main import main; main()"
MODULE = """
import time
from pathlib import Path

import numpy as np

def train(run):
    with (Path(__file__).parent / "began").open("a") as file:
        file.write(f"{run.arm}-{run.name}\\n")
    time.sleep(0.2)
    probs = run.rng("init").dirichlet([1.0, 1.0, 1.0], 20)
    run.log_predictions("test", probs=probs, labels=np.arange(20) % 3)
"""


class FaultError(Exception):
    """Something was lost, done twice or left running."""


def require(condition: object, problem: str) -> None:
    """Raise an error unless a condition holds."""
    if not condition:
        raise FaultError(problem)


class Commands:
    """Starts `seedproof run` in a folder, with a mark in the environment of all processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = f"{MARK}-{uuid4().hex}"
        (folder / "work.py").write_text(MODULE, encoding="utf-8")

    def start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """Start a command."""
        words = ["run", "work:train", *arguments]
        return subprocess.Popen(
            [sys.executable, "-c", START, *words],
            cwd=self.folder,
            stderr=subprocess.DEVNULL,
            env=os.environ | {MARK: self.mark},
        )

    def began(self) -> Counter[str]:
        """Count the starts of each run."""
        path = self.folder / "began"
        return Counter(path.read_text(encoding="utf-8").split() if path.exists() else [])

    def finished(self) -> list[str]:
        """Return the finished runs."""
        manifests = [json.loads(p.read_text()) for p in self.folder.glob("runs/runs/*/run.json")]
        return sorted(f"{run['arm']}-{run['name']}" for run in manifests)

    def require_no_process(self) -> None:
        """Check that all processes end soon."""
        require(becomes_true(lambda: not processes_with(self.mark), within=5), "orphans")

    def kill_all(self) -> None:
        """Kill what a failed trial has left."""
        for pid in processes_with(self.mark):
            os.kill(pid, signal.SIGKILL)


def change_plans(folder: Path, trial: int) -> None:
    """Add arms and seeds from three coordinators; every second store exists before."""
    first = StudySpec("small", "train.py", SeedPlan.all(2))
    requests = [
        replace(first, arms=("ema",), seeds=SeedPlan.all(5)),
        replace(first, arms=("swa",)),
        replace(first, arms=("none", "ensemble"), seeds=SeedPlan.all(7)),
    ]
    store = Location.of(folder / "store")
    if trial % 2:
        enter(store, first)
    codes = at_once(*(partial(enter, store, request) for request in requests))
    require(not any(codes), f"exit codes {codes}")
    plan = planned(StudyManifest.load(store), store)
    require(set(plan.arms) == {"none", "ema", "swa", "ensemble"}, f"arms {plan.arms}")
    require(len(plan.seeds.assignments()) == 7, "seeds are lost")


def start_two_commands(folder: Path, _: int) -> None:
    """Start two commands on one store; every run must be trained once."""
    commands = Commands(folder)
    arguments = [("--seeds", "2", "--arms", "none,ema"), ("--seeds", "3", "--arms", "swa,none")]
    try:
        processes = [commands.start("--workers", "1", *words) for words in arguments]
        codes = [process.wait(300) for process in processes]
        runs = {f"{arm}-{seed}" for arm in ("none", "ema") for seed in range(2)}
        runs |= {f"{arm}-{seed}" for arm in ("swa", "none") for seed in range(3)}
        require(codes == [0, 0], f"exit codes {codes}")
        require(commands.began() == dict.fromkeys(runs, 1), f"began {commands.began()}")
        require(commands.finished() == sorted(runs), f"finished {commands.finished()}")
        store = Location.of(folder / "runs")
        require(
            set(planned(StudyManifest.load(store), store).arms) == {"none", "ema", "swa"}, "arms"
        )
        commands.require_no_process()
    finally:
        commands.kill_all()


def family(coordinator: int, mark: str) -> tuple[list[int], list[int]]:
    """Return the workers of a coordinator, and their guardians."""
    parents = {}
    for pid in processes_with(mark):
        try:
            text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        except OSError:
            continue
        parents[pid] = int(text.rpartition(")")[2].split()[1])
    workers = [pid for pid, parent in parents.items() if parent == coordinator]
    return workers, [pid for pid, parent in parents.items() if parent in workers]


def kill_during(kind: str) -> Callable[[Path, int], None]:
    """Return a trial that kills some processes of a study, and then repeats the command."""

    def trial(folder: Path, number: int) -> None:
        rng = np.random.default_rng(number)
        commands = Commands(folder)
        words = ("--seeds", "4", "--workers", "2")
        try:
            process = commands.start(*words)
            require(becomes_true(commands.began, within=120), "nothing began")
            time.sleep(rng.uniform(0, 1))
            workers, guardians = family(process.pid, commands.mark)
            victims = {"worker": workers[:1], "guardian": guardians, "coordinator": []}[kind]
            for pid in victims:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            if kind != "worker":
                process.kill()
                process.wait()
                commands.require_no_process()
                before = commands.finished()
                process = commands.start(*words)
                require(set(before) <= set(commands.finished()), "finished runs are lost")
            require(process.wait(300) == 0, f"exit code {process.returncode}")
            runs = [f"none-{seed}" for seed in range(4)]
            require(commands.finished() == runs, f"finished {commands.finished()}")
            require(commands.began().total() <= 6, f"began {commands.began()}")
            commands.require_no_process()
        finally:
            commands.kill_all()

    return trial


FAULTS: dict[str, tuple[Callable[[Path, int], None], int]] = {
    "plans": (change_plans, 200),
    "commands": (start_two_commands, 50),
    "guardian": (kill_during("guardian"), 50),
    "worker": (kill_during("worker"), 50),
    "coordinator": (kill_during("coordinator"), 50),
}


def main() -> None:
    """Continue the table until all trials are done, or the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", type=Path, default=Path("faults.json"))
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--only", nargs="*", default=list(FAULTS), choices=list(FAULTS))
    options = parser.parse_args()
    table = json.loads(options.table.read_text()) if options.table.exists() else {}
    end = time.monotonic() + 60 * options.minutes
    rows = {name: table.setdefault(name, {"trials": 0, "failures": []}) for name in options.only}
    # In turns, so that a short time is divided between all kinds.
    while time.monotonic() < end:
        left = [name for name, row in rows.items() if row["trials"] < FAULTS[name][1]]
        if not left:
            break
        name = min(left, key=lambda name: rows[name]["trials"] / FAULTS[name][1])
        row = rows[name]
        with TemporaryDirectory(prefix="seedproof-faults-") as folder:
            try:
                FAULTS[name][0](Path(folder), row["trials"])
            except (FaultError, subprocess.TimeoutExpired) as error:
                row["failures"].append({"trial": row["trials"], "problem": str(error)})
        row["trials"] += 1
        options.table.write_text(json.dumps(table, indent=1) + "\n")
    for name, row in rows.items():
        n_failures = len(row["failures"])
        print(f"{name}: {row['trials']} of {FAULTS[name][1]} trials, {n_failures} failures")
    if any(row["failures"] for row in table.values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
