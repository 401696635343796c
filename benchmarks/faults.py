"""Faults, many times each, with a table of trials that a second call continues.

    PYTHONPATH=tests python benchmarks/faults.py [--table faults.json] [--minutes 60] [--only NAME]

Each row of the table is a kind of fault with its number of trials, what each of them did, and its
failures. After each trial nothing may be lost, done twice or left running, no lock may be held, and
`summary.json` must be that of an undisturbed study:

- `plans`: three coordinators add arms and seeds to one plan at the same moment (200 trials).
- `commands`: two whole commands with different arms and seeds start at the same moment on one store
  (50 trials); every planned run must be trained exactly once.
- `kill ENGINE ROLE`: a process is killed at a random moment (10 trials of each role with Ray, which
  takes a minute to start, and 30 with the other engines).
- `kill guardians`: all guardians, then the coordinator of a study are killed (30 trials).
- `kill output KIND`: a command is killed while it writes a report, a comparison, the files of a
  gate, a ledger or the records of the pytest plugin (30 trials each): the old result is there or
  the new one, whole, and the same command then succeeds and leaves nothing else.
- `failing write`: each of the first 100 calls that write, rename or force to the disk fails once,
  as on a full disk, while a report is written.
- `full disk ENGINE`, `full disk ingest`, `full disk report`: the disk is full after some blocks (20
  points each).
- `permission ENGINE`, `clock ENGINE`, `deleted store ENGINE`, `read-only store`: files cannot be
  created any more, the clock jumps by a day, the store is deleted, or it cannot be written (20
  trials each).

Full disks and read-only stores are mounted, which only root may do. Crashes that lose unsynced
writes are in tests/integration/test_power_failure.py, which has all of their orders.
"""

import argparse
import json
import subprocess
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from seedproof.records.location import Location
from seedproof.records.manifest import StudyManifest
from seedproof.seeds import SeedPlan
from seedproof.training.resume import enter, planned
from seedproof.training.spec import StudySpec
from support.faults import (
    N_DISK_POINTS,
    ROLES,
    FaultError,
    SmallStudy,
    Trial,
    delete_store,
    fill_disk,
    fill_disk_of_ingest,
    jump_in_time,
    kill,
    kill_guardians_and_coordinator,
    lose_permission,
    require,
    use_read_only_store,
)
from support.output_faults import N_CALLS, OUTPUT_FAULTS, fail_write, fill_disk_of_report
from support.output_faults import N_KILLS as N_OUTPUT_KILLS
from support.processes import at_once

N_KILLS = {"serial": 30, "processes": 30, "ray": 10, "slurm": 30}


def change_plans(folder: Path, trial: int) -> Mapping[str, object]:
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
    return {}


def start_two_commands(folder: Path, _: int) -> Mapping[str, object]:
    """Start two commands on one store; every run must be trained once."""
    requests = [(2, ("none", "ema")), (3, ("swa", "none"))]
    with SmallStudy(folder) as study:
        processes = [
            study.start(
                "run", "work:train", "--workers", "1", "--seeds", str(n), "--arms", ",".join(arms)
            )
            for n, arms in requests
        ]
        codes = [process.wait(300) for process in processes]
        require(codes == [0, 0], f"exit codes {codes}")
        runs = {f"{arm}-{seed}" for n, arms in requests for arm in arms for seed in range(n)}
        require(study.began() == dict.fromkeys(runs, 1), f"began {study.began()}")
        finished = sorted(f"{run.arm}-{run.name}" for run in study.finished())
        require(finished == sorted(runs), f"finished {finished}")
        store = Location.of(study.store)
        arms = set(planned(StudyManifest.load(store), store).arms)
        require(arms == {"none", "ema", "swa"}, f"arms {arms}")
        study.require_no_process()
    return {}


FAULTS: dict[str, tuple[Trial, int]] = {
    "plans": (change_plans, 200),
    "commands": (start_two_commands, 50),
    **{
        f"kill {engine} {role}": (kill(engine, role), N_KILLS[engine])
        for engine, roles in ROLES.items()
        for role in roles
    },
    "kill guardians": (kill_guardians_and_coordinator, N_KILLS["processes"]),
    **{
        f"{name} {engine}": (trial(engine), N_DISK_POINTS)
        for name, trial in {
            "full disk": fill_disk,
            "permission": lose_permission,
            "clock": jump_in_time,
            "deleted store": delete_store,
        }.items()
        for engine in ("serial", "processes")
    },
    **{name: (trial, N_OUTPUT_KILLS) for name, trial in OUTPUT_FAULTS.items()},
    "failing write": (fail_write, N_CALLS),
    "full disk ingest": (fill_disk_of_ingest, N_DISK_POINTS),
    "full disk report": (fill_disk_of_report, N_DISK_POINTS),
    "read-only store": (use_read_only_store, N_DISK_POINTS),
}


def main() -> None:
    """Continue the table until all trials are done, or the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", type=Path, default=Path("faults.json"))
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--only", nargs="*", default=list(FAULTS), choices=list(FAULTS))
    parser.add_argument("--trials", type=int, help="at most this many of each kind")
    options = parser.parse_args()
    table = json.loads(options.table.read_text()) if options.table.exists() else {}
    end = time.monotonic() + 60 * options.minutes
    rows = {name: table.setdefault(name, {"trials": [], "failures": []}) for name in options.only}
    targets = {name: min(FAULTS[name][1], options.trials or FAULTS[name][1]) for name in rows}
    # In turns, so that a short time is divided between all kinds.
    while time.monotonic() < end:
        shares = {name: len(row["trials"]) / targets[name] for name, row in rows.items()}
        name = min(shares, key=shares.__getitem__)
        if shares[name] >= 1:
            break
        row = rows[name]
        number, facts, start = len(row["trials"]), dict[str, object](), time.monotonic()
        with TemporaryDirectory(prefix="seedproof-faults-", ignore_cleanup_errors=True) as folder:
            try:
                facts |= FAULTS[name][0](Path(folder), number)
            except (FaultError, subprocess.SubprocessError) as error:
                row["failures"].append({"trial": number, "problem": str(error)})
        row["trials"].append(facts | {"seconds": round(time.monotonic() - start, 1)})
        options.table.write_text(json.dumps(table, indent=1) + "\n")
    for name, row in rows.items():
        n_trials, n_failures = len(row["trials"]), len(row["failures"])
        print(f"{name}: {n_trials} of {targets[name]} trials, {n_failures} failures")
    if any(row["failures"] for row in table.values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
